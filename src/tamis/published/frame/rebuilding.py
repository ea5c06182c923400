"""A state built anew, with what is used of the old one: labels with room.

That is done when two constants have no room for another between them, when most constants are those
of subscriptions that are gone, and when slots or taxonomies change. It costs what it costs to add
all boxes at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.arrays.types import Labels, Numbers
from tamis.matching.axes.live import LiveAxis
from tamis.matching.boxes.layout import Boxes
from tamis.matching.lines.taxonomy import TermLines
from tamis.published.boxes import UNBOUNDED
from tamis.published.frame.event_types import SELF, Types
from tamis.published.frame.label_axes import LabelAxes
from tamis.published.frame.new_boxes import CHECKED, PLAIN, BoxesOfMany, TypedBoxes
from tamis.published.frame.state import State


def rebuilt(state: State, terms: TermLines, slots: Numbers | None = None) -> State:
    """The same subscriptions, under other slots if these are given; -1 is left out."""
    if slots is None:
        slots = np.arange(len(state.places), dtype=np.int32)
    types = Types(state.types.way, state.types.path)
    other = State(state.make, LabelAxes(terms, state.make.takes_comparisons), types)
    other.axes.compared = dict(state.axes.compared)
    plain, checked = (
        TypedBoxes.join(_kept(state, other, slots, kind)) for kind in (PLAIN, CHECKED)
    )
    boxes = Boxes.join([plain.boxes, checked.boxes])
    axis, low, high = boxes.axis.copy(), boxes.low, boxes.high
    for number, live in enumerate(state.axes.builders):
        own = np.flatnonzero(boxes.axis == number)
        if len(own):
            axis[own] = new_number = _number(live, other)
            new = other.axes.builders[new_number]
            low[own], high[own] = _relabelled(live, new, low[own], high[own])
    boxes = boxes._replace(axis=axis).sorted_by_axis()
    is_plain = np.arange(len(boxes.owner)) < len(plain.type)
    plain = plain._replace(boxes=boxes.select(is_plain))
    other.add(BoxesOfMany(plain, checked._replace(boxes=boxes.select(~is_plain))))
    other.axes.compared = {axis.key: axis.literal for axis in other.axes.comparisons.values()}
    other.events, other.was_crowded = state.events, state.is_crowded
    for tally in (state.tally, *(part.index.tally for part in state.parts.values())):
        other.tally += tally
    return other


def _kept(state: State, other: State, slots: Numbers, kind: int) -> Iterator[TypedBoxes]:
    """The boxes of parts, with the old axes and labels, but new slots and types."""
    base = state.types.base()
    names = state.types.names()
    for number, part in state.parts.items():
        if number & 1 != kind:
            continue
        boxes = part.boxes()
        slot = slots[state.owners(number, boxes)]
        boxes, slot = boxes[slot >= 0], slot[slot >= 0]
        start, axis, low, high, _, _ = part.table.sides(boxes)
        axis, type = base[axis], part.table.arrays.type[boxes]
        used = set(np.unique(type).tolist())
        types = np.array(
            [other.types.number(name) if each in used else 0 for each, name in enumerate(names)],
            np.int32,
        )
        own = np.flatnonzero(axis != SELF)
        box = np.repeat(np.arange(len(boxes)), np.diff(start))[own]
        start = np.concatenate(([0], np.cumsum(np.bincount(box, minlength=len(boxes)))))
        yield TypedBoxes(Boxes(start, axis[own], low[own], high[own], slot), types[type], slot)


def _number(live: LiveAxis, other: State) -> int:
    """The number of an axis in another state."""
    number = other.axes.number(live.key)
    assert number is not None  # there are no more than before
    if not live.gaps_alike:
        other.axes.builders[number].tell_gaps()
    return number


def _relabelled(old: LiveAxis, new: LiveAxis, low: Labels, high: Labels) -> tuple[Labels, Labels]:
    """Sides in the labels of another axis, which gets the constants that they use."""
    ends = np.concatenate((low, high[high != UNBOUNDED] + 1))
    begin, end = old.line_ends()
    was, now = [begin, end + 1], [begin, end + 1]
    for ours, theirs in zip(old.lines, new.lines, strict=True):
        here, there = ours.move(theirs, ends)
        was.append(here)
        now.append(there)
    before, after_ = np.concatenate(was), np.concatenate(now)
    order = np.argsort(before)
    before, after_ = before[order], after_[order]
    above = after_[np.searchsorted(before, np.where(high == UNBOUNDED, 0, high + 1))]
    return after_[np.searchsorted(before, low)], np.where(high == UNBOUNDED, UNBOUNDED, above - 1)
