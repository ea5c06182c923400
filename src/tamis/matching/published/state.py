"""What a published matcher holds at one time: axes, parts, and where the boxes of each slot are.

    slot      0    1    2    3             parts   0   plain boxes: a stabbed box is a match
    place     0    1   -1   -2                     1   boxes whose conjunctions are tested besides
    first     0    0                               2   plain boxes of event type 1, if each type
                        scattered: 3               ...         has structures of its own

All boxes of a subscription are plain, or none is. They are in one part, linked (part.py), unless
they have several types (those of slot 3, which are listed apart). Slot 2 has none.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.published.boxes import UNBOUNDED, BoxTable, Numbers, Sides
from tamis.matching.published.index import TALLY, Index, Tally
from tamis.matching.published.label_axes import LabelAxes, LabelSide
from tamis.matching.published.part import Part
from tamis.matching.published.residue import Residue
from tamis.matching.published.typing import NAMES, SELF, STRUCTURES, Types
from tamis.matching.sides import MAX_AXES

NOWHERE, SCATTERED = -1, -2
"""Places of slots without boxes, and of those with boxes in several parts."""


class New(NamedTuple):
    """Boxes on their way into parts; their axes are those of events."""

    sides: Sides
    owner: Numbers
    slot: Numbers

    def some(self, which: NDArray[np.bool_]) -> New:
        """Some of the boxes."""
        start, axis, low, high, type = self.sides
        count = np.diff(start)
        own = np.repeat(which, count)
        kept = Sides(
            np.concatenate(([0], np.cumsum(count[which]))),
            axis[own],
            low[own],
            high[own],
            type[which],
        )
        return New(kept, self.owner[which], self.slot[which])


def ordered(sides: Sides) -> Sides:
    """Boxes with their sides in the order of their axes."""
    start, axis, low, high, type = sides
    box = np.repeat(np.arange(len(type)), np.diff(start))
    if ((axis[1:] > axis[:-1]) | (box[1:] > box[:-1])).all():
        return sides
    order = np.lexsort((axis, box))
    return Sides(start, axis[order], low[order], high[order], type)


class NewBox(NamedTuple):
    """One of them: its type, its sides, and whose it is."""

    type: int
    sides: Sequence[LabelSide]
    owner: int


def new_boxes(slot: int, boxes: Sequence[NewBox]) -> New:
    """The boxes of one subscription."""
    start, sides = [0], []
    for box in boxes:
        sides += sorted(box.sides)
        start.append(len(sides))
    axis, low, high = zip(*sides) if sides else ((), (), ())
    types = np.array([box.type for box in boxes], np.int32)
    owners = np.array([box.owner for box in boxes], np.int32)
    return New(
        Sides(
            np.array(start, np.int64),
            np.array(axis, np.int32),
            np.array(low, np.int64),
            np.array(high, np.int64),
            types,
        ),
        owners,
        np.full(len(boxes), slot, np.int32),
    )


class State:
    """Everything that matching reads; it is changed only while nobody does."""

    def __init__(self, make: Callable[[BoxTable], Index], axes: LabelAxes, types: Types) -> None:
        self.make = make
        self.axes = axes
        self.types = types
        self.parts: dict[int, Part] = {}
        self.residue = Residue()
        self.place = np.full(1_024, NOWHERE, np.int32)
        self.first = np.zeros(1_024, np.int32)
        self.scattered: dict[int, list[tuple[int, int]]] = {}
        """Parts and first boxes of slots with several."""
        self.tally: Tally = np.zeros(TALLY, np.int64)
        """What was done by indexes that are no more."""
        self.events = np.zeros(1, np.int64)
        """How many were matched."""
        self.was_crowded = False
        """Whether there were as many axes as there can be, so that some attribute may have none."""

    def copy(self) -> State:
        """Another one that changes for itself; what only grows, and what counts, is shared."""
        checks = self.residue.checks
        shared = [self.axes, self.residue.literals, checks.literals, self.types.finder]
        shared += [self.tally, self.events, *(part.index.tally for part in self.parts.values())]
        return copy.deepcopy(self, {id(each): each for each in shared})

    # Additions.

    def add(self, plain: New, checked: New) -> None:
        """Take in the boxes of subscriptions, or none of them."""
        done: list[tuple[int, Numbers, Numbers]] = []
        try:
            for new, is_checked in ((plain, 0), (checked, 1)):
                for key, own in self._divided(new):
                    code = 2 * key + is_checked
                    part = self.parts.get(code) or Part(self.make)
                    numbers = part.add(self._with_axes_of_types(own.sides), own.owner)
                    self.parts[code] = part
                    done.append((code, numbers, own.slot))
        except BaseException:
            for code, numbers, _ in done:
                self.parts[code].remove(numbers)
                self._forget_empty(code)
            for new in (plain, checked):
                self.types.count(new.sides.type, 0)
            self.residue.removed += len(np.unique(checked.owner))
            raise
        for new in (plain, checked):
            self.types.count(new.sides.type, 1)
        for code, numbers, slot in done:
            self._link(code, numbers, slot)

    def _divided(self, new: New) -> Iterator[tuple[int, New]]:
        """Boxes by the part that they go to."""
        types = new.sides.type
        if self.types.way != STRUCTURES or not types.any():
            if len(types):
                yield 0, new
            return
        for type in np.unique(types).tolist():
            yield type, new.some(types == type)

    def _with_axes_of_types(self, sides: Sides) -> Sides:
        """Boxes with the axes that an index knows."""
        start, axis, low, high, type = sides
        count = np.diff(start)
        if self.types.way == NAMES and not count.all():
            where = start[:-1][count == 0]
            axis, low = np.insert(axis, where, SELF), np.insert(low, where, 0)
            high = np.insert(high, where, UNBOUNDED)
            count = np.maximum(count, 1)
            start = np.concatenate(([0], np.cumsum(count)))
        axis = self.types.axes_of(np.repeat(type, count), axis)
        return ordered(Sides(start, axis, low, high, type))

    def _link(self, code: int, numbers: Numbers, slot: Numbers) -> None:
        """Note where the boxes of slots are."""
        slots, first = self.parts[code].link(numbers, slot)
        self._make_room(int(slots[-1]) + 1)
        fresh = self.place[slots] == NOWHERE
        self.place[slots[fresh]], self.first[slots[fresh]] = code, first[fresh]
        for slot_again, box in zip(slots[~fresh].tolist(), first[~fresh].tolist()):
            place = int(self.place[slot_again])
            if place != SCATTERED:
                self.scattered[slot_again] = [(place, int(self.first[slot_again]))]
                self.place[slot_again] = SCATTERED
            self.scattered[slot_again].append((code, box))

    def _make_room(self, slots: int) -> None:
        count = len(self.place)
        if slots > count:
            more = max(slots - count, count)
            self.place = np.concatenate((self.place, np.full(more, NOWHERE, np.int32)))
            self.first = np.concatenate((self.first, np.zeros(more, np.int32)))

    # Removals.

    def remove(self, slots: Iterable[int]) -> None:
        """Forget subscriptions; those that are not there do no harm."""
        gone = np.fromiter((slot for slot in slots if slot < len(self.place)), np.int32)
        place = self.place[gone]
        for code in np.unique(place[place >= 0]).tolist():
            self._remove_boxes(code, self.first[gone[place == code]])
        for slot in gone[place == SCATTERED].tolist():
            for code, first in self.scattered.pop(slot):
                self._remove_boxes(code, np.array([first], np.int32))
        self.place[gone] = NOWHERE

    def _remove_boxes(self, code: int, first: Numbers) -> None:
        part = self.parts[code]
        numbers = part.following(first)
        self.types.count(part.table.arrays.type[numbers], -1)
        if code & 1:
            self.residue.removed += len(np.unique(part.owner[numbers]))
        part.remove(numbers)
        self._forget_empty(code)

    def _forget_empty(self, code: int) -> None:
        if code > 1 and not self.parts[code].table.count:
            self.tally += self.parts.pop(code).index.tally

    # What there is.

    def slots(self) -> Numbers:
        """The slots of all subscriptions that have boxes."""
        return np.flatnonzero(self.place != NOWHERE).astype(np.int32)

    def owners(self, code: int, boxes: Numbers) -> Numbers:
        """The slots of boxes of a part."""
        owner = self.parts[code].owner[boxes]
        return self.residue.slots(owner) if code & 1 else owner

    def used_axes(self) -> Numbers:
        """The axes on which boxes have sides."""
        base = self.types.base()
        found = [part.table.sides(part.boxes()).axis for part in self.parts.values()]
        used = [np.unique(base[axis]) for axis in found]
        return np.unique(np.concatenate([np.empty(0, np.int32), *used]))

    @property
    def conjunctions(self) -> int:
        """How many are tested."""
        return self.residue.count - self.residue.removed

    @property
    def is_crowded(self) -> bool:
        """Whether subscriptions may speak of attributes that have no axis."""
        return self.was_crowded or len(self.axes.builders) >= MAX_AXES

    def is_mostly_waste(self, room: int) -> bool:
        """Whether less than half of the constants and conjunctions, or of as many axes as there
        can be, are those of subscriptions that are there."""
        kept = self.axes.constants + self.residue.removed
        sides = sum(part.table.side_count for part in self.parts.values())
        if kept > 4 * sides + self.conjunctions + room:  # a side has two constants at most
            return True
        return len(self.axes.builders) >= MAX_AXES > 2 * len(self.used_axes())

    @property
    def is_plain(self) -> bool:
        """Whether no box needs a test."""
        return not any(code & 1 and part.table.count for code, part in self.parts.items())
