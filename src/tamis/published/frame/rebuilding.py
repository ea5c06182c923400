"""A state built anew, with what is used of the old one: labels with room, no removed conjunctions.

That is done when two constants have no room for another between them, when most constants are those
of subscriptions that are gone, and when slots or taxonomies change. It costs what it costs to add
all boxes at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.arrays.types import Labels, Numbers
from tamis.matching.axes.live import LiveAxis
from tamis.matching.lines.taxonomy import TermLines
from tamis.published.boxes import UNBOUNDED, Sides
from tamis.published.frame.event_types import SELF, Types
from tamis.published.frame.label_axes import LabelAxes
from tamis.published.frame.new_boxes import CHECKED, PLAIN, BoxesOfMany, OwnedBoxes, ordered
from tamis.published.frame.state import State


def rebuilt(state: State, terms: TermLines, slots: Numbers | None = None) -> State:
    """The same subscriptions, under other slots if these are given; -1 is left out."""
    if slots is None:
        slots = np.arange(len(state.places), dtype=np.int32)
    types = Types(state.types.way, state.types.path)
    other = State(state.make, LabelAxes(terms, state.make.takes_comparisons), types)
    other.axes.compared = dict(state.axes.compared)
    plain, checked = (_joined(list(_kept(state, other, slots, kind))) for kind in (PLAIN, CHECKED))
    low, high = (
        np.concatenate([getattr(new.sides, end) for new in (plain, checked)])
        for end in ("low", "high")
    )
    axis = np.concatenate([new.sides.axis for new in (plain, checked)])
    for number, live in enumerate(state.axes.builders):
        own = np.flatnonzero(axis == number)
        if len(own):
            axis[own] = other.axes.number(live.key)
            low[own], high[own] = _relabelled(live, _axis(live, other), low[own], high[own])
    count = len(plain.sides.axis)
    plain = _with_sides(plain, axis[:count], low[:count], high[:count])
    other.add(BoxesOfMany(plain, _with_sides(checked, axis[count:], low[count:], high[count:])))
    other.axes.compared = {axis.key: axis.literal for axis in other.axes.comparisons.values()}
    other.events, other.was_crowded = state.events, state.is_crowded
    for tally in (state.tally, *(part.index.tally for part in state.parts.values())):
        other.tally += tally
    return other


def _kept(state: State, other: State, slots: Numbers, kind: int) -> Iterator[OwnedBoxes]:
    """The boxes of parts, with the old axes and labels, but new slots, owners and types."""
    base = state.types.base()
    names = state.types.names()
    for number, part in state.parts.items():
        if number & 1 != kind:
            continue
        boxes = part.boxes()
        slot = slots[state.owners(number, boxes)]
        boxes, slot = boxes[slot >= 0], slot[slot >= 0]
        start, axis, low, high, type = part.table.sides(boxes)
        axis = base[axis]
        used = set(np.unique(type).tolist())
        types = np.array(
            [other.types.number(name) if each in used else 0 for each, name in enumerate(names)],
            np.int32,
        )
        own = np.flatnonzero(axis != SELF)
        box = np.repeat(np.arange(len(boxes)), np.diff(start))[own]
        start = np.concatenate(([0], np.cumsum(np.bincount(box, minlength=len(boxes)))))
        sides = Sides(start, axis[own], low[own], high[own], types[type])
        owner = _conjunctions(state, other, part.owner[boxes], slot) if kind == CHECKED else slot
        yield OwnedBoxes(sides, owner, slot)


def _conjunctions(state: State, other: State, owner: Numbers, slot: Numbers) -> Numbers:
    """The new numbers of conjunctions, which have new slots."""
    found, first, which = np.unique(owner, return_index=True, return_inverse=True)
    pairs = zip(found.tolist(), slot[first].tolist())
    new = [state.residue.copied(number, other.residue, own) for number, own in pairs]
    return np.array(new, np.int32)[which]


def _joined(several: list[OwnedBoxes]) -> OwnedBoxes:
    none = np.empty(0, np.int32)
    nothing = Sides(np.zeros(1, np.int64), none, np.empty(0, np.int64), np.empty(0, np.int64), none)
    parts = [OwnedBoxes(nothing, none, none), *several]
    lengths = np.concatenate([np.diff(new.sides.start) for new in parts])
    _, axis, low, high, type = (np.concatenate(each) for each in zip(*(new.sides for new in parts)))
    sides = Sides(np.concatenate(([0], np.cumsum(lengths))), axis, low, high, type)
    return OwnedBoxes(
        sides,
        np.concatenate([new.owner for new in parts]),
        np.concatenate([new.slot for new in parts]),
    )


def _with_sides(new: OwnedBoxes, axis: Numbers, low: Labels, high: Labels) -> OwnedBoxes:
    """The same boxes on other axes, which have to ascend."""
    return new._replace(sides=ordered(new.sides._replace(axis=axis, low=low, high=high)))


def _axis(live: LiveAxis, other: State) -> LiveAxis:
    number = other.axes.number(live.key)
    assert number is not None  # there are no more than before
    axis: LiveAxis = other.axes.builders[number]
    if not live.gaps_alike:
        axis.tell_gaps()
    return axis


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
