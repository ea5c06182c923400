"""Subscriptions and advertisements as filters: the box that bounds one, in positions.

    price < 5 and category = 'Toy'      sides   category   key 0 (the single value 'Toy')
                                                price      [before all numbers, before 5)

A *position* is a 64-bit integer that stands for a cut between values and keeps its order: numbers
as their IEEE bits, strings as their first five bytes, timestamps in steps of two milliseconds, one
kind behind the other. Different cuts may share a position. So a filter that covers another has a
box that contains its box. The converse holds if both are *exact*; else ``tamis.covers`` decides.

The box of a filter with alternatives is the least that holds all of them. ``x contains 3`` bounds
``x`` loosely: the value 3 may serve a filter that asks for ``x < 5`` (``predicates/relations.py``).

Only attributes are routed by: graph patterns and operators stay with the subscriber's broker, and a
filter says so (``is_partial``). A filter without a test of an attribute lets every event through.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.errors import LimitError
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Call, Expression, Pattern, all_of, any_of, nodes_within
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.normal import Conjunction, normalise
from tamis.predicates.regions import Box, Region
from tamis.predicates.to_expression import expression_of
from tamis.predicates.valueset import Cut, ValueSet, before
from tamis.predicates.variables import has_variables
from tamis.routing.box_index import LOOSE, RANGE, BoxSides

_NUMBERS = 0x7FF1 << 48
"""Above the bits of infinity."""
_STRINGS, _TIMES, _BOOLEANS, _REST = (code << 48 for code in (0x7FF2, 0x7FF4, 0x7FF6, 0x7FF7))
_BYTES = 5
_ENDS = {
    Kind.NUMBER: (-_NUMBERS, _NUMBERS),
    Kind.STRING: (_STRINGS, _STRINGS + 257**_BYTES),
    Kind.TIMESTAMP: (_TIMES, _TIMES + (1 << 48)),
}
_FIRST = Timestamp.parse("0001-01-01").nanoseconds
_STEP = 21


class Side(NamedTuple):
    """The values of one attribute that a filter allows, as a range of positions."""

    low: int
    high: int
    key: object = None
    """What tells a single value from others; None for a range."""
    exact: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """A subscription or an advertisement, prepared for routing."""

    expression: Expression
    region: Region
    sides: Mapping[Path, Side]
    exact: bool
    """Whether the box of its sides says all, so that boxes alone decide what covers what."""
    is_partial: bool = False
    """Whether the subscription asks for more, which only its broker can tell."""

    @staticmethod
    def of(expression: Expression, facts: Facts = NO_FACTS) -> Filter:
        """Prepare a subscription."""
        expression, is_partial = attribute_part(expression)
        region = Region.of(expression, facts)
        boxes = [_sides_of(box) for box in region.boxes]
        sides = _hull(boxes)
        exact = (
            len(boxes) == 1 and region.boxes[0].plain and all(side.exact for side in sides.values())
        )
        return Filter(expression, region, sides, exact, is_partial)

    @property
    def never_matches(self) -> bool:
        """Whether no event can match."""
        return self.region.never_matches


def attribute_part(expression: Expression) -> tuple[Expression, bool]:
    """What a subscription asks of attributes alone, and whether it asks for more.

    Whatever matches the subscription matches it: no event is missed, some may come in vain.
    """
    if _is_of_attributes(expression):
        return expression, False
    try:
        conjunctions = normalise(expression).conjunctions
    except LimitError:
        return all_of(), True
    parts = []
    for each in conjunctions:
        kept = frozenset(one for one in each.literals if _is_of_attributes(one.predicate))
        parts.append(expression_of(Conjunction(each.box, kept)))
    return any_of(*parts), True


def _is_of_attributes(expression: Expression) -> bool:
    nodes = nodes_within(expression)
    return not (has_variables(expression) or any(isinstance(n, Call | Pattern) for n in nodes))


class Axes:
    """The numbers of attributes, and of the single values that filters ask for."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._facts = facts
        self._axes: dict[Path, int] = {}
        self._keys: dict[tuple[int, object], int] = {}
        self._last: tuple[Filter, BoxSides] | None = None
        """The filter that was asked for last: most are asked for several times in a row."""
        self.unique = np.zeros(0, np.bool_)
        """By axis: whether its attribute has one value at most."""

    def sides(self, filter: Filter) -> BoxSides:
        """The sides of a filter by numbers."""
        if self._last is not None and self._last[0] is filter:
            return self._last[1]
        rows = sorted(
            (self._axis(path), self._key(path, side), side.low, side.high)
            for path, side in filter.sides.items()
        )
        axis, key, low, high = np.array(rows, np.int64).reshape(-1, 4).T.copy()
        sides = BoxSides(axis.astype(np.int32), key.astype(np.int32), low, high)
        self._last = filter, sides
        return sides

    def _axis(self, path: Path) -> int:
        number = self._axes.setdefault(path, len(self._axes))
        if number == len(self.unique):
            self.unique = np.append(self.unique, self._facts.unique(path))
        return number

    def _key(self, path: Path, side: Side) -> int:
        if side.loose:
            return LOOSE
        if side.key is None:
            return RANGE
        return self._keys.setdefault((self._axis(path), side.key), len(self._keys))


