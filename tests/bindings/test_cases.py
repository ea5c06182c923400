"""The contract's cases of variables, calls and patterns, by the oracle and by brute force."""

from __future__ import annotations

import pytest

from tamis import Event, parse
from tamis.bindings.evaluation import Trial, World
from tamis.graphs.reader import read_graph
from tamis.operators.operator import check_calls
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN
from tests.contract.naive import Surroundings, naive_truth
from tests.contract.operators import FUNCTIONS, OPERATORS
from tests.contract.reading import ALL, OF_VARIABLES, Case

TRUTHS = {"true": TRUE, "false": FALSE, "unknown": UNKNOWN, "failed": FAILED}
NAIVE = {True: TRUE, False: FALSE, None: UNKNOWN, "failed": FAILED}
CASES = [case for case in ALL if case.group in OF_VARIABLES]


def expected(case: Case) -> int:
    assert case.matches is (case.truth is None)
    return TRUTHS[case.truth or "true"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_oracle(case: Case) -> None:
    expression = parse(case.subscription)
    check_calls(expression, OPERATORS)
    graph = None if case.graph is None else read_graph(case.graph)
    trial = Trial(Event(case.event, graph=graph), World(operators=OPERATORS))
    answer = trial.answer(expression)
    assert answer.truth == expected(case), case.why
    assert trial.matches(expression) is case.matches
    assert bool(answer.reason) is (case.truth == "failed")
    if case.solutions is not None:
        found = [dict(each) for each in trial.solutions(expression, 100)]
        assert sorted(found, key=repr) == sorted(case.solutions, key=repr)
        assert answer.solution in found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_brute_force(case: Case) -> None:
    graph = None if case.graph is None else read_graph(case.graph)
    around = Surroundings({}, FUNCTIONS, graph)
    found = naive_truth(parse(case.subscription), case.event, around)
    assert NAIVE[found] == expected(case), case.why


def test_cases_are_told_apart() -> None:
    names = [str(case) for case in CASES]
    assert sorted(names) == sorted(set(names))
    assert all(case.why.endswith(".") for case in CASES)
