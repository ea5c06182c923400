"""Naive (Le Subscribe, figure 1): every subscription against every event, predicate by predicate.

A subscription is left at the first predicate that fails. Time is the sum of all predicates of all
subscriptions in the worst case; there is nothing to maintain. Deviation: none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.arrays.jit import kernel
from tamis.published.boxes import BoxArrays, BoxTable, Labels, Numbers, Points, grown
from tamis.published.index import EVALUATED, TALLY, BoxHits, Size, Tally, chunks


class Naive:
    """All boxes, one after the other."""

    def __init__(self, table: BoxTable) -> None:
        self._table = table
        self._boxes = np.empty(64, np.int32)
        self._place = np.empty(64, np.int32)
        """Where each box stands among them."""
        self._count = 0
        self.tally: Tally = np.zeros(TALLY, np.int64)

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        first, self._count = self._count, self._count + len(boxes)
        self._boxes = grown(self._boxes, self._count)
        self._place = grown(self._place, self._table.top)
        self._boxes[first : self._count] = boxes
        self._place[boxes] = np.arange(first, self._count)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        for box in boxes.tolist():
            self._count -= 1
            last = self._boxes[self._count]
            self._boxes[self._place[box]] = last
            self._place[last] = self._place[box]

    def stab(self, points: Points) -> Iterator[BoxHits]:
        """The boxes that points stab."""
        boxes, arrays = self._boxes[: self._count], self._table.arrays
        tally: Tally = np.zeros(TALLY, np.int64)

        def fill(first: int, chunk: BoxHits) -> tuple[int, int]:
            return try_all(boxes, arrays, points, first, chunk, tally)

        yield from chunks(points, self._count, fill)
        self.tally += tally

    def size(self) -> Size:
        """How large it is."""
        begin, end = self._table.arrays[:2]
        boxes = self._boxes[: self._count]
        return Size(int((end[boxes] - begin[boxes]).sum()), bytes=self._table.nbytes)


@kernel
def try_all(
    boxes: Numbers, arrays: BoxArrays, points: Points, first: int, chunk: BoxHits, tally: Tally
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    labels = np.full(points.axes, -1, np.int64)
    n = evaluated = 0
    point = first
    while point < len(points.type) and n + len(boxes) <= len(chunk.box):
        for a in range(points.start[point], points.start[point + 1]):
            labels[points.axis[a]] = points.label[a]
        for box in boxes:
            failed, tried = first_failure(arrays, box, labels)
            evaluated += tried
            if not failed:
                chunk.point[n], chunk.box[n] = point, box
                n += 1
        for a in range(points.start[point], points.start[point + 1]):
            labels[points.axis[a]] = -1
        point += 1
    tally[EVALUATED] += evaluated
    return point, n


@kernel
def first_failure(arrays: BoxArrays, box: int, labels: Labels) -> tuple[bool, int]:
    """Whether a side of a box fails, and how many were tried; a missing label is -1."""
    begin = arrays.begin[box]
    for side in range(begin, arrays.end[box]):
        label = labels[arrays.axis[side]]
        if label < arrays.low[side] or label > arrays.high[side]:
            return True, side - begin + 1
    return False, arrays.end[box] - begin
