"""The live part: subscriptions that came just now, as boxes that are tried one after the other.

    first     axis low high  axis low high     one side of each box, an equality if there is one
    start     0 1 3 ...                        of each box the first of its other sides
    sides     axis low high  axis low high     these; three numbers a side, labels (axes/live.py)

A new box is seen by the next event; it costs each event a nanosecond or two until there are enough
of them for a segment. Most boxes fail at their first side, and the others are never fetched.

Readers in other threads see a ``LiveView``: the arrays as they were, and how many boxes they held.
Constants that came since do no harm: their labels lie between those that the boxes of the view are
about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import announce_compilation, brief
from tamis.arrays.types import Flags, Int32s, Labels, Slots
from tamis.matching.axes.live import LiveAxis, NoRoomError
from tamis.matching.boxes.compiler import LiveBoxCompiler
from tamis.matching.boxes.live_shapes import ShapePlans
from tamis.matching.boxes.shapes import Shape
from tamis.matching.covers.covers import Cover
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.points.of_one_event import Projection
from tamis.model.kinds import Value

_SIDE = 3
"""Numbers a side."""
_ASKING = 16
"""Weight of a box about which the oracle is asked. That takes thousands of times as long as to try
a box; but few of them are stabbed, and a part that is frozen early is merged more often."""
_ALWAYS = -1, 0, 0
"""The side of a box that has none: behind the labels of a point stands a 0."""


class LiveBoxes(NamedTuple):
    """Boxes in arrays with room for more; another set of arrays when that is used up."""

    first: Labels
    start: Int32s
    sides: Labels
    slot: Slots
    asks: Flags
    """Whether its subscription says more than the boxes."""


class LiveView(NamedTuple):
    """The live part at some time."""

    boxes: int
    arrays: LiveBoxes
    projection: Projection
    axes: Sequence[LiveAxis]
    """And perhaps others behind these, that came later."""
    covers: Mapping[int, Cover]
    """Of the subscriptions with boxes that do not say all, and perhaps of later ones."""
    asked: list[int]
    """How often the oracle was asked by all views so far: one number, which two threads that add to
    it may spoil, for it need not be exact."""

    @property
    def slot(self) -> Slots:
        """The slots of the boxes."""
        return self.arrays.slot[: self.boxes]

    @property
    def asks(self) -> Flags:
        """Whether their subscriptions say more than the boxes."""
        return self.arrays.asks[: self.boxes]

    def stabbed(self, point: Labels) -> tuple[list[int], list[int]]:
        """The slots of the boxes that a point stabs: of those that match, and of those on which
        the oracle must decide; perhaps several times."""
        first, start, sides, slot, asks = self.arrays
        found = np.empty(self.boxes, np.int32)
        count = try_boxes(first, start, sides, self.boxes, point, found)
        if not count:
            return [], []
        boxes = found[:count]
        ask = asks[boxes]
        slots = slot[boxes]
        return slots[~ask].tolist(), slots[ask].tolist()


class Live:
    """Boxes that came one by one; one thread writes, any number read views."""

    def __init__(self, terms: TermLines) -> None:
        self.axes = LiveBoxCompiler(terms)
        self.covers: dict[int, Cover] = {}
        """Those subscriptions, by slot, of which boxes do not say all."""
        self._plans = ShapePlans(self.axes)
        self._asked = [0]
        self.boxes = 0
        self.weight = 0
        """Of all boxes: what trying them costs an event, in boxes that say all."""
        self._sides = 0
        self._arrays = LiveBoxes(
            np.empty(_SIDE * 64, np.int64),
            np.zeros(65, np.int32),
            np.empty(_SIDE * 256, np.int64),
            np.empty(64, np.int32),
            np.empty(64, np.bool_),
        )

    def add(self, slot: int, cover: Cover) -> None:
        """Take in a subscription."""
        compiled = self.axes.compile_all(cover.conditions)
        axes = self.axes.builders
        labelled = [
            [
                [(number, *axes[number].interval(interval)) for number, *interval in side]
                for side in part.sides
            ]
            for part in compiled.parts
        ]
        if not compiled.is_plain:
            self.covers[slot] = cover
        for sides in labelled:
            possible = [[each for each in side if each[1] <= each[2]] for side in sides]
            for box in product(*possible):
                numbers = [number for side in sorted(box, key=_is_wide) for number in side]
                self._append(slot, numbers, not compiled.is_plain)

    def add_shape(self, slot: int, shape: Shape, constants: Sequence[Value]) -> None:
        """Take in a subscription of a shape."""
        plan = self._plans.of(shape)
        if not plan.is_whole:
            raise NoRoomError
        for sides in list(plan.boxes(constants)):  # all have labels before one of them is seen
            self._append(slot, sides, False)

    def _append(self, slot: int, sides: Sequence[int], asks: bool) -> None:
        """Take in a box, of whose sides the axes, least and greatest labels stand in a row."""
        announce_compilation(try_boxes)
        sides = sides or _ALWAYS
        box, end = self.boxes, self._sides + len(sides) // _SIDE - 1
        self._make_room(box, end)
        arrays = self._arrays
        others = sides[_SIDE:]
        _packing(_SIDE).pack_into(arrays.first.data, 8 * _SIDE * box, *sides[:_SIDE])
        _packing(len(others)).pack_into(arrays.sides.data, 8 * _SIDE * self._sides, *others)
        arrays.slot[box], arrays.asks[box], arrays.start[box + 1] = slot, asks, end
        self.boxes, self._sides = box + 1, end
        self.weight += _ASKING if asks else 1

    def _make_room(self, box: int, sides: int) -> None:
        first, start, values, slot, asks = self._arrays
        if box < len(slot) and _SIDE * sides <= len(values):
            return
        if box == len(slot):
            first, start = _larger(first), _larger(start)
            slot, asks = _larger(slot), _larger(asks)
        while _SIDE * sides > len(values):
            values = _larger(values)
        self._arrays = LiveBoxes(first, start, values, slot, asks)

    def view(self) -> LiveView:
        """What is there now."""
        axes = self.axes
        return LiveView(
            self.boxes, self._arrays, axes.projection, axes.builders, self.covers, self._asked
        )


def _is_wide(side: tuple[int, int, int]) -> bool:
    """Whether it is no equality."""
    return side[1] != side[2]


@cache
def _packing(numbers: int) -> Struct:
    """What writes as many labels at once, which is faster than one by one."""
    return Struct(f"={numbers}q")


def _larger(array: NDArray[Any]) -> NDArray[Any]:
    """A copy with room for twice as much; who reads the old one keeps it."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@brief
def try_boxes(
    first: Labels,
    start: Int32s,
    sides: Labels,
    boxes: int,
    point: Labels,
    found: Int32s,
) -> int:
    """Write the numbers of those boxes that contain a point, which has a 0 behind its labels;
    return how many."""
    n = 0
    for box in range(boxes):
        label = point[first[3 * box]]
        if label < first[3 * box + 1] or label > first[3 * box + 2]:
            continue
        inside = True
        for c in range(start[box], start[box + 1]):
            label = point[sides[3 * c]]
            if label < sides[3 * c + 1] or label > sides[3 * c + 2]:
                inside = False
                break
        found[n] = box
        n += inside
    return n
