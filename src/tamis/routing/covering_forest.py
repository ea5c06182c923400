"""Boxes by number, each with the one that covers it, in flat arrays: 24 bytes a side, 32 a box.

    number   0           1           2           3                box 1 covers 0 and 3, 3 covers 2
    parent   1           -1          3           1
    first    -1          3           -1          2                the first box right below
    next     -1          -1          -1          0                the next one below the same parent

Sides stand one behind the other in the order in which they came; when more than half of them are of
boxes that are gone, the rest moves together. The children of a box that goes are settled by one
kernel: in an order in which no box comes before one that covers it, each asks the roots, of which
it may become one itself, for a coverer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Int64s, Numbers, Offsets
from tamis.published.boxes import grown
from tamis.routing.box_groups import BoxSides, Groups, add_box
from tamis.routing.box_index import BoxIndex
from tamis.routing.box_search import find_covering

_TIDY = 1_024
"""Sides of boxes that are gone, which may stay in any case."""


class ForestArrays(NamedTuple):
    """By box: its sides, whether they say all, and its place in the forest; then the sides."""

    begin: Offsets
    end: Offsets
    exact: Bytes
    parent: Numbers
    first: Numbers
    next: Numbers
    before: Numbers
    axis: Numbers
    key: Numbers
    low: Int64s
    high: Int64s


class CoveringForest:
    """Boxes, and which is below which."""

    def __init__(self) -> None:
        self.arrays = ForestArrays(
            begin=np.zeros(64, np.int64),
            end=np.zeros(64, np.int64),
            exact=np.zeros(64, np.uint8),
            parent=np.full(64, -1, np.int32),
            first=np.full(64, -1, np.int32),
            next=np.full(64, -1, np.int32),
            before=np.full(64, -1, np.int32),
            axis=np.zeros(256, np.int32),
            key=np.zeros(256, np.int32),
            low=np.zeros(256, np.int64),
            high=np.zeros(256, np.int64),
        )
        self._sides = self._waste = 0

    def add(self, box: int, sides: BoxSides, *, exact: bool) -> None:
        """Take in a box that has no place yet."""
        first, last = self._sides, self._sides + len(sides.axis)
        if box >= len(self.arrays.begin) or last > len(self.arrays.axis):
            self._make_room(box + 1, last)
        own = self.arrays
        own.begin[box], own.end[box], own.exact[box] = first, last, exact
        own.axis[first:last], own.key[first:last] = sides.axis, sides.key
        own.low[first:last], own.high[first:last] = sides.low, sides.high
        self._sides = last

    def _make_room(self, boxes: int, sides: int) -> None:
        own, known = self.arrays, len(self.arrays.parent)
        self.arrays = ForestArrays(
            *(grown(each, boxes) for each in own[:7]), *(grown(each, sides) for each in own[7:])
        )
        for links in self.arrays[3:7]:
            links[known:] = -1

    def remove(self, box: int) -> None:
        """Forget a box that has nothing below it."""
        own = self.arrays
        take_from_parent(own, box)
        self._waste += int(own.end[box] - own.begin[box])
        own.begin[box] = own.end[box] = 0
        if self._waste > _TIDY and 2 * self._waste > self._sides:
            self._sides, self._waste = close_side_gaps(own), 0

    def parent(self, box: int) -> int:
        """The box that a box is right below, or -1."""
        return int(self.arrays.parent[box])

    def below(self, box: int) -> Numbers:
        """The boxes right below one."""
        return children_of(self.arrays, box)

    def put_below(self, boxes: Numbers, parent: int) -> None:
        """Let boxes be right below one."""
        put_all_below(self.arrays, boxes, parent)

    def settle(self, boxes: Numbers, roots: BoxIndex) -> Numbers:
        """Find places for exact boxes that have none; return those that are roots now."""
        order = self._coverers_first(boxes)
        done = 0
        while done < len(order):
            done, needed = settle_boxes(self.arrays, roots.groups, order, done)
            if needed:
                box = int(order[done])
                roots.make_room(box, self.sides(box), needed)
        return order[self.arrays.parent[order] < 0]

    def sides(self, box: int) -> BoxSides:
        """The sides of a box."""
        own = self.arrays
        part = slice(own.begin[box], own.end[box])
        return BoxSides(own.axis[part], own.key[part], own.low[part], own.high[part])

    def _coverers_first(self, boxes: Numbers) -> Numbers:
        """Boxes in an order in which none comes before one that covers it: those with fewer sides
        first, of the same axes those that begin first and end last."""
        own = self.arrays
        count = own.end[boxes] - own.begin[boxes]
        columns: list[Int64s] = []
        for place in range(int(count.max(initial=0))):
            there = place < count
            side = np.where(there, own.begin[boxes] + place, 0)
            columns.append(np.where(there, own.low[side], 0))
            columns.append(np.where(there, -own.high[side], 0))
        return boxes[np.lexsort((*reversed(columns), count))]


@kernel
def take_from_parent(own: ForestArrays, box: int) -> None:
    """Let a box be below none."""
    parent, after, before = own.parent[box], own.next[box], own.before[box]
    if parent >= 0:
        if before >= 0:
            own.next[before] = after
        else:
            own.first[parent] = after
        if after >= 0:
            own.before[after] = before
    own.parent[box] = own.next[box] = own.before[box] = -1


@kernel
def put_box_below(own: ForestArrays, box: int, parent: int) -> None:
    """Let a box be right below another."""
    take_from_parent(own, box)
    after = own.first[parent]
    own.parent[box], own.next[box] = parent, after
    if after >= 0:
        own.before[after] = box
    own.first[parent] = box


@kernel
def put_all_below(own: ForestArrays, boxes: Numbers, parent: int) -> None:
    """Let boxes be right below another, or with -1 below none."""
    for box in boxes:
        if parent >= 0:
            put_box_below(own, box, parent)
        else:
            take_from_parent(own, box)


@kernel
def children_of(own: ForestArrays, box: int) -> Numbers:
    """The boxes right below one."""
    count, child = 0, own.first[box]
    while child >= 0:
        count += 1
        child = own.next[child]
    found, child = np.empty(count, np.int32), own.first[box]
    for n in range(count):
        found[n] = child
        child = own.next[child]
    return found


@kernel
def settle_boxes(own: ForestArrays, roots: Groups, order: Numbers, first: int) -> tuple[int, int]:
    """Put each box below a root that covers it, or let it be one; return how far there was room,
    and how many words of rows it would take to go on."""
    one = np.empty(1, np.int32)
    for n in range(first, len(order)):
        box = order[n]
        a, b = own.begin[box], own.end[box]
        sides = BoxSides(own.axis[a:b], own.key[a:b], own.low[a:b], own.high[a:b])
        if find_covering(roots, sides, one):
            put_box_below(own, box, one[0])
        else:
            needed = add_box(roots, box, sides)
            if needed:
                return n, needed
    return len(order), 0


@kernel
def close_side_gaps(own: ForestArrays) -> int:
    """Close the gaps that removed boxes have left; return how many sides there are."""
    n = 0
    for box in np.argsort(own.begin):
        first = n
        for side in range(own.begin[box], own.end[box]):
            own.axis[n], own.key[n] = own.axis[side], own.key[side]
            own.low[n], own.high[n] = own.low[side], own.high[side]
            n += 1
        own.begin[box], own.end[box] = first, n
    return n
