"""A broker under load in a process of its own; it writes down what was acknowledged, when it was.

python -m tests.broker.load URL SEED        one JSON object a line; killed from outside
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication, Role
from tamis.errors import BrokerError, UnknownIdError
from tests.broker.lines import Lines

KEYS = 5
SETTINGS = BrokerSettings(
    anonymous=frozenset({Role.PUBLISH, Role.SUBSCRIBE}),
    secret=b"0123456789abcdef",
    housekeeping=0.05,
)


def main(url: str, seed: int) -> None:
    """Subscribe, publish and acknowledge until the process ends."""
    lines = Lines()
    broker = Broker.open(url, SETTINGS)

    def say(**what: Any) -> None:
        lines.say(what)

    say(ready=True, rebuilt=broker.stats()["tenants_rebuilt"])
    works = (_subscribe, _publish, _publish, _acknowledge)
    for number, work in enumerate(works):
        arguments = broker, random.Random(seed * 10 + number), say, f"{seed}-{number}"
        threading.Thread(target=work, args=arguments, daemon=True).start()
    sys.stdin.read()  # until whoever started this process is gone


def _subscribe(broker: Broker, rng: random.Random, say: Any, name: str) -> None:
    me = broker.anonymous()
    mine: list[tuple[str, str]] = []
    number = 0
    while True:
        number += 1
        id, key = f"{name}-{number}", rng.randrange(KEYS)
        began = time.monotonic()
        receipt = broker.subscribe(NewSubscription(f"key = {key}", id=id), me).result()
        said = {"ticket": receipt.ticket, "expires": receipt.expires, "at": time.monotonic()}
        say(subscribed=id, key=key, began=began, **said)
        mine.append((id, receipt.ticket))
        if rng.random() < 0.3:
            id, ticket = mine.pop(rng.randrange(len(mine)))
            say(leaving=id, at=time.monotonic())
            broker.unsubscribe(id, me, ticket=ticket).result()
            say(left=id)
        elif rng.random() < 0.3:
            id, ticket = rng.choice(mine)
            lease = rng.randrange(100_000, 900_000)
            expires = broker.renew(id, me, ticket=ticket, lease=lease).result()
            say(renewed=id, expires=expires)


def _publish(broker: Broker, rng: random.Random, say: Any, name: str) -> None:
    me = broker.anonymous()
    number = 0
    while True:
        events = []
        for _ in range(rng.randrange(1, 20)):
            number += 1
            events.append(Publication({"key": rng.randrange(KEYS)}, id=f"{name}-{number}"))
        began = time.monotonic()
        outcomes = broker.publish(events, me).result()
        say(
            published=[[each.id, each.attributes["key"]] for each in events],
            matched=[each.matched for each in outcomes],
            began=began,
            at=time.monotonic(),
        )


def _acknowledge(broker: Broker, rng: random.Random, say: Any, name: str) -> None:
    me = broker.anonymous()
    receipt = broker.subscribe(NewSubscription("key >= 0", id=name), me).result()
    say(reading=name, ticket=receipt.ticket, at=time.monotonic())
    while True:
        try:
            page = broker.read(name, me, ticket=receipt.ticket, limit=rng.randrange(1, 50))
            if page.notifications:
                events = [each.event.id for each in page.notifications if each.event]
                say(read=name, events=events)
                broker.acknowledge(name, me, page.position, ticket=receipt.ticket).result()
            else:
                time.sleep(0.001)
        except (UnknownIdError, BrokerError) as error:
            say(error=str(error))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
