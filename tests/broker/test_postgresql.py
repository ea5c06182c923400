"""The broker on a real PostgreSQL server, which goes away and comes back.

The tests of ``test_broker`` and ``test_delivery`` that look at storage run here again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tamis.broker import Broker, BrokerSettings, NewSubscription, Publication, Quotas
from tamis.broker.keys import KeyRequest
from tamis.errors import StorageError, UnavailableError
from tests.broker import test_broker, test_delivery
from tests.broker.conftest import ALL, Clock, bodies, eventually
from tests.postgresql import PostgresqlServer, postgresql_server

pytestmark = pytest.mark.slow
SECRET = b"0123456789abcdef" * 2
SETTINGS = BrokerSettings(anonymous=ALL, secret=SECRET, housekeeping=0.1)
SAME = [
    test_broker.test_an_event_reaches_the_subscriptions_that_it_matches,
    test_broker.test_tickets,
    test_broker.test_a_lease_ends_to_the_second,
    test_broker.test_a_repeated_event_changes_nothing,
    test_broker.test_update_keeps_what_waits,
    test_broker.test_an_idempotency_key,
    test_broker.test_keys_and_tenants,
    test_delivery.test_expired_subscriptions_are_removed,
    test_delivery.test_dry_run,
    test_delivery.test_quotas,
    test_delivery.test_pages_of_subscriptions,
    test_delivery.test_what_a_store_cannot_keep_harms_nobody_else,
]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with postgresql_server() as server:
        yield server


@pytest.fixture
def url(server: PostgresqlServer) -> str:
    """An empty database."""
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("drop schema public cascade")
        connection.execute("create schema public")
    return server.url


@pytest.mark.parametrize("test", SAME, ids=lambda test: test.__name__)
def test_the_same_on_postgresql(test, url: str, clock: Clock) -> None:
    names = test.__code__.co_varnames[: test.__code__.co_argcount]
    with Broker.open(url, SETTINGS, clock) as broker:
        known = {"broker": broker, "me": broker.anonymous(), "clock": clock}
        test(**{name: known[name] for name in names})
        broker.verify()


def test_all_is_there_after_a_restart(url: str, clock: Clock, tmp_path: Path) -> None:
    for index in (None, tmp_path / "index"):
        settings = BrokerSettings(anonymous=ALL, secret=SECRET, index=index)
        with Broker.open(url, settings, clock) as broker:
            me = broker.anonymous()
            name = f"s-{index}"
            ticket = broker.subscribe(NewSubscription("a = 1", id=name), me).result().ticket
            broker.publish([Publication({"a": 1}), Publication({"a": 2})], me).result()
        with Broker.open(url, settings, clock) as broker:
            assert bodies(broker.read(name, me, ticket=ticket)) == [{"a": 1}]
            assert broker.stats()["tenants_rebuilt"] == (1 if index is None else 0)
            broker.verify()


def test_retention(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL, secret=SECRET, retention=100.0)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        ticket = broker.subscribe(NewSubscription("a > 0", id="s"), me).result().ticket
        broker.publish([Publication({"a": 1}), Publication({"a": 2})], me).result()
        clock.now += 200
        broker.keep_house().result()
        page = broker.read("s", me, ticket=ticket)
        assert page.gap is not None
        assert page.gap.count == 2
        assert broker.events(me) == []


def test_the_server_goes_away_and_comes_back(
    url: str, server: PostgresqlServer, clock: Clock
) -> None:
    with Broker.open(url, SETTINGS, clock) as broker:
        me = broker.anonymous()
        ticket = broker.subscribe(NewSubscription("a > 0", id="s"), me).result().ticket
        broker.publish([Publication({"a": 1}, id="1")], me).result()
        server.stop()
        try:
            with pytest.raises(UnavailableError):
                broker.publish([Publication({"a": 2}, id="2")], me).result()
            with pytest.raises(UnavailableError):
                broker.subscribe(NewSubscription("a > 0", id="t"), me).result()
            with pytest.raises(UnavailableError):
                broker.read("s", me, ticket=ticket)
            assert not broker.is_ready
        finally:
            server.start()

        def published() -> bool:
            try:
                return not broker.publish([Publication({"a": 2}, id="2")], me).result()[0].repeated
            except UnavailableError:
                return False

        eventually(published)
        assert broker.is_ready
        assert bodies(broker.read("s", me, ticket=ticket)) == [{"a": 1}, {"a": 2}]
        broker.verify()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_connection_is_lost_in_the_middle(
    url: str, server: PostgresqlServer, clock: Clock, moment: str
) -> None:
    """Before the commit nothing is there; after it, all is, although nobody was told."""
    with Broker.open(url, SETTINGS, clock) as broker:
        me = broker.anonymous()
        ticket = broker.subscribe(NewSubscription("a > 0", id="s"), me).result().ticket
        commit = broker._database.commit

        def lose() -> None:
            if moment == "after":
                commit()
            broker._database.commit = commit  # type: ignore[method-assign]
            with psycopg.connect(server.address, autocommit=True) as other:
                other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where pid <> pg_backend_pid() and backend_type = 'client backend'"
                )
            broker._database.execute("select 1")

        broker._database.commit = lose  # type: ignore[method-assign]
        new = broker.subscribe(NewSubscription("a > 0", id="t"), me)
        event = broker.publish([Publication({"a": 1}, id="1")], me)
        lost = [future for future in (new, event) if future.exception() is not None]
        assert lost
        broker.verify()
        [again] = broker.publish([Publication({"a": 1}, id="1")], me).result()
        assert bodies(broker.read("s", me, ticket=ticket)) == [{"a": 1}]
        if event in lost:
            assert again.repeated == (moment == "after")
        broker.verify()


def test_one_broker_at_a_time(url: str, clock: Clock) -> None:
    with (
        Broker.open(url, SETTINGS, clock),
        pytest.raises(StorageError, match="another broker"),
    ):
        Broker.open(url, SETTINGS, clock)
    with pytest.raises(StorageError, match="secret"):
        Broker.open(url, BrokerSettings(), clock)


def test_what_the_server_refuses_harms_nobody_else(url: str, clock: Clock) -> None:
    """A NUL that no check has found: the server takes none, but is well."""
    with Broker.open(url, SETTINGS, clock) as broker:
        wrong = KeyRequest("a\0b", "default", frozenset(), Quotas())
        bad = broker._writer.submit(broker._keys.create, wrong)
        good = broker.publish([Publication({"a": 1})], broker.anonymous())
        assert isinstance(bad.exception(), psycopg.DataError)
        assert len(good.result()) == 1
        assert broker.is_ready
