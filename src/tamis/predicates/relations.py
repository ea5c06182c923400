"""How two subscriptions relate: which covers which, and whether they can match the same event.

``a`` covers ``b`` if every event that matches ``b`` matches ``a``. Let an event match ``b`` by a
binding under which a box of ``b`` is true. A condition of a box speaks of the value that the
binding picks at a path (a side), of values that it picks at several (a literal), or of the whole
event (``contains``, ``is present``). If every condition of a box of ``a`` follows from those of the
box of ``b``, all of them are true under *the same binding*. So lists need no thought here: how
attributes share them, and how long they are, is the same for both.

That is also necessary where the conditions are sides, presence and ``contains``. If a condition of
``a`` does not follow, there is an event without it: leave out the attribute that ``b`` does not
bind, or give it a value of ``b``'s side that ``a``'s does not hold; all else as ``b`` wants it. The
one case in which another binding helps is ``x contains 1``, which ``x = 1`` covers, by the binding
that picks the 1: see ``_can_bind_anew``.

Two subscriptions that ask for different values of one attribute are disjoint only if it is unique,
for of several values each may have its own. What speaks of the whole event (missing here, needed
there) excludes in any case.

A test of two boxes costs a lookup and two comparisons a side; ``MAX_WORK`` bounds what disjunctions
may cost, beyond which nothing is known of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import or_

from tamis.model.paths import Path
from tamis.predicates.expression import Call, Contains, Pattern
from tamis.predicates.facts import Facts, can_be
from tamis.predicates.implication import implies
from tamis.predicates.normal import Literal
from tamis.predicates.region_literals import attributes_of, fulfils, is_opaque, tested_path
from tamis.predicates.regions import Box, Region
from tamis.predicates.truth import contains
from tamis.predicates.valueset import ValueSet, combined
from tamis.predicates.variables import has_variables

MAX_WORK = 2_000_000
"""Ranges that a comparison of two subscriptions may look at."""


def covers(a: Region, b: Region) -> bool:
    """Whether ``a`` is known to match every event that ``b`` matches."""
    if len(a.boxes) == 1 and len(b.boxes) == 1:
        return box_covers(a.boxes[0], b.boxes[0], a.facts)
    if a.expression == b.expression:
        return True
    if not (a.known and b.known) or _work(a, b) > MAX_WORK:
        return False
    return all(_is_covered(box, a) for box in b.boxes)


def overlaps(a: Region, b: Region) -> bool:
    """Whether an event may match both, for all that is known."""
    if len(a.boxes) == 1 and len(b.boxes) == 1:
        return _overlap(a.boxes[0], b.boxes[0], a.facts)
    if not (a.known and b.known) or _work(a, b) > MAX_WORK:
        return True
    return any(_overlap(ours, theirs, a.facts) for ours in a.boxes for theirs in b.boxes)


def equivalent(a: Region, b: Region) -> bool:
    """Whether the two are known to match the same events."""
    return covers(a, b) and covers(b, a)


def _work(a: Region, b: Region) -> int:
    return a.weight * len(b.boxes) + b.weight * len(a.boxes)


# Covering.


def box_covers(a: Box, b: Box, facts: Facts) -> bool:
    """Whether one box is known to cover another."""
    theirs = b.sides
    for path, values in a.sides.items():
        other = theirs.get(path)
        if (other is None or not other <= values) and not (
            b.contained and _can_bind_anew(a, b, path, facts)
        ):
            return False
    return a.plain or next(_unmet(a, b, facts), None) is None


def _is_covered(box: Box, region: Region) -> bool:
    """By one box of a region, or by several that differ from it in one and the same side."""
    if any(box_covers(one, box, region.facts) for one in region.boxes):
        return True
    if len(region.boxes) == 1:
        return False
    partly: dict[Path, list[ValueSet]] = {}
    for one in region.boxes:
        open_sides = [p for p, v in one.sides.items() if not (p in box.sides and box.sides[p] <= v)]
        if len(open_sides) == 1 and next(_unmet(one, box, region.facts), None) is None:
            partly.setdefault(open_sides[0], []).append(one.sides[open_sides[0]])
    return any(
        path in box.sides and box.sides[path] <= combined(or_, sets)
        for path, sets in partly.items()
    )


def _unmet(a: Box, b: Box, facts: Facts) -> Iterator[object]:
    """The conditions of ``a`` beside its sides that are not known to follow from ``b``."""
    for path in a.present - b.there:
        yield path
    for path in a.missing:
        if not _is_missing(path, b):
            yield path
    for literal in a.whole - b.whole:
        if not _contains_follows(literal, b, facts):
            yield literal
    for literal in a.literals - b.literals:
        if not _follows(literal, a, b, facts):
            yield literal
    if any(map(_asks_for_absence, a.literals)) and _joint(a) != _joint(b):
        yield a.literals


def _is_missing(path: Path, box: Box) -> bool:
    """Something above is missing, or is one value, below which there is nothing."""
    for length in range(1, len(path) + 1):
        above = path[:length]
        if above in box.missing or (length < len(path) and above in box.unique):
            return True
    return False


def _contains_follows(literal: Literal, b: Box, facts: Facts) -> bool:
    node, positive = literal
    assert isinstance(node, Contains)
    path, value = node.attribute.path, node.value.value
    if positive:
        listed = b.listed.get(path, ())
        among = any(contains(node, [one]) for one in b.contained.get(path, ()))
        return among or (bool(listed) and all(contains(node, [one]) for one in listed))
    if path not in b.there or node.ignore_case:
        return False
    if path in b.unique and value not in b.unique[path]:
        return True
    holds_others = path in b.inner and facts.unique(path)
    return holds_others or not can_be(facts, path, value)


def _follows(literal: Literal, a: Box, b: Box, facts: Facts) -> bool:
    """Whether a literal follows from a side with few values, from a literal, or by rebinding."""
    path = tested_path(literal.predicate)
    if path is None:
        names = set(attributes_of(literal.predicate))
        return any(
            set(attributes_of(other.predicate)) == names and implies(other, literal, facts)
            for other in b.literals
        )
    if path in b.listed:
        taxonomy = facts.taxonomy(path)
        if all(fulfils(literal, value, taxonomy) for value in b.listed[path]):
            return True
    if any(implies(other, literal, facts) for other in b.literals_on(path)):
        return True
    return _can_bind_anew(a, b, path, facts)


def _can_bind_anew(a: Box, b: Box, path: Path, facts: Facts) -> bool:
    """Whether a value that ``b`` wants contained serves ``a`` at a path.

    The binding that picks it is one that ``b`` did not ask for, so nothing else that ``a`` binds
    may hang on the same top-level key.
    """
    if path not in b.contained:
        return False
    bound = [*a.sides, *(each for one in a.literals for each in attributes_of(one.predicate))]
    if any(each != path and each[0] == path[0] for each in bound):
        return False
    tests = a.literals_on(path)
    if any(path in attributes_of(one.predicate) for one in a.literals if one not in tests):
        return False
    taxonomy = facts.taxonomy(path)
    return any(
        value in a.sides[path] and all(fulfils(one, value, taxonomy) for one in tests)
        for value in b.contained[path]
    )


def _asks_for_absence(literal: Literal) -> bool:
    """Whether it says that no binding of variables exists, which depends on those bound outside."""
    if is_opaque(literal):
        return has_variables(literal.predicate)
    return not literal.positive and isinstance(literal.predicate, Call | Pattern)


def _joint(box: Box) -> set[Literal]:
    return {literal for literal in box.literals if has_variables(literal.predicate)}


# Overlapping.


def _overlap(a: Box, b: Box, facts: Facts) -> bool:
    theirs = b.unique
    for path, values in a.unique.items():
        other = theirs.get(path)
        if other is not None and values.isdisjoint(other):
            return False
    if not (a.inner.isdisjoint(theirs) and b.inner.isdisjoint(a.unique)):
        return False
    if a.plain and b.plain:
        return True
    return not (_excludes(a, b) or _excludes(b, a) or _tests_exclude(a, b, facts))


def _excludes(a: Box, b: Box) -> bool:
    """Whether what ``a`` says of the whole event keeps ``b`` from matching it."""
    if any(path in b.there for path in a.missing):
        return True
    for path, values in a.excluded.items():
        if any(value in values for value in b.contained.get(path, ())):
            return True
        if path in b.sides and b.sides[path] <= values:
            return True
    return False


def _tests_exclude(a: Box, b: Box, facts: Facts) -> bool:
    """Whether tests on unique attributes contradict each other, or the values listed there."""
    for literal in a.literals:
        names = list(attributes_of(literal.predicate))
        opposite = Literal(literal.predicate, not literal.positive)
        if (
            names
            and opposite in b.literals
            and all(map(facts.unique, names))
            and not has_variables(literal.predicate)
        ):
            return True
    return _none_passes(a, b, facts) or _none_passes(b, a, facts)


def _none_passes(a: Box, b: Box, facts: Facts) -> bool:
    """Whether no value that ``a`` lists for a unique attribute passes the tests of ``b``."""
    for path, values in a.listed.items():
        tests = b.literals_on(path) if path in b.unique else ()
        taxonomy = facts.taxonomy(path)
        if tests and not any(
            value in b.unique[path]
            and all(fulfils(one, value, taxonomy) is not False for one in tests)
            for value in values
        ):
            return True
    return False
