"""What is learned of calls: priors, failures, fading."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.operators.estimates import MEMORY, PRIOR, Estimates
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN


def note(estimates: Estimates, leaf: list[int], operator: int, truth: list[int]) -> None:
    estimates.note(np.array(leaf, np.int32), operator, np.array(truth, np.int8))


def chance(estimates: Estimates, leaf: int, operator: int) -> float:
    (found,) = estimates.chance(np.array([leaf], np.int32), np.array([operator], np.int32))
    return float(found)


def test_a_call_that_was_never_made_has_the_chance_of_its_operator() -> None:
    estimates = Estimates()
    assert chance(estimates, 0, 0) == pytest.approx(1 / 3)
    note(estimates, [0, 0, 1, 1, 1], 0, [TRUE, FALSE, UNKNOWN, FALSE, FAILED])
    assert estimates.seen(0) == estimates.seen(1) == 2  # a failure says nothing
    of_all = (1 + PRIOR / 3) / (4 + PRIOR)
    assert chance(estimates, 900, 0) == pytest.approx(of_all)
    assert chance(estimates, 0, 0) == pytest.approx((1 + PRIOR * of_all) / (2 + PRIOR))
    assert chance(estimates, 900, 7) == pytest.approx(1 / 3)


def test_old_results_fade() -> None:
    estimates = Estimates()
    many = int(MEMORY)
    note(estimates, [0] * many, 0, [TRUE] * many)
    assert chance(estimates, 0, 0) > 0.99
    note(estimates, [0] * many, 0, [FALSE] * many)
    assert chance(estimates, 0, 0) < 0.4  # half of the old ones are forgotten
    assert estimates.seen(0) <= MEMORY
