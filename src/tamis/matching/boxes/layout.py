"""Boxes in rank space, what is known about events, and how likely each constraint is.

    start      0     2     3 3                 box 0: axis 1 in 4..4 and axis 7 in 0..9
    axis       1  7  2                         box 1: axis 2 in 3..8
    low        4  0  3                         box 2: no constraint, every event matches
    high       4  9  8

Invariant: axes ascend strictly within a box, 0 <= low <= high, in ranks also high < size[axis]. The
full interval 0..size-1 says "present, any value". An unsatisfiable box has no place here: drop it.
A sieve calls the axes that it is built for attributes 0 to k - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import (
    Flags,
    Float64s,
    Int8s,
    Int32s,
    Int64s,
    Numbers,
    Offsets,
    Ranks,
)
from tamis.matching.covers.chances import PRESENCE

# What a constraint allows a sieve to do with it. AT_LEAST and AT_MOST are one-sided: sorted by
# their constant, the satisfied ones are one slice. A full interval is an AT_LEAST of rank 0.
EQUAL, AT_LEAST, AT_MOST, BETWEEN = 0, 1, 2, 3

MAX_ATTRIBUTES = 2046  # an attribute's number takes eleven bits of a signature's code


NO_SIZES: Int64s = np.empty(0, np.int64)


class Boxes(NamedTuple):
    """Boxes as a sparse matrix by rows, in ranks or in labels; several may have one owner."""

    start: Offsets
    axis: Numbers
    low: NDArray[Any]
    high: NDArray[Any]
    owner: Numbers  # a slot, or the number of a conjunction
    size: Int64s = NO_SIZES  # ranks of each axis; labels are not counted

    def select(self, kept: Flags) -> Boxes:
        """Some of the boxes; the same ones if all are kept."""
        if kept.all():
            return self
        count = np.diff(self.start)[kept]
        start = np.concatenate(([0], np.cumsum(count)))
        sides = int(start[-1])
        low, high = np.empty(sides, self.low.dtype), np.empty(sides, self.high.dtype)
        axis = np.empty(sides, np.int32)
        selected = Boxes(start, axis, low, high, self.owner[kept], self.size)
        copy_constraints(self, kept, selected)
        return selected

    def sorted_by_axis(self) -> Boxes:
        """The boxes with their sides in the order of their axes; the same ones if they are."""
        box = np.repeat(np.arange(len(self.owner)), np.diff(self.start))
        axis = self.axis
        if ((axis[1:] > axis[:-1]) | (box[1:] > box[:-1])).all():
            return self
        order = np.lexsort((axis, box))
        return self._replace(axis=axis[order], low=self.low[order], high=self.high[order])

    def with_owners(self, owners: Numbers) -> Boxes:
        """The boxes with other owners, by the old ones; those of negative ones are gone."""
        owner = owners[self.owner]
        return self._replace(owner=owner).select(owner >= 0)

    @staticmethod
    def join(several: Sequence[Boxes]) -> Boxes:
        """The boxes of all, which are about the same axes."""
        ends = np.cumsum([0, *(boxes.start[-1] for boxes in several)])
        starts = [boxes.start[1:] + end for boxes, end in zip(several, ends)]
        return Boxes(
            np.concatenate([np.zeros(1, np.int64), *starts]),
            np.concatenate([boxes.axis for boxes in several]),
            np.concatenate([boxes.low for boxes in several]),
            np.concatenate([boxes.high for boxes in several]),
            np.concatenate([boxes.owner for boxes in several]),
            several[0].size,
        )


class Statistics(NamedTuple):
    """What is known about events: presence of each attribute, mass over its ranks (or None)."""

    presence: Float64s
    mass: Sequence[Float64s | None]


class Constraints(NamedTuple):
    """The constraints of `Boxes`, in the same order, as the choice of access keys sees them."""

    kind: Int8s
    chance: NDArray[np.float32]  # that an event has the attribute, and in this interval
    presence: NDArray[np.float32]  # of each attribute


def check_boxes(boxes: Boxes) -> Boxes:
    """Return the boxes with the types that kernels expect; refuse what breaks the invariant."""
    typed = Boxes(
        np.ascontiguousarray(boxes.start, np.int64),
        np.ascontiguousarray(boxes.axis, np.int32),
        np.ascontiguousarray(boxes.low, np.int32),
        np.ascontiguousarray(boxes.high, np.int32),
        np.ascontiguousarray(boxes.owner, np.int32),
        np.ascontiguousarray(boxes.size, np.int64),
    )
    start, attribute, low, high, slot, size = typed
    if len(size) > MAX_ATTRIBUTES:
        raise ValueError(f"{len(size)} attributes; a segment holds at most {MAX_ATTRIBUTES}")
    if len(start) != len(slot) + 1 or start[0] != 0 or (np.diff(start) < 0).any():
        raise ValueError("start must ascend from 0 and have one entry more than slot")
    if not len(attribute) == len(low) == len(high) == start[-1]:
        raise ValueError(f"attribute, low and high must have start[-1] = {start[-1]} entries")
    if len(slot) and slot.min() < 0:
        raise ValueError("slots must not be negative")
    if len(attribute):
        if attribute.min() < 0 or attribute.max() >= len(size):
            raise ValueError(f"an attribute lies outside 0..{len(size) - 1}")
        if (low < 0).any() or (low > high).any() or (high >= size[attribute]).any():
            raise ValueError("ranks must satisfy 0 <= low <= high < size[attribute]")
        descends = np.diff(attribute) <= 0
        inner = start[1:-1]
        descends[inner[(inner > 0) & (inner < len(attribute))] - 1] = False
        if descends.any():
            where = np.searchsorted(start, np.flatnonzero(descends)[0], side="right") - 1
            raise ValueError(f"the attributes of box {where} do not ascend strictly")
    return typed


def weigh_constraints(boxes: Boxes, statistics: Statistics | None = None) -> Constraints:
    """Tell the kind of each constraint and the probability that an event satisfies it."""
    attribute, low, high, size = boxes.axis, boxes.low, boxes.high, boxes.size
    last = (size - 1).astype(np.int32)[attribute]
    kind = np.full(len(attribute), BETWEEN, np.int8)
    kind[low == 0] = AT_MOST
    kind[high == last] = AT_LEAST
    kind[low == high] = EQUAL
    if statistics is None:
        presence = np.full(len(size), PRESENCE, np.float32)
        chance = ((high - low + 1) / (last + 1)).astype(np.float32)
    else:
        presence = np.asarray(statistics.presence, np.float32)
        below, offset = accumulate_mass(statistics.mass, size)
        begin = offset[attribute]
        chance = (below[begin + high + 1] - below[begin + low]).astype(np.float32)
    return Constraints(kind, chance * presence[attribute], presence)


def accumulate_mass(mass: Sequence[Float64s | None], size: Int64s) -> tuple[Float64s, Offsets]:
    """Return the mass below each rank, of all attributes in one array, and where each begins."""
    parts = []
    for weights, ranks in zip(mass, size.tolist(), strict=True):
        total = 0.0 if weights is None else float(np.sum(weights))
        if weights is None or total <= 0.0:
            parts.append(np.linspace(0.0, 1.0, ranks + 1))
        else:
            parts.append(np.concatenate(([0.0], np.cumsum(weights) / total)))
    return np.concatenate([*parts, [0.0]]), np.cumsum(size + 1) - (size + 1)


@kernel
def sort_constraints(attribute: Int32s, low: Ranks, high: Ranks, first: int, stop: int) -> None:
    """Bring the constraints of one box, which are few, into the order of their attributes."""
    for c in range(first + 1, stop):
        a, least, most, at = attribute[c], low[c], high[c], c
        while at > first and attribute[at - 1] > a:
            attribute[at], low[at], high[at] = attribute[at - 1], low[at - 1], high[at - 1]
            at -= 1
        attribute[at], low[at], high[at] = a, least, most


@kernel
def copy_constraints(boxes: Boxes, kept: Flags, selected: Boxes) -> None:
    """Copy the constraints of those boxes that are kept."""
    at = 0
    for b in range(len(kept)):
        if kept[b]:
            for c in range(boxes.start[b], boxes.start[b + 1]):
                selected.axis[at] = boxes.axis[c]
                selected.low[at] = boxes.low[c]
                selected.high[at] = boxes.high[c]
                at += 1
