"""Shapes on live axes: what has to be done with the constants of a subscription, found once.

category = □0 and price between □1 and □2

side                  low                    high
category (string)     label of □0            label of □0
price (number)        label of □1            label of □2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tamis.arrays.sharing import Bounded
from tamis.matching.axes.live import LiveAxis, LiveLine
from tamis.matching.boxes.compiler import LiveBoxCompiler
from tamis.matching.boxes.shapes import End, Shape
from tamis.model.kinds import Value

_MOST = 10_000
"""Plans kept, as shapes are."""


class LiveRange(NamedTuple):
    """A range of a side: its ends are labels, or as far as these from those of constants."""

    axis: int
    low_line: LiveLine | None
    low_hole: int
    low: int
    high_line: LiveLine | None
    high_hole: int
    high: int

    def may_be_wide(self) -> bool:
        """Whether it is no equality."""
        return self.low_line is None or self[1:3] != self[4:6]


class ShapePlan(NamedTuple):
    """The sides of a shape, those first that are equalities; each has some ranges."""

    sides: list[list[LiveRange]]
    is_whole: bool
    """Whether there was room for all axes."""

    def boxes(self, constants: Sequence[Value]) -> Iterator[list[int]]:
        """The boxes of a subscription that are not empty: axis, least and greatest label of one
        side after the other. Of one that names a constant twice, some come twice."""
        for ranges in product(*self.sides):
            box: list[int] = []
            for axis, low_line, low_hole, low, high_line, high_hole, high in ranges:
                if low_line is not None:
                    low += low_line.label(constants[low_hole])
                if high_line is not None:
                    high += high_line.label(constants[high_hole])
                if low > high:
                    break
                box += (axis, low, high)
            else:
                yield box


class ShapePlans:
    """The plans of shapes, each made when it is first asked for."""

    def __init__(self, axes: LiveBoxCompiler) -> None:
        self._axes = axes
        self._plans: Bounded[int, tuple[Shape, ShapePlan]] = Bounded(_MOST)

    def of(self, shape: Shape) -> ShapePlan:
        """The plan of a shape."""
        known = self._plans.get(id(shape))
        if known is None:
            known = self._plans[id(shape)] = shape, self._plan(shape)
        return known[1]

    def _plan(self, shape: Shape) -> ShapePlan:
        sides: list[list[LiveRange]] = []
        for side in shape.sides:
            number = self._axes.number(side.axis)
            if number is None:
                continue
            axis = self._axes.builders[number]
            if side.tells_gaps:
                axis.tell_gaps()
            sides.append([_range(number, axis, low, high) for low, high in side.ranges])
        sides.sort(key=lambda ranges: any(each.may_be_wide() for each in ranges))
        return ShapePlan(sides, len(sides) == len(shape.sides))


def _range(number: int, axis: LiveAxis, low: End, high: End) -> LiveRange:
    """The least and the greatest label of a range on an axis."""
    if low.hole is None:
        least: tuple[LiveLine | None, int, int] = None, 0, axis.begin(low.line)
    else:
        least = axis.lines[low.line], low.hole, int(low.after)
    if high.hole is None:
        return LiveRange(number, *least, None, 0, axis.end(high.line) - 1)
    return LiveRange(number, *least, axis.lines[high.line], high.hole, int(high.after) - 1)
