"""The intervals of all axes, in arrays that grow and shrink: see tree.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.published.boxes import UNBOUNDED, grown
from tamis.published.interval.balance import (
    enter,
    insert_each,
    plan_tree,
    plant,
    remove_each,
)
from tamis.published.interval.tree import (
    BLOCK,
    FIRST_BLOCK,
    FIRST_NODE,
    FREE_BLOCKS,
    FREE_NODES,
    LACKING_BLOCKS,
    LACKING_NODES,
    MOST_MARKS,
    STEPS,
    Intervals,
    IntervalTrees,
    Marks,
    Nodes,
)

BULK = 64
"""So many intervals at once may be worth building the tree anew."""


class IntervalForest:
    """Intervals by number, each on one axis; they come and go."""

    def __init__(self) -> None:
        ends = np.zeros(64, np.int64), np.zeros(64, np.int64)
        there = np.full(64, -1, np.int32), np.zeros(64, np.int32)
        self.arrays = _empty_forest(8, Intervals(*ends, *there))
        self.count = 0

    def add(self, numbers: Numbers, axis: Numbers, low: Labels, high: Labels) -> None:
        """Take in intervals under numbers that are free; 0 and UNBOUNDED are no ends."""
        if not enter(self.arrays.root, self.arrays.intervals, numbers, axis, low, high):
            self._make_numbers(int(numbers.max()) + 1, int(axis.max()) + 1)
            enter(self.arrays.root, self.arrays.intervals, numbers, axis, low, high)
        self.count += len(numbers)
        if len(numbers) >= BULK:
            numbers = self._plant(numbers)
        self._go(insert_each, numbers)

    def remove(self, numbers: Numbers) -> None:
        """Forget intervals."""
        self.count -= len(numbers)
        are_most = len(numbers) >= BULK and len(numbers) > self.count
        if are_most:
            self.arrays.intervals.axis[numbers] = -1
        else:
            self._go(remove_each, numbers)
        blocks = len(self.arrays.marks.next)
        is_wasteful = blocks > 4 * MOST_MARKS and self.arrays.state[FREE_BLOCKS] > 0.8 * blocks
        if are_most or is_wasteful:
            self._replant()

    def _replant(self) -> None:
        """Start again with what is there, in arrays of its size."""
        axes, intervals, steps = len(self.arrays.root), self.arrays.intervals, self.steps
        self.arrays = _empty_forest(axes, intervals)
        self.arrays.state[STEPS] = steps
        intervals.first_mark[:] = -1
        there = np.flatnonzero(intervals.axis >= 0).astype(np.int32)
        self._go(insert_each, self._plant(there))

    def _plant(self, numbers: Numbers) -> Numbers:
        """Build trees anew that are to grow by a quarter or more; return the other intervals."""
        root, nodes, _, intervals, _ = self.arrays
        numbers = numbers[np.argsort(intervals.axis[numbers], kind="stable")]
        rest = []
        for run in np.split(numbers, np.flatnonzero(np.diff(intervals.axis[numbers])) + 1):
            if not len(run) or 4 * len(run) < nodes.weight[root[intervals.axis[run[0]]]]:
                rest.append(run)
                continue
            has_end = (intervals.low[run] >= 0) | (intervals.high[run] < UNBOUNDED)
            rest.append(run[~has_end])
            new = run[has_end]
            new = new[np.argsort(intervals.low[new], kind="stable")]  # neighbours, one by one
            plan = plan_tree(self.arrays, intervals.axis[run[0]], new)
            self._make_room()
            plant(self.arrays, intervals.axis[run[0]], plan)
            nodes = self.arrays.nodes
        return np.concatenate(rest)

    def _go(self, change: Callable[[IntervalTrees, Numbers, int], int], numbers: Numbers) -> None:
        step = change(self.arrays, numbers, 0)
        while step <= len(numbers):
            self._make_room()
            step = change(self.arrays, numbers, step)

    def _make_numbers(self, top: int, axes: int) -> None:
        root, nodes, marks, intervals, state = self.arrays
        size = len(intervals.low)
        intervals = Intervals(*(grown(array, top) for array in intervals))
        intervals.axis[size:] = -1
        self.arrays = IntervalTrees(grown(root, axes), nodes, marks, intervals, state)

    def _make_room(self) -> None:
        """Make as many nodes and blocks as are lacking, or twice as many as there are."""
        root, nodes, marks, intervals, state = self.arrays
        count = len(nodes.key)
        if state[LACKING_NODES]:
            size = max(2 * count, count + int(state[LACKING_NODES]))
            nodes = Nodes(*(grown(array, size) for array in nodes))
            slots = grown(marks.first, 3 * size), grown(marks.held, 3 * size)
            marks = Marks(*slots, *marks[2:])
            _chain(nodes.right, count, size, state, FIRST_NODE)
        count = len(marks.next)
        if state[LACKING_BLOCKS]:
            size = max(2 * count, count + int(state[LACKING_BLOCKS]))
            blocks = grown(marks.next, size), grown(marks.slot, size)
            places = grown(marks.interval, BLOCK * size), grown(marks.more, BLOCK * size)
            marks = Marks(*marks[:2], *blocks, *places)
            _chain(marks.next, count, size, state, FIRST_BLOCK)
        state[LACKING_NODES] = state[LACKING_BLOCKS] = 0
        self.arrays = IntervalTrees(root, nodes, marks, intervals, state)

    @property
    def nodes(self) -> int:
        """How many nodes there are, those of axes included."""
        return len(self.arrays.nodes.key) - 1 - int(self.arrays.state[FREE_NODES])

    @property
    def steps(self) -> int:
        """Nodes passed and made, marks passed and made, by all changes so far."""
        return int(self.arrays.state[STEPS])

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        root, nodes, marks, intervals, state = self.arrays
        return sum(array.nbytes for array in (root, *nodes, *marks, *intervals, state))


def _empty_forest(axes: int, intervals: Intervals) -> IntervalTrees:
    """Without trees, but with room for some."""
    nodes, blocks = 16, MOST_MARKS + 1
    small = [np.zeros(nodes, np.int32) for _ in range(3)]
    slots = np.zeros(3 * nodes, np.int32), np.zeros(3 * nodes, np.int32)
    blocked = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
    places = np.zeros(BLOCK * blocks, np.int32), np.zeros(BLOCK * blocks, np.int32)
    state = np.zeros(7, np.int64)
    forest = IntervalTrees(
        np.zeros(axes, np.int32),
        Nodes(np.zeros(nodes, np.int64), *small),
        Marks(*slots, *blocked, *places),
        intervals,
        state,
    )
    _chain(forest.nodes.right, 1, nodes, state, FIRST_NODE)
    _chain(forest.marks.next, 1, blocks, state, FIRST_BLOCK)
    return forest


def _chain(next: Numbers, begin: int, end: int, state: Offsets, head: int) -> None:
    """Let new nodes or blocks be the first free ones."""
    next[begin:end] = np.arange(begin + 1, end + 1)
    next[end - 1] = state[head]
    state[head] = begin
    state[head + 2] += end - begin
