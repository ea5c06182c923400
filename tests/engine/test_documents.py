"""The contract for events that come as NDJSON or as variants: all events, all subscriptions."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.arrays.documents.documents import Documents, VariantDocuments
from tamis.engine.documents import Lines
from tamis.model.events.json_events import read_ndjson
from tamis.predicates.expression import Expression
from tests.contract.reading import ALL, OF_VARIABLES, Case
from tests.contract.strategies import dense_events, dense_expressions
from tests.variants import column_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
]

Pairs = set[tuple[int, str]]


def by_taxonomy() -> list[Any]:
    """The cases that one engine can hold. The scan tries each subscription on each event, so the
    fast tests take a hundred at a time."""

    def written(case: Case) -> str:
        return json.dumps(case.taxonomy, sort_keys=True)

    cases = [case for case in ALL if case.group not in OF_VARIABLES]
    found = [list(each) for _, each in groupby(sorted(cases, key=written), key=written)]
    large = [each for each in found if len(each) > 100]
    steps = [(each, -(-len(each) // 100)) for each in found]
    parts = [each[first::step] for each, step in steps for first in range(step)]
    return [*parts, *(pytest.param(each, marks=pytest.mark.slow) for each in large)]


def as_json(event: Any) -> str | None:
    try:
        return json.dumps(event, allow_nan=False)
    except (TypeError, ValueError):
        return None


def found_in(engine: tamis.Engine, documents: Documents) -> Pairs:
    """The pairs of documents, none of them twice."""
    pairs: list[tuple[int, str]] = []
    for found in engine.document_matcher().chunks(documents, None, 1):
        assert not found.rejected
        for chunk in engine.chunks(found.pairs):
            pairs += zip(chunk.event.tolist(), chunk.ids(), strict=True)
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def engines(subscriptions: list[str], taxonomy: Any = None) -> tuple[tamis.Engine, tamis.Engine]:
    both = tamis.Engine(taxonomy=taxonomy), tamis.Engine(matcher="scan", taxonomy=taxonomy)
    for engine in both:
        engine.subscribe_many([(str(id), text) for id, text in enumerate(subscriptions)])
    return both


@pytest.mark.parametrize("cases", by_taxonomy(), ids=len)
def test_the_contract(cases: list[Case]) -> None:
    engine, scan = engines([case.subscription for case in cases], cases[0].taxonomy)
    events = [case.event for case in cases]
    expected = {(row, id) for row, event in enumerate(events) for id in scan.match(event)}
    assert found_in(engine, VariantDocuments(column_of(events, 1))) == expected
    assert found_in(engine, VariantDocuments(column_of(events, 4))) == expected
    texts = {row: as_json(event) for row, event in enumerate(events)}
    rows = [row for row, text in texts.items() if text is not None]
    assert len(rows) > 0.8 * len(cases)
    lines = "\n".join(str(texts[row]) for row in rows)
    found = {(rows[row], id) for row, id in engine.match_batch(lines).pairs()}
    assert found == {(row, id) for row, id in expected if texts[row] is not None}


@given(st.lists(dense_expressions(), min_size=1, max_size=3), st.lists(dense_events(), max_size=4))
def test_dense_events(expressions: list[Expression], events: list[dict[str, Any]]) -> None:
    engine, scan = engines([str(each) for each in expressions], {"Red": ["red"], "blue": []})
    expected = {(row, id) for row, event in enumerate(events) for id in scan.match(event)}
    assert found_in(engine, VariantDocuments(column_of(events))) == expected
    texts = {row: as_json(event) for row, event in enumerate(events)}
    rows = [row for row, text in texts.items() if text is not None]
    found = engine.match_batch("\n".join(str(texts[row]) for row in rows).encode())
    assert {(rows[row], id) for row, id in found.pairs()} == {
        (row, id) for row, id in expected if row in rows
    }


TEXT = '{"a": 1}\n\n{"a": "x"}\r\n  \n{"a": [2, 3]}\n{"b": {"c": 1}}'


def test_lines() -> None:
    engine, _ = engines(["a = 1", "a = 'x'", "a > 2", "b.c = 1", "a is missing"])
    expected = [(0, "0"), (1, "1"), (2, "2"), (3, "3"), (3, "4")]
    for source in (TEXT, TEXT.encode(), bytearray(TEXT.encode()), memoryview(TEXT.encode())):
        assert list(engine.match_batch(source).pairs()) == expected
    assert list(engine.match_batch(read_ndjson(TEXT)).pairs()) == expected
    assert list(engine.match_batch("").pairs()) == []
    assert engine.match_batch(TEXT, limit=1, threads=2).event.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "text", ['{"a": 1}\n{"a": 2', '\n{"a": 1, "a": 2}', '{"a": 1}\n[1]\n{"a":', '{"a": 1e999}']
)
def test_what_is_wrong_is_said_as_the_reader_says_it(text: str) -> None:
    engine, _ = engines(["a = 1"])
    with pytest.raises(tamis.EventError) as theirs:
        list(read_ndjson(text))
    with pytest.raises(tamis.EventError) as ours:
        engine.match_batch(text)
    assert str(ours.value) == str(theirs.value)


def test_what_does_not_fit_into_columns_is_counted() -> None:
    engine, scan = engines(["a = 1", "a = 'x'"])
    text = '{"a": [1, "x"]}\n{"a": 1}'
    assert list(engine.match_batch(text).pairs()) == [(0, "0"), (0, "1"), (1, "0")]
    assert engine.stats().fallbacks == {"documents that do not fit into columns": 1}
    assert list(scan.match_batch(text).pairs()) == [(0, "0"), (0, "1"), (1, "0")]


def test_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.engine.documents.ROWS", 7)
    events = [
        {"a": i % 5, "b": f"s{i % 3}", **({"c": [i, i + 1]} if i % 4 else {})} for i in range(50)
    ]
    engine, scan = engines(["a = 1", "b = 's2' and a > 2", "c = 10", "c is missing"])
    text = "\n\n".join(map(json.dumps, events))
    expected = [(row, id) for row, event in enumerate(events) for id in sorted(scan.match(event))]
    assert sorted(engine.match_batch(text).pairs()) == expected


def test_timestamps_of_a_schema() -> None:
    schema = tamis.Schema(attributes={"at": "timestamp"}, types={"e": {"at": "optional unique"}})
    engine = tamis.Engine(schema=schema)
    engine.subscribe("at < timestamp '2021-01-01'", id="old")
    text = '{"at": "2020-05-01T00:00:00Z"}\n{"at": "2022-05-01"}'
    assert list(engine.match_batch(text).pairs()) == [(0, "old")]


def test_a_whole_engine_of_lines_without_subscriptions() -> None:
    assert list(tamis.Engine().match_batch(TEXT).pairs()) == []
    assert isinstance(Lines(TEXT).text(0), str)
