"""Boxes on their way into the parts of a matcher, in labels: those of one subscription, or of many.

BoxesOfOne     a list of boxes, which need no arrays of their own: the fastest way for a few
BoxesOfMany    arrays, plain boxes and checked ones apart: columns go in as columns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.types import Numbers
from tamis.published.boxes import Sides

PLAIN, CHECKED = 0, 1
"""Kinds of boxes: those that say all of a subscription, and those whose conjunctions are tested."""


class LabelBox(NamedTuple):
    """One box: its type, its sides (axis, least and greatest label), and whose it is."""

    type: int
    sides: Sequence[tuple[int, int, int]]
    owner: int


class BoxesOfOne(NamedTuple):
    """The boxes of one subscription, all of them plain or none."""

    slot: int
    boxes: Sequence[LabelBox]
    kind: int

    def types(self) -> Numbers:
        """The types of the boxes."""
        return np.array([box.type for box in self.boxes], np.int32)

    def conjunctions(self) -> int:
        """How many are new."""
        return len({box.owner for box in self.boxes}) if self.kind == CHECKED else 0


class OwnedBoxes(NamedTuple):
    """Boxes in arrays, and whose they are; their axes are those of events, and ascend."""

    sides: Sides
    owner: Numbers
    slot: Numbers

    def some(self, which: NDArray[np.bool_]) -> OwnedBoxes:
        """Some of the boxes."""
        start, axis, low, high, type = self.sides
        count = np.diff(start)
        own = np.repeat(which, count)
        start = np.concatenate(([0], np.cumsum(count[which])))
        kept = Sides(start, axis[own], low[own], high[own], type[which])
        return OwnedBoxes(kept, self.owner[which], self.slot[which])


def ordered(sides: Sides) -> Sides:
    """Boxes with their sides in the order of their axes."""
    start, axis, low, high, type = sides
    box = np.repeat(np.arange(len(type)), np.diff(start))
    if ((axis[1:] > axis[:-1]) | (box[1:] > box[:-1])).all():
        return sides
    order = np.lexsort((axis, box))
    return Sides(start, axis[order], low[order], high[order], type)


class BoxesOfMany(NamedTuple):
    """The boxes of many subscriptions."""

    plain: OwnedBoxes
    checked: OwnedBoxes

    def types(self) -> Numbers:
        """The types of the boxes."""
        return np.concatenate([new.sides.type for new in self])

    def conjunctions(self) -> int:
        """How many are new."""
        return len(np.unique(self.checked.owner))


NOTHING = BoxesOfOne(0, (), PLAIN)
