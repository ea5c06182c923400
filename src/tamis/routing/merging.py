"""Mergers: filters that stand for several others (PADRES, section 5).

Filters are candidates if they bind the same attributes and differ in one of them alone, as outputs
of one diagram do. Their merger allows on it what any of them allows:

    perfect      price = 150, price < 150                  price <= 150
                 price = 1, price = 4                      price in (1, 4), with ``sets``
    imperfect    price > 150, price = 145, price = 148     price >= 145: all between the ends
                 price < 3, price > 9                      price is a number

A perfect merger matches what its members match and nothing else, whatever kinds the values have and
however many. What an imperfect one matches besides is its *degree*: the share of its matches that
no member matches, given how events are distributed (``distribution.py``). A merger is made if its
probability times its degree is within a threshold, the paper's IMT, always measured against the
original members, so that mergers of mergers do not drift.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tamis.errors import LimitError
from tamis.model.paths import Path
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.normal import Conjunction
from tamis.predicates.snapping import closed
from tamis.predicates.to_expression import expression_of
from tamis.predicates.valueset import ValueSet
from tamis.routing.distribution import Distribution, imperfection
from tamis.routing.filters import Filter

Key = TypeVar("Key", bound=Hashable)
Sides = dict[Path, ValueSet]


@dataclass(frozen=True, slots=True, eq=False)
class Merger(Generic[Key]):
    """A filter with the members that it stands for."""

    filter: Filter
    members: tuple[Key, ...]
    threshold: float
    """Its probability times its imperfect degree: 0 if it is perfect."""


@dataclass(frozen=True)
class MergeRules:
    """What may be merged."""

    threshold: float = 0.0
    """The greatest probability of false positives, for each merger."""
    sets: bool = False
    """Whether several ranges may stand side by side in a merger, which costs it several boxes."""
    distribution: Distribution | None = None
    """How events are distributed; without it all mergers are perfect."""


class _Part(Generic[Key]):
    """A filter, or a merger so far."""

    def __init__(self, sides: Sides, written: Sides, members: tuple[Key, ...]) -> None:
        self.sides = sides
        """Snapped, so that equal sets are equal."""
        self.written = written
        """The same as people wrote them."""
        self.members = members
        self.false = 0.0


def mergers_of(
    filters: Mapping[Key, Filter],
    rules: MergeRules | None = None,
    facts: Facts = NO_FACTS,
    advertisements: Sequence[Filter] = (),
) -> list[Merger[Key]]:
    """Mergers of some of the filters, none of which is in two of them."""
    rules = rules or MergeRules()
    parts = {
        key: _part(key, filter)
        for key, filter in filters.items()
        if len(filter.region.boxes) == 1
        and filter.region.boxes[0].plain
        and not filter.region.boxes[0].conjunction.literals
    }
    originals = {key: part.sides for key, part in parts.items()}
    promised = [box.sides for each in advertisements for box in each.region.boxes]
    merging = _MergerSearch(rules, originals, promised, facts)
    every = list(parts.values())
    while True:
        fewer = merging.once(every)
        if len(fewer) == len(every):
            break
        every = fewer
    found = []
    for part in every:
        if len(part.members) > 1:
            expression = expression_of(Conjunction(merging.written(part)))
            found.append(Merger(Filter.of(expression, facts), part.members, part.false))
    return found


class _MergerSearch(Generic[Key]):
    def __init__(
        self, rules: MergeRules, originals: Mapping[Key, Sides], promised: list[Sides], facts: Facts
    ) -> None:
        self._rules, self._originals = rules, originals
        self._promised, self._facts = promised, facts

    def once(self, parts: Sequence[_Part[Key]]) -> list[_Part[Key]]:
        """Merge what may be merged on each attribute in turn."""
        paths = sorted({path for part in parts for path in part.sides})
        for path in paths:
            groups: dict[object, list[_Part[Key]]] = {}
            merged = [part for part in parts if path not in part.sides]
            for part in parts:
                if path in part.sides:
                    rest = [(p, _mark(values)) for p, values in part.sides.items() if p != path]
                    key = tuple(sorted(rest, key=lambda each: each[0]))
                    groups.setdefault(key, []).append(part)
            for group in groups.values():
                merged += self._merged(path, group)
            parts = merged
        return list(parts)

    def _merged(self, path: Path, group: list[_Part[Key]]) -> Iterable[_Part[Key]]:
        """Filters that differ in one attribute, neighbours first."""
        group.sort(key=lambda part: _order(part.sides[path]))
        done: list[_Part[Key]] = []
        for part in group:
            joined = self._joined(path, done[-1], part) if done else None
            if joined is None:
                done.append(part)
            else:
                done[-1] = joined
        return done

    def _joined(self, path: Path, a: _Part[Key], b: _Part[Key]) -> _Part[Key] | None:
        union, written = a.sides[path] | b.sides[path], a.written[path] | b.written[path]
        if union.weight > 1 and not self._rules.sets:
            union, written = _filled(union), _filled(written)
            is_perfect = False
        else:
            is_perfect = a.false == b.false == 0.0
        joined = _Part(
            {**a.sides, path: union}, {**a.written, path: written}, (*a.members, *b.members)
        )
        return joined if is_perfect else self._within(joined)

    def _within(self, part: _Part[Key]) -> _Part[Key] | None:
        """An imperfect merger, if it is good enough."""
        distribution = self._rules.distribution
        if distribution is None:
            return None
        own = [self._originals[key] for key in part.members]
        try:
            measured = imperfection(part.sides, own, distribution, self._promised)
        except LimitError:
            return None
        part.false = measured.probability * measured.degree
        return part if part.false <= self._rules.threshold else None

    def written(self, part: _Part[Key]) -> Sides:
        """The sides of a merger as people write them."""
        return {
            path: closed(part.sides[path]) if self._facts.is_integer(path) else values
            for path, values in part.written.items()
        }


def _part(key: Key, filter: Filter) -> _Part[Key]:
    box = filter.region.boxes[0]
    return _Part(dict(box.sides), dict(box.conjunction.box), (key,))


def _filled(values: ValueSet) -> ValueSet:
    """A set with all between its ends, in each kind."""
    ends = {kind: ((ranges[0][0], ranges[-1][1]),) for kind, ranges in values.ranges.items()}
    return ValueSet(ends, values.booleans, values.rest)


def _mark(values: ValueSet) -> object:
    kinds = tuple(sorted((str(kind), ranges) for kind, ranges in values.ranges.items()))
    return kinds, values.booleans, values.rest


def _order(values: ValueSet) -> tuple[str, object]:
    """By the first range; sets of other kinds stay apart."""
    for kind in sorted(values.ranges):
        return str(kind), values.ranges[kind][0]
    return "", ((-1,), (-1,))
