"""W4 is what WORKLOADS says of it, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import workloads
from benchmarks.workloads import CHOICES, DECAY, LEVELS, POPULAR, Workload, w4


def popularity_of(workload: Workload) -> np.ndarray:
    """How often each attribute is tested, as a part of the subscriptions."""
    attribute = workload.predicates.attribute
    return np.bincount(attribute, minlength=LEVELS) / len(workload.slot)


def matches_of(workload: Workload) -> float:
    """Matches an event, by trying all."""
    p = workload.predicates
    failed = workload.events[:, p.attribute] != p.value[:, 0]
    starts = np.searchsorted(p.conjunction, workload.slot)
    return float((np.add.reduceat(failed, starts, axis=1) == 0).sum() / len(workload.events))


def test_popularity_decays() -> None:
    workload = w4(20_000, 1)
    expected = POPULAR * DECAY ** np.arange(LEVELS)
    np.testing.assert_allclose(popularity_of(workload), expected, atol=0.02)
    assert (np.diff(workload.predicates.conjunction) >= 0).all()
    assert set(workload.predicates.conjunction.tolist()) == set(range(20_000)), "none is empty"


def test_tested_values_follow_zipf_and_events_are_uniform() -> None:
    workload = w4(20_000, 4_000)
    tested = np.bincount(workload.predicates.value[:, 0], minlength=CHOICES)
    np.testing.assert_allclose(tested / tested[0], 1 / np.arange(1, CHOICES + 1), rtol=0.05)
    there = np.bincount(workload.events.ravel(), minlength=CHOICES) / workload.events.size
    np.testing.assert_allclose(there, 1 / CHOICES, atol=0.01)


def test_the_chance_of_a_match_is_what_the_formula_says() -> None:
    found = [matches_of(w4(1_000, 500, seed=seed)) for seed in range(20)]
    assert np.mean(found) == pytest.approx(1_000 * workloads.matching_chance(DECAY), rel=0.2)


@pytest.mark.parametrize("n", [500, 4_000])
def test_matches_are_held_constant(n: int) -> None:
    found = [matches_of(w4(n, 200, matches=8, seed=seed)) for seed in range(20)]
    assert np.mean(found) == pytest.approx(8, rel=0.1)


def test_no_decay_gives_more_matches_than_the_first_attribute_alone() -> None:
    with pytest.raises(ValueError, match="no decay"):
        w4(10, 10, matches=8)


def test_the_same_seed_gives_the_same_workload() -> None:
    first, second, other = w4(200, 20), w4(200, 20), w4(200, 20, seed=2)
    assert all((a == b).all() for a, b in zip(first.predicates, second.predicates))
    assert (first.events == second.events).all()
    assert (first.events != other.events).any()


def test_ranks_say_what_texts_say() -> None:
    workload = w4(50, 30)
    boxes, points, _ = workload.to_ranks()
    for number, text in enumerate(workload.texts()):
        sides = slice(boxes.start[number], boxes.start[number + 1])
        inside = (points[:, boxes.axis[sides]] >= boxes.low[sides]) & (
            points[:, boxes.axis[sides]] <= boxes.high[sides]
        )
        wanted = [part.split(" = ") for part in text.split(" and ")]
        for event, row in enumerate(workload.events):
            true = all(row[int(name[1:])] == int(value) for name, value in wanted)
            assert inside[event].all() == true
