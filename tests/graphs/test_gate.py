"""Engines ask the pattern index before the oracle: the same answers, and far fewer questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import Engine, Event, Limits, all_of, attr, parse, read_graph
from tamis.bindings import evaluation
from tamis.bindings.evaluation import World
from tamis.graphs.gate import PatternGate
from tamis.matching.evaluation.evaluation import Evaluation
from tamis.predicates.expression import Expression, Pattern
from tests.graphs.strategies import Graph, graphs, patterns

QUIET = Limits(costly=float("inf"))
PLAIN = attr("a") == 1


def expressions() -> st.SearchStrategy[Expression]:
    some = patterns()
    return st.one_of(
        some,
        st.builds(lambda each: all_of(each, PLAIN), some),
        st.builds(lambda each: ~each, some),
        st.builds(lambda each: each | PLAIN, some),
        st.builds(all_of, some, some),
    )


@settings(max_examples=40)
@given(
    st.lists(expressions(), min_size=1, max_size=5),
    st.lists(st.one_of(graphs(), st.none()), min_size=1, max_size=3),
    st.sampled_from(["sieve", "gryphon"]),
)
def test_all_matchers_agree_with_the_scan(
    some: list[Expression], published: list[Graph | None], matcher: str
) -> None:
    engines = [Engine(matcher=name, limits=QUIET) for name in ("scan", matcher)]
    for engine in engines:
        for number, expression in enumerate(some[:-1]):
            engine.subscribe(expression, id=str(number))
    events = [Event({"a": row % 2}, graph=graph) for row, graph in enumerate(published)]

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
    check()
    engines[1].settle()
    check()


def test_most_are_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(limits=QUIET)
    engine.subscribe_many(
        {f"{n}": f"{{ ?x <x:p> <x:o{n}> . ?x <x:v> ?v }}" for n in range(1_500)}
        | {f"and {n}": f"a = 1 and {{ ?x <x:p> <x:o{n}> }}" for n in range(300)}
    )
    asked: list[Expression] = []
    answer = evaluation.Trial.answer

    def noted(trial: evaluation.Trial, expression: Expression) -> evaluation.Answer:
        asked.append(expression)
        return answer(trial, expression)

    monkeypatch.setattr(evaluation.Trial, "answer", noted)
    event = Event({"a": 1}, graph=read_graph("<x:a> <x:p> <x:o7>, <x:o8> ; <x:v> 5 ."))
    assert sorted(engine.match(event)) == ["7", "8", "and 7", "and 8"]
    assert len(asked) == 2
    assert {match.id: match.bindings for match in engine.matches(event)}["7"] == {
        "x": "x:a",
        "v": 5,
    }
    asked.clear()
    assert engine.match({"a": 1}) == []
    assert len(asked) <= 300  # no graph: what is more than a pattern is left to the oracle


def test_beyond_a_limit_the_oracle_says_so() -> None:
    engine = Engine(limits=Limits(bindings=20, costly=float("inf")))
    engine.subscribe("{ ?a ?b ?c . ?d ?e ?f FILTER (?a = ?d && ?c != ?f) }", id="all")
    graph = read_graph("\n".join(f"<x:a{n}> <x:p> <x:b{n}> ." for n in range(10)))
    found = engine.matches(Event({}, graph=graph))
    assert list(found) == []
    assert [pair.subscription for pair in found.incomplete] == ["all"]


def test_saved_and_loaded(tmp_path: Any) -> None:
    engine = Engine(limits=QUIET)
    for number in range(20):
        engine.subscribe(f"{{ ?x <x:p{number}> ?y }}", id=str(number))
    event = Event({}, graph=read_graph("<x:a> <x:p3> 1 ; <x:p4> 2 ."))
    assert sorted(engine.match(event)) == ["3", "4"]
    engine.unsubscribe("3")
    engine.save(tmp_path / "engine.tamis")
    assert Engine.load(tmp_path / "engine.tamis", limits=QUIET).match(event) == ["4"]


def test_slots_far_apart() -> None:
    pattern = parse("{ ?x <x:p> ?y }")
    assert isinstance(pattern, Pattern)
    gate = PatternGate(World(), lambda slot: pattern)
    event = Event({}, graph=read_graph("<x:a> <x:p> 1 ."))
    assert gate.decided(event, np.array([3], np.int32))[1].keys() == {3}
    asked, known = gate.decided(event, np.array([3, 9_000], np.int32))
    assert len(asked) == 0
    assert known.keys() == {3, 9_000}
    assert gate.decided(Event({}), np.array([3], np.int32))[0].size == 0


def test_a_graph_rules_out_before_anything_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(limits=QUIET)
    engine.subscribe_many(
        {f"{n}": f"{{ ?x <x:p> <x:o{n}> }}" for n in range(1_500)}
        | {f"or {n}": f"a = {n} or {{ ?x <x:p> <x:o{n}> }}" for n in range(100)}
    )
    evaluated: list[int] = []
    candidates = Evaluation.candidates

    def noted(self: Evaluation, point: Any, condition: Any, *rest: Any) -> Any:
        evaluated.append(len(condition))
        return candidates(self, point, condition, *rest)

    monkeypatch.setattr(Evaluation, "candidates", noted)
    event = Event({"a": 7}, graph=read_graph("<x:a> <x:p> <x:o8>, <x:o9>, <x:o1200> ."))
    expected = ["1200", "8", "9", "or 7", "or 8", "or 9"]
    assert sorted(engine.match(event)) == expected
    assert sorted(pair[1] for pair in engine.match_batch([event]).pairs()) == expected
    assert sum(evaluated) < 500
    engine.unsubscribe("8")
    assert sorted(engine.match(event)) == [each for each in expected if each != "8"]
    assert engine.match({"a": 7}) == ["or 7"]
