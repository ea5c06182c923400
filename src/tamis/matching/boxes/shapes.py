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

``x starts with □0`` ends before the *successor* of its constant, the least string above all that
begin with it. Successors are constants too, numbered behind the holes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import pyarrow as pa

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
from tamis.predicates.valueset import ValueSet, successor

Column = Any
"""The constants of one hole: an array of NumPy or Arrow, or a list."""


class End(NamedTuple):
    """An end of a range: the line, and the cut before or after a hole's constant, or none."""

    line: int
    hole: int | None
    after: bool = False

    def moved(self, place: Mapping[int, int]) -> End:
        """The end with another number for its hole."""
        return self if self.hole is None else self._replace(hole=place[self.hole])


class ShapeSide(NamedTuple):
    """An axis, and the ranges that a side allows there, any one of them."""

    axis: AxisKey
    ranges: tuple[tuple[End, End], ...]
    tells_gaps: bool

    def moved(self, place: Mapping[int, int]) -> ShapeSide:
        """The side with other numbers for its holes."""
        return self._replace(
            ranges=tuple((low.moved(place), high.moved(place)) for low, high in self.ranges)
        )


class Shape(NamedTuple):
    """The sides of a conjunction with holes; they say all that it says."""

    sides: tuple[ShapeSide, ...]
    holes: int
    crossing: tuple[tuple[int, int], ...] = ()
    """Pairs of holes that make a subscription contradict itself if the first is greater."""
    prefixes: tuple[int, ...] = ()
    """Holes whose constants have successors, which stand behind the constants."""

    def completed(self, constants: Sequence[Value]) -> Sequence[Value] | None:
        """Constants with the successors of prefixes; None if a prefix has none."""
        if not self.prefixes:
            return constants
        behind = [successor(str(constants[hole])) for hole in self.prefixes]
        return None if None in behind else [*constants, *behind]  # type: ignore[list-item]

    def completed_columns(self, columns: Sequence[Column]) -> list[Column]:
        """The same of columns; a successor that is not there is null."""
        behind = [
            pa.array(map(successor, columns[hole].to_pylist()), pa.large_string())
            for hole in self.prefixes
        ]
        return [*columns, *behind]

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
                        references(low, LEAST, builder, columns),
                        high.line,
                        references(high, GREATEST, builder, columns),
                    )
                    for low, high in side.ranges
                ]
            )
        for combination in product(*options):
            rows.add_many(slots, combination)
        return True


def references(
    end: End, limit: int, builder: AxisBuilder, columns: Sequence[Column]
) -> Int32s | int:
    """The cuts of an end, given the constants of many boxes; or the end of the line."""
    if end.hole is None:
        return limit
    return builder.lines[end.line].add_many(columns[end.hole], end.after)


def conjunction(shapes: Sequence[Shape]) -> Shape | None:
    """The shape of a conjunction of shapes, their holes in a row, if it has one."""
    if not are_independent(shapes):
        return None
    first, behind = 0, sum(shape.holes for shape in shapes)
    sides: list[ShapeSide] = []
    crossing: list[tuple[int, int]] = []
    prefixes: list[int] = []
    for shape in shapes:
        place = {hole: first + hole for hole in range(shape.holes)}
        place |= {shape.holes + n: behind + n for n in range(len(shape.prefixes))}
        sides += [side.moved(place) for side in shape.sides]
        crossing += [(place[low], place[high]) for low, high in shape.crossing]
        prefixes += [place[hole] for hole in shape.prefixes]
        first += shape.holes
        behind += len(shape.prefixes)
    return Shape(tuple(sides), first, tuple(crossing), tuple(prefixes))


def are_independent(shapes: Sequence[Shape]) -> bool:
    """Whether the sides of several shapes are those of their conjunction: they are about different
    attributes, and few combinations."""
    sides = [side for shape in shapes for side in shape.sides]
    few = prod(len(side.ranges) for side in sides) <= MAX_BOXES
    return few and len({side.axis.path for side in sides}) == len(sides)


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
    strings = [hole for hole, kind in enumerate(kinds) if kind is Kind.STRING]
    constants = [*markers, *(successor(str(markers[hole])) for hole in strings)]
    holes = {(kind_of(each), each): hole for hole, each in enumerate(constants) if each is not None}
    sides = [_side(path_of(place), values, holes) for place, values in places.items()]
    found = [side for side in sides if side is not None]
    ranges = [range_ for side in found for range_ in side.ranges]
    used = {end.hole for range_ in ranges for end in range_ if end.hole is not None}
    count = len(kinds)
    complete = len(found) == len(sides) and used.issuperset(range(count))
    if not complete or prod(len(side.ranges) for side in found) > MAX_BOXES:
        return None
    pairs = {
        (low.hole, high.hole)
        for low, high in ranges
        if low.hole is not None and high.hole is not None and low.hole != high.hole
    }
    behind = sorted(hole for hole in used if hole >= count)
    if not {(strings[hole - count], hole) for hole in behind} <= pairs:
        return None
    place = {hole: hole for hole in range(count)}
    place |= {hole: count + number for number, hole in enumerate(behind)}
    return Shape(
        tuple(side.moved(place) for side in found),
        count,
        tuple(sorted(pair for pair in pairs if max(pair) < count)),
        tuple(strings[hole - count] for hole in behind),
    )


def _is_plain(node: Expression) -> bool:
    """Whether it is a predicate or a conjunction of predicates, negated or not, in which other
    constants give boxes of the same sides: a pattern of ``like`` may be a prefix or a string."""
    parts = node.parts if isinstance(node, And) else (node,)
    leaves = (part.part if isinstance(part, Not) else part for part in parts)
    return all(_keeps_its_sides(leaf) for leaf in leaves)


def _keeps_its_sides(leaf: Expression) -> bool:
    if isinstance(leaf, TextTest):
        return leaf.operator == "starts with" and not leaf.ignore_case
    return not isinstance(leaf, And | Or | Not | TruthTest | Pattern)


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
