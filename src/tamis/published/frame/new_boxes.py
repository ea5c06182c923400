"""Boxes on their way into the parts of a matcher, in labels: those of one subscription, or of many.

BoxesOfOne     a list of boxes, which need no arrays of their own: the fastest way for a few
BoxesOfMany    arrays, plain boxes and checked ones apart: columns go in as columns
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Numbers
from tamis.matching.boxes.layout import Boxes

PLAIN, CHECKED = 0, 1
"""Kinds of boxes: those that say all of a subscription, and those of which the oracle decides."""


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


class TypedBoxes(NamedTuple):
    """Boxes in arrays, with their event types and slots; their axes are those of events."""

    boxes: Boxes
    type: Numbers
    slot: Numbers

    def select(self, kept: Flags) -> TypedBoxes:
        """Some of the boxes."""
        return TypedBoxes(self.boxes.select(kept), self.type[kept], self.slot[kept])

    @staticmethod
    def join(several: Iterable[TypedBoxes]) -> TypedBoxes:
        """All boxes."""
        none, label = np.empty(0, np.int32), np.empty(0, np.int64)
        nothing = TypedBoxes(Boxes(np.zeros(1, np.int64), none, label, label, none), none, none)
        boxes, type, slot = zip(nothing, *several)
        return TypedBoxes(Boxes.join(boxes), np.concatenate(type), np.concatenate(slot))


class BoxesOfMany(NamedTuple):
    """The boxes of many subscriptions."""

    plain: TypedBoxes
    checked: TypedBoxes

    def types(self) -> Numbers:
        """The types of the boxes."""
        return np.concatenate([new.type for new in self])


NOTHING = BoxesOfOne(0, (), PLAIN)
