"""Event types: what the type of a conjunction is, and that types are kept apart in every way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis import Algorithm
from tamis.errors import TamisError
from tamis.matching.covers.covers import cover_of
from tamis.published import naive
from tamis.published.boxes import BoxTable, Points
from tamis.published.frame.event_types import typed
from tamis.published.naive import Naive
from tests.contract.arrow import table_of
from tests.contract.naive import naive_match

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, without the JIT
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
]

PATH = ("event_type",)


@pytest.mark.parametrize(
    ("text", "type", "others", "sides"),
    [
        ("event_type contains 'toys' and price < 5", "toys", 0, 1),
        ("event_type = 'toys' and price < 5", "toys", 0, 2),
        ("event_type = 'toys' and event_type contains 'books'", "toys", 1, 1),
        ("event_type contains 'toys' and event_type contains 'books'", "books", 1, 0),
        ("not event_type contains 'toys' and price < 5", None, 1, 1),
        ("event_type != 'toys'", None, 0, 1),
        ("event_type in ('toys', 'books')", None, 0, 1),
        ("event_type > 'a' and event_type < 'b'", None, 0, 1),
        ("event_type starts with 'toys'", None, 0, 1),
        ("event_type contains 5", None, 1, 0),
        ("event_type = 5", None, 0, 1),
        ("event_type.inner contains 'toys'", None, 1, 0),
        ("price < 5", None, 0, 1),
    ],
)
def test_the_type_of_a_condition(text: str, type: str | None, others: int, sides: int) -> None:
    (condition,) = cover_of(tamis.parse(text)).conditions
    found, left = typed(condition, PATH)
    assert (found, len(left.literals) + len(left.found), len(left.sides)) == (type, others, sides)


class Typed(Naive):
    """An index that keeps types apart itself, by trying them."""

    takes_types = True

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table)
        self._all = table

    def stab(self, points: Points) -> Any:
        for point, box in super().stab(points):
            kept = points.type[point] == self._all.arrays.type[box]
            yield point[kept], box[kept]


def engines() -> list[tamis.Engine]:
    """One for each way, and the oracle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive, "Naive", Typed)
        column = tamis.Engine(matcher="naive")
    ways = [tamis.Engine(matcher=Algorithm("naive", types=way)) for way in ("structures", "names")]
    return [*ways, column]


def test_who_keeps_types_apart_is_asked_for_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naive, "Naive", Typed)
    with pytest.raises(TamisError, match="leave out types="):
        tamis.Engine(matcher=Algorithm("naive", types="names"))


NAMES = ["s", "t", "u", "w"]


def typed_texts() -> st.SearchStrategy[str]:
    kinds = st.sampled_from(
        ["event_type contains '{0}'", "event_type = '{0}'", "not event_type contains '{0}'",
         "event_type != '{0}'", "event_type in ('{0}', '{1}')", "a > 0", "event_type is present"]
    )  # fmt: skip
    predicates = st.sampled_from(
        ["a = 1", "a < 2", "b > 1", "b = 'x'", "c contains 1", "true", "a < b"]
    )
    literal = st.builds(str.format, kinds, st.sampled_from(NAMES), st.sampled_from(NAMES))
    conjunction = st.lists(literal | predicates, min_size=1, max_size=3).map(" and ".join)
    return st.lists(conjunction.map("({})".format), min_size=1, max_size=3).map(" or ".join)


def typed_events() -> st.SearchStrategy[dict[str, Any]]:
    types = st.sampled_from([*NAMES, "stranger", 5])
    return st.fixed_dictionaries(
        {},
        optional={
            "event_type": types | st.lists(types, max_size=4),
            "a": st.sampled_from([0, 1, 2]) | st.lists(st.sampled_from([0, 1, 2]), max_size=2),
            "b": st.sampled_from([0, 2, "x"]),
            "c": st.lists(st.sampled_from([1, 2]), max_size=2),
        },
    )


