"""One segment out of several, from their arrays alone, without what is gone.

    segments ──boxes_of──> boxes ──slots──> what is left ──new ranks──> boxes ──sorting──> segment
                                              └─cuts─> merged axes ─┘

Subscriptions are not looked at: a sieve gives its boxes back, a line its cuts, and a cut keeps its
meaning when others come to stand beside it. What nobody uses any more goes: cuts, axes, formulas.

Meant for a thread beside one that answers events: all that takes long is compiled code or NumPy's,
which do not hold the interpreter. Complexity: linear in boxes and cuts, but for the sorting of
boxes into sieves, which takes most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Int32s, Int64s, Ranks, Slots, Uses
from tamis.matching.axes.axis import Axis, AxisKey
from tamis.matching.boxes.compiler import MAX_AXES, MAX_FOUND
from tamis.matching.boxes.layout import Boxes, sort_constraints
from tamis.matching.evaluation.merging import EvaluationPart, merged_evaluation
from tamis.matching.segments.axis_merging import NewRanks, mark_uses, merged_axis
from tamis.matching.segments.content_sieve import ContentSieve, Expectations
from tamis.matching.segments.segment import Segment
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.unbuild import boxes_of


class TooManyAxesError(Exception):
    """Segments have more axes together than one segment may have."""


class Moves(NamedTuple):
    """Where axes and ranks of a segment go; ranks of all axes stand one behind the other."""

    axis: Int32s
    offset: Int64s
    low: Ranks
    high: Ranks


class MergePart:
    """What is left of a segment, taken apart."""

    def __init__(self, segment: Segment, slots: Slots | None, conditions: int) -> None:
        self.evaluation = EvaluationPart.of(segment.evaluation, slots)
        number = self.evaluation.number
        number = np.where(number < 0, number, number + np.int32(conditions))
        self.axes = [*segment.axes, *(each.found.axis for each in segment.sought)]
        size = np.array([axis.size for axis in self.axes], np.int64)
        ranks = int(size.sum())
        self.moves = Moves(
            np.zeros(len(size), np.int32),
            np.cumsum(size) - size,
            np.zeros(ranks, np.int32),
            np.zeros(ranks, np.int32),
        )
        self.asked = np.zeros(len(size), np.bool_)
        """Which axes boxes ask for."""
        self._uses: Uses = np.zeros(ranks, np.uint8)
        self.plain = self._left(_boxes(segment.plain), slots)
        self.checked = self._left(_boxes(segment.checked), number)
        self.sought: dict[AxisKey, Boxes] = {}
        for place, each in enumerate(segment.sought, len(segment.axes)):
            self.sought[each.found.axis.key] = self._left(each.boxes(place), number)
        mark_uses(self.evaluation.intervals, self.moves.offset, self._uses, self.asked)

    def _left(self, boxes: Boxes, slots: Slots | None) -> Boxes:
        """The boxes that are left, with new slots."""
        if slots is not None:
            boxes = boxes.with_owners(slots)
        mark_uses(boxes, self.moves.offset, self._uses, self.asked)
        return boxes

    def uses(self, number: int) -> Uses:
        """Which ranks of an axis have an end of an interval above them."""
        return self._uses[self._span(number)]

    def move(self, number: int, target: int, ranks: NewRanks) -> None:
        """Say what becomes of an axis."""
        span = self._span(number)
        self.moves.axis[number] = target
        self.moves.low[span], self.moves.high[span] = ranks

    def moved(self, boxes: Boxes, size: Int64s) -> Boxes:
        """The boxes on the merged axes. Two cuts without a value between them may have become one:
        then boxes between them are empty, and gone."""
        whole = np.ones(len(boxes.owner), np.bool_)
        move_boxes(boxes, self.moves, whole)
        np.minimum(boxes.axis, len(size) - 1, out=boxes.axis)  # of a sieve, found things are last
        return boxes._replace(size=size).select(whole)

    def _span(self, number: int) -> slice:
        start = int(self.moves.offset[number])
        return slice(start, start + self.axes[number].size)


def merged(
    segments: Sequence[Segment], slots: Slots | None = None, statistics: Expectations | None = None
) -> Segment:
    """One segment that matches what the given ones, at least one, match together.

    slots: the new slot of each subscription, by its old one; -1 if it is gone. If not given, slots
        stay as they are.
    """
    if slots is not None:
        slots = np.asarray(slots, np.int32)
    parts: list[MergePart] = []
    conditions = 0
    for segment in segments:
        parts.append(MergePart(segment, slots, conditions))
        conditions += len(parts[-1].evaluation.entries.slot)
    axes, found = _merged_axes(parts)

    known = None if statistics is None else statistics(axes)

    sought = []
    for axis in found:
        key = axis.key
        boxes = [(part, part.sought[key]) for part in parts if key in part.sought]
        sought.append(ContentSieve.of(axis, joined(boxes, [*axes, axis]), axes, statistics))
    plain = BoxSieve(joined([(part, part.plain) for part in parts], axes), known)
    checked = BoxSieve(joined([(part, part.checked) for part in parts], axes), known)
    size = np.array([axis.size for axis in (*axes, *found)], np.int64)
    evaluation = merged_evaluation(
        [
            (part.evaluation, part.moved(part.evaluation.intervals, size), part.moves.axis)
            for part in parts
        ]
    )
    return Segment(axes, plain, checked, sought, evaluation)


def _boxes(sieve: BoxSieve) -> Boxes:
    return boxes_of(sieve.arrays, sieve.size)


def joined(several: Sequence[tuple[MergePart, Boxes]], axes: Sequence[Axis]) -> Boxes:
    """The boxes of several parts on merged axes."""
    size = np.array([axis.size for axis in axes], np.int64)
    return Boxes.join([part.moved(each, size) for part, each in several])


def _merged_axes(parts: Sequence[MergePart]) -> tuple[list[Axis], list[Axis]]:
    """The axes that boxes ask for, and those of found things; parts are told where theirs go."""
    places: dict[AxisKey, list[tuple[MergePart, int]]] = {}
    for part in parts:
        for number in np.flatnonzero(part.asked).tolist():
            places.setdefault(part.axes[number].key, []).append((part, number))
    found_keys = [key for key in places if key.sort.several_ranks]
    keys = [key for key in places if not key.sort.several_ranks]
    if len(keys) > MAX_AXES or len(found_keys) > MAX_FOUND:
        raise TooManyAxesError(
            f"{len(keys)} axes and {len(found_keys)} of found things; a segment holds at most"
            f" {MAX_AXES} and {MAX_FOUND}: leave these segments apart"
        )
    axes = [_merged_axis(places[key], target) for target, key in enumerate(keys)]
    first = len(keys)
    return axes, [_merged_axis(places[key], target) for target, key in enumerate(found_keys, first)]


def _merged_axis(places: Sequence[tuple[MergePart, int]], target: int) -> Axis:
    """The axis of all parts that have it, which gets the target's number in their boxes."""
    axis, ranks = merged_axis(
        [part.axes[number] for part, number in places],
        [part.uses(number) for part, number in places],
    )
    for (part, number), new in zip(places, ranks, strict=True):
        part.move(number, target, new)
    return axis


@kernel
def move_boxes(boxes: Boxes, moves: Moves, whole: Flags) -> None:
    """Give the boxes their new axes and ranks, in place, and find those that become empty."""
    attribute, low, high = boxes.axis, boxes.low, boxes.high
    for b in range(len(whole)):
        first, stop = boxes.start[b], boxes.start[b + 1]
        for c in range(first, stop):
            offset = moves.offset[attribute[c]]
            low[c], high[c] = moves.low[offset + low[c]], moves.high[offset + high[c]]
            attribute[c] = moves.axis[attribute[c]]
            whole[b] &= low[c] <= high[c]
        sort_constraints(attribute, low, high, first, stop)
