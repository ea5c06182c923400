"""A broker of an overlay in a process of its own, driven by lines of JSON.

python -m tests.broker.link_node '{"url": …, "name": …, "links": …, "listen": …}'
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication, Role
from tamis.errors import DuplicateIdError
from tests.broker.lines import Lines

ALL = frozenset({Role.PUBLISH, Role.SUBSCRIBE})
SECRET = b"0123456789abcdef"


def main(form: str) -> None:
    """Answer commands until they end."""
    given = json.loads(form)
    settings = BrokerSettings(
        anonymous=ALL,
        secret=SECRET,
        name=given["name"],
        links=given["links"],
        link_listen=given["listen"],
        link_key=given["key"],
        link_hold=3_600.0,
    )
    lines = Lines()
    with Broker.open(given["url"], settings) as broker:
        lines.say({"port": broker.link_port})
        for line in sys.stdin:
            lines.say(answer(broker, json.loads(line)))


def answer(broker: Broker, command: dict[str, Any]) -> Any:
    """What a command gives."""
    me = broker.anonymous()
    match command:
        case {"subscribe": text, "id": id}:
            try:
                return broker.subscribe(NewSubscription(text, id=id), me).result().ticket
            except DuplicateIdError:
                return None
        case {"publish": events}:
            given = [Publication(event, id=f"e{event['n']}") for event in events]
            broker.publish(given, me).result()
            return [event["n"] for event in events]
        case {"read": id, "ticket": ticket}:
            found, after = [], 0
            while True:
                page = broker.read(id, me, ticket=ticket, after=after, limit=1_000)
                found += [each.event.attributes["n"] for each in page.notifications if each.event]
                if not page.more:
                    return found
                after = page.position
        case {"settled": _}:
            left = broker._database.read("select count(*) from outgoing")[0][0]
            return broker.is_settled and left == 0
    raise AssertionError(command)


if __name__ == "__main__":
    main(sys.argv[1])
