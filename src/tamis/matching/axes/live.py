"""The axes of the live part: constants in, labels out, at any time.

Ranks of a finished axis are dense, so that a new constant would shift them all. Here a constant has
a *label*, an integer in the order of the constants; the one behind it is the label of what lies
above the constant, and there is room between any two for another one.

    constants        3                                     5
    labels     ...   2^60   2^60 + 1                       2^61   2^61 + 1 ...
    values           3      4, which is none of them       5      6
                                     4, had it come later: its label would be in the middle here

So a set of values is an interval of labels, as it is one of ranks elsewhere: ``x < 5`` ends just
below the label of 5, ``x <= 5`` at it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from tamis.arrays.types import Int64s
from tamis.matching.axes.axis import (
    GREATEST,
    LEAST,
    LINES,
    MISSING,
    MIXED,
    PRESENT,
    TERM,
    AxisKey,
    Interval,
    line_kinds,
    types_of,
)
from tamis.matching.lines.forms import FOLDED, FORM_LINES
from tamis.matching.lines.taxonomy import TermLines
from tamis.model.events.event import Event
from tamis.model.kinds import KIND_TYPES, Kind, Value, kind_of

_TOP, _STEP = 1 << 62, 1 << 32


class NoRoomError(Exception):
    """Two neighbouring constants have neighbouring labels, or there are too many axes."""


class LiveLine:
    """The constants of one kind; one thread writes, any number read.

    A constant gets its label before it is found among the values, so that readers need no lock.
    """

    def __init__(self, kind: str, begin: int, end: int) -> None:
        self.kind = kind
        self.begin = begin
        """The label of what lies below all constants."""
        self._end = end
        self.values: list[Any] = []
        """The constants, ascending."""
        self.labels: dict[Any, int] = {}

    def label(self, constant: Value) -> int:
        """The label of a constant, which is made if need be."""
        label = self.labels.get(constant)
        if label is None:
            at = bisect_left(self.values, constant)
            label = self.labels[constant] = self._between(at)
            self.values.insert(at, constant)
        return label

    def label_all(self, constants: Iterable[Value]) -> None:
        """Give labels to many constants: those that come between two neighbours divide the room
        there evenly."""
        new = sorted({constant for constant in constants if constant not in self.labels})
        if not new:
            return
        values, labels = self.values, self.labels
        found: dict[Any, int] = {}
        first = 0
        while first < len(new):
            at = bisect_left(values, new[first])
            last = len(new) if at == len(values) else bisect_left(new, values[at], first)
            found.update(zip(new[first:last], self._spread(at, last - first), strict=True))
            first = last
        labels.update(found)
        self.values = sorted([*values, *new])

    def _spread(self, at: int, count: int) -> range:
        """As many labels as are asked for, between those of two neighbours."""
        values, labels = self.values, self.labels
        low = labels[values[at - 1]] + 1 if at else self.begin
        high = labels[values[at]] if at < len(values) else self._end
        step = (high - low) // (count + 1)
        if not values:
            low, step = low + (high - low) // 4, step // 2
        elif not at:
            step = min(step, _STEP)
            low = high - step * (count + 1)
        elif at == len(values):
            step = min(step, _STEP)
        if step < 2:
            raise NoRoomError
        return range(low + step, low + step * count + 1, step)

    def _between(self, at: int) -> int:
        """A label between those of two neighbours: in the middle, but a step from the outermost
        constant, so that constants that ascend, as they often do, find room for long."""
        values, labels = self.values, self.labels
        low = labels[values[at - 1]] + 1 if at else self.begin
        high = labels[values[at]] if at < len(values) else self._end
        label = (low + high) >> 1
        if at and at == len(values):
            label = min(label, low + _STEP)
        elif not at and values:
            label = max(label, high - _STEP)
        if not low < label < high - 1:
            raise NoRoomError
        return label

    def add(self, value: Value, after: bool) -> int:
        """Take in one cut; return its reference, the least label above it."""
        return self.label(value) + after

    def rank(self, value: Any) -> int:
        """The label of any value of the kind; -1 of NaN."""
        label = self.labels.get(value)
        if label is not None:
            return label
        if value != value:
            return -1
        values = self.values
        while True:
            count = len(values)
            at = bisect_right(values, value)
            below = values[at - 1] if at else None
            if len(values) == count:  # or another thread has inserted a constant in between
                return self.labels[below] + 1 if at else self.begin


class LiveAxis:
    """An axis with labels."""

    def __init__(self, key: AxisKey, terms: TermLines) -> None:
        self.key = key
        self._terms = terms.of(key.path) if key.sort == TERM else None
        kinds = line_kinds(key)
        width = _TOP // (len(kinds) + 1)
        self.lines = [
            LiveLine(kind, number * width, (number + 1) * width)
            for number, kind in enumerate(kinds)
        ]
        self.behind = len(kinds) * width
        """The label of what lies behind the lines."""
        self.gaps_alike = True
        self._form = FORM_LINES.get(key.sort)

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""
        return PRESENT if event.present(self.key.path) else MISSING

    def tell_gaps(self) -> None:
        """Note that a segment must tell values apart, as labels always do."""
        self.gaps_alike = False

    def end(self, line: int) -> int:
        """The label just above a line, or above what lies behind the lines."""
        ends = [*(each.begin for each in self.lines), self.behind, _TOP]
        return ends[line + 1]

    def begin(self, line: int) -> int:
        """The least label of a line, or of what lies behind the lines."""
        return self.lines[line].begin if line < len(self.lines) else self.behind

    def line_ends(self) -> tuple[Int64s, Int64s]:
        """The least and the greatest label of each line, and of what lies behind the lines."""
        if not self.lines:
            return np.array([0]), np.array([self.size - 1])
        lines = range(len(self.lines) + 1)
        return (
            np.array([self.begin(line) for line in lines]),
            np.array([self.end(line) - 1 for line in lines]),
        )

    @property
    def size(self) -> int:
        """One more than the greatest label that a value can have."""
        if self._terms is not None:
            return self._terms.size
        if not self.lines:
            return len((PRESENT, MISSING))
        return self.behind + (self.key.sort in (MIXED, FOLDED))

    def interval(self, interval: Interval) -> tuple[int, int]:
        """The least and the greatest label of an interval."""
        low, high = interval
        if not self.lines:  # references are positions
            return 0 if low.reference == LEAST else low.reference + 1, high.reference
        least = self.begin(low.line) if low.reference == LEAST else low.reference
        above = self.end(high.line) if high.reference == GREATEST else high.reference
        return least, above - 1

    def rank(self, value: Value) -> int:
        """The label of a value, or -1 if the axis is not about its kind."""
        sort = self.key.sort
        if self._terms is not None:
            return self._terms.rank(value) if isinstance(value, str) else -1
        if self._form is not None:
            if not isinstance(value, str):
                return self.behind if sort == FOLDED else -1
            form = self._form.form(value)
            return -1 if form is None else self.lines[0].rank(form)
        kind = kind_of(value)
        if sort == MIXED:
            if kind is Kind.BYTES or value != value:
                return self.behind
            return self.lines[LINES.index(kind)].rank(value)
        return self.lines[0].rank(value) if kind == sort else -1

    def ranker(self) -> tuple[Callable[[Any], int], Collection[type]]:
        """What gives the label of a value, and the types of those values that have one."""
        is_kind = self.key.sort in KIND_TYPES
        return self.lines[0].rank if is_kind else self.rank, types_of(self.key)
