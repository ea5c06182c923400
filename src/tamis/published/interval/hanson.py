"""Hanson (Le Subscribe, section 3 and figure 6; Hanson et al. 1990): the most selective predicate
of a subscription is found in an interval binary search tree, the others are verified one by one.

    category = 17 and price <= 39 and weight >= 5      the tree of category has 17..17
                                                       verified: price, weight

An event searches the tree of each of its attributes. With n attributes, L subscriptions found and p
predicates in each, that takes O(n log N + L (p - 1)) for an event; a change takes O(log² N)
(tree.py). How selective a predicate is comes from a sample of events, if one is given, or
else from the constants of the subscriptions (selectivity.py), which are looked at again whenever
there are twice as many; where a predicate stands already, there it stays.

Deviations: a lower and an upper bound on one attribute are one predicate, as intervals have two
ends. A subscription without predicates, of which the paper knows none, is in the tree of an axis on
which every event has a label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays.jit import kernel, prefetch
from tamis.arrays.types import Labels, Numbers, Tally
from tamis.published.boxes import BoxArrays, BoxTable, Points, clear_labels, set_labels
from tamis.published.index import EVALUATED, VISITED, BoxHits, Index, Size
from tamis.published.interval.forest import IntervalForest
from tamis.published.interval.tree import BLOCK, MOST_MARKS, IntervalTrees, Marks, way_to
from tamis.published.selectivity import (
    most_selective,
    sample_of_constants,
    sample_of_points,
)

EVERY = -1
"""The axis on which every event has a label; the forest numbers axes from here."""
SAMPLED = 1 << 16
"""Boxes whose constants are looked at."""


class Hanson(Index):
    """One tree for each axis."""

    def __init__(self, table: BoxTable, events: Points | None = None) -> None:
        super().__init__(table)
        self._forest = IntervalForest()
        self._sample = sample_of_points(events) if events else None
        self._resample_at = 0 if events is None else 1 << 62

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        arrays, count = self._table.arrays, self._forest.count + len(boxes)
        if self._sample is None or count >= self._resample_at:
            step = max(1, self._table.top // SAMPLED)
            some = np.arange(0, self._table.top, step, dtype=np.int32)
            self._sample = sample_of_constants(self._table.sides(some))
            self._resample_at = 2 * max(count, 32)
        axis, low, high = most_selective(arrays, boxes, self._sample)
        self._forest.add(boxes, axis - EVERY, low, high)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        self._forest.remove(boxes)

    def _most(self) -> int:
        return self._forest.count

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        forest, arrays = self._forest.arrays, self._table.arrays
        return find(forest, arrays, points, first, self._most(), chunk, tally)

    def size(self) -> Size:
        """How large it is: all predicates, whether in a tree or not, and the nodes of trees."""
        begin, end = self._table.arrays[:2]
        boxes = np.flatnonzero(self._forest.arrays.intervals.axis >= 0)
        return Size(
            predicates=int((end[boxes] - begin[boxes]).sum()),
            nodes=self._forest.nodes,
            bytes=self._forest.nbytes + self._table.nbytes,
        )


@kernel
def find(
    forest: IntervalTrees,
    arrays: BoxArrays,
    points: Points,
    first: int,
    most: int,
    chunk: BoxHits,
    tally: Tally,
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    labels = np.full(points.axes, -1, np.int64)
    slots = np.empty(MOST_MARKS, np.int64)
    marks, n, point = forest.marks, 0, first
    while point < len(points.type) and n + most <= len(chunk.box):
        begin, end = points.start[point], points.start[point + 1]
        set_labels(points, point, labels)
        before = n
        for a in range(begin - 1, end):
            axis, label = EVERY, 0
            if a >= begin:
                axis, label = points.axis[a], points.label[a]
            passed = way_to(forest, axis - EVERY, label, slots)
            tally[VISITED] += passed
            for slot in slots[:passed]:
                if marks.held[slot]:
                    n = verify(marks, slot, arrays, labels, axis, chunk.box, n, tally)
        chunk.point[before:n] = point
        clear_labels(points, point, labels)
        point += 1
    return point, n


@kernel
def verify(
    marks: Marks,
    slot: int,
    arrays: BoxArrays,
    labels: Labels,
    besides: int,
    found: Numbers,
    n: int,
    tally: Tally,
) -> int:
    """Write the boxes of a slot whose sides all hold; that on one axis does, it is not tried. The
    sides of the boxes of a block are asked for from memory together."""
    evaluated = 0
    block, left = marks.first[slot], marks.held[slot]
    while left:
        fill = (left - 1) % BLOCK + 1
        prefetch(marks.interval, marks.next[block] * BLOCK)
        for place in range(block * BLOCK, block * BLOCK + fill):
            side = arrays.begin[marks.interval[place]]
            if arrays.end[marks.interval[place]] - side > 1:
                prefetch(arrays.axis, side)
                prefetch(arrays.low, side)
                prefetch(arrays.high, side)
        for place in range(block * BLOCK, block * BLOCK + fill):
            box = marks.interval[place]
            holds = True
            sides = arrays.end[box] - arrays.begin[box]
            for side in range(arrays.begin[box], arrays.end[box] if sides > 1 else 0):
                axis = arrays.axis[side]
                if axis == besides:
                    continue
                evaluated += 1
                if labels[axis] < arrays.low[side] or labels[axis] > arrays.high[side]:
                    holds = False
                    break
            if holds:
                found[n] = box
                n += 1
        block, left = marks.next[block], left - fill
    tally[EVALUATED] += evaluated
    return n
