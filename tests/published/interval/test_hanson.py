"""Hanson: the most selective predicate in a tree, the others verified."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.points import points_of_labels
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.index import EVALUATED, VISITED
from tamis.published.interval.hanson import Hanson
from tests.published.strategies import (
    check_changes,
    pairs_of,
    random_points,
    random_sides,
    sides_of,
)


def with_events(table: BoxTable) -> Hanson:
    """One that was given events to measure selectivity."""
    return Hanson(table, random_points(np.random.default_rng(0), 50, 3, 8))


@pytest.mark.parametrize("make", [Hanson, with_events])
@pytest.mark.parametrize("shape", [{}, {"equal": 1.0}, {"equal": 0.0}])
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_plain_trying(seed, shape, make) -> None:
    check_changes(make, seed, **shape)


def verified(index: Hanson, labels: list[int]) -> int:
    """How many predicates an event makes it verify."""
    before = int(index.tally[EVALUATED])
    pairs_of(index, points_of_labels(np.array([labels])))
    return int(index.tally[EVALUATED]) - before


def test_an_equality_is_preferred_to_two_ends_and_they_to_one() -> None:
    table = BoxTable()
    index = Hanson(table)
    index.add(table.add(sides_of({0: (3, UNBOUNDED), 1: (4, 6), 2: (5, 5)})))
    assert verified(index, [3, 5, 9]) == 0  # the equality fails, nothing is verified
    assert verified(index, [3, 5, 5]) == 2
    other = Hanson(table)
    other.add(table.add(sides_of({0: (3, UNBOUNDED), 1: (4, 6)})))
    assert verified(other, [3, 9, 5]) == 0
    assert verified(other, [3, 5, 5]) == 1


def test_the_axis_with_more_constants_is_more_selective() -> None:
    rng = np.random.default_rng(2)
    table = BoxTable()
    index = Hanson(table)
    few, many = rng.integers(1, 4, 500), rng.integers(1, 400, 500)
    boxes = [{0: (int(a), int(a)), 1: (int(b), int(b))} for a, b in zip(few, many)]
    index.add(table.add(sides_of(*boxes)))
    assert verified(index, [1, -1]) == 0
    assert verified(index, [1, int(many[0])]) == np.sum(many == many[0])


def test_events_tell_what_constants_cannot() -> None:
    labels = np.full((100, 2), -1)
    labels[:, 0] = 7  # all events have 7 here
    labels[0, 1] = 3  # and few have the other attribute at all
    table = BoxTable()
    index = Hanson(table, points_of_labels(labels))
    index.add(table.add(sides_of({0: (7, 7), 1: (1, UNBOUNDED)})))
    assert verified(index, [7, -1]) == 0
    assert verified(index, [-1, 3]) == 1


def test_few_nodes_are_visited() -> None:
    rng = np.random.default_rng(3)
    table = BoxTable()
    index = Hanson(table)
    index.add(table.add(random_sides(rng, 400, 3, 1_000, equal=1.0)))
    pairs_of(index, random_points(rng, 100, 3, 1_000))
    assert 0 < index.tally[VISITED] <= 100 * 3 * (1 + np.log(400) / np.log(10 / 7))


def test_boxes_without_sides_match_all() -> None:
    table = BoxTable()
    index = Hanson(table)
    numbers = table.add(sides_of({}, {0: (0, UNBOUNDED)}, {}))
    index.add(numbers)
    assert sorted(pairs_of(index, points_of_labels(np.array([[-1]])))) == [(0, 0), (0, 2)]
    assert len(pairs_of(index, points_of_labels(np.array([[4]])))) == 3
    index.remove(numbers[:1])
    assert pairs_of(index, points_of_labels(np.array([[-1]]))) == [(0, 2)]


def test_size() -> None:
    table = BoxTable()
    index = Hanson(table)
    numbers = table.add(sides_of({0: (1, 1), 1: (2, 5)}, {0: (1, 1)}, {}))
    index.add(numbers)
    assert index.size().predicates == 3
    assert index.size().nodes == 3  # of two axes, one is that of the box without sides
    index.remove(numbers)
    assert index.size().predicates == 0


def test_memory_stays_under_churn() -> None:
    rng = np.random.default_rng(4)
    table = BoxTable()
    index = Hanson(table)
    there = table.add(random_sides(rng, 300, 4, 500, equal=0.2))
    index.add(there)
    first = index.size().bytes
    for _ in range(40):
        index.remove(there[:100])
        table.remove(there[:100])
        new = table.add(random_sides(rng, 100, 4, 500, equal=0.2))
        index.add(new)
        there = np.concatenate((there[100:], new))
    assert index.size().bytes <= 2.5 * first
