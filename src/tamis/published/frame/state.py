"""What a published matcher holds at one time: axes, types, parts, and where boxes are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Numbers, Tally
from tamis.matching.boxes.compiler import MAX_AXES
from tamis.matching.boxes.layout import Boxes
from tamis.model.paths import format_path
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.frame.event_types import NAMES, SELF, STRUCTURES, Types
from tamis.published.frame.indexed_boxes import IndexedBoxes
from tamis.published.frame.label_axes import LabelAxes, LabelSide
from tamis.published.frame.new_boxes import (
    CHECKED,
    BoxesOfMany,
    BoxesOfOne,
    LabelBox,
    TypedBoxes,
)
from tamis.published.frame.owners import Places
from tamis.published.index import TALLY, Index


class Make(NamedTuple):
    """What makes an index, and what it takes that not all do."""

    new: Callable[[BoxTable], Index]
    takes_comparisons: bool = False


class State:
    """Everything that matching reads; it is changed only while nobody does."""

    def __init__(self, make: Make, axes: LabelAxes, types: Types) -> None:
        self.make = make
        self.axes = axes
        self.types = types
        self.parts: dict[int, IndexedBoxes] = {}
        """By twice the number of an index of a type, plus the kind of boxes."""
        self.places = Places()
        self.tally: Tally = np.zeros(TALLY, np.int64)
        """What was done by indexes that are no more."""
        self.events = np.zeros(1, np.int64)
        """How many were matched."""
        self.was_crowded = False
        """Whether there were as many axes as there can be, so that some attribute may have none."""

    def copy(self) -> State:
        """Another one that changes for itself; what only grows, and what counts, is shared."""
        shared: list[Any] = [self.axes, self.types.finder]
        shared += [self.tally, self.events, *(part.index.tally for part in self.parts.values())]
        return copy.deepcopy(self, {id(each): each for each in shared})

    # Additions.

    def add(self, new: BoxesOfOne | BoxesOfMany) -> None:
        """Take in the boxes of subscriptions, or none of them."""
        done: list[tuple[int, Numbers]] = []
        try:
            if isinstance(new, BoxesOfOne):
                for number, few in self._divided_few(new):
                    done.append((number, self._part(number).add_few(few)))
            else:
                for number, boxes, type in self._divided(new):
                    done.append((number, self._part(number).add(boxes, type)))
        except BaseException:
            self._undo(new, done)
            raise
        if self.types.numbers:
            self.types.count(new.types(), 1)
        for number, found in done:
            if len(found) == 1 and isinstance(new, BoxesOfOne):
                self.places.put(new.slot, number, int(found[0]))
            else:
                slots, first = self.parts[number].link(found, self.owners(number, found))
                self.places.put_many(slots, number, first)

    def _part(self, number: int) -> IndexedBoxes:
        part = self.parts.get(number)
        if part is None:
            part = self.parts[number] = IndexedBoxes(self.make.new)
        if self.make.takes_comparisons:
            self._tell_comparisons(part)
        return part

    def _tell_comparisons(self, part: IndexedBoxes) -> None:
        """Let an index know which axes are comparisons, before it has boxes on them."""
        index: Any = part.index
        for number, axis in self.axes.comparisons.items():
            if number not in part.told:
                part.told.add(number)
                left, right = format_path(axis.left), format_path(axis.right)
                index.compare(number, left, axis.comparison, right)

    def _undo(self, new: BoxesOfOne | BoxesOfMany, done: list[tuple[int, Numbers]]) -> None:
        for number, boxes in done:
            self.parts[number].remove(boxes)
        for number in list(self.parts):
            self._forget_empty(number)
        self.types.count(new.types(), 0)

    def _divided_few(self, new: BoxesOfOne) -> Iterable[tuple[int, list[LabelBox]]]:
        """Boxes by the part that they go to, with the axes that its index knows."""
        by_part: dict[int, list[LabelBox]] = {}
        for type, sides, owner in new.boxes:
            number = 2 * self.types.key(type) + new.kind
            box = LabelBox(type, self._sides_of_type(type, sides), owner)
            by_part.setdefault(number, []).append(box)
        return by_part.items()

    def _sides_of_type(self, type: int, sides: Sequence[LabelSide]) -> list[LabelSide]:
        types = self.types
        if types.way != NAMES:
            for axis, _, _ in sides:
                if not types.has(type, axis):
                    types.axis(type, axis)
            return sorted(sides)
        found = [(types.axis(type, axis), low, high) for axis, low, high in sides]
        return sorted(found or [(types.axis(type, SELF), 0, UNBOUNDED)])

    def _divided(self, new: BoxesOfMany) -> Iterator[tuple[int, Boxes, Numbers]]:
        """The same with many boxes."""
        for kind, each in enumerate(new):
            types = each.type
            if not len(types):
                continue
            several = np.unique(types).tolist() if self.types.way == STRUCTURES else [0]
            for type in several:
                own = each.select(types == type) if len(several) > 1 else each
                yield 2 * self.types.key(type) + kind, self._typed(own), own.type

    def _typed(self, new: TypedBoxes) -> Boxes:
        """Boxes with the axes that the index of their type knows."""
        start, axis, low, high, owner, _ = new.boxes
        count = np.diff(start)
        if self.types.way == NAMES and not count.all():
            where = start[:-1][count == 0]
            axis, low = np.insert(axis, where, SELF), np.insert(low, where, 0)
            high = np.insert(high, where, UNBOUNDED)
            count = np.maximum(count, 1)
            start = np.concatenate(([0], np.cumsum(count)))
        axis = self.types.axes_of(np.repeat(new.type, count), axis)
        return Boxes(start, axis, low, high, owner).sorted_by_axis()

    # Removals.

    def remove(self, slots: Iterable[int]) -> None:
        """Forget subscriptions; those that are not there do no harm."""
        for number, first in self.places.take(list(slots)).items():
            part = self.parts[number]
            boxes = part.following(first)
            self.types.count(part.table.arrays.type[boxes], -1)
            part.remove(boxes)
            self._forget_empty(number)

    def _forget_empty(self, number: int) -> None:
        if number > CHECKED and not self.parts[number].table.count:
            self.tally += self.parts.pop(number).index.tally

    # What there is.

    def owners(self, number: int, boxes: Numbers) -> Numbers:
        """The slots of boxes of a part."""
        return self.parts[number].owner[boxes]

    @property
    def is_plain(self) -> bool:
        """Whether boxes say all."""
        return not self.checked

    @property
    def checked(self) -> int:
        """How many boxes do not say all of their subscriptions."""
        kinds = ((number & 1, part.table.count) for number, part in self.parts.items())
        return sum(count for kind, count in kinds if kind == CHECKED)

    @property
    def is_crowded(self) -> bool:
        """Whether subscriptions may speak of attributes that have no axis."""
        return self.was_crowded or len(self.axes.builders) >= MAX_AXES

    def is_mostly_waste(self, room: int) -> bool:
        """Whether less than half of the constants, or of as many axes as there can be, are those of
        subscriptions that are there."""
        sides = sum(part.table.side_count for part in self.parts.values())
        if self.axes.constants > 4 * sides + room:  # a side has two constants at most
            return True
        return len(self.axes.builders) >= MAX_AXES > 2 * self._axes_in_use()

    def _axes_in_use(self) -> int:
        base = self.types.base()
        found = [part.table.sides(part.boxes()).axis for part in self.parts.values()]
        return len(np.unique(np.concatenate([base[:0], *(base[axis] for axis in found)])))
