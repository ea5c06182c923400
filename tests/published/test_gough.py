"""Gough: one path a match, and a tree that may grow too large."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.points import points_of_labels
from tamis.errors import LimitError
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.gough import Gough
from tamis.published.index import EVALUATED, VISITED
from tests.published.strategies import (
    check_changes,
    expected_pairs,
    pairs_of,
    random_points,
    random_sides,
    sides_of,
)


@pytest.mark.parametrize("shape", [{}, {"equal": 1.0}, {"equal": 0.0}])
@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_plain_trying(seed: int, shape: dict[str, float]) -> None:
    check_changes(Gough, seed, most_axes=3, **shape)


def test_the_tree_is_the_one_of_the_drawing() -> None:
    table = BoxTable()
    index = Gough(table)
    index.add(table.add(sides_of({0: (3, 7), 1: (5, 5)}, {1: (0, 5)}, {0: (7, 9)})))
    size = index.size()
    leaves = 2 + 3 + 2 + 1  # {3} is below 7..7 as well, on the other labels of b
    assert size.nodes == 1 + 4 + leaves
    assert size.predicates == 2 + 2 + 2 + 1 + 1
    assert len(pairs_of(index, points_of_labels(np.array([[7, 5], [7, -1], [10, 6]])))) == 3 + 1


def test_a_match_is_one_path() -> None:
    rng = np.random.default_rng(3)
    table = BoxTable()
    index = Gough(table)
    index.add(table.add(random_sides(rng, 60, 4, 9)))
    points = random_points(rng, 200, 4, 9)
    pairs_of(index, points)
    assert 200 < index.tally[VISITED] <= 200 * (4 + 1)
    assert index.tally[EVALUATED] <= 200 * 4 * np.ceil(np.log2(2 * 60 + 1))


def test_axes_nobody_asks_about_have_no_nodes() -> None:
    table = BoxTable()
    index = Gough(table)
    index.add(table.add(sides_of(*({axis: (1, 1)} for axis in range(0, 900, 300)))))
    assert index.size().nodes == 1 + 2 + 4 + 7  # no leaf below the absent of all three
    labels = np.full((1, 901), 1)
    assert len(pairs_of(index, points_of_labels(labels))) == 3


def test_labels_nobody_asks_for_share_the_branch_of_the_absent() -> None:
    table = BoxTable()
    index = Gough(table)
    ones = [{0: (value, value)} for value in range(0, 40, 2)]
    index.add(table.add(sides_of(*ones, {1: (2, UNBOUNDED)})))
    assert index.size().nodes == 1 + 21 + 20 * 2 + 1


def test_too_large_a_tree_is_refused_and_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    table = BoxTable()
    index = Gough(table, nodes=300)
    first = random_sides(rng, 8, 3, 5)
    numbers = table.add(first)
    index.add(numbers)
    points = random_points(rng, 50, 3, 5)
    before, size = pairs_of(index, points), index.size()
    new = table.add(random_sides(rng, 200, 6, 50))
    with pytest.raises(LimitError, match=r"208 conjunctions .* 300 nodes: .*nodes=300"):
        index.add(new)
    assert pairs_of(index, points) == before
    assert index.size() == size
    table.remove(new)
    index.remove(numbers[:3])
    expected = expected_pairs(table, numbers[3:], points)
    assert set(pairs_of(index, points)) == expected


def test_leaves_that_hold_too_much_are_refused() -> None:
    table = BoxTable()
    index = Gough(table, nodes=100)
    index.add(table.add(sides_of(*({0: (value, value)} for value in range(40)))))
    with pytest.raises(LimitError, match=r"140 conjunctions .* 3,200 conjunctions in its leaves"):
        index.add(table.add(sides_of(*({} for _ in range(100)))))


def test_the_limit_is_exact() -> None:
    sides = random_sides(np.random.default_rng(8), 20, 3, 6)
    table = BoxTable()
    numbers = table.add(sides)
    index = Gough(table)
    index.add(numbers)
    nodes = index.size().nodes
    Gough(table, nodes=nodes).add(numbers)
    with pytest.raises(LimitError):
        Gough(table, nodes=nodes - 1).add(numbers)


def test_memory_comes_back() -> None:
    table = BoxTable()
    index = Gough(table)
    empty = index.size().bytes
    numbers = table.add(random_sides(np.random.default_rng(4), 30, 3, 9))
    index.add(numbers)
    assert index.size().bytes > 10 * empty
    index.remove(numbers)
    assert index.size().bytes == empty
