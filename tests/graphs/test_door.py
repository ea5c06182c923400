"""The door of patterns: subscriptions are found by graphs, and all else is as the oracle says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine, Event, Limits, all_of, attr, read_graph
from tamis.bindings import evaluation
from tamis.engine.subscriptions import MATCHERS
from tamis.graphs import door, publications
from tamis.graphs.door import PatternDoor
from tamis.matching.segments.matcher import SieveMatcher
from tamis.predicates.expression import Expression, Pattern
from tests.examples import examples
from tests.graphs.strategies import Graph, graphs, patterns

PLAIN = attr("a") == 1
LISTED = all_of(attr("l") > 1, attr("l") < 3)


def expressions() -> st.SearchStrategy[Expression]:
    some = patterns()
    return st.one_of(
        some,
        st.builds(lambda each: all_of(each, PLAIN), some),
        st.builds(lambda each: all_of(each, LISTED), some),
        st.builds(lambda each: ~each, some),
        st.builds(lambda each: each | PLAIN, some),
        st.builds(lambda one, other: one | (other & LISTED), some, some),
        st.builds(all_of, some, some),
        st.builds(lambda one, other: all_of(one, ~other), some, some),
    )


def matcher_of(engine: Engine) -> SieveMatcher:
    matcher = engine.subscriptions.index.matcher
    assert isinstance(matcher, SieveMatcher)
    return matcher


def door_of(engine: Engine) -> PatternDoor:
    found = matcher_of(engine)._door
    assert isinstance(found, PatternDoor)
    return found


def boxes_of(engine: Engine) -> int:
    return sum(segment.boxes for segment in matcher_of(engine).segments())


@examples(40)
@given(
    st.lists(expressions(), min_size=1, max_size=5),
    st.lists(st.one_of(graphs(), st.none()), min_size=1, max_size=3),
    st.sampled_from(["sieve", "gtopss", "gryphon"]),
    st.booleans(),
)
def test_all_matchers_agree_with_the_scan(
    some: list[Expression], published: list[Graph | None], matcher: str, at_once: bool
) -> None:
    engines = [Engine(matcher=name, limits=Limits(costly=1e9)) for name in ("scan", matcher)]
    first = {str(number): expression for number, expression in enumerate(some[:-1])}
    for engine in engines:
        if at_once:
            for number in first:
                engine.subscribe("a = 5", id=number)
            engine.subscribe_many(first, replace=True)
        else:
            for number, expression in first.items():
                engine.subscribe(expression, id=number)
    events = [
        Event({"a": row % 2, "l": [0, row + 1, 4]}, graph=graph)
        for row, graph in enumerate(published)
    ]

    def check() -> None:
        scan, other = engines
        for event in events:
            assert sorted(scan.match(event)) == sorted(other.match(event))
            ours, theirs = (
                {
                    match.id: set(match.bindings)
                    for match in engine.matches(event)
                    if isinstance(engine[match.id].expression, Pattern)
                }
                for engine in engines
            )
            assert ours == theirs
        assert sorted(scan.match_batch(events).pairs()) == sorted(other.match_batch(events).pairs())

    check()
    for engine in engines:
        engine.subscribe(some[-1], id="late")
        if len(some) > 1:
            engine.unsubscribe("0")
            engine.subscribe(some[0], id="late", replace=True)
    check()
    engines[1].settle()
    check()


def selective(count: int) -> dict[str, str]:
    """Some patterns, some with attributes."""
    bare = {f"{n}": f"{{ ?x <x:p> <x:o{n}> . ?x <x:v> ?v }}" for n in range(count)}
    return bare | {f"and {n}": f"a = 1 and {{ ?x <x:p> <x:o{n}> }}" for n in range(count // 5)}


TWO = Event({"a": 1}, graph=read_graph("<x:a> <x:p> <x:o7>, <x:o8> ; <x:v> 5 ."))


def test_nothing_is_listed_and_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.subscribe_many(selective(1_500))
    assert boxes_of(engine) == 0
    assert len(engine) == len(matcher_of(engine)) == 1_800

    def refused(trial: evaluation.Trial, expression: Expression) -> evaluation.Answer:
        raise AssertionError(f"the oracle was asked about {expression}")

    monkeypatch.setattr(evaluation.Trial, "answer", refused)
    assert sorted(engine.match(TWO)) == ["7", "8", "and 7", "and 8"]
    found = {match.id: match.bindings for match in engine.matches(TWO)}
    assert found["7"] == {"x": "x:a", "v": 5}
    assert found["and 8"] == {"x": "x:a"}
    assert engine.match({"a": 1}) == []
    other = Event({"a": 2}, graph=TWO.graph)
    assert sorted(engine.match_batch([TWO, {"a": 1}, other]).pairs()) == [
        (0, "7"),
        (0, "8"),
        (0, "and 7"),
        (0, "and 8"),
        (2, "7"),
        (2, "8"),
    ]


def test_boxes_find_what_is_rarer_by_attributes() -> None:
    engine = Engine()
    engine.subscribe("a = 1 and b = 2 and c = 3 and { ?x ?p ?y }", id="attributes")
    engine.subscribe("a > 1 and { ?x <x:p> <x:o> }", id="graph")
    assert boxes_of(engine) == 1
    assert len(door_of(engine)) == 1
    event = Event({"a": 1, "b": 2, "c": 3}, graph=TWO.graph)
    assert engine.match(event) == ["attributes"]
    assert engine.match({"a": 1, "b": 2, "c": 3}) == []


def test_a_subscription_of_two_doors_is_found_once() -> None:
    engine = Engine()
    engine.subscribe("a = 1 or { ?x <x:p> <x:o7> } or { ?x <x:p> <x:o8> }", id="either")
    engine.subscribe("(a = 1 or { ?x <x:p> <x:o7> }) and b is missing", id="both")
    assert (boxes_of(engine), len(door_of(engine))) == (2, 3)
    assert sorted(engine.match(TWO)) == ["both", "either"]
    assert sorted(engine.match_batch([TWO, {"a": 1}, {"a": 2}]).pairs()) == [
        (0, "both"),
        (0, "either"),
        (1, "both"),
        (1, "either"),
    ]
    assert len(matcher_of(engine)) == 2


def test_a_subscription_moves_from_door_to_door() -> None:
    engine = Engine()
    for text in ("a = 1", "{ ?x <x:p> <x:o7> }", "a = 1 or { ?x <x:p> <x:o9> }", "{ ?x <x:v> ?y }"):
        engine.subscribe(text, id="one", replace=True)
        assert engine.match(TWO) == ["one"], text
        engine.disable("one")
        assert engine.match(TWO) == [], text
        engine.enable("one")
        assert engine.match(TWO) == ["one"], text


def test_a_view_stays_what_it_is() -> None:
    engine = Engine()
    engine.subscribe("{ ?x <x:p> <x:o7> }", id="old")
    chunks = engine.match_chunks([TWO])
    engine.unsubscribe("old")
    engine.subscribe("{ ?x <x:p> <x:o8> }", id="new")
    assert [id for chunk in chunks for id in chunk.ids()] == ["old"]
    assert engine.match(TWO) == ["new"]


@pytest.mark.parametrize("removed", [range(0, 1_500, 2), range(10, 1_500)])
def test_removed_entries_leave_the_index(
    removed: range, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(door, "_GONE", 100)
    engine = Engine()
    engine.subscribe_many(selective(1_500))
    for number in removed:
        engine.unsubscribe(str(number))
    assert len(door_of(engine)) < 1_800 - len(removed) + 300
    expected = sorted({"7", "8"} - set(map(str, removed)) | {"and 7", "and 8"})
    assert sorted(engine.match(TWO)) == expected
    engine.subscribe("{ <x:a> <x:p> ?y }", id="new")
    assert sorted(engine.match(TWO)) == [*expected, "new"]
    engine.save(tmp_path / "engine")
    other = Engine.load(tmp_path / "engine")
    assert sorted(other.match(TWO)) == [*expected, "new"]
    assert boxes_of(other) == 0
    other.subscribe("a = 1 and { <x:a> <x:p> ?y }", id="newer")
    assert sorted(other.match_batch([TWO]).ids()) == sorted([*expected, "new", "newer"])
    assert {match.id: match.bindings for match in other.matches(TWO)}["new"]["y"].startswith("x:o")


def test_all_entries_leave_the_index() -> None:
    engine = Engine()
    engine.subscribe_many({f"plain {n}": f"b = {n}" for n in range(3 * door._GONE)})
    engine.subscribe_many({str(n): f"{{ ?x <x:p> <x:o{n}> }}" for n in range(door._GONE + 1)})
    for number in range(door._GONE + 1):
        engine.unsubscribe(str(number))
    assert engine.match(TWO) == []
    assert len(door_of(engine)) == 0
    engine.subscribe("{ ?x <x:p> <x:o7> }", id="new")
    assert engine.match(TWO) == ["new"]


@pytest.mark.parametrize("matcher", ["sieve", "gtopss"])
def test_what_has_come_and_gone_leaves_nothing_behind(
    matcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_GONE", 50)
    engine = Engine(matcher=matcher)
    engine.subscribe("{ ?x <x:p> <x:o7> ; <x:v> ?v FILTER (?v < 9) }", id="kept")
    views = []
    for number in range(400):
        text = f"{{ ?x <x:p> <x:o{number}> }}"
        engine.subscribe(text if number % 2 else f"{text} or a = {number}", id=str(number))
        if number == 8:
            views = [engine.match_chunks([TWO]), engine.match_chunks([TWO, {"a": 8}])]
        if number != 8:
            engine.unsubscribe(str(number))
    assert sorted(engine.match(TWO)) == ["8", "kept"]
    assert len(door_of(engine)._index.numbers) < 200
    assert door_of(engine)._count < 200
    one, two = (sorted(pair for chunk in view for pair in chunk.pairs()) for view in views)
    assert one == [(0, "8"), (0, "kept")]
    assert two == [*one, (1, "8")]


def test_what_is_saved_before_any_match_has_its_bindings(tmp_path: Path) -> None:
    engine = Engine()
    engine.subscribe("{ ?x <x:v> ?v FILTER (regex(str(?x), 'a$') && ?v < 9) }", id="filtered")
    engine.save(tmp_path / "engine")
    (match,) = Engine.load(tmp_path / "engine").matches(TWO)
    assert match == ("filtered", {"x": "x:a", "v": 5})


def test_taxonomies_change_live() -> None:
    engine = Engine(taxonomy={"x:a": ["x:chair"], "x:chair": []})
    engine.subscribe("{ ?x <x:v> ?v FILTER (?x descendant of <x:chair>) }", id="chairs")
    engine.subscribe("{ ?x <x:v> ?v }", id="all")
    assert sorted(engine.match(TWO)) == ["all", "chairs"]
    engine.change_taxonomy({"x:a": ["x:table"], "x:chair": [], "x:table": []})
    assert engine.match(TWO) == ["all"]
    engine.subscribe("{ ?x <x:v> 5 }", id="five")
    assert sorted(engine.match(TWO)) == ["all", "five"]


def test_beyond_a_limit_the_oracle_says_so() -> None:
    engine = Engine(limits=Limits(bindings=20, costly=1_000))
    engine.subscribe("{ ?a ?b ?c . ?d ?e ?f FILTER (?a = ?d && ?c != ?f) }", id="all")
    graph = read_graph("\n".join(f"<x:a{n}> <x:p> <x:b{n}> ." for n in range(10)))
    found = engine.matches(Event({}, graph=graph))
    assert list(found) == []
    assert [pair.subscription for pair in found.incomplete] == ["all"]


def test_a_graph_of_too_many_terms_is_left_to_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.subscribe_many(selective(20))
    monkeypatch.setattr(publications, "MOST_TERMS", 6)
    assert sorted(engine.match(TWO)) == ["7", "8"]
    assert engine.stats().fallbacks == {"a graph with more terms than the index can number": 1}


def test_calls_wait_for_attributes() -> None:
    called: list[Any] = []

    def seen(event: Any) -> bool:
        called.append(event)
        return True

    engine = Engine(operators={"seen": seen})
    engine.subscribe("a = 2 and { ?x <x:p> <x:o7> } and seen()", id="called")
    assert len(door_of(engine)) == 1
    assert engine.match(TWO) == []
    assert called == []
    assert engine.match(Event({"a": 2}, graph=TWO.graph)) == ["called"]
    assert len(called) == 1
    assert engine.match({"a": 2}) == []
    assert len(called) == 1


@pytest.mark.parametrize("matcher", MATCHERS)
def test_an_engine_knows_whether_it_reads_graphs(matcher: str) -> None:
    engine = Engine(matcher=matcher)
    engine.subscribe("a = '{x' and b matches '[a-c]{2}'", id="braces")
    assert not engine.reads_graphs()
    engine.subscribe("a = 1 and not { ?x <http://ex/p> ?y }", id="a pattern")
    assert engine.reads_graphs()
    engine.unsubscribe("a pattern")
    assert not engine.reads_graphs()
