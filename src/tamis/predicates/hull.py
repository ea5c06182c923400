"""Expressions made of two subscriptions: what both ask for, and the least that holds both.

``intersect(a, b)`` is true under exactly the bindings under which ``a`` and ``b`` both are. So
every event that matches it matches both. The converse needs attributes that are unique, or that
only one of the two binds: an event with the prices 0 and 3 matches ``price < 1`` and ``price > 2``,
by different bindings, and not their conjunction.

``hull(a, b)`` is one conjunction that covers both. For each attribute that both bind it asks for a
value of either, and it keeps what is true of the whole event in both. Of terms it asks for the
nearest kinds that all are of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import or_

from tamis.errors import LimitError
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.predicates.expression import Expression, IsA, Present, all_of
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.implication import implies
from tamis.predicates.normal import Conjunction, Literal, normalise
from tamis.predicates.operands import Attribute, Constant
from tamis.predicates.region_literals import attributes_of
from tamis.predicates.regions import Box, Region
from tamis.predicates.relations import MAX_WORK, box_covers, covers
from tamis.predicates.snapping import closed, snapped
from tamis.predicates.to_expression import NOTHING, expression_of, is_single
from tamis.predicates.valueset import ValueSet, combined
from tamis.predicates.variables import is_safe


def intersect(a: Expression, b: Expression, limits: Limits = LIMITS) -> Expression:
    """What is true under the bindings under which both are; simplified if it is a conjunction."""
    both = all_of(a, b)
    try:
        conjunctions = normalise(both, limits).conjunctions
    except LimitError:
        return both
    if not conjunctions:
        return NOTHING
    return expression_of(conjunctions[0]) if len(conjunctions) == 1 else both


def hull(
    a: Expression, b: Expression, facts: Facts = NO_FACTS, limits: Limits = LIMITS
) -> Expression:
    """A conjunction that covers both, as small as can be told attribute by attribute."""
    regions = [Region.of(a, facts, limits), Region.of(b, facts, limits)]
    if not all(region.known for region in regions):
        return all_of()
    boxes = [box for region in regions for box in region.boxes]
    if not boxes:
        return NOTHING
    sides = _common_sides(boxes, facts)
    for literals in (_common_literals(boxes, facts), []):
        needed = [*sides, *(path for one in literals for path in attributes_of(one.predicate))]
        found = expression_of(Conjunction(sides, frozenset([*literals, *_presence(boxes, needed)])))
        region_of_all = Region.of(found, facts, limits)
        if is_safe(found) and all(covers(region_of_all, region) for region in regions):
            return found
    return all_of()


def _common_sides(boxes: list[Box], facts: Facts) -> dict[Path, ValueSet]:
    """For each attribute that all boxes bind to a set, the values of any."""
    sides = [box.conjunction.box for box in boxes]
    paths = [path for path in sides[0] if all(path in each for each in sides)]
    return {
        path: _united([each[path] for each in sides], integers=facts.is_integer(path))
        for path in paths
    }


def _united(sets: Sequence[ValueSet], *, integers: bool) -> ValueSet:
    """The values of any of the sets, or all between them if they are too many to write down."""
    union = combined(or_, sets)
    if integers and not union.rest:
        union = closed(snapped(union, integers=True))
    spans = [span for ranges in union.ranges.values() for span in ranges]
    singles = sum(map(is_single, spans))
    if singles <= LIMITS.items and len(spans) - singles < LIMITS.operands:
        return union
    if union.rest:
        return ValueSet().complement()
    ends = {kind: ((ranges[0][0], ranges[-1][1]),) for kind, ranges in union.ranges.items()}
    return ValueSet(ends, union.booleans)


def _common_literals(boxes: list[Box], facts: Facts) -> list[Literal]:
    """The literals of any box, and the terms above those of is-a, that follow from all boxes."""
    own = {one for box in boxes for one in box.conjunction.literals if not _is_present(one)}
    candidates = own | set(_ancestors(own, facts))
    if len(candidates) * sum(box.weight for box in boxes) > MAX_WORK:
        return []
    common = [one for one in candidates if all(_follows(one, box, facts) for box in boxes)]
    return [one for one in common if not _is_far(one, common, facts)]


def _follows(literal: Literal, box: Box, facts: Facts) -> bool:
    alone = Region.of(expression_of(Conjunction(literals=frozenset({literal}))), facts)
    return any(box_covers(one, box, facts) for one in alone.boxes)


def _ancestors(literals: Iterable[Literal], facts: Facts) -> Iterator[Literal]:
    """The terms above those that is-a asks for."""
    for node, positive in literals:
        if isinstance(node, IsA) and positive:
            taxonomy = facts.taxonomy(node.attribute.path)
            terms = taxonomy.ancestors(str(node.ancestor.value)) if taxonomy else ()
            yield from (Literal(IsA(node.attribute, Constant(term)), True) for term in terms)


def _is_far(literal: Literal, others: Iterable[Literal], facts: Facts) -> bool:
    """Whether it asks for a kind that another one, which asks for a nearer kind, implies."""
    if not isinstance(literal.predicate, IsA):
        return False
    return any(other != literal and implies(other, literal, facts) for other in others)


def _presence(boxes: list[Box], needed: list[Path]) -> Iterator[Literal]:
    """What must be present for all boxes, as far as nothing else needs it."""
    common = frozenset.intersection(*(box.there for box in boxes))
    for path in sorted(common):
        if not any(other[: len(path)] == path for other in [*needed, *(common - {path})]):
            yield Literal(Present(Attribute(path)), True)


def _is_present(literal: Literal) -> bool:
    return literal.positive and isinstance(literal.predicate, Present)