@given(
    texts=st.lists(typed_texts(), min_size=1, max_size=6),
    rows=st.lists(typed_events(), min_size=1, max_size=4),
    data=st.data(),
)
def test_every_way_is_exact(texts: list[str], rows: list[dict[str, Any]], data: Any) -> None:
    expressions = {str(number): tamis.parse(text) for number, text in enumerate(texts)}
    gone = data.draw(st.sets(st.sampled_from(sorted(expressions)), max_size=len(texts) - 1))
    expected = [
        (row, id)
        for row, event in enumerate(rows)
        for id, one in expressions.items()
        if id not in gone and naive_match(one, event, {})
    ]
    for number, engine in enumerate(engines()):
        if number == 1:
            engine.subscribe_many(expressions)
        else:
            for id, one in expressions.items():
                engine.subscribe(one, id=id)
        for id in gone:
            engine.unsubscribe(id)
        assert sorted(engine.match_batch(rows).pairs()) == expected
        found = [(row, id) for row, event in enumerate(rows) for id in engine.match(event)]
        assert sorted(found) == expected
        for row, event in enumerate(rows):
            table = table_of(event)
            if table is not None:
                ids = [id for place, id in engine.match_batch(table).pairs() if place == 1]
                assert sorted(ids) == [id for each, id in expected if each == row]


def test_columns_that_only_the_reader_takes_apart() -> None:
    lists = pa.array([["s"], ["t", "s"], []])
    encoded = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2]), lists)
    union = pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array(["s", "t", "u"])])
    for engine in engines():
        engine.subscribe("event_type contains 's' and a > 0", id="s")
        engine.subscribe("event_type = 't' and a > 0", id="t")
        for column, expected in (
            (encoded, [(0, "s"), (0, "t"), (1, "s")]),
            (union, [(0, "s"), (1, "t")]),
            (pa.array(["s", "t", None]).dictionary_encode(), [(0, "s"), (1, "t")]),
        ):
            table = pa.table({"event_type": column, "a": [1, 1, 1]})
            if column is union:
                with pytest.raises(tamis.EventError):
                    engine.match_batch(table)
            else:
                assert sorted(engine.match_batch(table).pairs()) == expected


def test_an_event_meets_only_the_boxes_of_its_types() -> None:
    texts = {f"s{n}": f"event_type contains 't{n % 8}' and a = {n % 3}" for n in range(240)}
    costs = []
    for engine in engines()[:2]:
        engine.subscribe_many(texts)
        assert len(engine.match({"event_type": ["t1", "t2", "none"], "a": 1})) == 20
        stats = engine.stats()
        assert stats.types == 8
        costs.append(stats.evaluated)
        for id in texts:
            engine.unsubscribe(id)
        assert engine.stats().types == 0
        assert engine.match({"event_type": "t1", "a": 1}) == []
    assert costs == [60, 3 * 240]


def test_the_schema_tells_where_types_are() -> None:
    schema = {
        "event_type": "kind",
        "attributes": {"price": "number"},
        "types": {"toys": {"price": "optional unique"}, "books": {"price": "optional unique"}},
    }
    engine = tamis.Engine(schema=schema, matcher="naive")
    engine.subscribe("kind contains 'toys' and price < 5", id="x")
    assert engine.match({"kind": ["toys", "books"], "price": 3}) == ["x"]
    assert engine.match({"kind": ["books"], "price": 3}) == []
    assert engine.stats().types == 1


def test_types_of_many_at_once() -> None:
    rng = np.random.default_rng(5)
    texts = {
        f"s{n}": f"event_type = 't{rng.integers(0, 30)}' and a < {rng.integers(0, 50)}"
        for n in range(1_500)
    }
    events = [
        {"event_type": f"t{rng.integers(0, 32)}", "a": int(rng.integers(0, 50))} for _ in range(80)
    ]
    scan = tamis.Engine(matcher="scan")
    scan.subscribe_many(texts)
    expected = sorted(scan.match_batch(events).pairs())
    for engine in engines():
        engine.subscribe_many(texts)
        assert sorted(engine.match_batch(pa.Table.from_pylist(events)).pairs()) == expected
        assert engine.stats().types == 30