def position(kind: Kind, cut: Cut) -> tuple[int, bool]:
    """The position of a cut, and whether no other cut of the kind has the same."""
    if len(cut) == 1:
        return _ENDS[kind][cut[0] > 0], True
    value, after = cut[1], cut[2]
    if isinstance(value, str):
        data = value.encode()
        code = 0
        for byte in data[:_BYTES].ljust(_BYTES, b"\0") if len(data) >= _BYTES else data:
            code = code * 257 + byte + 1
        code *= 257 ** max(0, _BYTES - len(data))
        return _STRINGS + code, len(data) <= _BYTES and not after
    if isinstance(value, Timestamp):
        steps, rest = divmod(value.nanoseconds - _FIRST, 1 << _STEP)
        return _TIMES + steps, rest == 0 and not after
    assert isinstance(value, int | float)
    (bits,) = struct.unpack("<q", struct.pack("<d", float(value)))
    code = bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)
    return code, float(value) == value and not after


def _sides_of(box: Box) -> dict[Path, Side]:
    sides = {path: _side(values) for path, values in box.sides.items()}
    for path, listed in box.listed.items():
        if len(listed) == 1:
            sides[path] = sides[path]._replace(key=(kind_of(listed[0]), listed[0]))
    for path, values in box.contained.items():
        ends = [side for value in values for side in _ends(value)]
        if path in sides:
            ends.append(sides[path])
        low, high = max(end.low for end in ends), min(end.high for end in ends)
        sides[path] = Side(low, high, loose=True)
    return sides


def _ends(value: Value) -> Iterable[Side]:
    """The side of a value that must be contained, as wide as positions are."""
    kind = kind_of(value)
    if kind is Kind.BOOLEAN:
        yield _side(ValueSet(booleans=frozenset({bool(value)})))
    elif kind in _ENDS and value == value:
        at, _ = position(kind, before(value))
        yield Side(at, at)
    else:
        yield Side(_REST, _REST)


def _side(values: ValueSet) -> Side:
    """The range from the first position of a set to its last one."""
    ends: list[tuple[int, bool]] = []
    for kind, ranges in values.ranges.items():
        ends += [position(kind, ranges[0][0]), position(kind, ranges[-1][1])]
    if values.booleans:
        ends += [(_BOOLEANS + min(values.booleans), True)]
        ends += [(_BOOLEANS + max(values.booleans) + 1, True)]
    if values.rest:
        ends += [(_REST, True), (_REST + 1, True)]
    low, high = min(ends)[0], max(ends)[0]
    is_one = values.weight == 1 and not values.rest
    return Side(low, high, exact=is_one and all(exact for _, exact in ends))


def _hull(boxes: list[dict[Path, Side]]) -> dict[Path, Side]:
    """The least box that holds all."""
    if not boxes:
        return {}
    common = [path for path in boxes[0] if all(path in box for box in boxes)]
    if len(boxes) == 1:
        return boxes[0]
    found = {}
    for path in common:
        sides = [box[path] for box in boxes]
        keys = {side.key for side in sides}
        found[path] = Side(
            min(side.low for side in sides),
            max(side.high for side in sides),
            key=keys.pop() if len(keys) == 1 else None,
            loose=any(side.loose for side in sides),
        )
    return found
