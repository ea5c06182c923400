"""Boxes as they come in, before ranks are known: one by one, or a whole array of a shape.

A constraint is a row: which box, which axis, and two bounds (a line of the axis and a reference
to one of its cuts, see axes/builder.py). ``resolve`` turns references into ranks when all cuts are
sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Int32s, Int64s, Slots
from tamis.matching.axes.axis import GREATEST, LEAST, Axis
from tamis.matching.boxes.layout import Boxes

_COLUMNS = 6
LAST = -1
"""The number of the last axis, when it is not known yet how many there are."""

AxisInterval = tuple[int, int, int, int, int]
"""An axis, by its number, and an interval of it (``Interval`` in axes/axis.py)."""


class Side(NamedTuple):
    """One side of many boxes of one shape; boxes outside the mask do not have it."""

    axis: int
    low_line: int
    low: Int32s | int
    high_line: int
    high: Int32s | int
    mask: Flags | None = None


class AxisEnds(Protocol):
    """An axis, finished or live."""

    def line_ends(self) -> tuple[Int64s, Int64s]:
        """The first and last rank, or label, of each line and of what lies behind the lines."""


class BoxRows:
    """The boxes of one sieve."""

    def __init__(self) -> None:
        self.count = 0
        self._slots: list[Slots] = []
        self._chunks: list[Int64s] = []
        self._slot: list[int] = []
        self._width: list[int] = []
        """How many sides each condition has that came by itself."""
        self._alternatives: list[int] = []
        """How many alternatives each of these sides has."""
        self._intervals: list[AxisInterval] = []

    def add(self, slot: int, sides: Sequence[Sequence[AxisInterval]]) -> None:
        """Take in a box for each combination of the alternatives of some sides."""
        self._slot.append(slot)
        self._width.append(len(sides))
        self._alternatives += map(len, sides)
        self._intervals += chain.from_iterable(sides)

    def add_many(self, slots: Slots, sides: Sequence[Side]) -> None:
        """Take in a box for each slot."""
        self._flush()
        box = np.arange(self.count, self.count + len(slots))
        for side in sides:
            columns = (box, side.axis, side.low_line, side.low, side.high_line, side.high)
            rows = np.empty((len(slots), _COLUMNS), np.int64)
            for index, column in enumerate(columns):
                rows[:, index] = column
            self._chunks.append(rows if side.mask is None else rows[side.mask])
        self._slots.append(slots)
        self.count += len(slots)

    def add_empty(self, slots: Slots) -> int:
        """Take in boxes without sides; return the number of the first one."""
        self._flush()
        first = self.count
        self._slots.append(slots)
        self.count += len(slots)
        return first

    def add_sides(self, box: Int64s, axis: int, *bounds: Int64s) -> None:
        """Give sides to boxes, by their numbers: the lines and references of both bounds."""
        self._chunks.append(np.column_stack((box, np.full(len(box), axis), *bounds)))

    def _flush(self) -> None:
        if not self._slot:
            return
        flat = np.fromiter(chain.from_iterable(self._intervals), np.int64)
        intervals = flat.reshape(-1, _COLUMNS - 1)
        width, alternatives = np.array(self._width), np.array(self._alternatives, np.int64)
        boxes = np.empty(len(width), np.int64)
        count_boxes(width, alternatives, boxes)
        rows = np.empty((int((boxes * width).sum()), _COLUMNS), np.int64)
        combine(width, alternatives, intervals, boxes, self.count, rows)
        self._chunks.append(rows)
        self._slots.append(np.repeat(np.array(self._slot, np.int32), boxes))
        self.count += int(boxes.sum())
        self._slot, self._width, self._alternatives, self._intervals = [], [], [], []

    def resolve(self, axes: Sequence[Axis], positions: Sequence[Sequence[Int32s]]) -> Boxes:
        """The boxes in ranks; those with an empty side are gone."""
        size = np.array([each.size for each in axes], np.int64)
        return self.resolved(axes, positions, np.int32)._replace(size=size)

    def resolved(
        self, axes: Sequence[AxisEnds], positions: Sequence[Sequence[NDArray[Any]]], dtype: Any
    ) -> Boxes:
        """The same in the ranks or labels of axes."""
        self._flush()
        nothing = np.empty((0, _COLUMNS), np.int64)
        rows = np.concatenate([nothing, *self._chunks])
        slot = np.concatenate([np.empty(0, np.int32), *self._slots])
        box, axis = rows[:, 0], rows[:, 1].astype(np.int32)
        axis[axis == LAST] = len(axes) - 1
        low, high = np.empty(len(rows), dtype), np.empty(len(rows), dtype)
        by_axis = np.argsort(axis, kind="stable")
        ends = np.searchsorted(axis[by_axis], np.arange(len(axes) + 1))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            own = by_axis[ends[number] : ends[number + 1]]
            low[own] = _ranks(rows[own, 2], rows[own, 3], axes[number], positions[number], LEAST)
            high[own] = _ranks(
                rows[own, 4], rows[own, 5], axes[number], positions[number], GREATEST
            )
        whole = np.ones(len(slot), bool)
        whole[box[low > high]] = False
        by_axis = by_axis[whole[box[by_axis]]]
        count = np.where(whole, np.bincount(box, minlength=len(slot)), 0)
        place = np.empty(len(by_axis), np.int64)
        place_rows(box[by_axis], np.cumsum(count) - count, place)
        ordered = np.empty_like(by_axis)
        ordered[place] = by_axis
        start = np.concatenate(([0], np.cumsum(count[whole])))
        return Boxes(start, axis[ordered], low[ordered], high[ordered], slot[whole])


@kernel
def count_boxes(width: Int64s, alternatives: Int64s, boxes: Int64s) -> None:
    """Write how many boxes each condition becomes, one for each combination of alternatives."""
    side = 0
    for c in range(len(width)):
        boxes[c] = 1
        for _ in range(width[c]):
            boxes[c] *= alternatives[side]
            side += 1


@kernel
def combine(
    width: Int64s,
    alternatives: Int64s,
    intervals: Int64s,
    boxes: Int64s,
    box: int,
    rows: Int64s,
) -> None:
    """Write the constraints of the boxes of conditions, from a number on; the alternatives of the
    last side come next to each other."""
    row = first_side = first = 0
    for c in range(len(width)):
        last_side = first_side + width[c]
        stop = first + alternatives[first_side:last_side].sum()
        for b in range(boxes[c]):
            left, end = b, stop
            for side in range(last_side - 1, first_side - 1, -1):
                end -= alternatives[side]
                found = end + left % alternatives[side]
                left //= alternatives[side]
                at = row + side - first_side
                rows[at, 0] = box
                rows[at, 1:] = intervals[found]
            row += width[c]
            box += 1
        first_side, first = last_side, stop


@kernel
def place_rows(box: Int64s, free: Int64s, place: Int64s) -> None:
    """Write where each constraint stands when those of a box stand together, in their order."""
    for i in range(len(box)):
        place[i] = free[box[i]]
        free[box[i]] += 1


def _ranks(
    line: Int64s,
    reference: Int64s,
    axis: AxisEnds,
    positions: Sequence[NDArray[Any]],
    end: int,
) -> Int64s:
    """The ranks of bounds: the first one above a lower cut, the last one below an upper cut."""
    first, last = axis.line_ends()
    ends = first[line] if end == LEAST else last[line]
    above = 1 if end == LEAST else 0
    ranks = ends.copy()
    for number, found in enumerate(positions):
        cuts = (line == number) & (reference != end)
        ranks[cuts] = found[reference[cuts]] + above
    return ranks
