"""The key axes of a table of subscriptions: attributes by whose values it is divided into shards.

    axis city     Accra  Athens  Austin …  Zagreb         cuts: constants of the subscriptions
    cell        0 |  1  |  2   |  3   | …|  42            cell i: from its cut up to the next one

A *key* is an axis and one of its cells. A condition of a cover has the keys of the cells that its
values lie in, if these are few: then no event without one of these cells can meet it. What has no
key on any axis has the key ``ALWAYS``.

Axes are chosen one after another, by a sample of subscriptions: the next one is always that which
spares an event the most visits. An event that has the attribute visits the shards of its cell, and
a cell that has more than a shard's share of the subscriptions is spread over several shards.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Float64s, Int64s
from tamis.matching.axes.axis import AxisKey
from tamis.matching.covers.chances import PRESENCE
from tamis.matching.covers.covers import Condition, Cover
from tamis.model.events.event import Event
from tamis.model.kinds import ORDERED, Kind, Value, kind_of
from tamis.model.paths import Path
from tamis.predicates.valueset import GREATEST, LEAST, Cut, Ranges, ValueSet, before, range_of

CELLS = 1_024
"""The most cells of an axis; with more constants than that, cells hold several."""
MOST_KEYS = 8
"""The most keys of a condition on one axis; with more cells, it has none there."""
MOST_AXES = 16
_LEAST_SHARE = 1e-4
"""The least gain in visits for which an axis is opened."""


class KeyAxis(NamedTuple):
    """The values of one kind of an attribute, cut into cells."""

    path: Path
    kind: Kind
    cuts: tuple[Cut, ...]

    def first(self, low: Cut) -> int:
        """The cell in which a range begins."""
        return bisect_right(self.cuts, low)

    def last(self, high: Cut) -> int:
        """The cell in which a range ends."""
        return bisect_left(self.cuts, high)

    def cells(self, ranges: Ranges) -> list[int] | None:
        """The cells that ranges lie in, ascending; None if they are too many."""
        found: dict[int, None] = {}
        for low, high in ranges:
            first, last = self.first(low), self.last(high)
            if last - first >= MOST_KEYS:
                return None
            found.update(dict.fromkeys(range(first, last + 1)))
        return list(found) if len(found) <= MOST_KEYS else None

    def cells_of(self, condition: Condition) -> list[int] | None:
        """The cells that the values of a condition lie in; None if they are too many, or any."""
        ranges = ranges_of(condition.sides.get(self.path), self.kind)
        return None if ranges is None else self.cells(ranges)

    def values(self, cell: int) -> ValueSet:
        """All values of a cell."""
        low = self.cuts[cell - 1] if cell else LEAST
        high = self.cuts[cell] if cell < len(self.cuts) else GREATEST
        return range_of(self.kind, low, high)


def ranges_of(values: ValueSet | None, kind: Kind) -> Ranges | None:
    """The ranges of a set of values that are all of one kind; None of any other set."""
    if values is None or values.rest or values.booleans or len(values.ranges) != 1:
        return None
    return values.ranges.get(kind)


def chosen_axes(
    covers: Iterable[Cover], shards: int, events: Sequence[Event] = ()
) -> list[KeyAxis]:
    """The axes by which subscriptions like these are best divided; ``events`` are a sample of
    events, if there is one. The first axis that a condition has keys on is its own."""
    conditions = [each for cover in covers for each in cover.conditions]
    candidates = [_Candidate.of(axis, conditions, events) for axis in _axes(conditions)]
    left = np.ones(len(conditions), bool)
    chosen: list[KeyAxis] = []
    while candidates and left.any() and len(chosen) < MOST_AXES:
        gains = [each.gain(left, shards) for each in candidates]
        best = int(np.argmax(gains))
        if gains[best] <= _LEAST_SHARE:
            break
        candidate = candidates.pop(best)
        chosen.append(candidate.axis)
        left &= candidate.home < 0
    return chosen


def _axes(conditions: Sequence[Condition]) -> Iterator[KeyAxis]:
    """An axis for each attribute and kind with constants, cut at these."""
    constants: defaultdict[tuple[Path, Kind], list[Value]] = defaultdict(list)
    for condition in conditions:
        for place, values in condition.sides.items():
            for kind in values.ranges:
                ranges = ranges_of(values, kind)
                if not isinstance(place, AxisKey) and kind in ORDERED and ranges is not None:
                    constants[place, kind] += (low[1] for low, _ in ranges if len(low) > 1)
    for (path, kind), values_ in constants.items():
        ordered = sorted(values_)
        if len(set(ordered)) > CELLS:
            ordered = [ordered[len(ordered) * n // CELLS] for n in range(CELLS)]
        if ordered:
            yield KeyAxis(path, kind, tuple(map(before, dict.fromkeys(ordered))))


class _Candidate(NamedTuple):
    """An axis that may be chosen: where conditions and events lie on it."""

    axis: KeyAxis
    home: Int64s
    """The first cell of each condition; -1 if it has no key here."""
    presence: float
    """That an event has a value on it."""
    events: Float64s | None
    """How likely the value of an event that has one lies in each cell; None if that is unknown."""

    @classmethod
    def of(
        cls, axis: KeyAxis, conditions: Sequence[Condition], events: Sequence[Event]
    ) -> _Candidate:
        home = np.full(len(conditions), -1)
        for number, condition in enumerate(conditions):
            cells = axis.cells_of(condition)
            if cells:
                home[number] = cells[0]
        return cls(axis, home, *_expected(axis, events))

    def gain(self, left: Flags, shards: int) -> float:
        """How many visits an event is spared, if conditions that are left get their keys here."""
        own = left & (self.home >= 0)
        if not own.any():
            return 0.0
        mass = np.bincount(self.home[own], minlength=len(self.axis.cuts) + 1) / len(left)
        likely = mass / mass.sum() if self.events is None else self.events
        visits = self.presence * float((likely * np.maximum(mass * shards, mass > 0)).sum())
        before_, after_ = float(left.mean()), float((left & ~own).mean())
        return _visits(before_, shards) - _visits(after_, shards) - visits


def _visits(share: float, shards: int) -> float:
    """The shards that hold a share of the subscriptions which every event must visit."""
    return max(1.0, share * shards) if share else 0.0


def _expected(axis: KeyAxis, events: Sequence[Event]) -> tuple[float, Float64s | None]:
    """What a sample of events tells of an axis."""
    if not events:
        return PRESENCE, None
    seen: Counter[int] = Counter()
    present = 0
    for event in events:
        cells = {
            bisect_right(axis.cuts, before(value))
            for value in event.values(axis.path)
            if kind_of(value) is axis.kind and value == value
        }
        present += bool(cells)
        seen.update(cells)
    counts = np.zeros(len(axis.cuts) + 1)
    counts[list(seen)] = list(seen.values())
    return present / len(events), counts / max(present, 1)
