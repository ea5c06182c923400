"""Random boxes and points, and what an index must say of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.papers.points import points_of_labels
from tamis.arrays.types import Numbers
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import (
    UNBOUNDED,
    BoxTable,
    Points,
)
from tamis.published.index import Index

Pair = tuple[int, int]


def random_sides(rng: Generator, boxes: int, axes: int, values: int, equal: float = 0.5) -> Boxes:
    """Boxes with equalities, one-sided and two-sided intervals, and sides that allow all."""
    constrained = rng.random((boxes, axes)) < rng.random((boxes, 1))
    row, axis = np.nonzero(constrained)
    ends = np.sort(rng.integers(0, values, (len(row), 2)), axis=1)
    low, high = ends[:, 0].copy(), ends[:, 1].copy()
    kind = rng.random(len(row))
    same = kind < equal
    high[same] = low[same]
    rest = (kind - equal) / (1 - equal) if equal < 1 else kind
    low[~same & (rest < 0.4)] = 0
    high[~same & (rest > 0.3) & (rest < 0.8)] = UNBOUNDED
    start = np.concatenate(([0], np.cumsum(constrained.sum(axis=1))))
    return Boxes(start, axis.astype(np.int32), low, high, np.zeros(boxes, np.int32))


def sides_of(*boxes: dict[int, tuple[int, int]]) -> Boxes:
    """Boxes that are written out."""
    sides = [(axis, *box[axis]) for box in boxes for axis in sorted(box)]
    axis, low, high = np.array(sides, np.int64).reshape(-1, 3).T
    start = np.cumsum([0, *(len(box) for box in boxes)])
    return Boxes(start, axis.astype(np.int32), low, high, np.zeros(len(boxes), np.int32))


def random_points(rng: Generator, points: int, axes: int, values: int) -> Points:
    """Events that lack an attribute now and then, or all of them."""
    labels = rng.integers(0, values, (points, axes))
    labels[rng.random((points, axes)) < 0.3] = -1
    labels[: points // 20] = -1
    return points_of_labels(labels)


def expected_pairs(table: BoxTable, numbers: Numbers, points: Points) -> set[Pair]:
    """Every box against every point, in plain Python."""
    sides, types = table.sides(numbers), table.arrays.type[numbers].tolist()
    start, axis, low, high = (
        each.tolist() for each in (sides.start, sides.axis, sides.low, sides.high)
    )
    found = set()
    for point, own_type in enumerate(points.type.tolist()):
        own = slice(points.start[point], points.start[point + 1])
        labels = dict(zip(points.axis[own].tolist(), points.label[own].tolist(), strict=True))
        for box, number in enumerate(numbers.tolist()):
            inside = all(
                low[side] <= labels.get(axis[side], -1) <= high[side]
                for side in range(start[box], start[box + 1])
            )
            if inside and types[box] == own_type:
                found.add((point, number))
    return found


def pairs_of(index: Index, points: Points) -> list[Pair]:
    """What an index says, pair by pair."""
    return [
        pair
        for chunk in index.stab(points)
        for pair in zip(chunk.point.tolist(), chunk.box.tolist(), strict=True)
    ]


def check_changes(
    make: Callable[[BoxTable], Any],
    seed: int,
    *,
    rounds: int = 12,
    most_axes: int = 6,
    **shape: Any,
) -> None:
    """Add and remove random boxes, round by round; an index must agree with plain trying after
    each, and a copy of it must stay what it was."""
    rng = default_rng(seed)
    axes, values = int(rng.integers(1, most_axes + 1)), int(rng.integers(1, 12))
    table = BoxTable()
    index = make(table)
    there = np.empty(0, np.int32)
    for _ in range(rounds):
        if rng.random() < 0.65 or not len(there):
            new = table.add(random_sides(rng, int(rng.integers(1, 40)), axes, values, **shape))
            index.add(new)
            there = np.concatenate((there, new))
        else:
            gone = rng.random(len(there)) < rng.choice([0.1, 0.6, 1.0])
            index.remove(there[gone])
            table.remove(there[gone])
            there = there[~gone]
        points = random_points(rng, 40, axes, values)
        expected = expected_pairs(table, there, points)
        found = pairs_of(index, points)
        assert len(found) == len(set(found)), "a pair came twice"
        assert set(found) == expected
        assert [point for point, _ in found] == sorted(point for point, _ in found)
    before, frozen = pairs_of(index, points), copy.deepcopy(index)
    index.add(table.add(random_sides(rng, 20, axes, values, **shape)))
    assert pairs_of(frozen, points) == before
