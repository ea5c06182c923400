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

from tamis.matching.live_axes import LiveAxes, LiveAxis, LiveLine
from tamis.matching.shapes import End, Shape
from tamis.model.kinds import Value

_MOST = 10_000
"""Plans kept, as shapes are."""

LiveSide = tuple[int, int, int]
"""The number of an axis, the least and the greatest label."""


class _LiveEnd(NamedTuple):
    """An end of a range of a shape: a label, or how far from that of a constant it is."""

    line: LiveLine | None
    hole: int
    label: int

    def of(self, constants: Sequence[Value]) -> int:
        line, hole, label = self
        return label if line is None else line.label(constants[hole]) + label


_Side = tuple[int, list[tuple[_LiveEnd, _LiveEnd]]]
"""The number of an axis, and the ranges there."""


class ShapePlan(NamedTuple):
    """The sides of a shape, those first that are equalities."""

    sides: list[_Side]
    is_whole: bool
    """Whether there was room for all axes."""

    def boxes(self, constants: Sequence[Value]) -> Iterator[tuple[LiveSide, ...]]:
        """The boxes of a subscription; of one that names a constant twice, some come twice."""
        options = [
            [(number, low.of(constants), high.of(constants)) for low, high in ranges]
            for number, ranges in self.sides
        ]
        return product(*options)


class ShapePlans:
    """The plans of shapes, each made when it is first asked for."""

    def __init__(self, axes: LiveAxes) -> None:
        self._axes = axes
        self._plans: dict[int, tuple[Shape, ShapePlan]] = {}

    def of(self, shape: Shape) -> ShapePlan:
        """The plan of a shape."""
        known = self._plans.get(id(shape))
        if known is None:
            if len(self._plans) >= _MOST:
                self._plans.clear()
            known = self._plans[id(shape)] = shape, self._plan(shape)
        return known[1]

    def _plan(self, shape: Shape) -> ShapePlan:
        sides: list[_Side] = []
        for side in shape.sides:
            number = self._axes.number(side.axis)
            if number is None:
                continue
            axis = self._axes.builders[number]
            if side.tells_gaps:
                axis.tell_gaps()
            sides.append((number, [_ends(axis, low, high) for low, high in side.ranges]))
        sides.sort(key=_may_be_wide)
        return ShapePlan(sides, len(sides) == len(shape.sides))


def _may_be_wide(side: _Side) -> bool:
    """Whether the ranges of a side are no equalities."""
    return any(low.line is None or low[:2] != high[:2] for low, high in side[1])


def _ends(axis: LiveAxis, low: End, high: End) -> tuple[_LiveEnd, _LiveEnd]:
    """The least and the greatest label of a range."""
    if low.hole is None:
        least = _LiveEnd(None, 0, axis.begin(low.line))
    else:
        least = _LiveEnd(axis.lines[low.line], low.hole, int(low.after))
    if high.hole is None:
        return least, _LiveEnd(None, 0, axis.end(high.line) - 1)
    return least, _LiveEnd(axis.lines[high.line], high.hole, int(high.after) - 1)
