"""Damaged files, a full disk: found, said clearly, and survived where that can be."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication
from tamis.broker.storage.migrations import MIGRATIONS
from tamis.errors import StorageError, TamisError, UnavailableError
from tests.broker.conftest import ALL, Clock, bodies

SETTINGS = BrokerSettings(anonymous=ALL)


def filled(url: str, clock: Clock, count: int = 300) -> str:
    """A store with subscriptions, closed properly; the ticket of one."""
    with Broker.open(url, SETTINGS, clock) as broker:
        me = broker.anonymous()
        futures = [
            broker.subscribe(NewSubscription(f"a = {n}", id=f"s{n}"), me) for n in range(count)
        ]
        tickets = [future.result().ticket for future in futures]
        broker.publish(
            [Publication({"a": n % count, "t": "x" * 50}) for n in range(300)], me
        ).result()
        return tickets[7]


@pytest.mark.parametrize("harm", ["cut", "empty", "flip", "foreign", "gone"])
def test_a_damaged_index_is_made_again(url: str, clock: Clock, tmp_path: Path, harm: str) -> None:
    filled(url, clock)
    [index] = (tmp_path / "broker.db.index").iterdir()
    content = bytearray(index.read_bytes())
    content[len(content) // 2] ^= 1
    new = {
        "cut": content[: len(content) // 2],
        "empty": b"",
        "flip": content,
        "foreign": b"x" * 999,
    }
    if harm == "gone":
        index.unlink()
    else:
        index.write_bytes(new[harm])
    with Broker.open(url, SETTINGS, clock) as broker:
        assert broker.stats()["tenants_rebuilt"] == 1
        broker.verify()
        assert broker.publish([Publication({"a": 7})], broker.anonymous()).result()[0].matched == 1
    with Broker.open(url, SETTINGS, clock) as broker:
        assert broker.stats()["tenants_rebuilt"] == 0


def test_an_old_index_catches_up(url: str, clock: Clock, tmp_path: Path) -> None:
    filled(url, clock)
    [index] = (tmp_path / "broker.db.index").iterdir()
    old = index.read_bytes()
    with Broker.open(url, SETTINGS, clock) as broker:
        me = broker.anonymous()
        broker.subscribe(NewSubscription("a = 1", id="new"), me).result()
        admin, _ = broker.create_key("root", ["admin"]).result()
        root = broker.identify(admin)
        broker.update("s1", root, subscription="a = 2").result()
        broker.disable("s2", root).result()
        broker._index._folder = None  # as if it was killed
    index.write_bytes(old)
    with Broker.open(url, SETTINGS, clock) as broker:
        assert broker.stats()["tenants_rebuilt"] == 0
        broker.verify()
        outcomes = broker.publish([Publication({"a": n}) for n in (1, 2)], me).result()
        assert [each.matched for each in outcomes] == [1, 1]


def test_an_index_of_another_store_is_not_used(url: str, clock: Clock, tmp_path: Path) -> None:
    filled(url, clock)
    [index] = (tmp_path / "broker.db.index").iterdir()
    other = tmp_path / "other"
    other.mkdir()
    filled(f"sqlite:///{other / 'broker.db'}", clock, 10)
    [foreign] = (other / "broker.db.index").iterdir()
    index.write_bytes(foreign.read_bytes())
    with Broker.open(url, SETTINGS, clock) as broker:
        assert broker.stats()["tenants_rebuilt"] == 1
        broker.verify()


def test_flipped_bits_in_the_store_are_never_silent(url: str, clock: Clock, tmp_path: Path) -> None:
    """Whatever byte is changed: an error, or everything is as it was."""
    ticket = filled(url, clock)
    path = tmp_path / "broker.db"
    whole = path.read_bytes()
    with Broker.open(url, SETTINGS, clock) as broker:
        me = broker.anonymous()
        expected = broker.read("s7", me, ticket=ticket).notifications
        count = broker.stats()["subscriptions"]
    rng = random.Random(5)
    found = 0
    for _ in range(25):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        for beside in ("-wal", "-shm"):
            Path(f"{path}{beside}").unlink(missing_ok=True)
        try:
            with Broker.open(url, SETTINGS, clock) as broker:
                broker.verify()
                assert broker.read("s7", me, ticket=ticket).notifications == expected
                assert broker.stats()["subscriptions"] == count
        except TamisError:
            found += 1
    assert found


def test_a_cut_store_is_found(url: str, clock: Clock, tmp_path: Path) -> None:
    filled(url, clock)
    path = tmp_path / "broker.db"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StorageError, match=r"damaged.*backup"):
        Broker.open(url, SETTINGS, clock)
    path.write_bytes(b"this is no database, but a text that is long enough" * 100)
    with pytest.raises(StorageError, match="damaged"):
        Broker.open(url, SETTINGS, clock)


def test_a_store_of_a_later_version_is_refused(url: str, clock: Clock, tmp_path: Path) -> None:
    filled(url, clock, 10)
    with sqlite3.connect(tmp_path / "broker.db") as connection:
        connection.execute(
            f"update meta set value = '{len(MIGRATIONS) + 1}' where name = 'version'"
        )
    connection.close()
    with pytest.raises(StorageError, match="newer Tamis"):
        Broker.open(url, SETTINGS, clock)


def test_an_older_store_is_brought_to_the_last_version(
    url: str, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step, each as a whole; one that fails leaves the store as it was."""
    place = "tamis.broker.storage.migrations.MIGRATIONS"
    monkeypatch.setattr(place, MIGRATIONS[:1])
    ticket = filled(url, clock, 10)

    def tables() -> tuple[str, set[str]]:
        connection = sqlite3.connect(tmp_path / "broker.db")
        [(version,)] = connection.execute("select value from meta where name = 'version'")
        names = connection.execute("select name from sqlite_master where type = 'table'")
        found = version, {name for (name,) in names}
        connection.close()
        return found

    version, before = tables()
    assert (version, "outgoing" in before) == ("1", False)
    broken = [*MIGRATIONS[:1], ["create table extra (a integer)", "create nonsense"]]
    monkeypatch.setattr(place, broken)
    with pytest.raises(TamisError, match="syntax error"):
        Broker.open(url, SETTINGS, clock)
    assert tables() == ("1", before)
    monkeypatch.setattr(place, MIGRATIONS)
    with Broker.open(url, SETTINGS, clock) as broker:
        broker.verify()
        assert len(broker.read("s7", broker.anonymous(), ticket=ticket).notifications) == 30
    version, after = tables()
    assert version == str(len(MIGRATIONS))
    assert "outgoing" in after


