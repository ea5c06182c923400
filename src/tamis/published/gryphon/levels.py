"""The order of the attributes in Gryphon's trees, and the sides of one box in that order.

The levels of the equality tree are attributes in one order for all subscriptions, and in that order
the general tree takes up the tests of a subscription. The first levels may be factored out
(factoring.py): gates stand for them, and what a gate has decided is not tested below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import BoxArrays
from tamis.published.gryphon.tree import Tree


class Levels(NamedTuple):
    """The order of the attributes from the root downwards, and how trees are made of it."""

    level: Numbers
    """Of each axis; -1 if it has none yet."""
    axis: Numbers
    """At each level."""
    indexed: int
    """Levels above the trees, which are factored out."""
    collapse: bool
    """Whether nodes without a result edge are left out of the equality trees."""


class Tests(NamedTuple):
    """The sides of one box by level, without those that a gate has decided."""

    axis: Numbers
    low: Labels
    high: Labels
    pending: NDArray[np.uint8]
    """Which tests of a side are still to come on the path (general.py)."""
    at: Numbers
    """For each axis the place of its side, or -1; filled by those who need it."""


@kernel
def new_tests(levels: Levels) -> Tests:
    """Room for the sides of any box."""
    room = len(levels.axis)
    return Tests(
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros(room, np.uint8),
        np.full(len(levels.level), -1, np.int32),
    )


@kernel
def fill_tests(
    arrays: BoxArrays, box: int, levels: Levels, tree: Tree, gate: int, tests: Tests
) -> int:
    """Write the sides of a box that the path to a gate leaves open; return how many."""
    count = 0
    for side in range(arrays.begin[box], arrays.end[box]):
        axis = arrays.axis[side]
        level = levels.level[axis]
        if level < levels.indexed and label_at(tree, gate, levels.indexed - 1 - level) >= 0:
            continue
        at = count
        while at and levels.level[tests.axis[at - 1]] > level:
            tests.axis[at] = tests.axis[at - 1]
            tests.low[at], tests.high[at] = tests.low[at - 1], tests.high[at - 1]
            at -= 1
        tests.axis[at], tests.low[at], tests.high[at] = axis, arrays.low[side], arrays.high[side]
        count += 1
    return count


@kernel
def label_at(tree: Tree, gate: int, above: int) -> int:
    """The label of the edge to a gate, or of one that is so many gates above."""
    for _ in range(above):
        gate = tree.parent[gate]
    return int(tree.label[gate])


@kernel
def new_axis(arrays: BoxArrays, box: int, levels: Levels) -> int:
    """An axis of a box that has no level, or -1."""
    for side in range(arrays.begin[box], arrays.end[box]):
        axis = arrays.axis[side]
        if axis >= len(levels.level) or levels.level[axis] < 0:
            return int(axis)
    return -1


@kernel
def has_ranges(arrays: BoxArrays, box: int) -> bool:
    """Whether a box has a side that is no equality."""
    for side in range(arrays.begin[box], arrays.end[box]):
        if arrays.low[side] != arrays.high[side]:
            return True
    return False


@kernel
def count_axes(arrays: BoxArrays, boxes: Numbers) -> NDArray[np.int64]:
    """How many of the boxes test each axis."""
    count = np.zeros(16, np.int64)
    for box in boxes:
        for side in range(arrays.begin[box], arrays.end[box]):
            axis = arrays.axis[side]
            while axis >= len(count):
                count = np.concatenate((count, np.zeros(len(count), np.int64)))
            count[axis] += 1
    return count
