"""The values of truth: which of them wins, and which laws they keep."""

from __future__ import annotations

from itertools import product

import pytest

from tamis.predicates.truth import (
    FAILED,
    FALSE,
    OPEN,
    TRUE,
    TRUTHS,
    UNKNOWN,
    conjunction,
    disjunction,
    negation,
    truth_test,
)

ALL = (FALSE, TRUE, UNKNOWN, FAILED)


def test_they_are_small_integers() -> None:
    assert (FALSE, TRUE, UNKNOWN, FAILED, OPEN) == (0, 1, 2, 3, 4)
    assert [TRUTHS[truth] for truth in ALL] == ["false", "true", "unknown", "failed"]


def test_which_one_wins() -> None:
    for pair in product(ALL, repeat=2):
        assert conjunction(pair) == next(t for t in (FALSE, FAILED, UNKNOWN, TRUE) if t in pair)
        assert disjunction(pair) == next(t for t in (TRUE, FAILED, UNKNOWN, FALSE) if t in pair)
    assert (conjunction(()), disjunction(())) == (TRUE, FALSE)


def test_negation_exchanges_and_and_or() -> None:
    for truths in product(ALL, repeat=3):
        opposite = [negation(truth) for truth in truths]
        assert negation(conjunction(truths)) == disjunction(opposite)
        assert conjunction(truths) == conjunction((conjunction(truths[:2]), truths[2]))


@pytest.mark.parametrize("asked", ["true", "false", "unknown"])
def test_a_truth_test_is_true_or_false_unless_it_failed(asked: str) -> None:
    for truth in (FALSE, TRUE, UNKNOWN):
        assert truth_test(truth, asked) == int(TRUTHS[truth] == asked)
    assert truth_test(FAILED, asked) == FAILED