def test_one_broker_at_a_time(url: str, clock: Clock) -> None:
    with (
        Broker.open(url, SETTINGS, clock),
        pytest.raises(StorageError, match="another broker"),
    ):
        Broker.open(url, SETTINGS, clock)
    Broker.open(url, SETTINGS, clock).close()


@contextmanager
def full_disk(broker: Broker) -> Iterator[None]:
    """SQLite says 'disk is full' when a file may not grow."""
    writer = broker._database._writer  # type: ignore[attr-defined]
    [(pages,)] = writer.execute("pragma page_count").fetchall()
    writer.execute(f"pragma max_page_count = {pages}")
    yield
    writer.execute("pragma max_page_count = 1073741823")


def test_a_full_disk_changes_nothing_and_passes(broker: Broker, clock: Clock) -> None:
    me = broker.anonymous()
    ticket = broker.subscribe(NewSubscription("a >= 0", id="s"), me).result().ticket
    with full_disk(broker):
        with pytest.raises(UnavailableError, match="full"):
            broker.publish([Publication({"a": 1, "t": "x" * 100_000}, id="big")], me).result()
        assert not broker.is_ready
        with pytest.raises(UnavailableError, match="full"):
            for n in range(10_000):
                broker.subscribe(NewSubscription(f"a = {n}"), me).result()
        broker.verify()  # the index has nothing that the store has not
    [outcome] = broker.publish([Publication({"a": -1, "t": "x" * 100_000}, id="big")], me).result()
    assert not outcome.repeated
    assert broker.is_ready
    broker.publish([Publication({"a": 5})], me).result()
    assert bodies(broker.read("s", me, ticket=ticket)) == [{"a": 5}]
    broker.verify()


def test_a_request_that_fails_leaves_the_others_alone(broker: Broker) -> None:
    me = broker.anonymous()
    first = broker.subscribe(NewSubscription("a = 1", id="x"), me)
    second = broker.subscribe(NewSubscription("a = 1", id="x"), me)
    third = broker.subscribe(NewSubscription("a = 1", id="y"), me)
    first.result()
    third.result()
    assert isinstance(second.exception(), TamisError)
    broker.verify()
