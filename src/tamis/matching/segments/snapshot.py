"""What a reader sees: segments, live parts, and which subscriptions are gone, at one time.

A snapshot is never changed. A change makes another one and puts it in the place of the last, in one
step; who has begun to read goes on with what it has. Removed subscriptions stay in their segment
until that is merged; a reader leaves out what had died when its snapshot was made:

    died     [never, 5, never, 7]        the epoch in which each slot was removed
    epoch    6                           slot 1 is gone, slot 3 is still there

An epoch is how many subscriptions had been removed by then.

Later segments are smaller. One is merged with all later ones when these have become a good part of
it, so that there are as many as the logarithm of the number of subscriptions.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int64s, Slots
from tamis.matching.doors import DoorView
from tamis.matching.pairs import Pairs
from tamis.matching.segments.live import LiveView
from tamis.matching.segments.segment import Segment

RATIO = 4
"""A segment is merged with all later ones when it has less than so many times their boxes."""
NEVER = np.iinfo(np.int64).max


class DatedSegment(NamedTuple):
    """A segment, and the epoch up to which it has nothing that was removed."""

    segment: Segment
    epoch: int
    apart: bool = False
    """Whether it cannot be merged with others, for it would have too many axes."""
    learned: int = 0
    """How often the sample had been taught by which its access keys were chosen."""


class Snapshot(NamedTuple):
    """The state of a matcher at one time."""

    segments: tuple[DatedSegment, ...]
    lives: tuple[LiveView, ...]
    """The last one is still growing; the others wait to become segments."""
    epoch: int
    last: int
    """The epoch of the last removal."""
    died: Int64s
    door: DoorView | None = None
    """What finds subscriptions that boxes do not; None if there is nothing in it."""

    def all_alive(self, slots: Collection[int], since: int) -> Collection[int]:
        """The slots without those of subscriptions that were removed after an epoch."""
        if self.last <= since or not slots or not self.epoch:
            return slots
        died, epoch = self.died, self.epoch
        if isinstance(slots, array):  # there may be many
            numbers = np.frombuffer(slots, np.int32)
            return array("i", numbers[died[numbers] > epoch].tobytes())
        return [slot for slot in slots if died[slot] > epoch]

    def is_alive(self, slots: Slots) -> Flags:
        """Which subscriptions are there."""
        alive: Flags = self.died[slots] > self.epoch
        return alive

    def alive(self, pairs: Pairs, since: int) -> Pairs:
        """Pairs without the subscriptions that were removed after an epoch."""
        if self.last <= since or not self.epoch:
            return pairs
        return pairs.take(self.died[pairs.slot] > self.epoch)

    def due_to_merge(self) -> slice | None:
        """The first segment that is not much larger than all later ones together, and these."""
        sizes = [each.segment.boxes for each in self.segments]
        first, total = len(sizes), 0
        for number in range(len(sizes) - 1, -1, -1):
            if self.segments[number].apart:
                break
            if total and sizes[number] < RATIO * total:
                first = number
            total += sizes[number]
        return slice(first, len(sizes)) if first < len(sizes) else None

    def due_to_tidy(self) -> slice | None:
        """A segment most of whose subscriptions are gone."""
        for number, each in enumerate(self.segments):
            if self.epoch - each.epoch >= each.segment.subscriptions / 2:
                gone = self.died[each.segment.box_slots()] <= self.epoch
                if 2 * int(gone.sum()) >= len(gone):
                    return slice(number, number + 1)
        return None

    def due_to_relearn(self, times: int) -> slice | None:
        """A segment whose access keys were chosen before the sample was taught so many times."""
        for number, each in enumerate(self.segments):
            if each.learned < times:
                return slice(number, number + 1)
        return None
