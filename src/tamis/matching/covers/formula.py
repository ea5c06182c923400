"""An expression as a formula of two values: what must be so, and what must not be so.

SQL's logic has three values, but a subscription asks one question: is it *true*? That question goes
down the tree, together with its sisters (is it *false*? is it *not true*?), until it arrives at the
predicates, where it has two answers (leaves.py):

    a = 1 and not (b < 2 or (c = 3) is not true)

    every   a is 1                       a set of values (``Within``)
            b is a number from 2 on      b < 2 is *false*: of strings it is unknown
            c is 3                       (c = 3) is not true, is false

Negation stands at the leaves alone (``Lacks``), and only what is not a set of values needs it: that
``c = 3`` is not true is so of 4, and also of an event without c. Alternatives and conjunctions have
any number of parts, and the formula is as long as the expression. Sets of one attribute that stand
side by side are one set, and so are alternative texts to be found in it: a list of five hundred
texts is one leaf.

What has variables is left whole where they are existential inside it: ``not (…)`` and ``is …``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import and_
from typing import NamedTuple

from tamis.matching.axes.axis import AxisKey
from tamis.matching.covers.leaves import (
    Holds,
    Lacks,
    Leaf,
    Place,
    Reading,
    TextAlternatives,
    Within,
    alternatives_of,
    are_alternatives,
    reading_of,
    texts_reading,
)
from tamis.model.kinds import Value
from tamis.predicates.expression import And, Expression, Not, Or, TextTest, TruthTest
from tamis.predicates.normal import Literal
from tamis.predicates.valueset import ValueSet, combined, union_of
from tamis.predicates.variables import has_variables


class Every(NamedTuple):
    """All parts are so; without parts, it always is."""

    parts: tuple[Formula, ...]


class Some(NamedTuple):
    """One part is so; without parts, it never is."""

    parts: tuple[Formula, ...]


Formula = Every | Some | Leaf | Lacks
NEVER = Some(())


def formula_of(expression: Expression) -> Formula:
    """When an expression is true."""
    return _Questions(opaque=has_variables(expression)).ask(expression, True, True)


class _Questions:
    """Sends a question down an expression."""

    def __init__(self, *, opaque: bool) -> None:
        self._opaque = opaque
        """Whether there are variables, so that forms around them must be left whole."""

    def ask(self, node: Expression, truth: bool, holds: bool) -> Formula:
        """Whether a node is true, or false; or, if it must not hold, whether that is not so."""
        if isinstance(node, And | Or):
            parts = self._ask_all(node, truth, holds)
            return every(parts) if isinstance(node, And) is (truth is holds) else some(parts)
        if isinstance(node, Not) and not self._is_opaque(node):
            return self.ask(node.part, not truth, holds)
        if isinstance(node, TruthTest) and not self._is_opaque(node):
            return self._ask_test(node, truth is holds)
        return _asked(reading_of(node, truth), holds)

    def _ask_all(self, node: And | Or, truth: bool, holds: bool) -> Iterator[Formula]:
        """The same of all parts; alternative texts of one attribute are asked together."""
        found: dict[TextAlternatives, list[str]] = {}
        texts: list[str] = []
        last: TextTest | None = None
        for part in node.parts:
            if last is None or not are_alternatives(last, part):
                last, test = None, alternatives_of(part) if type(node) is Or else None
                if test is None:
                    yield self.ask(part, truth, holds)
                    continue
                assert isinstance(part, TextTest)
                last, texts = part, found.setdefault(test, [])
            texts.append(part.pattern.value)  # type: ignore[attr-defined]
        for test, some_texts in found.items():
            yield _asked(texts_reading(test, some_texts, truth), holds)

    def _ask_test(self, node: TruthTest, holds: bool) -> Formula:
        """Whether a truth test, which is never unknown, is true."""
        if node.truth != "unknown":
            return self.ask(node.part, node.truth == "true", holds)
        either = (self.ask(node.part, truth, not holds) for truth in (True, False))
        return every(either) if holds else some(either)

    def _is_opaque(self, node: Not | TruthTest) -> bool:
        if not self._opaque or not has_variables(node):
            return False
        return isinstance(node, TruthTest) or isinstance(node.part, And | Or | Not | TruthTest)


def _asked(reading: Reading, holds: bool) -> Formula:
    """What a predicate asks, or that it is not so."""
    implied, whole, denied = reading
    if whole is not None:
        if not holds:
            return Lacks(whole)
        return every((*implied, whole)) if implied or _is_empty(whole) else whole
    assert denied is not None
    if holds:
        return every((*implied, Lacks(denied)))
    return some((*map(Lacks, implied), denied))


def _is_empty(leaf: Leaf) -> bool:
    return isinstance(leaf, Within) and leaf.values.is_empty


class _Parts:
    """The parts of a conjunction, or of a disjunction, sorted by what they are."""

    def __init__(self, parts: Iterable[Formula], make: type[Every | Some]) -> None:
        self.sets: dict[Place, list[ValueSet]] = {}
        self.found: dict[AxisKey, dict[frozenset[Value], None]] = {}
        self.literals: dict[Literal, None] = {}
        self.others: list[Formula] = []
        for part in parts:
            for each in part.parts if isinstance(part, make) else (part,):
                if isinstance(each, Within):
                    self.sets.setdefault(each.place, []).append(each.values)
                elif isinstance(each, Holds):
                    self.found.setdefault(each.key, {})[each.things] = None
                elif isinstance(each, Literal):
                    self.literals[each] = None
                else:
                    self.others.append(each)


def every(parts: Iterable[Formula]) -> Formula:
    """A conjunction: flat, each leaf once, sets of one place as one set."""
    found = _Parts(parts, Every)
    joined: list[Formula] = []
    for place, sets in found.sets.items():
        values = sets[0] if len(sets) == 1 else combined(and_, sets)
        if values.is_empty:
            return NEVER
        joined.append(Within(place, values))
    joined += (Holds(key, each) for key, several in found.found.items() for each in several)
    joined += found.literals
    for other in found.others:
        if other == NEVER and isinstance(other, Some):
            return NEVER
        if isinstance(other, Lacks) and other.part in joined:
            return NEVER
    joined += found.others
    return joined[0] if len(joined) == 1 else Every(tuple(joined))


def some(parts: Iterable[Formula]) -> Formula:
    """A disjunction: flat, each leaf once, sets and found things of one place together."""
    found = _Parts(parts, Some)
    for other in found.others:
        if isinstance(other, Every) and not other.parts:
            return other
    joined: list[Formula] = []
    for place, sets in found.sets.items():
        joined.append(Within(place, sets[0] if len(sets) == 1 else union_of(sets)))
    for key, several in found.found.items():
        joined.append(Holds(key, frozenset().union(*several)))
    joined += (*found.literals, *found.others)
    return joined[0] if len(joined) == 1 else Some(tuple(joined))
