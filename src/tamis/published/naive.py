"""Naive (Le Subscribe, figure 1): every subscription against every event, predicate by predicate.

A subscription is left at the first predicate that fails. Time is the sum of all predicates of all
subscriptions in the worst case; there is nothing to maintain. Deviation: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Tally
from tamis.published.boxes import BoxArrays, BoxTable, Points, clear_labels, grown, set_labels
from tamis.published.index import EVALUATED, BoxHits, Index, Size


class Naive(Index):
    """All boxes, one after the other."""

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table)
        self._boxes = np.empty(64, np.int32)
        self._place = np.empty(64, np.int32)
        """Where each box stands among them."""
        self._count = 0

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

    def _most(self) -> int:
        return self._count

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        boxes = self._boxes[: self._count]
        return try_all(boxes, self._table.arrays, points, first, chunk, tally)

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
        set_labels(points, point, labels)
        for box in boxes:
            failed, tried = first_failure(arrays, box, labels)
            evaluated += tried
            if not failed:
                chunk.point[n], chunk.box[n] = point, box
                n += 1
        clear_labels(points, point, labels)
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
