"""Relations between subscriptions in any notation, with witnesses that the oracle has tried.

``covers`` and ``overlaps`` of a ``Relation`` are true if that is known, false if the contrary is
known, and None if neither is. That ``a`` does not cover ``b`` is known only by a *witness*, an
event that matches ``b`` and not ``a``.

Wherever facts about attributes are asked for, a ``Schema`` may be given, or ``KnownFacts``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from tamis.bindings.evaluation import Trial, World
from tamis.engine.reader import Source, SubscriptionReader
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates import hull as merging
from tamis.predicates import relations
from tamis.predicates.expression import Call, Expression, IsA, Pattern, nodes_within
from tamis.predicates.facts import NO_FACTS, Facts, conforms
from tamis.predicates.region_literals import attributes_of
from tamis.predicates.regions import Region
from tamis.predicates.witness import Tree, in_both, in_one


class Verdict(StrEnum):
    """The relation of two subscriptions in one word."""

    EQUIVALENT = "equivalent"
    COVERS = "covers"
    COVERED = "covered"
    OVERLAPPING = "overlapping"
    DISJOINT = "disjoint"


@dataclass(frozen=True, slots=True)
class Relation:
    """How a subscription ``a`` relates to a subscription ``b``; None is for what is not known."""

    covers: bool | None
    """Whether every event that matches ``b`` matches ``a``."""
    covered: bool | None
    """Whether every event that matches ``a`` matches ``b``."""
    overlaps: bool | None
    """Whether some event matches both."""
    both: Event | None
    """An event that matches both."""
    only_a: Event | None
    """An event that matches ``a`` and not ``b``."""
    only_b: Event | None
    """An event that matches ``b`` and not ``a``."""

    @property
    def verdict(self) -> Verdict:
        """The closest relation that is known; overlapping, if nothing is."""
        if self.covers:
            return Verdict.EQUIVALENT if self.covered else Verdict.COVERS
        if self.covered:
            return Verdict.COVERED
        return Verdict.DISJOINT if self.overlaps is False else Verdict.OVERLAPPING

    @property
    def certain(self) -> bool:
        """Whether no other verdict is possible."""
        match self.verdict:
            case Verdict.EQUIVALENT | Verdict.DISJOINT:
                return True
            case Verdict.COVERS:
                return self.covered is False
            case Verdict.COVERED:
                return self.covers is False
        return self.overlaps is True and self.covers is False and self.covered is False


def covers(a: Source, b: Source, schema: Facts | None = None) -> bool:
    """Whether ``a`` is known to match every event that ``b`` matches."""
    return relations.covers(*_regions(a, b, schema))


def overlaps(a: Source, b: Source, schema: Facts | None = None) -> bool:
    """Whether some event may match both; false if they are known to be disjoint."""
    return relations.overlaps(*_regions(a, b, schema))


def equivalent(a: Source, b: Source, schema: Facts | None = None) -> bool:
    """Whether the two are known to match the same events."""
    return relations.equivalent(*_regions(a, b, schema))


def intersect(a: Source, b: Source, schema: Facts | None = None) -> Expression:
    """What is true under the bindings under which both are: its matches match both."""
    return merging.intersect(*_expressions(a, b, schema))


def hull(a: Source, b: Source, schema: Facts | None = None) -> Expression:
    """A conjunction that covers both, as small as can be told attribute by attribute."""
    return merging.hull(*_expressions(a, b, schema), schema or NO_FACTS)


def relation(a: Source, b: Source, schema: Facts | None = None) -> Relation:
    """How the two relate, with an event for each claim that an event can prove."""
    ours, theirs = _regions(a, b, schema)
    search = _Search(ours, theirs)
    known = relations.covers(ours, theirs)
    only_b = None if known else search.find(in_one(theirs, ours), a=False, b=True)
    known_back = relations.covers(theirs, ours)
    only_a = None if known_back else search.find(in_one(ours, theirs), a=True, b=False)
    possible = relations.overlaps(ours, theirs)
    both = search.find(in_both(ours, theirs), a=True, b=True) if possible else None
    return Relation(
        covers=_truth(known, only_b),
        covered=_truth(known_back, only_a),
        overlaps=False if not possible else True if both else None,
        both=both,
        only_a=only_a,
        only_b=only_b,
    )


def _truth(known: bool, contrary: Event | None) -> bool | None:
    return True if known else None if contrary is None else False


class _Search:
    """Tries candidates by the oracle."""

    def __init__(self, a: Region, b: Region) -> None:
        self._facts = a.facts
        self._expressions = (a.expression, b.expression)
        nodes = [node for each in self._expressions for node in nodes_within(each)]
        self._paths = {path for node in nodes for path in attributes_of(node)}
        terms = {node.attribute.path for node in nodes if isinstance(node, IsA)}
        known = {path: a.facts.taxonomy(path) for path in terms}
        found = {path: taxonomy for path, taxonomy in known.items() if taxonomy is not None}
        self._world = World(Taxonomies(None, found))
        is_plain = not any(isinstance(node, Call | Pattern) for node in nodes)
        self._can_be_tried = is_plain and len(found) == len(terms)

    def find(self, candidates: Iterable[Tree], *, a: bool, b: bool) -> Event | None:
        """The first that matches the two subscriptions, or does not, as wanted."""
        if not self._can_be_tried:
            return None
        fits = partial(self._fits, wanted=(a, b))
        return next(filter(fits, map(Event, candidates)), None)

    def _fits(self, event: Event, wanted: tuple[bool, bool]) -> bool:
        trial = Trial(event, self._world)
        return conforms(event, self._facts, self._paths) and all(
            trial.matches(expression) is expected
            for expression, expected in zip(self._expressions, wanted)
        )


def _regions(a: Source, b: Source, schema: Facts | None) -> tuple[Region, Region]:
    facts = schema or NO_FACTS
    ours, theirs = _expressions(a, b, schema)
    return Region.of(ours, facts), Region.of(theirs, facts)


def _expressions(a: Source, b: Source, schema: Facts | None) -> tuple[Expression, Expression]:
    """The two as a matcher sees them; a schema writes the orders of its domains out."""
    reader = SubscriptionReader(World(), schema if isinstance(schema, Schema) else None)
    return reader.expression(a)[0], reader.expression(b)[0]
