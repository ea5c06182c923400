"""``kill -9`` at random moments: whatever was acknowledged is there afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tamis.broker import Broker, Publication
from tests.broker.load import SETTINGS

KILLS = 200 if os.environ.get("TAMIS_SOAK") else 3
LIVES = 3
"""How often one store is killed."""


class Witness:
    """What a process said was acknowledged, over all its lives."""

    def __init__(self) -> None:
        self.tickets: dict[str, str] = {}
        self.subscriptions: dict[str, dict[str, Any]] = {}
        self.expires: dict[str, float] = {}
        self.leaving: dict[str, float] = {}
        self.left: set[str] = set()
        self.events: dict[str, tuple[int, int, float, float]] = {}
        self.readers: dict[str, list[str]] = {}
        self.reading_since: dict[str, float] = {}

    def hear(self, line: str, life: int) -> None:
        said = json.loads(line)
        assert "error" not in said, said
        shift = life * 1e9  # monotonic clocks of two processes are told apart
        if "subscribed" in said:
            id = said["subscribed"]
            self.tickets[id] = said["ticket"]
            times = {"began": said["began"] + shift, "at": said["at"] + shift}
            self.subscriptions[id] = {"key": said["key"], **times}
            self.expires[id] = said["expires"]
        elif "renewed" in said:
            self.expires[said["renewed"]] = said["expires"]
        elif "leaving" in said:
            self.leaving[said["leaving"]] = said["at"] + shift
        elif "left" in said:
            self.left.add(said["left"])
        elif "published" in said:
            for (id, key), matched in zip(said["published"], said["matched"], strict=True):
                self.events[id] = key, matched, said["began"] + shift, said["at"] + shift
        elif "reading" in said:
            self.tickets[said["reading"]] = said["ticket"]
            self.readers[said["reading"]] = []
            self.reading_since[said["reading"]] = said["at"] + shift
        elif "read" in said:
            self.readers[said["read"]] += said["events"]


def live(url: str, seed: int, rng: random.Random, witness: Witness) -> None:
    """Let a broker say a number of things, then kill it at a random moment soon after."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.broker.load", url, str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
    )
    assert process.stdout is not None
    try:
        assert json.loads(process.stdout.readline())["ready"]
        killer = threading.Timer(rng.uniform(0.0, 0.05), process.kill)
        last = rng.randrange(1, 400)
        for number, line in enumerate(process.stdout, 1):
            if line.endswith("\n"):
                witness.hear(line, seed)
            if number == last:
                killer.start()
        killer.join()
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL


def check(url: str, witness: Witness) -> None:
    """Hold a store against what was acknowledged."""
    with Broker.open(url, SETTINGS) as broker:
        broker.verify()
        me = broker.anonymous()
        there = witness.subscriptions.keys() - witness.leaving.keys()
        got: dict[str, set[str]] = {}
        for id in there:
            stored = broker.subscription(id, me, ticket=witness.tickets[id])
            assert stored.expires >= witness.expires[id] or stored.lease != 86_400
            got[id] = {each.event.id for each in _all(broker, id, witness.tickets[id])}
        for id in witness.left:
            assert broker._database.read("select 1 from subscriptions where id = ?", (id,)) == []
        for event, (key, matched, began, at) in witness.events.items():
            [again] = broker.publish([Publication({"key": key}, id=event)], me).result()
            assert again.repeated, f"the event {event} is lost"
            assert again.matched == matched
            for id in there:
                one = witness.subscriptions[id]
                if one["key"] != key or one["began"] > at:
                    assert event not in got[id], f"{id} got {event} for no reason"
                elif one["at"] < began:
                    assert event in got[id], f"{id} has lost {event}"
        for reader, seen in witness.readers.items():
            assert len(seen) == len(set(seen))
            left = {each.event.id for each in _all(broker, reader, witness.tickets[reader])}
            since = witness.reading_since[reader]
            wanted = {id for id, (_, _, began, _) in witness.events.items() if began > since}
            assert wanted <= left | {*seen}, f"{reader} has lost {wanted - left - {*seen}}"


def _all(broker: Broker, id: str, ticket: str) -> list[Any]:
    me, found, after = broker.anonymous(), [], 0
    while True:
        page = broker.read(id, me, ticket=ticket, after=after, limit=1_000)
        found += page.notifications
        if not page.more:
            return found
        after = page.position


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    rng = random.Random(20)
    for first in range(0, KILLS, LIVES):
        url = f"sqlite:///{tmp_path / f'{first}.db'}"
        witness = Witness()
        for life in range(first, min(first + LIVES, KILLS)):
            live(url, life + 1, rng, witness)
            check(url, witness)
        assert witness.events
