"""One event against subscriptions that are more than boxes, all of them in segments."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tests.matching.segments.live_changes import snapshot_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]

SUBSCRIPTIONS = (
    "tags contains 'a'",
    "not tags contains 'a'",
    "tags contains 'a' and tags contains 'b'",
    "tags contains 'a' and n < 2",
    "tags contains 1",
    "tags is present and t like '%ab%'",
    "t like '%ab%'",
    "t like '%ab%' or tags contains 'b'",
    "t like '%ab%b%' and n = 1",
    "not t like '%ab%'",
    "t like '%AB%' ignoring case",
    "t contains text 'ba'",
    "t contains text 'ba' and t contains text 'aa'",
    "t contains text 'ba' and not n = 1",
    "t contains text 'Ba' ignoring case",
    "t matches 'a.?b' and n in (0, 1)",
    "t matches '^[ab]+$'",
    "t ends with 'b' and tags contains 'b'",
    "t = 'ab' and tags contains 'c'",
    "n < m",
    "n < m and t like '%a%'",
    "n + m > 2 and tags contains 'b'",
    "items.name like '%a%' and items.n = 1",
    "items.name contains text 'b'",
    "items.n is present and tags contains 'b'",
    "items is missing and t like '%b%'",
)


def engine_of(*several: str, matcher: str = "sieve") -> tamis.Engine:
    engine = tamis.Engine(matcher=matcher)
    engine.subscribe_many({text: text for text in several})
    engine.settle(60)
    return engine


@cache
def scan() -> tamis.Engine:
    return engine_of(*SUBSCRIPTIONS, matcher="scan")


@cache
def sieves() -> list[tamis.Engine]:
    """All subscriptions together, and each alone, so that other attributes have no axis."""
    made = [engine_of(*SUBSCRIPTIONS), *map(engine_of, SUBSCRIPTIONS)]
    assert not any(view.boxes for each in made for view in snapshot_of(each).lives)
    return made


texts = st.text(alphabet="abAB", max_size=5)
numbers = st.integers(0, 2)
items = st.fixed_dictionaries({}, optional={"name": texts, "n": numbers})


def one_or_several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | values | st.lists(values, max_size=3)


events = st.fixed_dictionaries(
    {},
    optional={
        "tags": one_or_several(st.sampled_from(["a", "b", "c", 1, 2])),
        "t": one_or_several(texts | numbers),
        "n": one_or_several(numbers),
        "m": numbers,
        "items": one_or_several(items),
    },
)


@given(event=events)
def test_one_event_matches_what_the_oracle_says(event: Any) -> None:
    together, *alone = (engine.match(event) for engine in sieves())
    expected = sorted(scan().match(event))
    assert sorted(together) == expected
    assert sorted(id for found in alone for id in found) == expected


def test_what_is_gone_does_not_match() -> None:
    engine = tamis.Engine()
    for number in range(3):
        engine.subscribe("tags contains 'a'", id=f"list{number}")
        engine.subscribe("t like '%ab%b%'", id=f"text{number}")
    engine.settle(60)
    event = {"tags": ["a"], "t": "xabxb"}
    assert len(engine.match(event)) == 6
    engine.unsubscribe("list1")
    engine.unsubscribe("text2")
    assert sorted(engine.match(event)) == ["list0", "list2", "text0", "text1"]
