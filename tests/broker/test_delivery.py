"""Retention and gaps, warnings of leases, pairs that operators left open, dry runs, quotas."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.broker import (
    Broker,
    BrokerSettings,
    Gap,
    Identity,
    NewSubscription,
    Publication,
    Quotas,
    Role,
)
from tamis.broker.keys import KeyRequest
from tamis.errors import (
    AuthenticationError,
    BusyError,
    ForbiddenError,
    LimitError,
    QuotaError,
    SubscriptionError,
    TamisError,
    UnavailableError,
    UnknownIdError,
)
from tamis.graphs.term_syntax import parse_triples
from tests.broker.conftest import ALL, Clock, bodies


def test_retention_by_age_reports_the_gap(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL, retention=100.0, lease=10_000.0)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        receipt = broker.subscribe(NewSubscription("a > 0", id="s"), me).result()
        ticket = receipt.ticket
        broker.publish([Publication({"a": n}) for n in (1, 2, 3)], me).result()
        old = broker.read("s", me, ticket=ticket).notifications
        clock.now += 60
        broker.publish([Publication({"a": 4})], me).result()
        clock.now += 60
        broker.keep_house().result()
        page = broker.read("s", me, ticket=ticket)
        assert bodies(page) == [{"a": 4}]
        assert page.gap == Gap(3, old[-1].position)
        assert broker.read("s", me, ticket=ticket, after=old[-1].position).gap is None
        broker.acknowledge("s", me, page.position, ticket=ticket).result()
        assert broker.read("s", me, ticket=ticket).gap is None
        assert broker.stats()["pending"] == 0
        assert len(broker.events(me)) == 1
    with Broker.open(url, settings, clock) as broker:
        assert broker.read("s", me, ticket=ticket).notifications == []


def test_retention_by_size(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL, retention_bytes=1_000)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        receipt = broker.subscribe(NewSubscription("a > 0", id="s"), me).result()
        broker.publish([Publication({"a": n, "text": "x" * 80}) for n in range(1, 21)], me).result()
        broker.keep_house().result()
        assert broker.stats()["event_bytes"] <= 1_000
        page = broker.read("s", me, ticket=receipt.ticket)
        assert page.gap is not None
        assert page.gap.count + len(page.notifications) == 20
        assert bodies(page)[-1]["a"] == 20
        assert len(page.notifications) == 10


def test_housekeeping_goes_on_until_all_is_done(url: str, clock: Clock) -> None:
    settings = BrokerSettings(
        anonymous=ALL, retention=100.0, warning=40.0, lease=200.0, housekeeping=3_600.0
    )
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        made = [broker.subscribe(NewSubscription("a = 0", id=f"s{n}"), me) for n in range(2_500)]
        ticket = made[-1].result().ticket
        broker.publish([Publication({"a": n}) for n in range(4_500)], me).result()
        clock.now += 170.0
        assert broker.keep_house().result(), "2,000 events go, and 1,000 are warned"
        while broker.keep_house().result():
            pass
        assert broker.events(me) == []
        assert broker.stats()["event_bytes"] == 0
        page = broker.read("s2499", me, ticket=ticket)
        assert [each.kind for each in page.notifications] == ["expiring"]
        clock.now += 40.0
        assert broker.keep_house().result()
        assert broker.stats()["subscriptions"] == 500
        assert not broker.keep_house().result()
        assert broker.stats()["subscriptions"] == 0


def test_a_page_has_only_so_many_bytes(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL, page_bytes=10_000)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        ticket = broker.subscribe(NewSubscription("n >= 0", id="s"), me).result().ticket
        for n, size in enumerate((4_000, 4_000, 4_000, 50_000, 50_000, 10)):
            broker.publish([Publication({"n": n, "text": "x" * size})], me).result()
        seen, after = [], 0
        while True:
            page = broker.read("s", me, ticket=ticket, after=after)
            seen.append([each["n"] for each in bodies(page)])
            after = page.position
            if not page.more:
                break
        assert seen == [[0, 1], [2], [3], [4], [5]]


def test_a_slow_consumer_loses_only_its_own(url: str, clock: Clock) -> None:
    with Broker.open(url, BrokerSettings(anonymous=ALL, queue=5), clock) as broker:
        me = broker.anonymous()
        slow = broker.subscribe(NewSubscription("a > 0", id="slow"), me).result().ticket
        rare = broker.subscribe(NewSubscription("a = 1", id="rare"), me).result().ticket
        broker.publish([Publication({"a": n}) for n in range(1, 13)], me).result()
        last = broker.read("slow", me, ticket=slow).notifications[6].position
        broker.keep_house().result()
        page = broker.read("slow", me, ticket=slow)
        assert [each["a"] for each in bodies(page)] == [8, 9, 10, 11, 12]
        assert page.gap == Gap(7, last)
        assert bodies(broker.read("rare", me, ticket=rare)) == [{"a": 1}]
        broker.acknowledge("slow", me, page.position, ticket=slow).result()
        assert broker.read("slow", me, ticket=slow).gap is None


@pytest.mark.parametrize("seed", range(3))
def test_what_waits_is_counted(url: str, clock: Clock, seed: int) -> None:
    """However notifications come and go, the count is what all subscriptions may still read."""
    rng = random.Random(seed)
    settings = BrokerSettings(
        anonymous=ALL, retention=50.0, queue=20, lease=10_000.0, housekeeping=1e6
    )
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        tickets: dict[str, str] = {}
        for step in range(120):
            futures: list[Any] = []
            for _ in range(rng.randrange(1, 5)):  # some of them in one transaction
                id = rng.choice([*tickets, "none"])
                match rng.randrange(6):
                    case 0:
                        name = f"s{step}-{len(tickets)}-{rng.random()}"
                        new = NewSubscription(f"a >= {rng.randrange(5)}", id=name)
                        tickets[name] = broker.subscribe(new, me).result().ticket
                    case 1 if id in tickets and len(tickets) > 2:
                        futures.append(broker.unsubscribe(id, me, ticket=tickets.pop(id)))
                    case 2 if id in tickets:
                        page = broker.read(id, me, ticket=tickets[id], limit=rng.randrange(1, 20))
                        position = page.position
                        futures.append(broker.acknowledge(id, me, position, ticket=tickets[id]))
                    case 3:
                        clock.now += rng.randrange(10)
                        futures.append(broker.keep_house())
                    case _:
                        events = [Publication({"a": rng.randrange(6)}) for _ in range(9)]
                        futures.append(broker.publish(events, me))
            for future in futures:
                future.result()
            pages = [
                broker.read(id, me, ticket=ticket, limit=1_000) for id, ticket in tickets.items()
            ]
            assert not any(page.more for page in pages)
            waiting = sum(len(page.notifications) for page in pages)
            many = sum(len(page.notifications) > 10 for page in pages)
            assert broker._state.count_slow(10) == many
            assert broker.stats()["pending"] == waiting
    with Broker.open(url, settings, clock) as broker:
        assert broker.stats()["pending"] == waiting


def test_acknowledged_notifications_do_not_crowd_out_others(url: str, clock: Clock) -> None:
    """Only those that wait count towards the limit of all that may wait."""
    settings = BrokerSettings(anonymous=ALL, retention_pending=100)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        quick = broker.subscribe(NewSubscription("a > 0", id="quick"), me).result().ticket
        rare = broker.subscribe(NewSubscription("a = 1", id="rare"), me).result().ticket
        for first in range(1, 2_000, 50):
            broker.publish([Publication({"a": first + n}) for n in range(50)], me).result()
            page = broker.read("quick", me, ticket=quick)
            broker.acknowledge("quick", me, page.position, ticket=quick).result()
            broker.keep_house().result()
        assert bodies(broker.read("rare", me, ticket=rare)) == [{"a": 1}]
        assert len(broker._state.queues) < 1_200, "what was acknowledged goes"


def test_acknowledged_notifications_are_not_lost(url: str, clock: Clock) -> None:
    with Broker.open(url, BrokerSettings(anonymous=ALL, retention=100.0), clock) as broker:
        me = broker.anonymous()
        receipt = broker.subscribe(NewSubscription("a > 0", id="s"), me).result()
        broker.publish([Publication({"a": 1})], me).result()
        page = broker.read("s", me, ticket=receipt.ticket)
        broker.acknowledge("s", me, page.position, ticket=receipt.ticket).result()
        clock.now += 200
        broker.keep_house().result()
        assert broker.read("s", me, ticket=receipt.ticket).gap is None


def test_a_lease_is_warned_of_once(url: str, clock: Clock) -> None:
    with Broker.open(url, BrokerSettings(anonymous=ALL, warning=60.0), clock) as broker:
        me = broker.anonymous()
        receipt = broker.subscribe(NewSubscription("a > 0", id="s", lease=1_000), me).result()
        broker.keep_house().result()
        assert not broker.read("s", me, ticket=receipt.ticket).notifications
        clock.now += 950
        broker.keep_house().result()
        broker.keep_house().result()
        [warning] = broker.read("s", me, ticket=receipt.ticket).notifications
        assert warning.kind == "expiring"
        assert warning.event is None
        broker.renew("s", me, ticket=receipt.ticket).result()
        clock.now += 950
        broker.keep_house().result()
        assert len(broker.read("s", me, ticket=receipt.ticket).notifications) == 2


def test_expired_subscriptions_are_removed(broker: Broker, me: Identity, clock: Clock) -> None:
    for n in range(20):
        broker.subscribe(NewSubscription(f"a = {n}", lease=10 + n), me).result()
    clock.now += 20
    broker.keep_house().result()
    assert broker.stats()["subscriptions"] == 9
    broker.verify()


def test_pairs_that_an_operator_left_open_are_tried_again(url: str, clock: Clock) -> None:
    is_broken = True

    def near(event: Any, place: str) -> bool:
        if is_broken:
            raise RuntimeError("no map today")
        return place == "Bronx"

    settings = BrokerSettings(anonymous=ALL, operators={"near": near}, retry=10.0)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        tickets = {}
        for id, place in (("in", "Bronx"), ("out", "Rome")):
            new = NewSubscription(f"a = 1 and near('{place}')", id=id)
            tickets[id] = broker.subscribe(new, me).result().ticket
        outcome = broker.publish([Publication({"a": 1}, id="e")], me).result()[0]
        assert (outcome.matched, outcome.incomplete) == (0, 2)
        [pair] = broker.undecided(me, "in", ticket=tickets["in"])
        assert (pair.subscription, pair.event.id, pair.tries) == ("in", "e", 1)
        assert "no map today" in pair.reason
        assert broker.retry_undecided() == 0  # not due yet
        clock.now += 11
        assert broker.retry_undecided() == 2
        assert broker.undecided(me, "in", ticket=tickets["in"])[0].tries == 2
        is_broken = False
        clock.now += 100
        assert broker.retry_undecided() == 2
        assert broker.undecided(me, "in", ticket=tickets["in"]) == []
        assert bodies(broker.read("in", me, ticket=tickets["in"])) == [{"a": 1}]
        assert bodies(broker.read("out", me, ticket=tickets["out"])) == []
        again = broker.publish([Publication({"a": 1}, id="e")], me).result()[0]
        assert (again.matched, again.incomplete, again.repeated) == (1, 0, True)


def test_operators_must_be_allowed_and_bindings_arrive(url: str, clock: Clock) -> None:
    def distance(event: Any, place: str, d: Any) -> list[int]:
        return [5]

    with (
        Broker.open(url, BrokerSettings(anonymous=ALL), clock) as broker,
        pytest.raises((ForbiddenError, SubscriptionError)),
    ):
        broker.subscribe(NewSubscription("a = 1 and exec('rm')"), broker.anonymous())
    settings = BrokerSettings(anonymous=ALL, operators={"near": distance}, quotas=Quotas(calls=1))
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        new = NewSubscription("a = 1 and near('Bronx', ?d) and ?d < 10", id="s")
        ticket = broker.subscribe(new, me).result().ticket
        broker.publish([Publication({"a": 1})], me).result()
        [found] = broker.read("s", me, ticket=ticket).notifications
        assert found.bindings == {"d": 5}
        with pytest.raises(QuotaError):
            broker.subscribe(NewSubscription("near('a', ?d) and near('b', ?d)"), me)
        key, _ = broker.create_key("k", ["subscribe"], quotas=Quotas(cost=0.5)).result()
        with pytest.raises(QuotaError, match="seconds"):  # it declares no cost
            broker.subscribe(new, broker.identify(key))
        with pytest.raises(QuotaError, match="seconds"):
            broker.dry_run(new.subscription, broker.identify(key))


def test_dry_run(broker: Broker, me: Identity) -> None:
    broker.publish([Publication({"price": price}, id=str(price)) for price in (1, 7)], me).result()
    found = broker.dry_run("price < 5", me)
    assert [(each.event.id, each.matches) for each in found] == [("7", False), ("1", True)]
    assert "price < 5" in str(found[0].explanation)
    assert broker.stats()["subscriptions"] == 0
    key, _ = broker.create_key("elsewhere", ["subscribe"], tenant="other").result()
    assert broker.dry_run("price < 5", broker.identify(key)) == []
    key, _ = broker.create_key("publisher", ["publish"]).result()
    with pytest.raises(ForbiddenError):
        broker.dry_run("price < 5", broker.identify(key))


def test_a_dry_run_has_an_end(url: str, clock: Clock) -> None:
    tried: list[int] = []

    def slow(event: Any) -> bool:
        tried.append(1)
        return True

    settings = BrokerSettings(anonymous=ALL, operators={"slow": slow}, dry_run=0.0)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        broker.publish([Publication({"a": n}) for n in range(3)], me).result()
        with pytest.raises(LimitError, match="0 of 3 events"):
            broker.dry_run("a >= 0 and slow()", me)
        assert not tried
    with Broker.open(url, replace(settings, dry_run=1_000.0, dry_run_size=40), clock) as broker:
        assert len(broker.dry_run("a >= 0", me)) == 3
        with pytest.raises(LimitError, match="times the events"):
            broker.dry_run("a >= 0 and a < 10000", me)
        assert len(broker.dry_run("a >= 0 and a < 10000", me, last=2)) == 2


def test_quotas(broker: Broker) -> None:
    quotas = Quotas(subscriptions=2)
    key, _ = broker.create_key("small", ["subscribe"], quotas=quotas).result()
    me = broker.identify(key)
    for n in range(2):
        broker.subscribe(NewSubscription(f"a = {n}", id=f"s{n}"), me).result()
    with pytest.raises(QuotaError):
        broker.subscribe(NewSubscription("a = 3"), me).result()
    broker.unsubscribe("s0", me).result()
    broker.subscribe(NewSubscription("a = 3"), me).result()


def test_quotas_hold_whoever_has_the_ticket(url: str, clock: Clock) -> None:
    settings = BrokerSettings(operators={"odd": lambda n: n % 2 == 1})
    with Broker.open(url, settings, clock) as broker:
        key, _ = broker.create_key("k", ["subscribe"], quotas=Quotas(calls=0)).result()
        me, nobody = broker.identify(key), broker.anonymous()
        ticket = broker.subscribe(NewSubscription("a = 1", id="s"), me).result().ticket
        for by, shown in ((me, None), (nobody, ticket)):
            with pytest.raises(QuotaError):
                broker.update("s", by, ticket=shown, subscription="odd(3)")
        broker.revoke_key(me.key).result()
        with pytest.raises(QuotaError):
            broker.update("s", nobody, ticket=ticket, subscription="odd(3)")


def test_a_count_of_subscriptions_survives_what_failed(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = broker.create_key("k", ["subscribe"], quotas=Quotas(subscriptions=2)).result()
    me = broker.identify(key)
    broker.subscribe(NewSubscription("a = 1", id="one"), me).result()
    with monkeypatch.context() as patch:
        patch.setattr(broker._database, "commit", _fail)
        with pytest.raises(UnavailableError):
            broker.subscribe(NewSubscription("a = 2", id="lost"), me).result()
    broker.subscribe(NewSubscription("a = 2", id="two"), me).result()
    with pytest.raises(QuotaError):
        broker.subscribe(NewSubscription("a = 3"), me).result()


def _fail() -> None:
    raise UnavailableError("the disk is full")


def test_a_revoked_key_is_of_no_use(broker: Broker) -> None:
    key, stored = broker.create_key("k", ["subscribe"]).result()
    assert broker.known(key) is None
    assert broker.identify(key) == broker.known(key) == broker.identify_number(stored.number)
    broker.revoke_key(stored.number).result()
    assert broker.known(key) is None
    for look in (lambda: broker.identify(key), lambda: broker.identify_number(stored.number)):
        with pytest.raises(AuthenticationError):
            look()


def test_pages_of_subscriptions(broker: Broker) -> None:
    key, _ = broker.create_key("k", ["subscribe"]).result()
    admin, _ = broker.create_key("root", [Role.ADMIN]).result()
    me = broker.identify(key)
    for n in range(7):
        broker.subscribe(NewSubscription(f"a_b = {n}", id=f"s{n}"), me).result()
    seen: list[str] = []
    after = 0
    while page := broker.subscriptions(me, after=after, limit=3):
        seen += [each.id for each in page]
        after = page[-1].number
    assert seen == [f"s{n}" for n in range(7)]
    assert [each.id for each in broker.subscriptions(me, search="A_B = 3")] == ["s3"]
    assert broker.subscriptions(me, search="a%b") == []
    root = broker.identify(admin)
    assert len(broker.subscriptions(root)) == 7
    assert not broker.subscriptions(root)[0].mine
    with pytest.raises(ForbiddenError):
        broker.subscriptions(broker.anonymous())


def test_bounded_queues_are_busy(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL, waiting_events=100, batch=80)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        events = [Publication({"a": n}) for n in range(80)]
        futures = []
        with pytest.raises(BusyError) as error:
            for _ in range(1_000):
                futures.append(broker.publish(events, me))
        assert error.value.retry_after > 0
        assert all(len(future.result()) == 80 for future in futures)
        with pytest.raises(LimitError):
            broker.publish(events * 2, me)
        heavy = [Publication({"a": "x" * 1_000_000})]
        with pytest.raises(BusyError):
            for _ in range(1_000):
                broker.publish(heavy, me)


def test_backup(broker: Broker, me: Identity, tmp_path: Path, clock: Clock) -> None:
    ticket = broker.subscribe(NewSubscription("a = 1", id="s"), me).result().ticket
    broker.publish([Publication({"a": 1})], me).result()
    broker.backup(tmp_path / "copy.db")
    secret = (tmp_path / "broker.db.key").read_bytes()
    settings = BrokerSettings(anonymous=ALL, secret=secret)
    with Broker.open(f"sqlite:///{tmp_path / 'copy.db'}", settings, clock) as copy:
        assert bodies(copy.read("s", me, ticket=ticket)) == [{"a": 1}]
        copy.verify()
    for name in ("broker.db", "broker.db-wal", "broker.db.key", "broker.db.index", "copy.db"):
        if (place := tmp_path / name).exists():
            assert not place.stat().st_mode & 0o077, f"others may read {name}"


def test_graphs(broker: Broker, me: Identity) -> None:
    new = NewSubscription("{ ?item <http://x/by> ?who }", id="s")
    ticket = broker.subscribe(new, me).result().ticket
    graph = list(parse_triples('<http://x/a> <http://x/by> "Ren\\u00e9 \\"R\\"\\n"@fr .'))
    broker.publish([Publication({"a": 1}, graph=graph), Publication({"a": 1})], me).result()
    [found] = broker.read("s", me, ticket=ticket).notifications
    assert found.event is not None
    assert list(parse_triples(found.event.graph or "")) == graph
    assert broker.dry_run("{ ?item <http://x/by> ?who }", me)[1].matches


def test_an_undecided_event_sees_the_text_that_was_there(url: str, clock: Clock) -> None:
    is_broken = True

    def near(event: Any, place: str) -> bool:
        if is_broken:
            raise RuntimeError("no map today: \0 \ud800")
        return True

    settings = BrokerSettings(anonymous=ALL, operators={"near": near}, retry=10.0)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        tickets = {}
        for id, number in (("was", 1), ("is", 2)):
            new = NewSubscription(f"a = {number} and near('Bronx')", id=id)
            tickets[id] = broker.subscribe(new, me).result().ticket
        broker.publish([Publication({"a": 1})], me).result()
        for id, number in (("was", 2), ("is", 1), ("was", 3)):
            text = f"a = {number} and near('Bronx')"
            broker.update(id, me, ticket=tickets[id], subscription=text).result()
        [pair] = broker.undecided(me, "was", ticket=tickets["was"])
        assert "no map today" in pair.reason
        is_broken = False
        clock.now += 11
        assert broker.retry_undecided() == 1
        assert bodies(broker.read("was", me, ticket=tickets["was"])) == [{"a": 1}]
        assert bodies(broker.read("is", me, ticket=tickets["is"])) == []


def test_what_a_store_cannot_keep_harms_nobody_else(broker: Broker, me: Identity) -> None:
    ticket = broker.subscribe(NewSubscription("a = 1", id="s"), me).result().ticket
    for text in ("\0", "\ud800"):
        with pytest.raises(TamisError):
            broker.subscribe(NewSubscription("a = 1", id=text), me)
        with pytest.raises(TamisError):
            broker.subscribe(NewSubscription(f"a = '{text}'"), me)
        with pytest.raises(TamisError):
            broker.publish([Publication({"a": 1}, id=text)], me)
        with pytest.raises(TamisError):
            broker.publish([Publication({"a": 1}, source=text)], me)
        with pytest.raises(UnknownIdError):
            broker.read(text, me, ticket=ticket)
    graph = list(parse_triples('<http://x/a> <http://x/b> "\\u0000\\u2028" .'))
    broker.publish([Publication({"a": 1}, graph=graph)], me).result()
    [found] = broker.read("s", me, ticket=ticket).notifications
    assert found.event is not None
    assert list(parse_triples(found.event.graph or "")) == graph
    assert broker.dry_run("a = 1", me)[0].matches
    # If something came through nonetheless, only its own request fails.
    wrong = KeyRequest("\ud800", "default", frozenset(), Quotas())
    bad = broker._writer.submit(broker._keys.create, wrong)
    good = broker.publish([Publication({"a": 1})], me)
    assert not isinstance(bad.exception(), TamisError | None)
    assert good.result()[0].matched == 1
    assert broker.is_ready
    broker.verify()
