"""Subscriptions prepared for comparison: regions, made of boxes.

    category is a 'chair' and price < 100 and color in ('red', 'blue') and color like '%e%'
      and tags contains 'new' and bids is missing

    sides       category    strings 'chair', 'throne'      (by the taxonomy, if there is one)
                price       numbers below 100
                color       'red', 'blue'                  (both fulfil the pattern)
                tags        no side: ``contains`` speaks of all values
    contained   tags        'new'
    missing     bids

A *box* is a conjunction in which everything that is a set of values has become one: is-a by the
taxonomy, tests of a few listed values. What remains are literals, of which only a bound is known:
``x like '%e'`` is true of strings alone, so ``x`` has the side of all strings besides. Of opaque
literals (``(x = 1) is not true``) not even that is known: they give no sides. All sides are within
the attribute's domain and snapped (``snapping.py``), so that one holds another if its cuts do. A
conjunction that no event can match has no box.

The same path is never both bound and above another bound one, for a binding gives ``x`` a value or
``x.y``, not both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import and_

from tamis.errors import LimitError
from tamis.model.kinds import Value
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.predicates.expression import Comparison, Contains, Expression, IsA, Present
from tamis.predicates.facts import NO_FACTS, Facts, can_be, domain
from tamis.predicates.normal import Conjunction, Literal, NormalForm, normalise, true_set
from tamis.predicates.region_literals import (
    STRINGS,
    attributes_of,
    bound,
    canonical,
    fulfils,
    is_opaque,
    tested_path,
)
from tamis.predicates.snapping import listed, snapped
from tamis.predicates.valueset import ValueSet, combined, points

MAX_LISTED = 100
"""Values of a side that literals are tried on one by one."""
MAX_TERMS = 10_000
"""Terms that one ``is a`` may stand for; beyond, it is compared by the taxonomy's order alone."""
MAX_PREPARED = 1_000_000
"""Terms that all ``is a`` of one subscription may stand for."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """One conjunction, prepared; the class of ``sides`` is ``dict`` for speed."""

    sides: dict[Path, ValueSet]
    """The bound attributes: what the value that the binding picks must be in."""
    listed: Mapping[Path, list[Value]]
    """The values of those sides that have few, one by one."""
    literals: frozenset[Literal]
    """What must be true besides of the bound values."""
    contained: Mapping[Path, list[Value]]
    """What must be among all values, of attributes that are not unique."""
    excluded: Mapping[Path, ValueSet]
    """What must not be among all values."""
    whole: frozenset[Literal]
    """All tests of ``contains`` that were not made sides."""
    present: frozenset[Path]
    missing: frozenset[Path]
    there: frozenset[Path]
    """Every path at which something must stand, with all above it."""
    inner: frozenset[Path]
    """Every path inside which something must stand."""
    unique: dict[Path, ValueSet]
    """The sides of unique attributes."""
    plain: bool
    """Whether the sides say everything."""
    conjunction: Conjunction
    """What it was made of."""

    @property
    def weight(self) -> int:
        """How much there is to compare."""
        return 1 + len(self.conjunction.literals) + sum(map(_weight, self.sides.values()))

    def literals_on(self, path: Path) -> list[Literal]:
        """The literals that test the value at one path."""
        return [literal for literal in self.literals if tested_path(literal.predicate) == path]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A subscription prepared for comparison with others, under the same facts."""

    expression: Expression
    boxes: tuple[Box, ...]
    facts: Facts
    weight: int
    known: bool = True
    """Whether it has boxes at all: of an expression with too many alternatives none are made."""

    @staticmethod
    def of(expression: Expression, facts: Facts = NO_FACTS, limits: Limits = LIMITS) -> Region:
        """Prepare a subscription."""
        try:
            form = normalise(expression, limits)
        except LimitError:
            return Region(expression, (), facts, 0, known=False)
        boxes = tuple(_Preparation(facts).boxes(form))
        return Region(expression, boxes, facts, sum(box.weight for box in boxes))

    @property
    def never_matches(self) -> bool:
        """Whether no event that keeps the facts matches."""
        return self.known and not self.boxes


