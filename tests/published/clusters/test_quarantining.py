"""Quarantining: equalities by hash, the rest verified; only boxes without equality are counted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.clusters.quarantining import Quarantining
from tamis.published.index import COMPARISONS, EVALUATED, SUMS
from tests.published.many import AXES, VALUES, check_churn, check_many
from tests.published.strategies import check_changes, pairs_of, random_sides


@pytest.mark.parametrize("equal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_plain_trying(seed: int, equal: float) -> None:
    check_changes(Quarantining, seed, equal=equal)


@pytest.mark.parametrize("equal", [0.0, 0.3, 0.9])
def test_many_at_once(equal: float) -> None:
    check_many(Quarantining, 2, equal=equal)


def test_memory_comes_back() -> None:
    check_churn(Quarantining, 2, rounds=8, size=6000)


def test_what_is_counted_and_what_is_verified() -> None:
    """Three boxes: category = 7 and price in 3..9; category = 7 and size >= 4 and price <= 5;
    price >= 2 and size <= 6."""
    table = BoxTable()
    index = Quarantining(table)
    sides = Boxes(
        np.array([0, 2, 5, 7]),
        np.array([0, 1, 0, 1, 2, 1, 2], np.int32),
        np.array([7, 3, 7, 0, 4, 2, 0]),
        np.array([7, 9, 7, 5, UNBOUNDED, UNBOUNDED, 6]),
        np.zeros(3, np.int32),
    )
    index.add(table.add(sides))
    assert index.size().predicates == 1 + 1 + 2 + 2  # category once, then what is left of each
    assert pairs_of(index, points_of_labels(np.array([[7, 4, 1]]))) == [(0, 0), (0, 2)]
    assert index.tally[[SUMS, COMPARISONS]].tolist() == [2, 1]
    index.tally[:] = 0
    assert pairs_of(index, points_of_labels(np.array([[8, 4, 7]]))) == []
    assert index.tally[[SUMS, COMPARISONS]].tolist() == [1, 1]
    searched = index.tally[EVALUATED]
    index.tally[:] = 0
    assert pairs_of(index, points_of_labels(np.array([[7, 6, 7]]))) == [(0, 0)]
    assert index.tally[EVALUATED] == searched + 1 + 1  # 3..9 holds; price <= 5 fails, and is left


def test_boxes_without_sides_match_every_event() -> None:
    table = BoxTable()
    index = Quarantining(table)
    free = random_sides(default_rng(1), 3, 1, 1)._replace(
        start=np.zeros(4, np.int64),
        axis=np.empty(0, np.int32),
        low=np.empty(0, np.int64),
        high=np.empty(0, np.int64),
    )
    boxes = table.add(free)
    index.add(boxes)
    points = points_of_labels(np.array([[-1], [4]]))
    assert set(pairs_of(index, points)) == {(point, box) for point in (0, 1) for box in (0, 1, 2)}
    index.remove(boxes[:2])
    assert pairs_of(index, points) == [(0, 2), (1, 2)]


def test_equalities_alone_need_neither_sums_nor_comparisons() -> None:
    rng = default_rng(3)
    table = BoxTable()
    index = Quarantining(table)
    sides = random_sides(rng, 2000, AXES, VALUES, equal=1.0)
    some = np.diff(sides.start) > 0
    index.add(table.add(sides)[some])
    assert len(pairs_of(index, points_of_labels(rng.integers(0, VALUES, (200, AXES))))) > 1000
    assert index.tally[[SUMS, COMPARISONS]].tolist() == [0, 0]
