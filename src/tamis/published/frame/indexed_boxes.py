"""A part of a matcher: one index with its table of boxes, and whose each box is.

    box      0   1   2   3            boxes 0 and 3 are those of one subscription: that of slot 7,
    owner    7   9  -1   7            or one with a conjunction 7, if its boxes do not say all
    next     3  -1      -1            box 2 was removed

Of the boxes of a subscription the first is known by its slot (state.py); the others follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tamis.arrays.types import Numbers
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import BoxTable
from tamis.published.frame.new_boxes import LabelBox
from tamis.published.index import Index

NOBODY = -1


class IndexedBoxes:
    """Boxes, their owners, and the index that finds them."""

    def __init__(self, make: Callable[[BoxTable], Index]) -> None:
        self.table = BoxTable()
        self.index = make(self.table)
        self.owner = np.full(64, NOBODY, np.int32)
        self.next = np.full(64, NOBODY, np.int32)
        self.repeats = 0
        """Boxes that follow others of the same subscription, so that one point may stab both."""
        self.told: set[int] = set()
        """Axes that the index knows to be comparisons of two attributes."""

    def add(self, boxes: Boxes, type: Numbers) -> Numbers:
        """Take in boxes, or none of them; return their numbers."""
        return self._indexed(self.table.add(boxes, type), boxes.owner)

    def add_few(self, boxes: Sequence[LabelBox]) -> Numbers:
        """Do the same with boxes of one subscription, whose axes are those of the index."""
        numbers = [self.table.add_one(type, sides) for type, sides, _ in boxes]
        return self._indexed(np.array(numbers, np.int32), [box.owner for box in boxes])

    def _indexed(self, numbers: Numbers, owner: Numbers | list[int]) -> Numbers:
        try:
            self.index.add(numbers)
        except BaseException:
            self.table.remove(numbers)
            raise
        if self.table.top > len(self.owner):
            self.owner = _filled(self.owner, self.table.top)
            self.next = _filled(self.next, self.table.top)
        if len(numbers) == 1:
            self.owner[numbers[0]] = owner[0]
        else:
            self.owner[numbers] = owner
        return numbers

    def link(self, numbers: Numbers, slot: Numbers) -> tuple[Numbers, Numbers]:
        """Let boxes of one slot follow each other; return each slot, and the first of its boxes."""
        if len(numbers) < 2 or (slot[1:] > slot[:-1]).all():
            return slot, numbers
        order = np.argsort(slot, kind="stable")
        slot, numbers = slot[order], numbers[order]
        again = slot[1:] == slot[:-1]
        self.next[numbers[:-1][again]] = numbers[1:][again]
        self.repeats += int(again.sum())
        first = np.concatenate(([True], ~again))
        return slot[first], numbers[first]

    def following(self, first: Numbers) -> Numbers:
        """Some boxes, and those that follow them."""
        if len(first) == 1 and self.next[first[0]] < 0:
            return first
        found = [first]
        while len(found[-1]):
            after = self.next[found[-1]]
            found.append(after[after >= 0])
        return np.concatenate(found)

    def remove(self, numbers: Numbers) -> None:
        """Forget boxes."""
        self.index.remove(numbers)
        self.table.remove(numbers)
        if self.repeats:
            self.repeats -= int((self.next[numbers] >= 0).sum())
        self.owner[numbers] = self.next[numbers] = NOBODY

    def boxes(self) -> Numbers:
        """The numbers of all boxes."""
        return np.flatnonzero(self.owner >= 0).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Memory beside that of the index."""
        return self.owner.nbytes + self.next.nbytes


def _filled(array: Numbers, size: int) -> Numbers:
    """A copy with at least so many entries, those behind it nobody's."""
    larger = np.full(max(size, 2 * len(array)), NOBODY, np.int32)
    larger[: len(array)] = array
    return larger
