"""Many subscriptions of one shape, compiled as columns: a conjunction with holes for constants.

    category = □0 and price between □1 and □2

    axis                low        high            one box for each row of the columns 0, 1, 2
    category (string)   before □0  after □0
    price (number)      before □1  after □2

The shape is found by trial: the holes are filled with *markers*, constants that no two holes
share and that ascend with the holes, the cover is taken, and each of its cuts is traced back
to the hole whose marker it holds. That is only right if it does not matter how the real constants
are ordered. So a shape must be a plain conjunction of predicates, in which each side depends on
one hole (``x != □``), on a lower and an upper one (if these cross, nothing is between them), or on
points alone (``x in (□, □)``), and no hole got lost (in ``x > □0 and x > □1`` the lesser constant
does not count). Everything else is compiled one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from tamis.arrays.types import Int32s, Slots
from tamis.errors import TamisError
from tamis.matching.axes.axis import GREATEST, LEAST, AxisKey
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.boxes.compiler import (
    MAX_BOXES,
    BoxCompiler,
    RangeEnd,
    axis_ranges,
    sort_of,
    tells_gaps,
)
from tamis.matching.boxes.unresolved import BoxRows, Side
from tamis.matching.covers.covers import cover_of
from tamis.matching.covers.leaves import path_of
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import And, Expression, Not, Or, Pattern, TextTest, TruthTest
from tamis.predicates.valueset import ValueSet

Column = Any
"""The constants of one hole: an array of NumPy or Arrow, or a list."""


class End(NamedTuple):
    """An end of a range: the line, and the cut before or after a hole's constant, or none."""

    line: int
    hole: int | None
    after: bool = False


class ShapeSide(NamedTuple):
    """An axis, and the ranges that a side allows there, any one of them."""

    axis: AxisKey
    ranges: tuple[tuple[End, End], ...]
    tells_gaps: bool


class Shape(NamedTuple):
    """The sides of a conjunction with holes; they say all that it says."""

    sides: tuple[ShapeSide, ...]
    crossing: tuple[tuple[int, int], ...]
    """Pairs of holes that make a subscription contradict itself if the first is greater."""

    def add(
        self, axes: BoxCompiler, rows: BoxRows, slots: Slots, columns: Sequence[Column]
    ) -> bool:
        """Take in a box, or a few, for each slot; False if there is no room for the axes."""
        options = []
        for side in self.sides:
            number = axes.number(side.axis)
            if number is None:
                return False
            builder = axes.builders[number]
            if side.tells_gaps:
                builder.tell_gaps()
            options.append(
                [
                    Side(
                        number,
                        low.line,
                        _references(low, LEAST, builder, columns),
                        high.line,
                        _references(high, GREATEST, builder, columns),
                    )
                    for low, high in side.ranges
                ]
            )
        for combination in product(*options):
            rows.add_many(slots, combination)
        return True


def _references(
    end: End, limit: int, builder: AxisBuilder, columns: Sequence[Column]
) -> Int32s | int:
    if end.hole is None:
        return limit
    return builder.lines[end.line].add_many(columns[end.hole], end.after)


def shape_of(fill: Callable[[Sequence[Value]], Expression], kinds: Sequence[Kind]) -> Shape | None:
    """The shape of what ``fill`` makes of constants of these kinds, if it has one."""
    markers = [_marker(kind, hole) for hole, kind in enumerate(kinds)]
    try:
        expression = fill(markers)
        conditions = cover_of(expression).conditions
    except TamisError:
        return None
    if not _is_plain(expression) or len(conditions) != 1:
        return None
    places, others, literals, whole = conditions[0]
    if others or literals or not whole or any(isinstance(place, AxisKey) for place in places):
        return None
    holes = {(kind_of(marker), marker): hole for hole, marker in enumerate(markers)}
    sides = [_side(path_of(place), values, holes) for place, values in places.items()]
    found = [side for side in sides if side is not None]
    used = {end.hole for side in found for range_ in side.ranges for end in range_} - {None}
    complete = len(found) == len(sides) and len(used) == len(kinds)
    if not complete or prod(len(side.ranges) for side in found) > MAX_BOXES:
        return None
    crossing = [
        (low.hole, high.hole)
        for side in found
        for low, high in side.ranges
        if low.hole is not None and high.hole is not None and low.hole != high.hole
    ]
    return Shape(tuple(found), tuple(crossing))


def _is_plain(node: Expression) -> bool:
    """Whether it is a predicate or a conjunction of predicates, negated or not, in which other
    constants give boxes of the same sides: a pattern of ``like`` may be a prefix or a string."""
    parts = node.parts if isinstance(node, And) else (node,)
    leaves = (part.part if isinstance(part, Not) else part for part in parts)
    others = And | Or | Not | TruthTest | Pattern | TextTest
    return not any(isinstance(leaf, others) for leaf in leaves)


def _marker(kind: Kind, hole: int) -> Value:
    if kind is Kind.NUMBER:
        return 1_000_003 * (hole + 1)
    if kind is Kind.TIMESTAMP:
        return Timestamp(1_000_003 * (hole + 1))
    return f"{hole:06}\x01"  # what comes after a prefix is then no other marker


def _side(
    path: tuple[str, ...], values: ValueSet, holes: Mapping[tuple[Kind, Value], int]
) -> ShapeSide | None:
    """The side of a set of values whose constants are markers, unless their order matters."""
    axis = AxisKey(path, sort_of(values))
    ranges = []
    for low, high in axis_ranges(values, axis.sort):
        first, last = _end(low, holes), _end(high, holes)
        if first is None or last is None:
            return None
        ranges.append((first, last))
    used = {end.hole for range_ in ranges for end in range_} - {None}
    points = all(low.hole is not None and low.hole == high.hole for low, high in ranges)
    if len(used) > 1 and len(ranges) > 1 and not points:
        return None
    return ShapeSide(axis, tuple(ranges), tells_gaps(values))


def _end(end: RangeEnd, holes: Mapping[tuple[Kind, Value], int]) -> End | None:
    line, cut = end
    if cut is None:
        return End(line, None)
    _, value, after = cut  # type: ignore[misc]  # it is no end of the line
    hole = holes.get((kind_of(value), value))
    return None if hole is None else End(line, hole, bool(after))
