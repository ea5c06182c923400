"""The broker through its door: subscribe, publish, read, acknowledge."""

from __future__ import annotations

import pytest

from tamis.broker import Broker, BrokerSettings, Identity, NewSubscription, Publication
from tamis.errors import (
    AuthenticationError,
    ConflictError,
    DuplicateIdError,
    ForbiddenError,
    ParseError,
    TamisError,
    UnknownIdError,
)
from tests.broker.conftest import ALL, Clock, bodies


def test_an_event_reaches_the_subscriptions_that_it_matches(broker: Broker, me: Identity) -> None:
    cheap = broker.subscribe(NewSubscription("price < 5", id="cheap"), me).result()
    dear = broker.subscribe(NewSubscription("price >= 5"), me).result()
    events = [Publication({"price": price}, id=f"e{price}") for price in (3, 7, 4)]
    outcomes = broker.publish(events, me).result()
    assert [outcome.matched for outcome in outcomes] == [1, 1, 1]
    page = broker.read("cheap", me, ticket=cheap.ticket)
    assert bodies(page) == [{"price": 3}, {"price": 4}]
    assert [each.event.id for each in page.notifications if each.event] == ["e3", "e4"]
    assert not page.more
    assert page.gap is None
    first = page.notifications[0]
    assert broker.acknowledge("cheap", me, first.position, ticket=cheap.ticket).result()
    again = broker.read("cheap", me, ticket=cheap.ticket)
    assert again.notifications == page.notifications[1:]
    assert len(broker.read(dear.id, me, ticket=dear.ticket).notifications) == 1


def test_what_is_not_there_yet_cannot_be_acknowledged(broker: Broker, me: Identity) -> None:
    receipt = broker.subscribe(NewSubscription("price < 5", id="cheap"), me).result()
    with pytest.raises(TamisError, match="position 1000000 yet"):
        broker.acknowledge("cheap", me, 1_000_000, ticket=receipt.ticket).result()
    broker.publish([Publication({"price": 3})], me).result()
    assert len(broker.read("cheap", me, ticket=receipt.ticket).notifications) == 1


def test_tickets(broker: Broker, me: Identity) -> None:
    receipt = broker.subscribe(NewSubscription("a = 1"), me).result()
    for ticket in (None, "", "tt_wrong", receipt.ticket[:-1]):
        with pytest.raises(ForbiddenError):
            broker.unsubscribe(receipt.id, me, ticket=ticket)
        with pytest.raises(ForbiddenError):
            broker.read(receipt.id, me, ticket=ticket)
    broker.unsubscribe(receipt.id, me, ticket=receipt.ticket).result()
    with pytest.raises(UnknownIdError):
        broker.read(receipt.id, me, ticket=receipt.ticket)
    assert broker.publish([Publication({"a": 1})], me).result()[0].matched == 0


def test_a_lease_ends_to_the_second(broker: Broker, me: Identity, clock: Clock) -> None:
    receipt = broker.subscribe(NewSubscription("a = 1", lease=10), me).result()
    assert receipt.expires == clock.now + 10
    clock.now += 9.999
    assert broker.publish([Publication({"a": 1})], me).result()[0].matched == 1
    assert broker.renew(receipt.id, me, ticket=receipt.ticket).result() == clock.now + 10
    clock.now += 9.999
    assert broker.publish([Publication({"a": 1})], me).result()[0].matched == 1
    clock.now += 0.001
    assert broker.publish([Publication({"a": 1})], me).result()[0].matched == 0
    with pytest.raises(UnknownIdError):
        broker.renew(receipt.id, me, ticket=receipt.ticket)
    broker.subscribe(NewSubscription("a = 1", id=receipt.id), me).result()


def test_a_repeated_event_changes_nothing(broker: Broker, me: Identity) -> None:
    receipt = broker.subscribe(NewSubscription("a = 1"), me).result()
    one = Publication({"a": 1, "b": 2}, id="x", source="s")
    first = broker.publish([one, one], me).result()
    assert [each.matched for each in first] == [1, 1]
    again = broker.publish([Publication({"b": 2, "a": 1}, id="x", source="s")], me).result()[0]
    assert again.repeated
    assert again.matched == 1
    with pytest.raises(ConflictError):
        broker.publish(
            [Publication({"a": 2}, id="y"), Publication({"a": 2}, id="x", source="s")], me
        ).result()
    assert broker.publish([Publication({"a": 1}, id="y")], me).result()[0].repeated is False
    assert len(broker.read(receipt.id, me, ticket=receipt.ticket).notifications) == 2


