"""From a conjunction to boxes: its sides as intervals of axes, and the products of those.

    color in ('red', 'blue') and price < 5 and title like '%oak%'

    axis                 intervals                   boxes: one for each combination
    color (string)       'red' | 'blue'              red, below 5, a title that is a string
    price (number)       below 5                     blue, below 5, a title that is a string
    title (string)       everything                  (the test of the text is left to the oracle)

A conjunction whose sides have too many combinations is not multiplied out: the sides with the most
intervals are widened to one that holds them all, and the oracle decides on what passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tamis.matching.axes.axis import GREATEST, LEAST, AxisKey, Bound, Interval, known_interval
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.axes.live import LiveAxis
from tamis.matching.axes.sort import LINES, SORTS, AxisSort
from tamis.matching.boxes.derived import derived_set, most_selective
from tamis.matching.lines.registry import MISSING, PRESENT, PresenceLine
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.matching.points.of_one_event import Projection
from tamis.matching.tests.column_tests import is_checked
from tamis.model.kinds import Kind
from tamis.model.paths import Path
from tamis.predicates.expression import (
    Comparison,
    Contains,
    In,
    InCidr,
    IsA,
    Present,
    TextTest,
)
from tamis.predicates.normal import Conjunction, Literal
from tamis.predicates.operands import Attribute, operands_within
from tamis.predicates.region_literals import attributes_of, is_opaque
from tamis.predicates.valueset import GREATEST as LAST
from tamis.predicates.valueset import LEAST as FIRST
from tamis.predicates.valueset import Cut, ValueSet, points

MAX_BOXES = 1_024
"""Boxes that one conjunction may become, unless a single side alone has more intervals."""
MAX_AXES = 2_000
"""Axes of one segment; what rarer attributes are asked is left to the oracle."""
MAX_FOUND = 200
"""Axes of found things; what is sought in more attributes is tested, not sought."""

Key = TypeVar("Key", int, AxisKey)
RangeEnd = tuple[int, Cut | None]
Box = list[tuple[int, Interval]]
"""The axes, by number, and the interval of each."""


class CompiledConjunction(NamedTuple):
    """The boxes of a conjunction, what is sought besides, and what is left to be tested then."""

    boxes: list[Box]
    sought: tuple[int, Interval] | None
    tests: tuple[Literal, ...]
    oracle: bool
    """Whether only the oracle can tell the rest."""

    @property
    def exact(self) -> bool:
        """Whether the boxes say it all."""
        return self.sought is None and not self.tests and not self.oracle


class CompiledForm(NamedTuple):
    """The conjunctions of a subscription, compiled."""

    parts: list[CompiledConjunction]
    is_plain: bool
    """Whether boxes say all that it says, so that a stabbed box is a match."""


class BoxCompiler:
    """The axes of a segment while it takes in subscriptions."""

    most_found = MAX_FOUND

    def __init__(self, terms: TermLines = NO_TERMS) -> None:
        self._terms = terms
        self._numbers: dict[AxisKey, int] = {}
        self.builders: list[Any] = []
        self.found: list[AxisBuilder] = []
        """Axes of found things, numbered for themselves."""

    def number(self, key: AxisKey) -> int | None:
        """The number of an axis, which is made if need be; None if there is no room for more."""
        number = self._numbers.get(key)
        if number is None and len(self.builders) < MAX_AXES:
            number = self._numbers[key] = len(self.builders)
            self.builders.append(self.make(key))
        return number

    def make(self, key: AxisKey) -> Any:
        """A new axis."""
        return AxisBuilder(key, self._terms)

    def compile_all(self, conjunctions: Iterable[Conjunction]) -> CompiledForm:
        """The boxes of a subscription that is true when one of its conjunctions is."""
        parts = [self.compile(conjunction) for conjunction in conjunctions]
        return CompiledForm(parts, all(part.exact for part in parts))

    def compile(self, conjunction: Conjunction) -> CompiledConjunction:
        """The boxes of a conjunction, and what they do not say."""
        sides: dict[int, list[Interval]] = {}
        sets, others = side_sets(conjunction)
        exact = True
        for key, values in sets.items():
            number = self.number(key)
            if number is None:
                exact = False
            else:
                sides[number] = list(self._intervals(number, values))
        tests = []
        for literal in sorted(others, key=is_opaque):
            if self._add_literal(literal, sides):
                continue
            if is_checked(literal):
                tests.append(literal)
            else:
                exact = False
        sought = self._sought(tests)
        exact &= _widen(sides)
        numbers = sorted(sides)
        combinations = product(*(sides[number] for number in numbers))
        boxes = [list(zip(numbers, combination)) for combination in combinations]
        return CompiledConjunction(boxes, sought, tuple(tests), not exact)

    def _sought(self, tests: list[Literal]) -> tuple[int, Interval] | None:
        """The axis of found things, by its number, and what is sought there: the longest text of
        all tests, or a value. A test that says no more than that is taken out."""
        best = most_selective(tests)
        number = None if best is None else self._found_number(best.key)
        if best is None or number is None:
            return None
        if best.whole:
            tests.remove(best.literal)
        (interval,) = self._ranges(self.found[number], points([best.value]))
        return number, interval

    def _found_number(self, key: AxisKey) -> int | None:
        keys = [builder.key for builder in self.found]
        if key in keys:
            return keys.index(key)
        if len(keys) >= self.most_found:
            return None
        self.found.append(AxisBuilder(key))
        return len(keys)

    def _intervals(self, number: int, values: ValueSet) -> Iterable[Interval]:
        """A set of values as intervals of its axis."""
        return self._ranges(self.builders[number], values)

    def _ranges(self, builder: AxisBuilder, values: ValueSet) -> Iterable[Interval]:
        if tells_gaps(values):
            builder.tell_gaps()
        for (low_line, low), (high_line, high) in axis_ranges(values, builder.key.sort):
            yield Interval(
                self._bound(builder, low_line, low, LEAST),
                self._bound(builder, high_line, high, GREATEST),
            )

    def _bound(self, builder: AxisBuilder, line: int, cut: Cut | None, end: int) -> Bound:
        if cut is None:
            return Bound(line, end)
        _, value, after = cut  # type: ignore[misc]  # it is no end of the line
        return Bound(line, builder.lines[line].add(value, bool(after)))

    def _add_literal(self, literal: Literal, sides: dict[int, list[Interval]]) -> bool:
        """Narrow the sides by what a literal implies; return whether that says it all."""
        node, positive = literal
        if isinstance(node, Present):
            rank = PRESENT if positive else MISSING
            key = AxisKey(node.attribute.path, AxisSort.PRESENCE)
            return self._narrow(sides, key, [known_interval(rank, rank, PresenceLine.size)])
        if isinstance(node, IsA):
            line = self._terms.of(node.attribute.path)
            assert line is not None  # the engine refuses what has none
            kinds = line.kinds_of(str(node.ancestor.value), positive)
            intervals = [known_interval(low, high, line.size) for low, high in kinds]
            return self._narrow(sides, AxisKey(node.attribute.path, AxisSort.TERM), intervals)
        if isinstance(node, TextTest | InCidr):  # unknown of all but strings
            key = AxisKey(node.attribute.path, AxisSort.STRING)
            self._require(sides, key)
        elif isinstance(node, Comparison | Contains | In):
            present = [known_interval(PRESENT, PRESENT, PresenceLine.size)]
            for path in _paths(node):
                self._narrow(sides, AxisKey(path, AxisSort.PRESENCE), present)
        elif is_opaque(literal):  # true of anything, yet events must bring these attributes
            either = [known_interval(PRESENT, MISSING, PresenceLine.size)]
            for path in attributes_of(node):
                self._narrow(sides, AxisKey(path, AxisSort.PRESENCE), either)
        return False

    def _require(self, sides: dict[int, list[Interval]], key: AxisKey) -> None:
        number = self.number(key)
        if number is not None and number not in sides:
            sides[number] = [Interval(Bound(0, LEAST), Bound(0, GREATEST))]

    def _narrow(
        self, sides: dict[int, list[Interval]], key: AxisKey, intervals: list[Interval]
    ) -> bool:
        """Add a side whose ranks are known, unless the axis has one already."""
        number = self.number(key)
        if number is None or number in sides:
            return number is not None and sides[number] == intervals
        sides[number] = intervals
        return True


class LiveBoxCompiler(BoxCompiler):
    """The axes of the live part: nothing is sought there, it is tested."""

    most_found = 0

    def __init__(self, terms: TermLines) -> None:
        super().__init__(terms)
        self.projection = Projection((), np.int64)

    def make(self, key: AxisKey) -> Any:
        """A new axis."""
        axis = LiveAxis(key, self._terms)
        self.projection.add(axis)
        return axis


def side_sets(conjunction: Conjunction) -> tuple[dict[AxisKey, ValueSet], list[Literal]]:
    """The sets of values that a conjunction asks for, by their axes, and all other literals."""
    sets = {AxisKey(path, sort_of(values)): values for path, values in conjunction.box.items()}
    others = []
    for literal in conjunction.literals:
        found = derived_set(literal)
        if found is None:
            others.append(literal)
        else:
            key, values = found
            sets[key] = sets[key] & values if key in sets else values
    return sets, others


def sort_of(values: ValueSet) -> AxisSort:
    """The axis that a set of values lies on."""
    kinds = [*values.ranges, *([Kind.BOOLEAN] if values.booleans else [])]
    return SORTS[kinds[0]] if len(kinds) == 1 and not values.rest else AxisSort.MIXED


def axis_ranges(values: ValueSet, sort: AxisSort) -> list[tuple[RangeEnd, RangeEnd]]:
    """The ranges of a set of values in the order of its axis; None is an end of a line.

    Where one reaches to the end of its line and the next begins the line behind, they are one.
    """
    joined: list[tuple[RangeEnd, RangeEnd]] = []
    for line, low, high in _line_ranges(values, sort):
        if joined and low is None and joined[-1][1] == (line - 1, None):
            joined[-1] = (joined[-1][0], (line, high))
        else:
            joined.append(((line, low), (line, high)))
    return joined


def _line_ranges(values: ValueSet, sort: AxisSort) -> Iterable[tuple[int, Cut | None, Cut | None]]:
    mixed = sort.is_mixed
    for kind in LINES:
        line = LINES.index(kind) if mixed else 0
        if kind is Kind.BOOLEAN:
            middle: Cut = (0, False, 1)
            if values.booleans:
                low = None if False in values.booleans else middle
                yield line, low, None if True in values.booleans else middle
        else:
            for first, last in values.ranges.get(kind, ()):
                yield line, first if len(first) > 1 else None, last if len(last) > 1 else None
    if values.rest:
        yield len(LINES) if mixed else 1, None, None


def tells_gaps(values: ValueSet) -> bool:
    """Whether a set tells apart strings that are none of its constants.

    It does not if it is some single strings, or all but some single strings.
    """
    ranges = values.ranges.get(Kind.STRING, ())
    if not ranges or (ranges[0][0] == FIRST and ranges[-1][1] == LAST):
        ends = [(ours[1], theirs[0]) for ours, theirs in pairwise(ranges)]
    else:
        ends = list(ranges)
    return any(low[:2] != high[:2] or low[2:] != (0,) for low, high in ends)


def _widen(sides: dict[int, list[Interval]]) -> bool:
    """Widen sides until their combinations are few; return whether none had to be."""
    wide = sides_to_widen({number: len(intervals) for number, intervals in sides.items()})
    for number in wide:
        intervals = sides[number]
        sides[number] = [Interval(intervals[0].low, intervals[-1].high)]
    return not wide


def sides_to_widen(counts: Mapping[Key, int]) -> list[Key]:
    """Those sides, of so many intervals each, that would have too many combinations with others."""
    total = 1
    found = []
    for key, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        if total > 1 and total * count > MAX_BOXES:
            found.append(key)
        else:
            total *= count
    return found


def _paths(node: Comparison | Contains | In) -> list[Path]:
    terms = (inner for side in node.operands() for inner in operands_within(side))
    return [term.path for term in terms if isinstance(term, Attribute)]
