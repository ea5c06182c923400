"""Equality-preferred: equalities by hash, everything else counted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.clusters.equality_preferred import EqualityPreferred
from tamis.published.counting.fair_predicate import FairPredicate
from tamis.published.index import COMPARISONS, SUMS
from tests.published.many import AXES, VALUES, check_churn, check_many
from tests.published.strategies import (
    check_changes,
    pairs_of,
    random_points,
    random_sides,
)


@pytest.mark.parametrize("equal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_plain_trying(seed: int, equal: float) -> None:
    check_changes(EqualityPreferred, seed, equal=equal)


@pytest.mark.parametrize("equal", [0.0, 0.3, 0.9])
def test_many_at_once(equal: float) -> None:
    check_many(EqualityPreferred, 3, equal=equal)


def test_memory_comes_back() -> None:
    check_churn(EqualityPreferred, 3, rounds=8, size=3000)


def test_what_is_counted_and_what_is_compared() -> None:
    """category = 7 and price <= 5; category = 8 and price <= 5; category = 7; price >= 2."""
    table = BoxTable()
    index = EqualityPreferred(table)
    sides = Boxes(
        np.array([0, 2, 4, 5, 6]),
        np.array([0, 1, 0, 1, 0, 1], np.int32),
        np.array([7, 0, 8, 0, 7, 2]),
        np.array([7, 5, 8, 5, 7, UNBOUNDED]),
        np.zeros(4, np.int32),
    )
    index.add(table.add(sides))
    assert index.size().predicates == 2 + 2  # two categories, price <= 5 once, price >= 2
    found = pairs_of(index, points_of_labels(np.array([[7, 4]])))
    assert sorted(found) == [(0, 0), (0, 2), (0, 3)]
    assert index.tally[[SUMS, COMPARISONS]].tolist() == [3, 3]  # boxes 0, 1 and 3; 0, 2 and 3
    index.tally[:] = 0
    assert pairs_of(index, points_of_labels(np.array([[9, 6]]))) == [(0, 3)]
    assert index.tally[[SUMS, COMPARISONS]].tolist() == [1, 1]


def test_it_does_fewer_sums_and_comparisons_than_fair_predicate() -> None:
    rng = default_rng(4)
    table = BoxTable()
    fair, preferred = FairPredicate(table), EqualityPreferred(table)
    boxes = table.add(random_sides(rng, 3000, AXES, VALUES))
    fair.add(boxes)
    preferred.add(boxes)
    points = random_points(rng, 100, AXES, VALUES)
    assert sorted(pairs_of(fair, points)) == sorted(pairs_of(preferred, points))
    assert (preferred.tally[[SUMS, COMPARISONS]] < fair.tally[[SUMS, COMPARISONS]]).all()


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_counts_are_cleared_whether_sums_are_few_or_many(share: float) -> None:
    """Boxes of two predicates; one event satisfies the first, the next one the second."""
    table = BoxTable()
    index = EqualityPreferred(table)
    count = 3000
    high = np.where(np.arange(count) < share * count, 5, 3)
    sides = Boxes(
        3 * np.arange(count + 1),
        np.tile(np.arange(3, dtype=np.int32), count),
        np.tile([0, 0, 7], count),
        np.column_stack((high, high, np.full(count, 7))).ravel(),
        np.zeros(count, np.int32),
    )
    index.add(table.add(sides))
    points = points_of_labels(np.array([[4, -1, 7], [-1, 4, 7], [4, 4, 7], [9, 9, 7]]))
    found = pairs_of(index, points)
    assert sorted(found) == [(2, box) for box in range(int(share * count))]
