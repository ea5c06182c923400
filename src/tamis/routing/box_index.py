"""Boxes that are found by other boxes: those that contain one, lie in it, or overlap it.

Boxes lie in groups of the same form (``box_groups.py``), which are searched by their forms
(``box_search.py``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.arrays.types import Flags, Numbers
from tamis.published.boxes import grown
from tamis.routing.box_groups import (
    BOXES,
    GROUPS,
    BoxSides,
    Groups,
    add_box,
    copy_boxes,
    no_groups,
    remove_box,
    remove_boxes,
    sides_at,
    with_room,
)
from tamis.routing.box_search import find_covered, find_covering, find_overlapping, relate_box

KEPT = 1_024
"""Removed boxes that an index may keep memory for, beside as many as are there."""


class BoxIndex:
    """Boxes by number, found by other boxes; one thread at a time."""

    def __init__(self) -> None:
        self.groups = no_groups()
        self._out = np.empty(64, np.int32)
        self._removed = 0

    def __len__(self) -> int:
        return int(self.groups.state[BOXES])

    def __contains__(self, box: int) -> bool:
        return box < len(self.groups.group) and bool(self.groups.group[box] >= 0)

    def numbers(self) -> Numbers:
        """The numbers of all boxes."""
        return np.flatnonzero(self.groups.group >= 0).astype(np.int32)

    @property
    def group_size(self) -> float:
        """How many boxes a group has on average."""
        filled = int(np.count_nonzero(self.groups.filled[: self.groups.state[GROUPS]]))
        return len(self) / max(1, filled)

    def add(self, box: int, sides: BoxSides) -> None:
        """Take in a box under a number that is free."""
        while needed := add_box(self.groups, box, sides):
            self.make_room(box, sides, needed)

    def make_room(self, box: int, sides: BoxSides, words: int) -> None:
        """Have room for a box that did not fit."""
        self.groups = with_room(self.groups, box, sides, words)

    def remove(self, box: int) -> None:
        """Forget a box."""
        remove_box(self.groups, box)
        self._tidy(1)

    def remove_many(self, boxes: Numbers) -> None:
        """Forget boxes."""
        remove_boxes(self.groups, boxes)
        self._tidy(len(boxes))

    def _tidy(self, removed: int) -> None:
        """Build the groups again when most of their memory is that of removed boxes, who paid."""
        self._removed += removed
        if self._removed > len(self) + KEPT:
            self.rebuild()

    def rebuild(self) -> None:
        """Build the groups again, those that have boxes."""
        old, new, box = self.groups, no_groups(), 0
        while box < len(old.group):
            box, needed = copy_boxes(old, new, box)
            if needed:
                new = with_room(new, box, sides_at(old, box), needed)
        self.groups, self._removed = new, 0

    def relate(self, sides: BoxSides) -> tuple[int, Numbers]:
        """A box that contains one, or -1; if there is none, the boxes that lie in it."""
        self._have_room()
        coverer, found = relate_box(self.groups, sides, self._out)
        return int(coverer), self._out[:found].copy()

    def covering(self, sides: BoxSides, first: bool = False) -> Numbers:
        """The boxes that contain one; with ``first`` at most one of them."""
        return self._found(find_covering, sides, 1 if first else len(self))

    def covered(self, sides: BoxSides) -> Numbers:
        """The boxes that lie in one."""
        return self._found(find_covered, sides, len(self))

    def overlapping(self, sides: BoxSides, unique: Flags, *, touching: bool = True) -> Numbers:
        """The boxes that have a value in common with one on each axis that both have and that is
        unique; with ``touching`` also those whose ranges end where its ranges begin."""
        self._have_room()
        found = find_overlapping(self.groups, sides, unique, int(touching), self._out)
        return self._out[:found].copy()

    def _found(
        self, find: Callable[[Groups, BoxSides, Numbers], int], sides: BoxSides, most: int
    ) -> Numbers:
        if not len(self):
            return self._out[:0]
        self._have_room()
        return self._out[: find(self.groups, sides, self._out[:most])].copy()

    def _have_room(self) -> None:
        self._out = grown(self._out, len(self) + 1)
