"""How likely leaves are so, counted on a sample of events: by this the rarest cover is chosen.

    kind in ('a', 'b')                  3 of 4 events have such a kind
    host = 'x' or host = 'y'            1 of 4,096

Values of an attribute, or of a form of it, are sorted once; a set of ranges then takes two
bisections for each range. Texts that are sought inside others, and what is no set, are as likely
as without a sample: counting them would take longer than choosing well saves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.covers.chances import PRESENCE, chance_of
from tamis.matching.covers.leaves import Holds, Leaf, Place, Within, path_of
from tamis.matching.lines.forms import FORM_LINES
from tamis.model.events.event import Event
from tamis.model.kinds import ORDERED, Kind, Value, kind_of
from tamis.predicates.valueset import Cut, ValueSet, points

EVENTS = 1_024
"""Events that are looked at."""


class SortedValues(NamedTuple):
    """The values that events have at one place."""

    lines: dict[Kind, list[Value]]
    """Those that have an order, ascending."""
    booleans: list[bool]
    others: int

    @classmethod
    def of(cls, values: Iterable[Value]) -> SortedValues:
        """Values of any kinds."""
        found = cls({}, [], 0)
        others = 0
        for value in values:
            kind = kind_of(value)
            if isinstance(value, bool):
                found.booleans.append(value)
            elif kind in ORDERED and value == value:
                found.lines.setdefault(kind, []).append(value)
            else:
                others += 1
        for line in found.lines.values():
            line.sort()
        return found._replace(others=others)

    def count(self, values: ValueSet) -> int:
        """How many of them are in a set."""
        found = sum(value in values.booleans for value in self.booleans)
        found += self.others if values.rest else 0
        for kind, ranges in values.ranges.items():
            line = self.lines.get(kind, [])
            found += sum(_place(line, high) - _place(line, low) for low, high in ranges)
        return found


def _place(line: Sequence[Value], cut: Cut) -> int:
    """How many values lie below a cut."""
    if len(cut) == 1:
        return 0 if cut[0] < 0 else len(line)
    _, value, after = cut
    return (bisect_right if after else bisect_left)(line, value)


class SampleChances:
    """The chances of leaves by some events; what these do not show is thought rare, as ever."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._events = list(_events(batches))
        self._known: dict[Place, SortedValues] = {}

    def __call__(self, leaf: Leaf) -> float:
        """How likely an event has the attribute of a leaf, and passes it."""
        usual = chance_of(leaf)
        if isinstance(leaf, Within):
            found = self._values(leaf.place).count(leaf.values)
        elif isinstance(leaf, Holds) and leaf.key.sort is AxisSort.CONTAINED:
            found = self._values(leaf.key.path).count(points(leaf.things))
        else:
            return usual
        return min(1.0, (found + PRESENCE * usual) / (len(self._events) + 1))

    def _values(self, place: Place) -> SortedValues:
        """The values at a place, each as often as events have it."""
        known = self._known.get(place)
        if known is None:
            path = path_of(place)
            values = (value for event in self._events for value in event.values(path))
            known = self._known[place] = SortedValues.of(_forms(place, values))
        return known


def _forms(place: Place, values: Iterable[Value]) -> Iterable[Value]:
    """Values in the form that a place is about; what has none stays as it is."""
    if not isinstance(place, AxisKey) or place.sort not in FORM_LINES:
        return values
    form_of = FORM_LINES[place.sort].form
    forms = (form_of(value) if isinstance(value, str) else value for value in values)
    return (form for form in forms if form is not None)


def _events(batches: Sequence[Batch]) -> Iterable[Event]:
    """Some events of all batches."""
    step = max(1, sum(map(len, batches)) // EVENTS)
    for batch in batches:
        yield from (batch.plain_event(row) for row in range(0, len(batch), step))
