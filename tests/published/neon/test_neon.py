"""Neon: tables of operations and predicates, evaluated one by one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.index import COMPARISONS, EVALUATED, SUMS
from tamis.published.neon.neon import TRUE, Neon, Operation
from tamis.published.neon.tables import BLOCK, LIVE
from tests.published.many import AXES, VALUES, agree, check_churn, check_many
from tests.published.strategies import check_changes, pairs_of, random_points, random_sides


@pytest.mark.parametrize("equal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_plain_trying(seed: int, equal: float) -> None:
    check_changes(Neon, seed, equal=equal)


def test_many_at_once() -> None:
    check_many(Neon, 4)


def test_memory_comes_back() -> None:
    check_churn(Neon, 4, rounds=2, size=8000)


@pytest.mark.parametrize("seed", range(6))
def test_a_point_sees_the_boxes_of_its_own_type(seed: int) -> None:
    rng = default_rng(seed)
    table = BoxTable()
    index = Neon(table)
    there = np.empty(0, np.int32)
    for _ in range(8):
        sides = random_sides(rng, 40, AXES, VALUES)
        new = table.add(sides, rng.integers(0, 5, 40).astype(np.int32))
        index.add(new)
        gone = rng.random(len(there)) < 0.4
        index.remove(there[gone])
        table.remove(there[gone])
        there = np.concatenate((there[~gone], new))
        points = random_points(rng, 40, AXES, VALUES)
        points = points._replace(type=rng.integers(0, 7, 40).astype(np.int32))
        agree(index, table, there, points)


def test_the_tables() -> None:
    """price <= 5 twice and category = 7 of type 0; price <= 5 and size in 2..4 of type 1; and a box
    without predicates."""
    table = BoxTable()
    index = Neon(table)
    sides = Boxes(
        np.array([0, 2, 3, 5, 5]),
        np.array([0, 1, 1, 1, 2], np.int32),
        np.array([7, 0, 0, 0, 2]),
        np.array([7, 5, 5, 5, 4]),
        np.arange(4, dtype=np.int32),
    )
    boxes = table.add(sides, np.array([0, 0, 1, 1], np.int32))
    index.add(boxes)
    assert index.size().predicates == 6
    assert sorted(index.operations(), key=str) == sorted(
        [
            Operation(0, 0, "=", None, 1),
            Operation(0, 1, "<=", None, 2),
            Operation(1, 1, "<=", None, 1),
            Operation(1, 2, ">=", None, 1),
            Operation(1, 2, "<=", None, 1),
        ],
        key=str,
    )
    points = points_of_labels(np.array([[8, 4, 3]] * 2), np.array([0, 1], np.int32))
    assert sorted(pairs_of(index, points)) == [(0, 1), (1, 2), (1, 3)]
    assert index.tally[[EVALUATED, SUMS, COMPARISONS]].tolist() == [6, 2 + 4, 2 + 2]
    index.remove(boxes[:2])
    assert {operation.type for operation in index.operations()} == {1}
    assert index.size().predicates == 3


def test_two_attributes_against_each_other() -> None:
    """Axis 2 is price < budget: box 0 has category = 7 and that, box 1 that alone."""
    table = BoxTable()
    index = Neon(table)
    index.compare(2, "price", "<", "budget")
    sides = Boxes(
        np.array([0, 2, 3]),
        np.array([0, 2, 2], np.int32),
        np.array([7, TRUE, TRUE]),
        np.array([7, TRUE, TRUE]),
        np.zeros(2, np.int32),
    )
    index.add(table.add(sides))
    assert Operation(0, "price", "<", "budget", 2) in index.operations()
    points = points_of_labels(np.array([[7, 3, TRUE], [7, 3, -1], [7, 3, 0], [8, 3, TRUE]]))
    assert sorted(pairs_of(index, points)) == [(0, 0), (0, 1), (3, 1)]
    assert copy.deepcopy(index).operations() == index.operations()
    assert (Neon.takes_types, Neon.takes_comparisons) == (True, True)


def test_rows_of_an_operation_move_up_when_others_go() -> None:
    table = BoxTable()
    index = Neon(table)
    count = 3 * BLOCK + 5
    sides = Boxes(
        np.arange(count + 1),
        np.zeros(count, np.int32),
        np.arange(count) + 1,
        np.full(count, UNBOUNDED),
        np.zeros(count, np.int32),
    )
    boxes = table.add(sides)
    index.add(boxes)
    assert index._tables.state[LIVE] == 4
    order = default_rng(1).permutation(count)
    for box in order[:-7]:
        index.remove(boxes[box : box + 1])
    left = np.sort(boxes[order[-7:]])
    assert index._tables.state[LIVE] == 1
    points = points_of_labels(np.array([[count], [0], [int(left[3]) + 1]]))
    expected = [(0, int(box)) for box in left] + [(2, int(box)) for box in left[:4]]
    assert sorted(pairs_of(index, points)) == expected
    index.remove(left)
    assert index.operations() == []