def test_update_keeps_what_waits(broker: Broker, me: Identity) -> None:
    receipt = broker.subscribe(NewSubscription("a = 1"), me).result()
    broker.publish([Publication({"a": 1})], me).result()
    broker.update(receipt.id, me, ticket=receipt.ticket, subscription="a = 2").result()
    with pytest.raises(ParseError):
        broker.update(receipt.id, me, ticket=receipt.ticket, subscription="a = ")
    broker.publish([Publication({"a": 1}), Publication({"a": 2})], me).result()
    page = broker.read(receipt.id, me, ticket=receipt.ticket)
    assert bodies(page) == [{"a": 1}, {"a": 2}]
    broker.disable(receipt.id, me, ticket=receipt.ticket).result()
    assert broker.publish([Publication({"a": 2})], me).result()[0].matched == 0
    broker.enable(receipt.id, me, ticket=receipt.ticket).result()
    assert broker.publish([Publication({"a": 2})], me).result()[0].matched == 1


def test_an_idempotency_key(broker: Broker, me: Identity) -> None:
    new = NewSubscription("a = 1", idempotency_key="0123456789abcdef")
    first = broker.subscribe(new, me).result()
    again = broker.subscribe(new, me).result()
    assert again.repeated
    assert (again.id, again.ticket, again.expires) == (first.id, first.ticket, first.expires)
    assert broker.stats()["subscriptions"] == 1
    other = NewSubscription("a = 2", idempotency_key="0123456789abcdef")
    with pytest.raises(ConflictError):
        broker.subscribe(other, me).result()
    with pytest.raises(DuplicateIdError):
        broker.subscribe(NewSubscription("a = 2", id=first.id), me).result()


def test_keys_and_tenants(broker: Broker) -> None:
    key, stored = broker.create_key("mine", ["publish", "subscribe"], tenant="t1").result()
    other, _ = broker.create_key("other", ["publish", "subscribe"], tenant="t2").result()
    me, they = broker.identify(key), broker.identify(other)
    receipt = broker.subscribe(NewSubscription("a = 1", id="s"), me).result()
    assert broker.publish([Publication({"a": 1})], they).result()[0].matched == 0
    assert broker.publish([Publication({"a": 1})], me).result()[0].matched == 1
    assert len(broker.read("s", me).notifications) == 1  # the owner's key is enough
    with pytest.raises(UnknownIdError):
        broker.read("s", they)
    assert [each.id for each in broker.subscriptions(me)] == [receipt.id]
    assert broker.subscriptions(they) == []
    assert broker.subscriptions(me, search="A =")
    assert not broker.subscriptions(me, search="b =")
    broker.revoke_key(stored.number, tenant="t1").result()
    with pytest.raises(AuthenticationError):
        broker.identify(key)
    reader, _ = broker.create_key("reader", ["subscribe"]).result()
    with pytest.raises(ForbiddenError):
        broker.publish([Publication({"a": 1})], broker.identify(reader))


def test_all_is_there_after_a_restart(url: str, clock: Clock) -> None:
    settings = BrokerSettings(anonymous=ALL)
    with Broker.open(url, settings, clock) as broker:
        me = broker.anonymous()
        receipts = [
            broker.subscribe(NewSubscription(f"a = {n}", id=f"s{n}"), me).result() for n in range(5)
        ]
        broker.disable("s3", me, ticket=receipts[3].ticket).result()
        broker.publish([Publication({"a": n % 5}) for n in range(10)], me).result()
        first = broker.read("s1", me, ticket=receipts[1].ticket)
        broker.acknowledge(
            "s1", me, first.notifications[0].position, ticket=receipts[1].ticket
        ).result()
    with Broker.open(url, settings, clock) as broker:
        page = broker.read("s1", me, ticket=receipts[1].ticket)
        assert page.notifications == first.notifications[1:]
        outcomes = broker.publish([Publication({"a": n}) for n in range(5)], me).result()
        assert [each.matched for each in outcomes] == [1, 1, 1, 0, 1]
        later = broker.read("s1", me, ticket=receipts[1].ticket)
        assert [each.position for each in later.notifications] == sorted(
            each.position for each in later.notifications
        )
        assert len(later.notifications) == 2


def test_listeners_hear_of_news(broker: Broker, me: Identity) -> None:
    receipt = broker.subscribe(NewSubscription("a = 1"), me).result()
    heard: list[int] = []
    end = broker.listen(receipt.id, me, lambda: heard.append(1), ticket=receipt.ticket)
    broker.publish([Publication({"a": 2})], me).result()
    assert heard == []
    broker.publish([Publication({"a": 1})], me).result()
    assert heard == [1]
    end()
    broker.publish([Publication({"a": 1})], me).result()
    assert heard == [1]