class _Preparation:
    """Makes the boxes of one subscription; what they share is worked out once."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._domains: dict[Path, ValueSet | None] = {}
        self._exact: dict[Literal, ValueSet | None] = {}
        self._sides: dict[object, tuple[object, _Side | None]] = {}
        self._terms = 0

    def boxes(self, form: NormalForm) -> Iterator[Box]:
        for conjunction in form.conjunctions:
            box = self.box(conjunction)
            if box is not None:
                yield box

    def box(self, conjunction: Conjunction) -> Box | None:
        """The box of a conjunction; None if no event can match it."""
        if not conjunction.literals:
            return self._finish(conjunction, {p: [v] for p, v in conjunction.box.items()}, _Parts())
        sets = {path: [values] for path, values in conjunction.box.items()}
        parts = _Parts()
        for literal in map(canonical, conjunction.literals):
            self._sort(literal, sets, parts)
        return self._finish(conjunction, sets, parts)

    def _sort(self, literal: Literal, sets: dict[Path, list[ValueSet]], parts: _Parts) -> None:
        """Put a literal where it belongs."""
        if is_opaque(literal):
            parts.literals.add(literal)
            return
        node, positive = literal
        if isinstance(node, Present):
            (parts.present if positive else parts.missing).add(node.attribute.path)
            return
        if isinstance(node, Contains):
            path = node.attribute.path
            if positive and self._facts.unique(path):
                node = Comparison(node.attribute, "=", node.value, node.ignore_case)
                literal = canonical(Literal(node, True))
            else:
                parts.whole.add(literal)
                if not node.ignore_case:
                    values = parts.contained if positive else parts.excluded
                    values.setdefault(path, []).append(node.value.value)
                return
        exact = self._exact_set(literal)
        if exact is None:
            parts.literals.add(literal)
        for path in attributes_of(literal.predicate):
            sets.setdefault(path, []).append(bound(literal) if exact is None else exact)

    def _finish(
        self, conjunction: Conjunction, sets: dict[Path, list[ValueSet]], parts: _Parts
    ) -> Box | None:
        sides: dict[Path, ValueSet] = {}
        few: dict[Path, list[Value]] = {}
        for path, values in sets.items():
            side = self._side(path, values, parts)
            if side is None:
                return None
            sides[path] = side.values
            if side.listed is not None:
                few[path] = side.listed
            parts.literals -= side.decided
        needed = [
            *sides,
            *parts.present,
            *(path for one in parts.whole for path in attributes_of(one.predicate)),
        ]
        there = {path[:length] for path in needed for length in range(1, len(path) + 1)}
        excluded = {
            path: snapped(points(values), integers=self._facts.is_integer(path))
            for path, values in parts.excluded.items()
        }
        unique = {path: values for path, values in sides.items() if self._facts.unique(path)}
        box = Box(
            sides=dict(sorted(sides.items(), key=lambda side: side[0] not in few)),
            listed=few,
            literals=frozenset(parts.literals),
            contained=parts.contained,
            excluded=excluded,
            whole=frozenset(parts.whole),
            present=frozenset(parts.present),
            missing=frozenset(parts.missing),
            there=frozenset(there),
            inner=frozenset(path[:-1] for path in there if len(path) > 1),
            unique=unique,
            plain=not (parts.literals or parts.whole or parts.present or parts.missing),
            conjunction=conjunction,
        )
        return None if self._is_impossible(box) else box

    def _is_impossible(self, box: Box) -> bool:
        """Whether attributes exclude each other."""
        for path in box.sides:
            if any(path[:length] in box.sides for length in range(1, len(path))):
                return True
        if any(path in box.there for path in box.missing):
            return True
        for path, values in box.contained.items():
            if not all(can_be(self._facts, path, value) for value in values):
                return True
            if path in box.excluded and any(value in box.excluded[path] for value in values):
                return True
        return not box.inner.isdisjoint(box.unique)

    def _side(self, path: Path, sets: list[ValueSet], parts: _Parts) -> _Side | None:
        """What the sets and the literals on a path leave; None if that is nothing."""
        on_path = frozenset(one for one in parts.literals if tested_path(one.predicate) == path)
        excluded = parts.excluded.get(path, [])
        key = (path, tuple(map(id, sets)), on_path, *((type(one), one) for one in excluded))
        if key not in self._sides:
            self._sides[key] = sets, self._new_side(path, sets, on_path, excluded)
        return self._sides[key][1]

    def _new_side(
        self, path: Path, sets: list[ValueSet], literals: frozenset[Literal], excluded: list[Value]
    ) -> _Side | None:
        values = combined(and_, sets)
        known = self._domain(path)
        if known is not None:
            values &= known
        if excluded:
            values &= points(excluded).complement()
        integers = self._facts.is_integer(path)
        values = snapped(values, integers=integers)
        found = listed(values, MAX_LISTED, integers=integers)
        decided: frozenset[Literal] = frozenset()
        if found is not None and literals:
            taxonomy = self._facts.taxonomy(path)
            found = [
                value
                for value in found
                if all(fulfils(one, value, taxonomy) is not False for one in literals)
            ]
            decided = frozenset(
                one for one in literals if all(fulfils(one, value, taxonomy) for value in found)
            )
            values = snapped(points(found), integers=integers)
        return None if values.is_empty else _Side(values, found, decided)

    def _exact_set(self, literal: Literal) -> ValueSet | None:
        if literal not in self._exact:
            self._exact[literal] = self._new_exact_set(literal)
        return self._exact[literal]

    def _new_exact_set(self, literal: Literal) -> ValueSet | None:
        """The values of which a test is true, where that is a set of a few ranges."""
        node, positive = literal
        found = true_set(node, positive)
        if found is not None:
            return found[1]
        if not isinstance(node, IsA):
            return None
        taxonomy = self._facts.taxonomy(node.attribute.path)
        terms = taxonomy.descendants(str(node.ancestor.value)) if taxonomy else None
        if terms is None or len(terms) > min(MAX_TERMS, MAX_PREPARED - self._terms):
            return None
        self._terms += len(terms)
        values = points(terms)
        return values if positive else values.complement() & STRINGS

    def _domain(self, path: Path) -> ValueSet | None:
        if path not in self._domains:
            self._domains[path] = domain(self._facts, path)
        return self._domains[path]


@dataclass(frozen=True, slots=True)
class _Side:
    values: ValueSet
    listed: list[Value] | None
    decided: frozenset[Literal]


class _Parts:
    """The literals of a conjunction, sorted."""

    def __init__(self) -> None:
        self.literals: set[Literal] = set()
        self.whole: set[Literal] = set()
        self.contained: dict[Path, list[Value]] = {}
        self.excluded: dict[Path, list[Value]] = {}
        self.present: set[Path] = set()
        self.missing: set[Path] = set()


def _weight(values: ValueSet) -> int:
    return values.weight
