"""Fair predicate: every predicate once, every box compared."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.counting import fair_predicate
from tamis.published.counting.fair_predicate import FairPredicate, deal_clusters
from tamis.published.index import COMPARISONS, EVALUATED, SUMS
from tests.published.many import AXES, VALUES, check_churn, check_many
from tests.published.strategies import (
    check_changes,
    pairs_of,
    random_points,
    random_sides,
)


def together(table: BoxTable) -> FairPredicate:
    return FairPredicate(table, threads=3)


@pytest.mark.parametrize("equal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_plain_trying(seed: int, equal: float) -> None:
    check_changes(FairPredicate, seed, equal=equal)


@pytest.mark.parametrize("seed", range(4))
def test_threads_agree_with_plain_trying(seed: int) -> None:
    check_changes(together, seed)


@pytest.mark.parametrize("equal", [0.1, 0.9])
def test_many_at_once(equal: float) -> None:
    check_many(FairPredicate, 1, equal=equal)


def test_memory_comes_back() -> None:
    check_churn(FairPredicate, 1, rounds=8, size=6000)


def predicates_of(sides) -> list[list[tuple[int, int, int]]]:
    """The predicates of each box, in plain Python."""
    found = []
    for box in range(len(sides.start) - 1):
        own = []
        for side in range(sides.start[box], sides.start[box + 1]):
            axis, low, high = (int(each[side]) for each in (sides.axis, sides.low, sides.high))
            if low == high:
                own.append((axis, 0, low))
                continue
            if low or high == UNBOUNDED:
                own.append((axis, 1, low))
            if high != UNBOUNDED:
                own.append((axis, 2, high))
        found.append(own)
    return found


def is_satisfied(predicate: tuple[int, int, int], labels) -> bool:
    axis, operator, constant = predicate
    label = labels[axis]
    if label < 0:
        return False
    return (label == constant, label >= constant, label <= constant)[operator]


@pytest.mark.parametrize("make", [FairPredicate, together])
def test_it_does_as_many_sums_and_comparisons_as_the_paper_says(make) -> None:
    rng = default_rng(5)
    table = BoxTable()
    index = make(table)
    sides = random_sides(rng, 800, AXES, VALUES)
    index.add(table.add(sides))
    labels = np.where(rng.random((30, AXES)) < 0.7, rng.integers(0, VALUES, (30, AXES)), -1)
    pairs_of(index, points_of_labels(labels))
    predicates = predicates_of(sides)
    assert index.tally[COMPARISONS] == 800 * 30
    assert index.tally[SUMS] == sum(
        is_satisfied(predicate, row) for row in labels for own in predicates for predicate in own
    )
    assert index.tally[EVALUATED] <= 30 * AXES * 3 * 12
    assert index.size().predicates == len({each for own in predicates for each in own})


@pytest.mark.parametrize("room", [1, 1 << 14, 1 << 24])
def test_threads_give_the_same_pairs_in_the_same_order(room: int, monkeypatch) -> None:
    """Events come in blocks of one, of a few, or all at once."""
    monkeypatch.setattr(fair_predicate, "ROOM", room)
    rng = default_rng(6)
    table = BoxTable()
    alone, three = FairPredicate(table), together(table)
    boxes = table.add(random_sides(rng, 1500, AXES, 4))
    alone.add(boxes)
    three.add(boxes)
    points = random_points(rng, 200, AXES, 4)
    assert len(list(alone.stab(points))) > 1
    alone.tally[:] = 0
    assert pairs_of(three, points) == pairs_of(alone, points)
    assert three.tally.tolist() == alone.tally.tolist()


def test_clusters_are_dealt_evenly() -> None:
    table = BoxTable()
    index = FairPredicate(table)
    index.add(table.add(random_sides(default_rng(7), 2000, 6, VALUES)))
    owner = deal_clusters(index._counts.clusters, 2)
    assert 0.3 < owner.mean() < 0.7


def test_a_reader_that_stops_halfway_leaves_no_counts_behind() -> None:
    rng = default_rng(8)
    table = BoxTable()
    index = FairPredicate(table)
    index.add(table.add(random_sides(rng, 600, 2, 3)))
    points = random_points(rng, 400, 2, 3)
    expected = pairs_of(index, points)
    for _ in index.stab(points):
        break
    assert pairs_of(index, points) == expected
    first, second = index.stab(points), index.stab(points)  # two readers at once
    for one, other in zip(first, second, strict=True):
        assert (one.box == other.box).all()
