"""Boxes and points as the published algorithms see them: in labels, and changing all the time.

    box 3     category in 17..17 and price in 0..39      an event   category 17, price 12
              ^ an equality         ^ price <= 39

A label is an integer that stands for a value and keeps its order (axes/live.py); unlike a rank it
stays what it is when constants are added. A side is an interval of labels of one axis. An axis is
what the papers call an attribute; the labels of an event on it are at least 0.

A side is one predicate of the papers or two: an equality if low == high, or else *at least* low
unless that is 0, and *at most* high unless that is UNBOUNDED. A side that allows all is *at least*
0, which every event satisfies that has the attribute.

A box has an event type, 0 if it names none, and so has a point; a point stabs boxes of its own type
alone (frame/event_types.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.matching.boxes.layout import Boxes

UNBOUNDED = 1 << 62
"""The upper end of a side that has none; all labels are below."""

EQUAL, AT_LEAST, AT_MOST = 0, 1, 2
"""Operators of predicates."""


class Points(NamedTuple):
    """Events as a sparse matrix by rows: only the attributes that each has, axes ascending."""

    start: Offsets
    axis: Numbers
    label: Labels
    type: Numbers
    """The event type of each point."""
    axes: int
    """One more than the greatest axis that there can be."""


class BoxArrays(NamedTuple):
    """The boxes of a table, for kernels: box i has the sides begin[i]:end[i]."""

    begin: Offsets
    end: Offsets
    type: Numbers
    axis: Numbers
    low: Labels
    high: Labels


class BoxTable:
    """Boxes by number; numbers of removed ones are given out again.

    Sides stand one behind the other in the order in which they came; when more than half of them
    are of removed boxes, the rest moves together. The arrays have room at their ends.
    """

    def __init__(self) -> None:
        self.arrays = BoxArrays(
            np.zeros(64, np.int64),
            np.zeros(64, np.int64),
            np.zeros(64, np.int32),
            np.zeros(256, np.int32),
            np.zeros(256, np.int64),
            np.zeros(256, np.int64),
        )
        self.count = 0
        """Boxes that are there."""
        self.top = 0
        """One more than the greatest number that was ever given out."""
        self._free: list[int] = []
        self._sides = 0
        self._waste = 0

    def add(self, boxes: Boxes, type: Numbers | int = 0) -> Numbers:
        """Take in boxes, with their event types; return their numbers."""
        count = len(boxes.start) - 1
        again = [self._free.pop() for _ in range(min(count, len(self._free)))]
        top = self.top + count - len(again)
        new = np.arange(self.top, top, dtype=np.int32)
        numbers = np.concatenate((np.array(again, np.int32), new)) if again else new
        self._make_room(top, self._sides + len(boxes.axis))
        arrays, first = self.arrays, self._sides
        arrays.begin[numbers] = boxes.start[:-1] + first
        arrays.end[numbers] = boxes.start[1:] + first
        arrays.type[numbers] = type
        last = first + len(boxes.axis)
        arrays.axis[first:last] = boxes.axis
        arrays.low[first:last], arrays.high[first:last] = boxes.low, boxes.high
        self.count, self.top, self._sides = self.count + count, top, last
        return numbers

    def add_one(self, type: int, sides: Sequence[tuple[int, int, int]]) -> int:
        """Take in one box: axes, which ascend, and the least and greatest label on each."""
        number = self._free.pop() if self._free else self.top
        first, last = self._sides, self._sides + len(sides)
        self.top = max(self.top, number + 1)
        self._make_room(self.top, last)
        begin, end, types, axis, low, high = self.arrays
        begin[number], end[number], types[number] = first, last, type
        for place, side in enumerate(sides, first):
            axis[place], low[place], high[place] = side
        self.count, self._sides = self.count + 1, last
        return number

    def remove(self, numbers: Numbers) -> None:
        """Forget boxes."""
        begin, end = self.arrays.begin, self.arrays.end
        if len(numbers) == 1:
            (number,) = numbers.tolist()
            self._waste += int(end[number]) - int(begin[number])
            begin[number] = end[number] = 0
            self._free.append(number)
        else:
            self._waste += int((end[numbers] - begin[numbers]).sum())
            begin[numbers] = end[numbers] = 0
            self._free += numbers.tolist()
        self.count -= len(numbers)
        if self._waste > 1_024 and 2 * self._waste > self._sides:
            self._sides, self._waste = move_together(self.arrays, self.top), 0

    def sides(self, numbers: Numbers) -> Boxes:
        """Some of the boxes, by number."""
        begin, end, _, axis, low, high = self.arrays
        length = end[numbers] - begin[numbers]
        start = np.concatenate(([0], np.cumsum(length)))
        own = np.repeat(begin[numbers] - start[:-1], length) + np.arange(start[-1])
        return Boxes(start, axis[own], low[own], high[own], numbers)

    def _make_room(self, boxes: int, sides: int) -> None:
        begin, end, type, axis, low, high = self.arrays
        if boxes <= len(begin) and sides <= len(axis):
            return
        boxed = grown(begin, boxes), grown(end, boxes), grown(type, boxes)
        self.arrays = BoxArrays(*boxed, grown(axis, sides), grown(low, sides), grown(high, sides))

    @property
    def side_count(self) -> int:
        """Sides of all boxes that are there."""
        return self._sides - self._waste

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.arrays)


def grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a copy that has at least so many entries, those behind it 0."""
    if size <= len(array):
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def move_together(arrays: BoxArrays, boxes: int) -> int:
    """Close the gaps that removed boxes have left; return how many sides there are."""
    begin, end, _, axis, low, high = arrays
    order = np.argsort(begin[:boxes])
    n = 0
    for box in order:
        first = n
        for side in range(begin[box], end[box]):
            axis[n], low[n], high[n] = axis[side], low[side], high[side]
            n += 1
        begin[box], end[box] = first, n
    return n


@kernel
def set_labels(points: Points, point: int, label: Labels) -> None:
    """Write the labels of a point by axis."""
    for a in range(points.start[point], points.start[point + 1]):
        label[points.axis[a]] = points.label[a]


@kernel
def clear_labels(points: Points, point: int, label: Labels) -> None:
    """Write -1 in place of them."""
    for a in range(points.start[point], points.start[point + 1]):
        label[points.axis[a]] = -1


class Usage(NamedTuple):
    """Bytes of arrays that grow, and how many of them would do."""

    room: int
    used: int


FACTOR, LEAST = 8, 1 << 14
"""An index is rebuilt when it has more bytes than so many times what it needs, and so many more."""


def is_sparse(*usages: Usage) -> bool:
    """Whether arrays are so empty that building them anew, which takes time in proportion to what
    is left, has been paid for by what was removed; one array that is empty beside others that are
    not does not count."""
    used = sum(usage.used for usage in usages)
    return sum(usage.room for usage in usages) > FACTOR * used + LEAST
