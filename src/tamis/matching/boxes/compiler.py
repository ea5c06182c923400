"""From a condition to boxes: its sides as intervals of axes, and the products of those.

    color in ('red', 'blue') and price < 5 and title like '%oak%'

    axis                 intervals                   boxes: one for each combination
    color (string)       'red' | 'blue'              red, below 5, a title that is a string
    price (number)       below 5                     blue, below 5, a title that is a string
    title (string)       everything                  and 'oak' must be found in it

A condition whose sides have too many combinations is not multiplied out: all but the most selective
ones are widened to one interval that holds them all, and what passes is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product, repeat
from typing import Any, NamedTuple

from tamis.matching.axes.axis import GREATEST, LEAST, AxisKey, Interval, known_interval
from tamis.matching.axes.builder import AxisBuilder, LineBuilder
from tamis.matching.axes.live import LiveAxis
from tamis.matching.axes.sort import LINES, SORTS, AxisSort
from tamis.matching.boxes.unresolved import LAST, AxisInterval
from tamis.matching.covers.chances import chance_of, chance_within
from tamis.matching.covers.covers import Condition
from tamis.matching.covers.leaves import Holds, Place
from tamis.matching.lines.registry import MISSING, PRESENT, PresenceLine
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.matching.points.of_one_event import LABELS, Projection
from tamis.model.kinds import Kind, Value
from tamis.model.paths import Path
from tamis.predicates.expression import (
    Comparison,
    Contains,
    In,
    IsA,
    Present,
)
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Attribute, operands_within
from tamis.predicates.region_literals import attributes_of, is_opaque
from tamis.predicates.valueset import GREATEST as TOP
from tamis.predicates.valueset import LEAST as BOTTOM
from tamis.predicates.valueset import Cut, Ranges, ValueSet, is_points, points

MAX_BOXES = 64
"""Boxes that one condition may become, unless a single side alone has more intervals."""
MAX_SIDES = 4_096
"""Sides that these boxes may have together: of a long condition fewer boxes are made."""
MAX_AXES = 2_000
"""Axes of one segment; what rarer attributes are asked is left to the oracle."""
MAX_FOUND = 200
"""Axes of found things; what is sought in more attributes is tested, not sought."""

RangeEnd = tuple[int, Cut | None]
Box = tuple[AxisInterval, ...]
"""The sides of a box."""
AxisSide = tuple[int, list[AxisInterval]]
"""An axis, by its number, and the intervals of it, any one of them."""
_EVERYTHING: Interval = 0, LEAST, 0, GREATEST
_PRESENT = known_interval(PRESENT, PRESENT, PresenceLine.size)
_PRESENT_OR_NOT = known_interval(PRESENT, MISSING, PresenceLine.size)
FOUND = -1
"""The number of the option that is about found things."""


class Option(NamedTuple):
    """A side of several intervals: how likely it is met, and how many boxes it makes of one."""

    chance: float
    intervals: int


class CompiledCondition(NamedTuple):
    """The boxes of a condition, what must be found besides, and what is left to be evaluated."""

    sides: list[list[AxisInterval]]
    """The alternatives of each side, by ascending axes."""
    found: AxisSide | None
    """An axis of found things, by its number among these, and what is sought there; in a box it is
    the last axis."""
    left: tuple[Literal, ...]
    """Literals of which the boxes say nothing, or too little."""
    exact: bool
    """Whether the boxes, with what is found and the literals that are left, say it all."""

    @property
    def boxes(self) -> Iterator[Box]:
        """A box for each combination of the alternatives."""
        return product(*self.sides)

    @property
    def says_all(self) -> bool:
        """Whether a condition holds when a box is stabbed and something is found."""
        return self.exact and not self.left


class CompiledCover(NamedTuple):
    """The conditions of a subscription, compiled."""

    parts: list[CompiledCondition]
    is_plain: bool
    """Whether boxes say all that it says, so that a stabbed box is a match."""


class BoxCompiler:
    """The axes of a segment while it takes in subscriptions."""

    most_found = MAX_FOUND

    def __init__(self, terms: TermLines = NO_TERMS) -> None:
        self._terms = terms
        self._numbers: dict[AxisKey, int] = {}
        self.builders: list[Any] = []
        self._sides: dict[int, tuple[Place, ValueSet, AxisSide | None]] = {}
        """What sets of values have become where they were seen last, by their identities; they are
        kept here, so that no other set has these."""
        self._things: dict[int, tuple[Holds, AxisSide]] = {}
        """The same of found things."""
        self._needed: dict[AxisKey, AxisSide] = {}
        """What events must have for something to be found on an axis."""
        self._found_numbers: dict[AxisKey, int] = {}
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

    def compile_all(self, conditions: Iterable[Condition]) -> CompiledCover:
        """The boxes of the conditions of a subscription."""
        self._sides.clear()
        self._things.clear()
        conditions = list(conditions)
        parts = [self.compile(condition) for condition in conditions]
        whole = all(condition.whole for condition in conditions)
        boxes_say_all = all(part.says_all and part.found is None for part in parts)
        return CompiledCover(parts, whole and boxes_say_all)

    def compile(self, condition: Condition) -> CompiledCondition:
        """The boxes of a condition, and what they do not say."""
        sides: dict[int, list[AxisInterval]] = {}
        several: dict[int, ValueSet] = {}
        exact = True
        for place, values in condition.sides.items():
            side = self.side(place, values)
            if side is None:
                exact = False
                continue
            number, sides[number] = side
            if len(sides[number]) > 1:
                several[number] = values
        left = [each for each in condition.literals if not self._add_literal(each, sides)]
        rarest, found = self._sought(condition.found)
        for each in condition.found:
            self._require(each, sides)
        exact &= len(condition.found) == (found is not None)
        if len(several) + (found is not None) > 1:  # among which a choice must be made
            options = {
                number: Option(chance_within(values), len(sides[number]))
                for number, values in several.items()
            }
            if rarest is not None and found is not None:
                options[FOUND] = Option(chance_of(rarest), len(found[1]))
        else:
            options = {}
        most = min(MAX_BOXES, MAX_SIDES // max(len(sides), 1))
        for number in widened(options, most) if options else ():
            exact = False
            if number == FOUND:
                found = None
            else:
                intervals = sides[number]
                sides[number] = [(*intervals[0][:3], *intervals[-1][3:])]
        alternatives = [sides[number] for number in sorted(sides)]
        return CompiledCondition(alternatives, found, tuple(left), exact)

    def _sought(self, found: Sequence[Holds]) -> tuple[Holds | None, AxisSide | None]:
        """The rarest of the things that must be found, and its side, if there is room."""
        if not found or not self.most_found:
            return None, None
        rarest = found[0] if len(found) == 1 else min(found, key=chance_of)
        return rarest, self.found_side(rarest)

    def side(self, place: Place, values: ValueSet) -> AxisSide | None:
        """The axis of a set of values, by its number, and the set as intervals of it; None if
        there is no room for the axis. It is found once for all conditions of a subscription."""
        known = self._sides.get(id(values))
        if known is None or known[0] != place:
            key = place if isinstance(place, AxisKey) else AxisKey(place, sort_of(values))
            number = self.number(key)
            side = None if number is None else (number, self._intervals(number, values))
            known = self._sides[id(values)] = place, values, side
        return known[2]

    def known_side(self, literal: Literal) -> AxisSide | None:
        """The same of a literal that says something by ranks that do not depend on constants."""
        known = self._known_side(literal)
        number = None if known is None else self.number(known[0])
        if known is None or number is None:
            return None
        return number, [(number, *interval) for interval in known[1]]

    def found_side(self, found: Holds) -> AxisSide | None:
        """The axis of found things, by its number among these, and things to be found there; None
        if there is no room for the axis."""
        known = self._things.get(id(found.things))
        if known is not None and known[0].key == found.key:
            return known[1]
        number = self._found_numbers.get(found.key)
        if number is None:
            if len(self.found) >= self.most_found:
                return None
            number = self._found_numbers[found.key] = len(self.found)
            self.found.append(AxisBuilder(found.key))
        side = number, self._thing_intervals(self.found[number], found)
        self._things[id(found.things)] = found, side
        return side

    def _thing_intervals(self, builder: AxisBuilder, found: Holds) -> list[AxisInterval]:
        """Things to be found as intervals, one for each, in an order that does not depend on how
        they are hashed."""
        if found.key.sort is AxisSort.CONTAINED:
            return self._ranges(LAST, builder, points(found.things))
        return self._point_intervals(LAST, builder.lines[0], sorted(found.things, key=str))

    def _intervals(self, number: int, values: ValueSet) -> list[AxisInterval]:
        """A set of values as intervals of its axis."""
        return self._ranges(number, self.builders[number], values)

    def _ranges(self, number: int, builder: AxisBuilder, values: ValueSet) -> list[AxisInterval]:
        if tells_gaps(values):
            builder.tell_gaps()
        if len(values.ranges) == 1 and len(builder.lines) == 1 and not values.rest:
            (ranges,) = values.ranges.values()
            return self._line_intervals(number, builder.lines[0], ranges)
        return [
            (
                number,
                low_line,
                self._reference(builder, low_line, low, LEAST),
                high_line,
                self._reference(builder, high_line, high, GREATEST),
            )
            for (low_line, low), (high_line, high) in axis_ranges(values, builder.key.sort)
        ]

    def _line_intervals(self, number: int, line: LineBuilder, ranges: Ranges) -> list[AxisInterval]:
        """The same on an axis of one line."""
        if is_points(ranges) and isinstance(line, LineBuilder):
            values = [low[1] for low, _ in ranges]  # type: ignore[misc]
            return self._point_intervals(number, line, values)
        return [
            (
                number,
                0,
                line.add(low[1], low[2] == 1) if len(low) > 1 else LEAST,
                0,
                line.add(high[1], high[2] == 1) if len(high) > 1 else GREATEST,
            )
            for low, high in ranges
        ]

    def _point_intervals(
        self, number: int, line: LineBuilder, values: Sequence[Value]
    ) -> list[AxisInterval]:
        first = line.add_points(values)
        end = first + 2 * len(values)
        low, high = range(first, end, 2), range(first + 1, end, 2)
        return list(zip(repeat(number), repeat(0), low, repeat(0), high))

    def _reference(self, builder: AxisBuilder, line: int, cut: Cut | None, end: int) -> int:
        if cut is None:
            return end
        _, value, after = cut  # type: ignore[misc]  # it is no end of the line
        return builder.lines[line].add(value, bool(after))

    def _known_side(self, literal: Literal) -> tuple[AxisKey, list[Interval]] | None:
        """The axis on which a literal is ranks that do not depend on constants, and these."""
        node, positive = literal
        if isinstance(node, Present):
            rank = PRESENT if positive else MISSING
            key = AxisKey(node.attribute.path, AxisSort.PRESENCE)
            return key, [known_interval(rank, rank, PresenceLine.size)]
        if isinstance(node, IsA):
            line = self._terms.of(node.attribute.path)
            assert line is not None  # the engine refuses what has none
            kinds = line.kinds_of(str(node.ancestor.value), positive)
            intervals = [known_interval(low, high, line.size) for low, high in kinds]
            return AxisKey(node.attribute.path, AxisSort.TERM), intervals
        return None

    def _add_literal(self, literal: Literal, sides: dict[int, list[AxisInterval]]) -> bool:
        """Narrow the sides by what a literal implies; return whether that says it all."""
        known = self._known_side(literal)
        if known is not None:
            return self._narrow(sides, *known)
        node = literal.predicate
        if isinstance(node, Comparison | Contains | In):
            for path in _paths(node):
                self._narrow(sides, AxisKey(path, AxisSort.PRESENCE), [_PRESENT])
        elif is_opaque(literal):  # true of anything, yet events must bring these attributes
            for path in attributes_of(node):
                self._narrow(sides, AxisKey(path, AxisSort.PRESENCE), [_PRESENT_OR_NOT])
        return False

    def _require(self, found: Holds, sides: dict[int, list[AxisInterval]]) -> None:
        """Ask for the attribute in which something must be found."""
        side = self._needed.get(found.key)
        if side is None:
            path, sort, _ = found.key
            is_list = sort is AxisSort.CONTAINED
            number = self.number(AxisKey(path, AxisSort.PRESENCE if is_list else AxisSort.STRING))
            if number is None:
                return
            side = number, [(number, *(_PRESENT if is_list else _EVERYTHING))]
            self._needed[found.key] = side
        sides.setdefault(*side)

    def _narrow(
        self, sides: dict[int, list[AxisInterval]], key: AxisKey, intervals: list[Interval]
    ) -> bool:
        """Add a side whose ranks are known, unless the axis has one already."""
        number = self.number(key)
        if number is None:
            return False
        narrowed = [(number, *interval) for interval in intervals]
        return sides.setdefault(number, narrowed) == narrowed


class LiveBoxCompiler(BoxCompiler):
    """The axes of the live part: nothing is sought there, it is tested."""

    most_found = 0

    def __init__(self, terms: TermLines) -> None:
        super().__init__(terms)
        self.projection = Projection((), LABELS)

    def make(self, key: AxisKey) -> Any:
        """A new axis."""
        axis = LiveAxis(key, self._terms)
        self.projection.add(axis)
        return axis


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
    if not ranges or (ranges[0][0] == BOTTOM and ranges[-1][1] == TOP):
        ends = [(ours[1], theirs[0]) for ours, theirs in pairwise(ranges)]
    else:
        ends = list(ranges)
    return any(low[:2] != high[:2] or low[2:] != (0,) for low, high in ends)


def widened(options: Mapping[int, Option], most: int) -> list[int]:
    """Those of some sides of several intervals that are not multiplied out: the most selective is
    in any case, others as long as there are few combinations."""
    total, found = 1, []
    for number, option in sorted(options.items(), key=lambda item: item[1]):
        if total > 1 and total * option.intervals > most:
            found.append(number)
        else:
            total *= option.intervals
    return found


def _paths(node: Comparison | Contains | In) -> list[Path]:
    terms = (inner for side in node.operands() for inner in operands_within(side))
    return [term.path for term in terms if isinstance(term, Attribute)]
