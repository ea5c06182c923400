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
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tamis.errors import LimitError
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import (
    And,
    Between,
    Call,
    Comparison,
    Expression,
    Pattern,
    all_of,
    any_of,
    nodes_within,
)
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.normal import Conjunction, normalise
from tamis.predicates.regions import Box, Region
from tamis.predicates.to_expression import expression_of
from tamis.predicates.valueset import Cut, ValueSet, before
from tamis.predicates.variables import has_variables

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
MAX_KNOWN = 65_536
"""Predicates that a reader remembers."""


class Side(NamedTuple):
    """The values of one attribute that a filter allows, as a range of positions."""

    low: int
    high: int
    key: object = None
    """What tells a single value from others; None for a range."""
    exact: bool = False
    loose: bool = False


class Predicate(NamedTuple):
    """A test of one attribute that is a set of values."""

    path: Path
    side: Side
    values: ValueSet
    """Snapped, so that equal sets are equal."""
    written: ValueSet
    """The same as people wrote it."""


class Filter:
    """A subscription or an advertisement, prepared for routing."""

    __slots__ = ("_facts", "_region", "exact", "expression", "is_partial", "predicates", "sides")

    def __init__(
        self,
        expression: Expression,
        facts: Facts,
        sides: Mapping[Path, Side],
        *,
        exact: bool,
        region: Region | None = None,
        predicates: Sequence[Predicate] | None = None,
        is_partial: bool = False,
    ) -> None:
        self.expression, self._facts, self._region = expression, facts, region
        self.sides = sides
        self.exact = exact
        """Whether the box of its sides says all, so that boxes alone decide what covers what."""
        self.predicates = predicates
        """The tests that it is a conjunction of; None if it is something else."""
        self.is_partial = is_partial
        """Whether the subscription asks for more, which only its broker can tell."""

    @staticmethod
    def of(expression: Expression, facts: Facts = NO_FACTS) -> Filter:
        """Prepare a subscription."""
        expression, is_partial = attribute_part(expression)
        region = Region.of(expression, facts)
        boxes = [_sides_of(box) for box in region.boxes]
        sides = _hull(boxes)
        predicates = None
        is_plain = len(boxes) == 1 and region.boxes[0].plain
        if is_plain and not region.boxes[0].conjunction.literals:
            values, written = region.boxes[0].sides, region.boxes[0].conjunction.box
            predicates = [Predicate(p, sides[p], values[p], written[p]) for p in written]
        exact = is_plain and all(side.exact for side in sides.values())
        return Filter(
            expression,
            facts,
            sides,
            exact=exact,
            region=region,
            predicates=predicates,
            is_partial=is_partial,
        )

    @property
    def region(self) -> Region:
        """The same for comparison with others, pair by pair."""
        if self._region is None:
            self._region = Region.of(self.expression, self._facts)
        return self._region

    @property
    def never_matches(self) -> bool:
        """Whether no event can match."""
        return self._region is not None and self._region.never_matches

    def __repr__(self) -> str:
        return f"Filter({self.expression})"


class FilterReader:
    """Prepares subscriptions under the same facts; predicates that come again are known.

    Most subscriptions are conjunctions of comparisons of different attributes. Such a one is put
    together from what is known of its predicates, at a tenth of the cost.
    """

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._facts = facts
        self._known: dict[Expression, Predicate | None] = {}

    def read(self, expression: Expression) -> Filter:
        """Prepare a subscription."""
        predicates = self._predicates(expression)
        if predicates is None:
            return Filter.of(expression, self._facts)
        sides = {each.path: each.side for each in predicates}
        exact = all(side.exact for side in sides.values())
        return Filter(expression, self._facts, sides, exact=exact, predicates=predicates)

    def _predicates(self, expression: Expression) -> list[Predicate] | None:
        """The predicates of a conjunction that test different attributes, none within another."""
        parts = expression.parts if type(expression) is And else (expression,)
        found, paths, is_nested = [], set[Path](), False
        for part in parts:
            known = self._predicate(part)
            if known is None:
                return None
            found.append(known)
            paths.add(known.path)
            is_nested |= len(known.path) > 1
        if len(paths) < len(found) or not found:
            return None
        if is_nested and any(path[:n] in paths for path in paths for n in range(1, len(path))):
            return None
        return found

    def _predicate(self, part: Expression) -> Predicate | None:
        if type(part) not in (Comparison, Between):
            return None
        try:
            return self._known[part]
        except KeyError:
            pass
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        made = Filter.of(part, self._facts)
        is_one = made.predicates is not None and len(made.predicates) == 1 and not made.is_partial
        self._known[part] = made.predicates[0] if made.predicates and is_one else None
        return self._known[part]


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
