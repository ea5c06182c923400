"""Columns of RDF documents: an engine matches them as if each event had carried its graph."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tamis import Engine, Event, EventError, LimitError, Limits, read_graph
from tamis.engine import threads
from tamis.graphs import door
from tamis.graphs.documents import DocumentColumn

TEXTS = [
    "<x:a> <x:p> <x:o1> .",
    None,
    "",
    '<x:b> <x:p> <x:o2> .\n<x:b> <x:v> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    "_:x <x:p> <x:o1> .\n_:x <x:q> _:y .",
]
SUBSCRIPTIONS = {
    "one": "{ ?x <x:p> <x:o1> }",
    "value": "{ ?x <x:v> ?v FILTER (?v > 5) }",
    "both": "a = 3 and { ?x <x:p> ?o }",
    "late": "a < 2 and b = 'x' and { ?x <x:p> ?o }",
    "absent": "not { ?x <x:p> ?o }",
    "either": "a = 1 or { ?x <x:p> <x:o2> }",
}
EXPECTED = [
    (0, "late"),
    (0, "one"),
    (1, "either"),
    (2, "absent"),
    (3, "both"),
    (3, "either"),
    (3, "value"),
    (4, "one"),
]
ROWS = [{"a": row, "b": "x"} for row in range(5)]


def engine_with(matcher: str) -> Engine:
    engine = Engine(matcher=matcher, limits=Limits(costly=1e9))
    engine.subscribe_many(SUBSCRIPTIONS)
    return engine


@pytest.mark.parametrize("matcher", ["scan", "sieve", "gtopss", "quarantining"])
@pytest.mark.parametrize("repeated", [1, 60, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make",
    [pa.Table.from_pylist, list, lambda rows: pa.Table.from_pylist([rows[0], *rows]).slice(1)],
)
def test_documents_are_the_graphs_of_events(
    matcher: str, repeated: int, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where batches are divided, which is made to happen with fewer rows in the fast tests."""
    if repeated == 60:
        monkeypatch.setattr(door, "_ROWS", 128)
        monkeypatch.setattr(threads, "_LEAST", 64)
    elif matcher == "scan":
        repeated = min(repeated, 20)
    engine = engine_with(matcher)
    rows, texts = ROWS * repeated, TEXTS * repeated
    events = make(rows)
    found = engine.match_batch(events, graphs=texts, threads=2 if repeated > 1 else 1)
    expected = [(row + 5 * n, id) for n in range(repeated) for row, id in EXPECTED]
    assert sorted(found.pairs()) == expected
    arrow = pa.chunked_array([pa.array(texts[:2]), pa.array(texts[2:])])
    assert sorted(engine.match_batch(events, graphs=arrow).pairs()) == expected


def test_the_same_as_events_that_carry_graphs() -> None:
    engine = engine_with("sieve")
    events = [
        Event(row, graph=None if text is None else read_graph(text, "n-triples"))
        for row, text in zip(ROWS, TEXTS)
    ]
    ours, theirs = engine.match_batch(ROWS, graphs=TEXTS), engine.match_batch(events)
    assert sorted(ours.pairs()) == sorted(theirs.pairs()) == EXPECTED
    values = dict(zip(zip(ours.event.tolist(), ours.ids()), ours.bindings))
    assert values[3, "value"] == {"x": "x:b", "v": 7}


@pytest.mark.parametrize("matcher", ["scan", "sieve"])
def test_what_is_wrong_names_the_row(matcher: str) -> None:
    engine = Engine(matcher=matcher, limits=Limits(triples=2))
    engine.subscribe("{ ?x <x:p> <x:o> }", id="one")
    for text, error, said in (
        ("<x:a> <x:p .", EventError, "row 1: .*not valid n-triples"),
        ("<x:a> <x:p> 1, 2, 3 .", EventError, "row 1: .*not valid n-triples"),
        ("\n".join(f"<x:a> <x:p> <x:{n}> ." for n in range(3)), LimitError, "row 1: .*2 triples"),
    ):
        with pytest.raises(error, match=said):
            engine.match_batch([{}, {}], graphs=["", text])
    with pytest.raises(EventError, match="unknown format 'turtel' of graphs; did you mean"):
        engine.match_batch([{}], graphs=[""], format="turtel")
    with pytest.raises(EventError, match="2 graphs, which is not as many as events"):
        engine.match_batch([{}], graphs=["", ""])
    with pytest.raises(EventError, match="1 graphs, which is not as many as events"):
        engine.match_batch([{}, {}], graphs=[""])
    with pytest.raises(EventError, match="texts or bytes, not a column of int64"):
        engine.match_batch([{}], graphs=[1])


def test_guards_hold_for_documents_too() -> None:
    engine = Engine()
    engine.subscribe("{ ?x <x:p> ?o }", id="one")
    entity = '<!DOCTYPE x [<!ENTITY e "e">]><rdf:RDF/>'
    with pytest.raises(EventError, match="row 0: the XML declares an entity"):
        engine.match_batch([{}], graphs=[entity], format="rdf/xml")
    with pytest.raises(EventError, match="row 0: the document has the named graph"):
        engine.match_batch([{}], graphs=["<x:g> { <x:a> <x:p> 1 }"], format="trig")
    turtle = [b"<x:a> <x:p> 1 ."]
    assert engine.match_batch([{}], graphs=pa.array(turtle), format="turtle").ids() == ["one"]


def test_problems_of_documents() -> None:
    column = DocumentColumn(["<x:a> <x:p> <x:o> .", "no", None], "n-triples")
    assert list(column.problems()) == [1]
