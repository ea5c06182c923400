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
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Int64s, Labels, Ranks
from tamis.matching.axes.axis import GREATEST, LEAST, Axis, AxisKey, Interval, known_line
from tamis.matching.axes.builder import AxisBuilder, LineBuilder
from tamis.matching.axes.sort import LINES
from tamis.matching.lines.forms import FORM_LINES
from tamis.matching.lines.line import Ranking
from tamis.matching.lines.registry import MISSING, PRESENT, Line
from tamis.matching.lines.taxonomy import TermLines
from tamis.model.events.event import Event
from tamis.model.kinds import Kind, Value, kind_of

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

    def take_in(self, line: LineBuilder) -> Labels:
        """Give labels to the constants of a line; return the labels just below its references."""
        values, which, after = line.constants()
        self.label_all(values)
        return self._labels(values)[which] + after - 1

    def add_cuts(self, line: LineBuilder, ends: Labels | None) -> Labels:
        """Add those cuts to a line at which intervals end, or all; return the labels just above
        them."""
        values = list(self.values)
        labels = self._labels(values)
        found = []
        for after in (False, True):
            above = labels + after
            which = np.arange(len(values)) if ends is None else np.isin(above, ends).nonzero()[0]
            line.add_list(list(map(values.__getitem__, which.tolist())), [after] * len(which))
            found.append(above[which])
        return np.concatenate(found)

    def move(self, other: LiveLine, ends: Labels) -> tuple[Labels, Labels]:
        """Give another line the constants at which intervals end; return the labels just above
        their cuts here and there."""
        values = list(self.values)
        labels = self._labels(values)
        kept = np.flatnonzero(np.isin(labels, ends) | np.isin(labels + 1, ends))
        found = list(map(values.__getitem__, kept.tolist()))
        other.label_all(found)
        cuts = np.arange(3 if self.kind == Kind.BOOLEAN else 2)[:, None]  # behind true too
        return (labels[kept] + cuts).ravel(), (other._labels(found) + cuts).ravel()

    def _labels(self, values: Sequence[Any]) -> Labels:
        return np.fromiter(map(self.labels.__getitem__, values), np.int64, len(values))


class LiveFormLine(LiveLine):
    """The same for strings in another form: constants are in that form already."""

    def rank(self, value: str) -> int:
        """The label of a string's form; -1 if it has none."""
        form = FORM_LINES[self.kind].form(value)
        return -1 if form is None else super().rank(form)


class KnownLine(LiveLine):
    """A line whose labels are the ranks of one that does not depend on constants."""

    def __init__(self, line: Line) -> None:
        super().__init__("", 0, line.size)
        self._every = np.arange(line.size, dtype=np.int64)
        self.rank = line.rank  # type: ignore[method-assign]

    def take_in(self, line: LineBuilder) -> Labels:
        """The labels just below the references, which are labels."""
        return self._every - 1

    def add_cuts(self, line: LineBuilder, ends: Labels | None) -> Labels:
        """The labels just above the cuts, which the line has already."""
        return self._every

    def move(self, other: LiveLine, ends: Labels) -> tuple[Labels, Labels]:
        """The labels, which are the same there."""
        return self._every, self._every


class LiveAxis:
    """An axis with labels."""

    def __init__(self, key: AxisKey, terms: TermLines) -> None:
        self.key = key
        known = known_line(key, terms)
        self.lines: list[LiveLine]
        self.behind: int
        """The label of what lies behind the lines."""
        if known is None:
            self.lines, self.behind = _lines(key.sort.lines)
        else:
            self.lines, self.behind = [KnownLine(known)], known.size
        self.gaps_alike = True

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
        lines = range(len(self.lines) + 1)
        return (
            np.array([self.begin(line) for line in lines]),
            np.array([self.end(line) - 1 for line in lines]),
        )

    @property
    def size(self) -> int:
        """One more than the greatest label that a value can have."""
        return self.behind + self.key.sort.has_rest

    def interval(self, interval: Interval) -> tuple[int, int]:
        """The least and the greatest label of an interval."""
        low_line, low, high_line, high = interval
        least = self.begin(low_line) if low == LEAST else low
        above = self.end(high_line) if high == GREATEST else high
        return least, above - 1

    def rank(self, value: Value) -> int:
        """The label of a value, or -1 if the axis is not about its kind."""
        sort = self.key.sort
        if sort.is_mixed:
            kind = kind_of(value)
            if kind is Kind.BYTES or value != value:
                return self.behind
            return self.lines[LINES.index(kind)].rank(value)
        if type(value) in sort.types:
            return self.lines[0].rank(value)
        return self.behind if sort.has_rest else -1

    def ranking(self) -> tuple[Ranking, Collection[type]]:
        """What gives the label of a value, and the types of those values that have one."""
        sort = self.key.sort
        return Ranking(self.rank if sort.has_rest else self.lines[0].rank), sort.ranked_types


class FinishedAxis(NamedTuple):
    """A finished axis, and for each cut, and each end of a line, the least label and the first
    rank above it; they ascend."""

    axis: Axis
    label: Labels
    rank: Ranks

    def ranks(self, label: Labels) -> Ranks:
        """The first ranks above cuts, given the labels just above them."""
        return self.rank[np.searchsorted(self.label, label)]


def finish(live: LiveAxis, terms: TermLines, ends: Labels | None = None) -> FinishedAxis:
    """Finish a live axis, with those cuts that have one of these labels just above them, or with
    all its cuts."""
    builder = AxisBuilder(live.key, terms)
    if not live.gaps_alike:
        builder.tell_gaps()
    cuts = [own.add_cuts(line, ends) for own, line in zip(live.lines, builder.lines, strict=True)]
    axis, positions = builder.finish()
    first, _ = axis.line_ends()
    least, greatest = live.line_ends()
    label = np.concatenate((least, greatest[-1:] + 1, *cuts))
    rank = np.concatenate((first, [axis.size], *(position + 1 for position in positions)))
    order = np.argsort(label)
    return FinishedAxis(axis, label[order], rank[order].astype(np.int32))


def _lines(kinds: Sequence[str]) -> tuple[list[LiveLine], int]:
    """Lines of equal width one behind the other, and the label behind them."""
    width = _TOP // (len(kinds) + 1)
    lines = [
        (LiveFormLine if kind in FORM_LINES else LiveLine)(kind, place * width, (place + 1) * width)
        for place, kind in enumerate(kinds)
    ]
    return lines, len(kinds) * width
