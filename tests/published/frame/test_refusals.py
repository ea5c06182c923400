"""Of many subscriptions, those that an index refuses are found, and the others go in."""

from __future__ import annotations

from typing import Any

import pytest

import tamis
from tamis import Algorithm
from tamis.errors import LimitError
from tamis.matching.covers.covers import cover_of
from tamis.published.frame.loading import PublishedLoad
from tamis.published.frame.matcher import PublishedMatcher

TEXTS = [
    "a < 5",
    "a < 5 and b > 3 and c = 1",
    "a between 1 and 7 and b between 2 and 9 and c between 3 and 4 and d < 8",
    "event_type contains 'toys' and e = 1",
    "a > 2 and d between 1 and 2 and b = 6 and c between 2 and 5 and e > 3",
    "a > 1 and b is present",
    "b in (1, 2, 3) and c in (4, 5) and d in (6, 7, 8)",
    "a = 1 or b = 1 or c = 1",
    "e = 1",
]
FIRST = 1
"""The slot of the first of them."""


def gough(nodes: int) -> PublishedMatcher:
    engine = tamis.Engine(matcher=Algorithm("gough", nodes=nodes))
    engine.subscribe("a = 3", id="there")
    matcher = engine.subscriptions.index.matcher
    assert isinstance(matcher, PublishedMatcher)
    return matcher


def load_into(matcher: PublishedMatcher, texts: dict[int, str]) -> PublishedLoad:
    load = matcher.load()
    for slot, text in texts.items():
        load.add(slot, cover_of(tamis.parse(text)))
    return load


@pytest.mark.parametrize("nodes", [5, 20, 60, 150])
def test_the_refused_are_those_that_do_not_go_in_after_those_before_them(nodes: int) -> None:
    texts = dict(enumerate(TEXTS, FIRST))
    matcher = gough(nodes)
    load = load_into(matcher, texts)
    with pytest.raises(LimitError):
        load.install()
    refused = load.refusals()
    one_by_one = gough(nodes)
    expected = []
    for slot, text in texts.items():
        try:
            load_into(one_by_one, {slot: text}).install()
        except LimitError:
            expected.append(slot)
    assert 0 < len(refused) < len(TEXTS)
    assert sorted(refused) == expected
    load.install(refused)
    event: dict[str, Any] = {"a": 4, "b": 6, "c": 1, "d": 2, "e": 1, "event_type": "toys"}
    found = matcher.match(tamis.Event(event)).slots
    assert sorted(found) == sorted(one_by_one.match(tamis.Event(event)).slots)
    assert {*found}.isdisjoint(refused)


def test_what_is_gone_is_not_asked_about() -> None:
    matcher = gough(20)
    load = load_into(matcher, dict(enumerate(TEXTS, FIRST)))
    refused = load.refusals()
    assert load.refusals(refused) == {}
    some = max(refused)
    assert some not in load.refusals([some])


def test_asking_changes_nothing() -> None:
    matcher = gough(20)
    before = matcher.stats()
    load_into(matcher, dict(enumerate(TEXTS, FIRST))).refusals()
    assert matcher.stats() == before


def test_an_index_without_a_limit_refuses_nothing() -> None:
    engine = tamis.Engine(matcher="naive")
    matcher = engine.subscriptions.index.matcher
    assert isinstance(matcher, PublishedMatcher)
    assert load_into(matcher, dict(enumerate(TEXTS))).refusals() == {}
