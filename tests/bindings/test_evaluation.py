"""The oracle: limits, groups that are decided apart, and what it says beside the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tamis import Event, Limits, parse
from tamis.bindings.evaluation import WORLD, Answer, Trial, World
from tamis.graphs.reader import read_graph
from tamis.model.rdf_terms import Iri, RdfLiteral
from tamis.operators.operator import Operator, to_operators
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN
from tests.contract.operators import OPERATORS


def trial(event: dict[str, Any], limits: Limits | None = None, **operators: Any) -> Trial:
    known = {**OPERATORS, **to_operators(operators)}
    return Trial(Event(event), World(limits=limits or Limits(), operators=known))


# Limits.


@pytest.mark.parametrize(
    ("text", "event", "reason"),
    [
        ("a = b", {"a": [1, 2], "b": [3, 4]}, "4 bindings of a, b"),
        ("one(?x) and a + ?x = b", {"a": [1, 2], "b": [3, 4]}, "4 bindings"),
        ("many(?x)", {}, "many(?x) gave more than 3 rows"),
        ("one(?x) and near('Queens', ?y) and ?x * 2 = ?y", {}, "3 substitutions"),
        ("not (one(?x) and near('Queens', ?y) and ?x * 2 = ?y)", {}, "3 substitutions"),
    ],
)
def test_what_exceeds_the_limit_has_failed(text: str, event: dict[str, Any], reason: str) -> None:
    def many(event: Event, x: None) -> Iterator[int]:
        return iter(range(10**9))

    small = trial(event, Limits(bindings=3), many=many)
    answer = small.answer(parse(text))
    assert answer.truth == FAILED
    assert reason in answer.reason
    assert not small.matches(parse(text))


def test_a_limit_that_does_not_matter() -> None:
    small = trial({"a": [1, 2], "b": [1, 2], "c": 1}, Limits(bindings=3))
    assert small.truth_of(parse("a = b or c = 1")) == TRUE
    assert small.truth_of(parse("a = b and c = 2")) == FALSE
    assert small.truth_of(parse("a = b and d = 2")) == FAILED
    assert small.truth_of(parse("not (a = b or c = 1)")) == FALSE
    assert small.truth_of(parse("a = b")) == FAILED


def test_a_pattern_with_too_many_bindings() -> None:
    graph = [(Iri(f"http://x/{n}"), Iri("http://x/p"), RdfLiteral(str(n))) for n in range(20)]
    text = "{ ?a <http://x/p> ?x . ?b <http://x/p> ?y }"
    event = Event({}, graph=graph)
    assert Trial(event, World(limits=Limits(bindings=500))).matches(parse(text))
    answer = Trial(event, World(limits=Limits(bindings=100))).answer(parse(text))
    assert answer.truth == FAILED
    assert "more than 100 bindings" in answer.reason


# What has nothing in common is decided apart.


def test_many_lists_beside_operators() -> None:
    event = {f"a{index}": list(range(1_000)) for index in range(20)}
    lists = " and ".join(f"a{index} = 7" for index in range(20))
    looks = Operator(lambda event, x: [event.attributes["a3"]], reads=("a3",))
    assert trial(event, looks=looks).matches(parse(f"{lists} and looks(?x) and ?x = a3"))
    assert not trial(event, looks=looks).matches(parse(f"{lists} and looks(?x) and ?x > a3"))


def test_calls_with_nothing_in_common() -> None:
    def hundred(event: Event, x: None) -> range:
        return range(100)

    text = " and ".join(f"hundred(?x{n}) and ?x{n} > 98" for n in range(10))
    assert trial({}, hundred=hundred).answer(parse(text)).solution == {
        f"x{n}": 99 for n in range(10)
    }


def test_an_operator_that_reads_nothing_does_not_multiply_lists() -> None:
    seen: list[Event] = []

    def looks(event: Event) -> bool:
        seen.append(event)
        return True

    event = {"a": [1, 2], "b": [1, 2]}
    assert trial(event, looks=Operator(looks, reads=())).matches(parse("a = 2 and looks()"))
    assert [each.attributes for each in seen] == [event]
    seen.clear()
    assert not trial(event, looks=Operator(looks, reads=("a",))).matches(parse("a = 3 and looks()"))
    assert trial(event, looks=Operator(looks, reads=("a",))).matches(parse("a = 2 and looks()"))
    assert [each.attributes for each in seen] == [{"a": 2, "b": [1, 2]}]
    assert seen[0].multiple == {"b"}


# Calls are made once.


def test_equivalent_calls_are_made_once() -> None:
    made: list[tuple[Any, ...]] = []

    def p(event: Event, *arguments: Any) -> list[tuple[int, int]]:
        made.append(arguments)
        return [(1, 2), (2, 2)]

    one = trial({"a": [1, 2]}, p=Operator(p, reads=()))
    assert one.matches(parse("p(?a, ?b) and p(?x, ?y) and ?a < ?b and not p(?b, ?a) and a = ?a"))
    assert one.matches(parse("p(?s, ?t)"))
    assert len(made) == 1
    assert one.matches(parse("p(?z, ?z)"))
    assert len(made) == 2
    assert one.truth_of(parse("p(1, ?z) and ?z = 9")) == FAILED  # it should give single values
    assert made == [(None, None), (None, None), (1, None)]


def test_a_call_is_made_for_each_input() -> None:
    made = []

    def p(event: Event) -> bool:
        made.append(event.attributes["a"])
        return False

    assert not trial({"a": [1, 2], "b": [5, 6]}, p=Operator(p, ("a",))).matches(
        parse("p() and b > 0")
    )
    assert made == [1, 2]


def test_cheap_conditions_come_before_calls() -> None:
    def never(event: Event, *arguments: Any) -> bool:
        raise AssertionError

    one = trial({"a": 1}, never=never)
    assert not one.matches(parse("never(?x) and a = 2"))
    assert one.matches(parse("a = 1 or never(?x)"))
    assert not one.matches(parse("not never(1) and a = 2"))


# Answers.


def test_answers() -> None:
    one = trial({"a": 1})
    assert one.answer(parse("a = 1")) == Answer(TRUE)
    assert one.answer(parse("b = 1")) == Answer(UNKNOWN)
    assert one.answer(parse("near('Bronx', ?x)")) == Answer(TRUE, {"x": 12})
    assert not one.answer(parse("a = 2")).says_more
    assert one.answer(parse("broken(?x) and near('Nowhere', ?y)")) == Answer(FALSE)
    failed = one.answer(parse("broken('Bronx', ?d)"))
    assert failed.reason == "broken('Bronx', ?d) raised ValueError: no connection"
    assert failed.says_more
    assert one.answer(parse("a = 1")).reason == ""


def test_solutions_are_distinct_and_limited() -> None:
    one = trial({"a": [1, 2, 3]})
    assert list(one.solutions(parse("one(?x) and one(?y)"), 4)) == [
        {"x": 1, "y": 1},
        {"x": 1, "y": 2},
        {"x": 1, "y": 3},
        {"x": 2, "y": 1},
    ]
    assert list(one.solutions(parse("one(?x) and a >= ?x"), 10)) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert list(one.solutions(parse("one(?x) or one(?x)"), 10)) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert list(one.solutions(parse("a = 1"), 10)) == [{}]
    assert list(one.solutions(parse("a = 4"), 10)) == []


def test_blank_nodes_of_a_pattern_are_not_shown() -> None:
    graph = read_graph("<http://x/a> <http://x/p> [ <http://x/q> 1 ] .")
    one = Trial(Event({}, graph=graph), WORLD)
    text = "{ ?a <http://x/p> _:b . _:b <http://x/q> ?c }"
    assert one.answer(parse(text)).solution == {"a": "http://x/a", "c": 1}


def test_values_equal_as_they_do_elsewhere() -> None:
    def odd(event: Event, x: None) -> list[Any]:
        return [math.nan, 1.0, True, "1", b"1"]

    one = trial({"a": 1}, odd=odd, even=odd)
    assert list(one.solutions(parse("odd(?x) and ?x = a"), 9)) == [{"x": 1.0}]
    found = [each["x"] for each in one.solutions(parse("odd(?x) and even(?x)"), 9)]
    assert found == [1.0, True, "1", b"1"]
    assert list(one.solutions(parse("odd(?x) and one(?x) and not even(?x)"), 9)) == []
    assert one.truth_of(parse("odd(?x) and ?x < 1")) == UNKNOWN
