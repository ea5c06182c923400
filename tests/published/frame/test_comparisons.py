"""Attribute against attribute, for an index that takes such predicates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis import Algorithm
from tamis.matching.covers.covers import cover_of
from tamis.published import naive
from tamis.published.boxes import BoxTable
from tamis.published.frame import matcher as matcher_module
from tamis.published.naive import Naive
from tests.contract.arrow import table_of
from tests.contract.naive import naive_match

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, without the JIT
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
]


class Comparing(Naive):
    """An index that wants to know what its axes compare."""

    takes_comparisons = True

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table)
        self.compared: dict[int, tuple[str, str, str]] = {}

    def compare(self, axis: int, left: str, comparison: str, right: str) -> None:
        self.compared[axis] = left, comparison, right


@pytest.fixture(scope="module", autouse=True)
def comparing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive, "Naive", Comparing)
        yield


def state_of(engine: tamis.Engine) -> Any:
    return engine.subscriptions.index.matcher._state  # type: ignore[attr-defined]


def test_a_comparison_is_a_predicate() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("bid > reserve and item = 'oak'", id="x")
    engine.subscribe("bid > reserve or not bid > reserve", id="y")
    state = state_of(engine)
    assert state.is_plain
    assert list(state.parts[0].index.compared.values()) == [
        ("bid", ">", "reserve"),
        ("bid", "not >", "reserve"),
    ]
    assert sorted(engine.match({"bid": 2, "reserve": 1, "item": "oak"})) == ["x", "y"]
    assert engine.match({"bid": 1, "reserve": 1, "item": "oak"}) == ["y"]
    assert engine.match({"bid": 1, "reserve": "1", "item": "oak"}) == []
    assert engine.match({"bid": 1, "compared: bid > reserve": 1}) == []
    assert engine.attributes() == frozenset({"bid", "reserve", "item"})


NAMES = ["a", "b", "c"]


def texts() -> st.SearchStrategy[str]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    names = st.sampled_from(NAMES)
    compared = st.builds("{} {} {}".format, names, operators, names)
    compared |= compared.map("not ({})".format)
    others = st.sampled_from(
        ["a = 1", "b > 0", "c = 'x'", "a like '%_x%'", "event_type contains 't'"]
    )
    conjunction = st.lists(compared | others, min_size=1, max_size=3).map(" and ".join)
    return st.lists(conjunction.map("({})".format), min_size=1, max_size=2).map(" or ".join)


def events() -> st.SearchStrategy[dict[str, Any]]:
    value = st.sampled_from(
        [0, 1, 1.0, 2**53, 2**53 + 1, float(2**53), "x", "ax", True, float("nan")]
    )
    types = {"event_type": st.sampled_from(["t", "u"])}
    some = {name: value | st.lists(value, max_size=2) for name in NAMES}
    return st.fixed_dictionaries({}, optional={**some, **types})


@given(
    several=st.lists(texts(), min_size=1, max_size=5),
    rows=st.lists(events(), min_size=1, max_size=3),
    way=st.sampled_from(["structures", "names"]),
    bulk=st.booleans(),
)
def test_comparisons_are_exact(
    several: list[str], rows: list[dict[str, Any]], way: str, bulk: bool
) -> None:
    expressions = {str(number): tamis.parse(text) for number, text in enumerate(several)}
    engine = tamis.Engine(matcher=Algorithm("naive", types=way))
    if bulk:
        load = engine.subscriptions.index.matcher.load()
        for number, one in enumerate(expressions.values()):
            load.add(number, cover_of(one))
            engine.subscriptions.index.store.add(
                str(number), engine.subscriptions.index.store.reserve(str(number), str(one))
            )
        load.install()
    else:
        for id, one in expressions.items():
            engine.subscribe(one, id=id)
    for row, event in enumerate(rows):
        expected = [id for id, one in expressions.items() if naive_match(one, event, {})]
        assert sorted(engine.match(event)) == expected
        assert sorted(engine.match_batch([{}, event]).ids()) == expected
        table = table_of(event)
        if table is not None:
            assert sorted(engine.match_batch(table).ids()) == expected, row


def test_lists_on_either_side() -> None:
    engine = tamis.Engine(matcher="neon")
    engine.subscribe("a != b", id="x")
    for event in ({"a": 1, "b": [0]}, {"a": [0, 1], "b": 0}, {"a": [1], "b": [1, 2]}):
        assert engine.match(event) == ["x"]
    assert engine.match({"a": 1, "b": [1]}) == []


def test_columns_that_cannot_be_compared_are_read() -> None:
    engine = tamis.Engine(matcher="naive")
    engine.subscribe("a < b", id="x")
    moments = [datetime(2026, 1, 1), datetime(2026, 1, 2), None]
    table = pa.table(
        {
            "a": pa.array(moments, pa.timestamp("us")),
            "b": pa.array([datetime(2026, 1, 2)] * 3, pa.timestamp("s")),
        }
    )
    assert list(engine.match_batch(table).pairs()) == [(0, "x")]
    table = pa.table({"a": [2**53, 2**53 + 1, 5], "b": [2.0**53 + 2, 2.0**53, 6.0]})
    assert list(engine.match_batch(table).pairs()) == [(0, "x"), (2, "x")]


def test_comparisons_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_module, "CHANGES", 8)
    engine = tamis.Engine(matcher="naive")
    for number in range(60):
        engine.subscribe(f"a{number} < b{number} and c = {number}", id=f"s{number}")
        if number >= 5:
            engine.unsubscribe(f"s{number - 5}")
        event = {f"a{number}": 1, f"b{number}": 2, "c": number}
        assert engine.match(event) == [f"s{number}"]
        assert engine.match_batch([event]).ids() == [f"s{number}"]
    for number in range(1_300):
        engine.subscribe(f"a < b and c = {number}", id="changing", replace=True)
    state = state_of(engine)
    assert engine.match({"a": 1, "b": 2, "c": 1_299}) == ["changing"]
    assert len(state.axes.comparisons) == 6
    assert len(state.axes.compared) == 6
