"""SQL's truth tests: on lists, on calls, and on what failed."""

from __future__ import annotations

from typing import Any

import pytest

from tamis import Event, parse
from tamis.bindings.evaluation import Trial, World
from tamis.predicates.expression import Expression, Not, TruthTest, all_of
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN, Truth
from tests.contract.naive import Surroundings, naive_truth
from tests.contract.operators import FUNCTIONS, OPERATORS

NAIVE = {True: TRUE, False: FALSE, None: UNKNOWN, "failed": FAILED}

CASES: list[tuple[str, str, dict[str, Any], Truth]] = [
    ("a = 1", "true", {"a": 1}, TRUE),
    ("a = 1", "true", {"a": 2}, FALSE),
    ("a = 1", "true", {}, FALSE),
    ("a = 1", "false", {"a": 2}, TRUE),
    ("a = 1", "false", {}, FALSE),
    ("a = 1", "unknown", {}, TRUE),
    ("a = 1", "unknown", {"a": []}, TRUE),
    ("a = 1", "unknown", {"a": 1}, FALSE),
    ("a < 1", "unknown", {"a": "x"}, TRUE),
    ("a < 1", "unknown", {"a": [0, "x"]}, TRUE),
    ("a < 1", "unknown", {"a": [0, 5]}, FALSE),
    ("a < 1", "false", {"a": [0, 5]}, TRUE),
    ("a = 1 or b = 1", "unknown", {"a": 2}, TRUE),
    ("a = 1 or b = 1", "unknown", {"a": 1}, FALSE),
    ("a = 1 and b < 1", "unknown", {"a": [1, 2], "b": ["x", 5]}, TRUE),
    ("a = 1 and b < 1", "unknown", {"a": 2, "b": ["x", 5]}, FALSE),
    ("a = 1 and b = 2", "false", {"a": [1], "b": [2]}, FALSE),
    ("not a = 1", "unknown", {}, TRUE),
    ("one(?x)", "true", {}, TRUE),
    ("none(?x)", "false", {}, TRUE),
    ("one(?x) and ?x > 3", "false", {}, TRUE),
    ("one(?x) and ?x > a", "unknown", {}, TRUE),
    ("unsure(?x)", "unknown", {}, TRUE),
    ("unsure(?x)", "true", {}, FALSE),
    ("broken()", "true", {}, FAILED),
    ("broken()", "false", {}, FAILED),
    ("broken()", "unknown", {}, FAILED),
    ("broken() and a = 1", "true", {"a": 2}, FALSE),
    ("broken() or a = 1", "true", {"a": 1}, TRUE),
    ("{ ?a <http://x/p> ?b }", "unknown", {}, TRUE),
]


def truth_of(expression: Expression, event: dict[str, Any]) -> Truth:
    """By the oracle, which agrees with brute force."""
    found = Trial(Event(event), World(operators=OPERATORS)).truth_of(expression)
    assert found == NAIVE[naive_truth(expression, event, Surroundings({}, FUNCTIONS, None))]
    return found


@pytest.mark.parametrize(("part", "asked", "event", "truth"), CASES)
def test_truth_tests(part: str, asked: str, event: dict[str, Any], truth: Truth) -> None:
    test = TruthTest(parse(part), asked)
    assert truth_of(test, event) == truth
    if not any(isinstance(value, list) for value in event.values()):
        opposite = {TRUE: FALSE, FALSE: TRUE, FAILED: FAILED}[truth]
        assert truth_of(Not(test), event) == opposite


@pytest.mark.parametrize(
    ("exception", "truth"),
    [("no()", TRUE), ("yes()", FALSE), ("unsure()", TRUE), ("broken()", FAILED)],
)
def test_an_exception_that_failed_lets_nothing_through(exception: str, truth: Truth) -> None:
    """``a = 1 unless …`` is ``a = 1 and (…) is not true``."""
    expression = all_of(parse("a = 1"), Not(TruthTest(parse(exception), "true")))
    assert truth_of(expression, {"a": 1}) == truth


def test_a_truth_test_binds_nothing_outside_and_sees_what_is_bound() -> None:
    bound = all_of(parse("one(?x)"), TruthTest(parse("pairs(?x, ?y) and ?y < 2"), "true"))
    trial = Trial(Event({}), World(operators=OPERATORS))
    assert list(trial.solutions(bound, 10)) == [{"x": 3}]
    apart = all_of(TruthTest(parse("one(?x)"), "true"), parse("near('Bronx', ?x)"))
    assert list(trial.solutions(apart, 10)) == []
    assert truth_of(apart, {}) == FALSE


def test_what_a_failed_call_would_have_bound_is_unknown() -> None:
    open_variable = all_of(parse("unsure(?x)"), TruthTest(parse("one(?x)"), "unknown"))
    assert truth_of(open_variable, {}) == UNKNOWN
    assert truth_of(all_of(parse("broken(?x)"), TruthTest(parse("one(?x)"), "false")), {}) == FAILED
