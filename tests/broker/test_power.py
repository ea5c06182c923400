"""Cut power: what was acknowledged was synced before."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from tamis.broker import Broker, NewSubscription, Publication
from tamis.broker.clock import SteadyClock
from tamis.broker.storage.migrations import migrate
from tamis.broker.tokens import Tokens
from tests.broker.load import SETTINGS
from tests.broker.lossy import Disk, LossyDatabase, LossyVfs

CUTS = 60 if os.environ.get("TAMIS_SOAK") else 6
KEYS = 3


class Witness:
    """What was acknowledged until now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tickets: dict[str, tuple[str, int]] = {}
        self.events: dict[str, tuple[int, int, frozenset[str]]] = {}
        self.is_done = False


def subscribe(broker: Broker, witness: Witness) -> None:
    me = broker.anonymous()
    number = 0
    while not witness.is_done:
        number += 1
        id, key = f"s{number}", number % KEYS
        receipt = broker.subscribe(NewSubscription(f"key = {key}", id=id), me).result()
        with witness.lock:
            witness.tickets[id] = receipt.ticket, key
        time.sleep(0.002)


def publish(broker: Broker, witness: Witness, name: str) -> None:
    me = broker.anonymous()
    number = 0
    while not witness.is_done:
        number += 1
        id, key = f"{name}{number}", number % KEYS
        with witness.lock:
            before = frozenset(s for s, (_, k) in witness.tickets.items() if k == key)
        [outcome] = broker.publish([Publication({"key": key}, id=id)], me).result()
        with witness.lock:
            witness.events[id] = key, outcome.matched, before


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_power_cut(tmp_path: Path) -> None:
    disk, rng, witness = Disk(), random.Random(20), Witness()
    vfs = LossyVfs(disk)
    database = LossyDatabase(tmp_path / "broker.db")
    migrate(database)
    assert SETTINGS.secret is not None
    broker = Broker(database, Tokens(SETTINGS.secret), SETTINGS, SteadyClock())
    threads = [threading.Thread(target=subscribe, args=(broker, witness))]
    threads += [threading.Thread(target=publish, args=(broker, witness, n)) for n in "ab"]
    for thread in threads:
        thread.start()
    cuts = []
    try:
        for number in range(CUTS):
            goal = len(witness.events) + rng.randrange(2, 30)
            while len(witness.events) < goal or not witness.tickets:
                time.sleep(0.001)
            with witness.lock:
                known = dict(witness.tickets), dict(witness.events)
            folder = tmp_path / f"cut-{number}"
            disk.cut_power(folder, rng if number % 2 else None)
            cuts.append((folder, *known))
    finally:
        witness.is_done = True
        for thread in threads:
            thread.join()
        broker.close()
        vfs.unregister()
    assert disk.syncs > CUTS
    for folder, tickets, events in cuts:
        check(folder, tickets, events)


def check(
    folder: Path,
    tickets: dict[str, tuple[str, int]],
    events: dict[str, tuple[int, int, frozenset[str]]],
) -> None:
    """Open what was left, and look for all that was acknowledged."""
    with Broker.open(f"sqlite:///{folder / 'broker.db'}", SETTINGS) as broker:
        broker.verify()
        me = broker.anonymous()
        got: dict[str, set[str]] = {}
        for id, (ticket, _) in tickets.items():
            page = broker.read(id, me, ticket=ticket, limit=1_000)
            assert not page.more
            got[id] = {each.event.id for each in page.notifications if each.event}
        for event, (key, matched, before) in events.items():
            [again] = broker.publish([Publication({"key": key}, id=event)], me).result()
            assert (again.repeated, again.matched) == (True, matched)
            assert all(event in got[id] for id in before)


def test_without_syncs_something_would_be_lost(tmp_path: Path) -> None:
    """The disk of these tests does lose what is not synced."""
    disk = Disk()
    vfs = LossyVfs(disk)
    database = LossyDatabase(tmp_path / "broker.db")
    migrate(database)
    database._writer.execute("pragma synchronous = off")
    assert SETTINGS.secret is not None
    broker = Broker(database, Tokens(SETTINGS.secret), SETTINGS, SteadyClock())
    me = broker.anonymous()
    ticket = broker.subscribe(NewSubscription("a = 1", id="s"), me).result().ticket
    disk.cut_power(tmp_path / "cut", None)
    broker.close()
    vfs.unregister()
    with Broker.open(f"sqlite:///{tmp_path / 'cut' / 'broker.db'}", SETTINGS) as left:
        assert left.stats()["subscriptions"] == 0
        with pytest.raises(Exception, match="no subscription"):
            left.read("s", me, ticket=ticket)
