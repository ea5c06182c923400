"""The live part: subscriptions that came just now, as boxes that are tried one after the other.

Ranks of a finished axis are dense, so that a new constant would shift them all. Here a cut has a
*label*: an integer, in the order of the cuts, with room between any two for another one.

    cuts      before 3      after 3                    after 5
    labels    2^60          2^61                       2^61 + 2^60
                                      before 4, which came later: 2^61 + 2^59

The label of a value is that of the last cut at or below it, so a box is an interval of labels on
some axes, as it is one of ranks elsewhere. A new box is seen by the next event; it costs each event
a nanosecond or two until there are enough of them for a segment.

Readers in other threads see a ``LiveView``: the arrays as they were, and how many boxes they held.
Cuts that came since do no harm: they lie between those that the boxes of the view are about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.axes import (
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
from tamis.matching.form_lines import FOLDED, FORM_LINES
from tamis.matching.jit import announce_compilation, brief
from tamis.matching.pointing import Pointing
from tamis.matching.shapes import End, Shape
from tamis.matching.sides import Axes
from tamis.matching.terms import TermLine
from tamis.model.event import Event
from tamis.model.kinds import Kind, Value, kind_of
from tamis.predicates.normal import NormalForm

Labels = NDArray[np.int64]

_TOP, _STEP = 1 << 62, 1 << 32
_LAST = 1 << 63
"""Above all labels."""


class NoRoomError(Exception):
    """Two neighbouring cuts have neighbouring labels, or there are too many axes."""


class LiveLine:
    """One line of a live axis, as compiling sees it: cuts in, references out."""

    def __init__(self, axis: LiveAxis, number: int, kind: str) -> None:
        self._axis = axis
        self._number = number
        self.kind = kind

    def add(self, value: Value, after: bool) -> int:
        """Take in one cut; return its label."""
        return self._axis.cut(self._number, value, after)


class LiveAxis:
    """An axis with labels.

    ``cuts`` ascend: the begin of line n is (2 n, label), a cut of it (2 n + 1, value, after,
    label). One list, and the label in each entry, so that readers need no lock.
    """

    def __init__(self, key: AxisKey, terms: TermLine | None) -> None:
        self.key = key
        self._terms = terms if key.sort == TERM else None
        kinds = line_kinds(key)
        self.lines = [LiveLine(self, number, kind) for number, kind in enumerate(kinds)]
        ends = len(kinds) + 2  # the begin of what lies behind the lines, and its end
        self.cuts: list[tuple[Any, ...]] = [
            (2 * line, line * (_TOP // ends)) for line in range(ends)
        ]
        self._known: dict[tuple[Any, ...], int] = {}
        """The labels of the cuts."""
        self.gaps_alike = True
        self._form = FORM_LINES.get(key.sort)

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""
        return PRESENT if event.present(self.key.path) else MISSING

    def tell_gaps(self) -> None:
        """Note that a segment must tell values apart, as labels always do."""
        self.gaps_alike = False

    def cut(self, line: int, value: Value, after: bool) -> int:
        """The label of a cut, which is made if need be."""
        place = (2 * line + 1, value, int(after))
        label = self._known.get(place)
        if label is None:
            at = bisect_left(self.cuts, place)
            label = _between(self.cuts[at - 1], self.cuts[at])
            self.cuts.insert(at, (*place, label))
            self._known[place] = label
        return label

    def begin(self, line: int) -> int:
        """The label of the begin of a line."""
        return int(self.cuts[bisect_left(self.cuts, (2 * line,))][-1])

    def interval(self, interval: Interval) -> tuple[int, int]:
        """The least and the greatest label of an interval."""
        low, high = interval
        if not self.lines:  # references are positions
            return 0 if low.reference == LEAST else low.reference + 1, high.reference
        least = self.begin(low.line) if low.reference == LEAST else low.reference
        above = self.begin(high.line + 1) if high.reference == GREATEST else high.reference
        return least, above - 1

    def rank(self, value: Value) -> int:
        """The label of a value, or -1 if the axis is not about its kind."""
        if self._terms is not None:
            return self._terms.rank(value) if isinstance(value, str) else -1
        place = self._place(value)
        if place is None:
            return -1
        label = self._known.get(place)  # the cut just before the value
        while label is None:
            at = bisect_right(self.cuts, (*place, _LAST))
            below, above = self.cuts[at - 1 : at + 1]
            if below[:-1] <= place < above[:-1]:  # or another thread has inserted one in between
                label = below[-1]
        return int(label)

    def ranker(self) -> tuple[Callable[[Any], int], Collection[type]]:
        """What gives the label of a value, and the types of those values that have one."""
        return self.rank, types_of(self.key)

    def _place(self, value: Value) -> tuple[Any, ...] | None:
        """Where a value lies among the cuts: it is the place of the cut just before it."""
        sort = self.key.sort
        if self._form is not None:
            if not isinstance(value, str):
                return (2,) if sort == FOLDED else None
            form = self._form.form(value)
            return None if form is None else (1, form, 0)
        kind = kind_of(value)
        if sort == MIXED:
            if kind is Kind.BYTES or value != value:
                return (2 * len(self.lines),)
            return (2 * LINES.index(kind) + 1, value, 0)
        return (1, value, 0) if kind == sort and value == value else None


def _between(below: tuple[Any, ...], above: tuple[Any, ...]) -> int:
    """A label between those of two neighbours: in the middle, but a step from the outermost cut,
    so that constants that ascend, as they often do, find room for long."""
    low, high = below[-1], above[-1]
    label = (low + high) >> 1
    if len(below) > 2 and len(above) == 2:
        label = min(label, low + _STEP)
    elif len(below) == 2 and len(above) > 2:
        label = max(label, high - _STEP)
    if label == low:
        raise NoRoomError
    return int(label)


class LiveAxes(Axes):
    """The axes of the live part: nothing is sought there, it is tested."""

    most_found = 0

    def __init__(self, terms: TermLine | None) -> None:
        super().__init__(terms)
        self.pointing = Pointing((), np.int64)

    def make(self, key: AxisKey) -> Any:
        """A new axis."""
        axis = LiveAxis(key, self._terms)
        self.pointing.add(axis)
        return axis


class LiveView(NamedTuple):
    """The live part at some time."""

    pointing: Pointing
    axes: Sequence[LiveAxis]
    """And perhaps others behind these, that came later."""
    boxes: int
    start: NDArray[np.int32]
    axis: NDArray[np.int32]
    low: Labels
    high: Labels
    slot: NDArray[np.int32]
    asks: NDArray[np.bool_]
    """Whether its conjunction says more than the box."""
    forms: Mapping[int, NormalForm]
    """Of the subscriptions with such boxes, and perhaps of later ones."""

    def stabbed(self, point: Labels) -> tuple[list[int], list[int]]:
        """The slots of the boxes that a point stabs: of those that match, and of those on which
        the oracle must decide; perhaps several times."""
        found = np.empty(self.boxes, np.int32)
        count = try_boxes(self.start, self.axis, self.low, self.high, self.boxes, point, found)
        if not count:
            return [], []
        boxes = found[:count]
        asks = self.asks[boxes]
        slots = self.slot[boxes]
        return slots[~asks].tolist(), slots[asks].tolist()


class Live:
    """Boxes that came one by one; one thread writes, any number read views."""

    def __init__(self, terms: TermLine | None) -> None:
        self.axes = LiveAxes(terms)
        self.forms: dict[int, NormalForm] = {}
        """Those subscriptions, by slot, of which boxes do not say all."""
        self._plans: dict[int, list[tuple[int, LiveAxis, tuple[tuple[End, End], ...]]]] = {}
        self._shapes: list[Shape] = []
        self.boxes = 0
        self._start = np.zeros(65, np.int32)
        self._slot = np.empty(64, np.int32)
        self._asks = np.empty(64, np.bool_)
        self._axis = np.empty(256, np.int32)
        self._low = np.empty(256, np.int64)
        self._high = np.empty(256, np.int64)

    def add(self, slot: int, form: NormalForm) -> None:
        """Take in a subscription."""
        compiled = [self.axes.compile(conjunction) for conjunction in form.conjunctions]
        exact = all(each.exact for each in compiled)
        boxes = [
            [(number, *self.axes.builders[number].interval(side)) for number, side in box]
            for each in compiled
            for box in each.boxes
        ]
        if not exact:
            self.forms[slot] = form
        for sides in boxes:
            self._append(slot, sides, not exact)

    def add_shape(self, slot: int, shape: Shape, constants: Sequence[Value]) -> None:
        """Take in a subscription of a shape."""
        plan = self._plans.get(id(shape))
        if plan is None:
            plan = self._plans[id(shape)] = self._plan(shape)
        options = [
            [
                (
                    number,
                    axis.begin(low) if first is None else axis.cut(low, constants[first], begins),
                    (
                        axis.begin(high + 1)
                        if last is None
                        else axis.cut(high, constants[last], ends)
                    )
                    - 1,
                )
                for (low, first, begins), (high, last, ends) in ranges
            ]
            for number, axis, ranges in plan
        ]
        if all(len(sides) == 1 for sides in options):
            self._append(slot, [side for (side,) in options], False)
            return
        for sides in product(*options):
            self._append(slot, sides, False)

    def _plan(self, shape: Shape) -> list[tuple[int, LiveAxis, tuple[tuple[End, End], ...]]]:
        """The axes of a shape and the ranges there; the shape lives as long as the plan."""
        self._shapes.append(shape)
        plan = []
        for side in shape.sides:
            number = self.axes.number(side.axis)
            if number is None:
                raise NoRoomError
            axis = self.axes.builders[number]
            if side.tells_gaps:
                axis.tell_gaps()
            plan.append((number, axis, side.ranges))
        return plan

    def _append(self, slot: int, sides: Sequence[tuple[int, int, int]], asks: bool) -> None:
        if any(low > high for _, low, high in sides):
            return
        announce_compilation(try_boxes)
        at = int(self._start[self.boxes])
        end = at + len(sides)
        while end > len(self._axis):
            self._axis = _larger(self._axis)
            self._low, self._high = _larger(self._low), _larger(self._high)
        if self.boxes == len(self._slot):
            self._slot, self._asks = _larger(self._slot), _larger(self._asks)
            self._start = _larger(self._start)
        for number, low, high in sides:
            self._axis[at], self._low[at], self._high[at] = number, low, high
            at += 1
        self._slot[self.boxes], self._asks[self.boxes] = slot, asks
        self._start[self.boxes + 1] = end
        self.boxes += 1

    def view(self) -> LiveView:
        """What is there now."""
        return LiveView(
            self.axes.pointing,
            self.axes.builders,
            self.boxes,
            self._start,
            self._axis,
            self._low,
            self._high,
            self._slot,
            self._asks,
            self.forms,
        )


def _larger(array: NDArray[Any]) -> NDArray[Any]:
    """A copy with room for twice as much; who reads the old one keeps it."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@brief
def try_boxes(
    start: NDArray[np.int32],
    axis: NDArray[np.int32],
    low: Labels,
    high: Labels,
    boxes: int,
    point: Labels,
    found: NDArray[np.int32],
) -> int:
    """Write the numbers of those boxes that contain a point; return how many."""
    n = 0
    for box in range(boxes):
        inside = True
        for c in range(start[box], start[box + 1]):
            label = point[axis[c]]
            if label < low[c] or label > high[c]:
                inside = False
                break
        found[n] = box
        n += inside
    return n
