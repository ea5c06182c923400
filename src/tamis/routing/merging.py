"""Mergers: filters that stand for several others (PADRES, section 5).

Filters are candidates if they bind the same attributes and differ in one of them alone, as outputs
of one diagram do. Their merger allows on it what any of them allows:

    perfect      price = 150, price < 150                  price <= 150
                 price = 1, price = 4                      price in (1, 4), with ``sets``
    imperfect    price > 150, price = 145, price = 148     price >= 145: all between the ends
                 price < 3, price > 9                      price is a number
                 x and price > 5, x and size = 3           x: what they differ in is dropped

A perfect merger matches what its members match and nothing else, whatever kinds the values have and
however many. What an imperfect one matches besides is its *degree*: the share of its matches that
no member matches, given how events are distributed (``distribution.py``). A merger is made if its
probability times its degree is within a threshold, the paper's IMT, always measured against the
original members, so that mergers of mergers do not drift.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tamis.errors import LimitError
from tamis.model.paths import Path
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.normal import Conjunction
from tamis.predicates.snapping import closed
from tamis.predicates.to_expression import expression_of
from tamis.predicates.valueset import ValueSet
from tamis.routing import distribution
from tamis.routing.distribution import Distribution
from tamis.routing.filters import Filter

Key = TypeVar("Key", bound=Hashable)
Sides = dict[Path, ValueSet]
ROUNDING = 1e-12
"""What sums of probabilities may be wrong by."""


@dataclass(frozen=True, slots=True, eq=False)
class Merger(Generic[Key]):
    """A filter with the members that it stands for."""

    filter: Filter
    members: tuple[Key, ...]
    is_perfect: bool
    """Whether it matches what its members match, whatever is published."""


@dataclass(frozen=True)
class MergeRules:
    """What may be merged."""

    threshold: float = 0.0
    """The greatest probability of false positives, for each merger."""
    sets: bool = False
    """Whether several ranges may stand side by side in a merger, which costs it several boxes."""
    distribution: Distribution | None = None
    """How events are distributed; without it all mergers are perfect."""
    drop: bool = True
    """Whether an imperfect merger may leave out the predicates in which its members differ."""


class _Part(Generic[Key]):
    """A filter, or a merger so far."""

    __slots__ = ("is_perfect", "marks", "members", "sides", "written")

    def __init__(
        self, sides: Sides, written: Sides, marks: dict[Path, int], members: tuple[Key, ...]
    ) -> None:
        self.sides = sides
        """Snapped, so that equal sets are equal."""
        self.written = written
        """The same as people wrote them."""
        self.marks = marks
        """A number for each attribute with its values, the same for equal ones."""
        self.members = members
        self.is_perfect = True

    def without(self, path: Path) -> tuple[int, ...]:
        """What is the same in parts that differ in one attribute alone."""
        return tuple(sorted(mark for each, mark in self.marks.items() if each != path))


def mergers_of(
    filters: Mapping[Key, Filter],
    rules: MergeRules | None = None,
    facts: Facts = NO_FACTS,
    advertisements: Sequence[Filter] = (),
) -> list[Merger[Key]]:
    """Mergers of some of the filters, none of which is in two of them."""
    search = _MergerSearch(filters, rules or MergeRules(), advertisements)
    found = []
    for part in search.run():
        if len(part.members) > 1:
            sides = {
                path: closed(part.sides[path]) if facts.is_integer(path) else values
                for path, values in part.written.items()
            }
            expression = expression_of(Conjunction(sides))
            found.append(Merger(Filter.of(expression, facts), part.members, part.is_perfect))
    return found


def is_within(
    merger: Filter, members: Sequence[Filter], rules: MergeRules, advertisements: Sequence[Filter]
) -> bool:
    """Whether an imperfect merger is good enough under some advertisements."""
    return _is_within(_sides(merger), members, rules, _promised(advertisements))


def _is_within(
    merger: Sides, members: Sequence[Filter], rules: MergeRules, promised: Sequence[Sides]
) -> bool:
    if rules.distribution is None:
        return False
    own = [_sides(each) for each in members]
    try:
        return distribution.is_within(
            rules.threshold + ROUNDING, merger, own, rules.distribution, promised
        )
    except LimitError:
        return False


class _MergerSearch(Generic[Key]):
    """Merges what may be merged, again and again, until nothing changes."""

    def __init__(
        self, filters: Mapping[Key, Filter], rules: MergeRules, advertisements: Sequence[Filter]
    ) -> None:
        self._rules, self._promised = rules, _promised(advertisements)
        self._filters = filters
        self._marks: dict[tuple[Path, object], int] = {}

    def run(self) -> list[_Part[Key]]:
        """The filters that can be merged at all, each merged or by itself."""
        parts = [
            self._part(_sides(each), {one.path: one.written for one in each.predicates}, (key,))
            for key, each in self._filters.items()
            if each.predicates is not None
        ]
        while True:
            before = len(parts)
            for path in sorted({path for part in parts for path in part.sides}):
                parts = self._on_path(path, parts)
            if self._rules.drop and self._rules.distribution is not None:
                parts = self._dropping(parts)
            if len(parts) == before:
                return parts

    def _part(self, sides: Sides, written: Sides, members: tuple[Key, ...]) -> _Part[Key]:
        marks = {path: self._mark(path, values) for path, values in sides.items()}
        return _Part(sides, written, marks, members)

    def _mark(self, path: Path, values: ValueSet) -> int:
        kinds = tuple(sorted((str(kind), ranges) for kind, ranges in values.ranges.items()))
        key = path, (kinds, values.booleans, values.rest)
        return self._marks.setdefault(key, len(self._marks))

    def _on_path(self, path: Path, parts: Sequence[_Part[Key]]) -> list[_Part[Key]]:
        """Merge parts that differ in one attribute, neighbours first."""
        groups: dict[tuple[int, ...], list[_Part[Key]]] = {}
        merged = []
        for part in parts:
            if path in part.sides:
                groups.setdefault(part.without(path), []).append(part)
            else:
                merged.append(part)
        for group in groups.values():
            if len(group) == 1:
                merged += group
                continue
            group.sort(key=lambda part: _order(part.sides[path]))
            done: list[_Part[Key]] = []
            for part in group:
                joined = self._joined(path, done[-1], part) if done else None
                if joined is None:
                    done.append(part)
                else:
                    done[-1] = joined
            merged += done
        return merged

    def _joined(self, path: Path, a: _Part[Key], b: _Part[Key]) -> _Part[Key] | None:
        union, written = a.sides[path] | b.sides[path], a.written[path] | b.written[path]
        is_perfect = a.is_perfect and b.is_perfect
        if union.weight > 1 and not self._rules.sets:
            if self._rules.distribution is None:
                return None
            union, written = _filled(union), _filled(written)
            is_perfect = False
        sides = {**a.sides, path: union}
        joined = self._part(sides, {**a.written, path: written}, (*a.members, *b.members))
        return joined if is_perfect else self._good_enough(joined)

    def _dropping(self, parts: Sequence[_Part[Key]]) -> list[_Part[Key]]:
        """Merge parts that have all but one predicate in common, by dropping that one."""
        groups: dict[tuple[int, ...], list[tuple[Path, _Part[Key]]]] = {}
        for part in parts:
            for path in part.sides:
                groups.setdefault(part.without(path), []).append((path, part))
        merged: list[_Part[Key]] = []
        gone: set[int] = set()
        for group in groups.values():
            left = [(path, part) for path, part in group if id(part) not in gone]
            if len(left) < 2:
                continue
            path, first = left[0]
            sides = {each: values for each, values in first.sides.items() if each != path}
            written = {each: first.written[each] for each in sides}
            members = tuple(key for _, part in left for key in part.members)
            joined = self._good_enough(self._part(sides, written, members))
            if joined is not None:
                gone |= {id(part) for _, part in left}
                merged.append(joined)
        return [*merged, *(part for part in parts if id(part) not in gone)]

    def _good_enough(self, part: _Part[Key]) -> _Part[Key] | None:
        """An imperfect merger, if it is within the threshold."""
        part.is_perfect = False
        members = [self._filters[key] for key in part.members]
        return part if _is_within(part.sides, members, self._rules, self._promised) else None


def _sides(filter: Filter) -> Sides:
    return {each.path: each.values for each in filter.predicates or ()}


def _promised(advertisements: Sequence[Filter]) -> list[Sides]:
    """The boxes that events lie in."""
    return [box.sides for each in advertisements for box in each.region.boxes]


def _filled(values: ValueSet) -> ValueSet:
    """A set with all between its ends, in each kind."""
    ends = {kind: ((ranges[0][0], ranges[-1][1]),) for kind, ranges in values.ranges.items()}
    return ValueSet(ends, values.booleans, values.rest)


def _order(values: ValueSet) -> tuple[str, object]:
    """By the first range; sets of other kinds stay apart."""
    for kind in sorted(values.ranges):
        return str(kind), values.ranges[kind][0]
    return "", ((-1,), (-1,))
