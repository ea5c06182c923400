"""The normal form of a subscription: a disjunction of conjunctions.

    not (a = 1 and b < 2) or c like '%x' and c != 'yx'

    conjunction   box                          literals
    1             a: everything but 1
    2             b: numbers from 2 on
    3             c: everything but 'yx'       c like '%x'

Negation is pushed to the predicates. A predicate that is a set of values on an ordered domain
becomes a side of the conjunction's *box*, where predicates on one attribute are intersected: both
speak of the value that the binding picked. All others stay as literals, negated ones as such:
order is not total on every domain, so no operator is ever flipped. ``contains`` and ``is present``
speak of all values of an attribute and are never intersected with anything. ``(…) is true`` is what
stands inside, ``(…) is false`` its negation; other truth tests, and ``not (…)`` around variables,
which are existential inside it, are opaque literals: the oracle decides them.

A box asks for *true*: ``not x < 5`` is the numbers from 5 on, and says nothing of strings, of
which ``x < 5`` is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from operator import and_, or_
from typing import NamedTuple

from tamis.errors import LimitError
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.predicates.expression import (
    And,
    Between,
    Comparison,
    Expression,
    In,
    Not,
    Or,
    Present,
    TextTest,
    TruthTest,
)
from tamis.predicates.operands import Attribute, Constant, operands_within
from tamis.predicates.texts import like_parts
from tamis.predicates.valueset import (
    GREATEST,
    LEAST,
    ValueSet,
    after,
    before,
    combined,
    points,
    prefixed,
    range_of,
)
from tamis.predicates.variables import has_variables

MOST_PREDICATES = 1_048_576
"""Predicates in all conjunctions of one normal form."""


class Literal(NamedTuple):
    """A predicate that is not a set of values, or its negation."""

    predicate: Expression
    positive: bool


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A box, and literals that must be true besides."""

    box: Mapping[Path, ValueSet] = field(default_factory=dict)
    literals: frozenset[Literal] = frozenset()

    @staticmethod
    def of_all(parts: Iterable[Conjunction]) -> Conjunction | None:
        """All at once; None if no value of some attribute is left."""
        sides: dict[Path, list[ValueSet]] = {}
        literals: set[Literal] = set()
        for part in parts:
            for path, values in part.box.items():
                sides.setdefault(path, []).append(values)
            literals |= part.literals
        box = {path: combined(and_, values) for path, values in sides.items()}
        if any(values.is_empty for values in box.values()):
            return None
        return Conjunction(box, frozenset(literals))

    @property
    def size(self) -> int:
        """How many sides and literals there are."""
        return len(self.box) + len(self.literals)

    @property
    def contradicts_itself(self) -> bool:
        """Whether literals exclude each other, or need an attribute that must be missing."""
        if any(Literal(node, not positive) in self.literals for node, positive in self.literals):
            return True
        missing = {path for path, present in _presence(self.literals) if not present}
        if not missing:
            return False
        needed = {*self.box, *_needed(self.literals)}
        return any(path[:end] in missing for path in needed for end in range(1, len(path) + 1))


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The conjunctions of a subscription; it matches if one of them does."""

    conjunctions: tuple[Conjunction, ...]
    expression: Expression
    """What it is the normal form of."""

    @property
    def never_matches(self) -> bool:
        """Whether the subscription contradicts itself."""
        return not self.conjunctions


def normalise(expression: Expression, limits: Limits = LIMITS) -> NormalForm:
    """The normal form of an expression, whose size is limited."""
    return NormalForm(tuple(_disjuncts(expression, True, limits.conjunctions)), expression)


def _disjuncts(node: Expression, positive: bool, limit: int) -> list[Conjunction]:
    """The conjunctions of a node or of its negation, without the contradictory ones."""
    if isinstance(node, Not) and (_is_leaf(node.part) or not has_variables(node)):
        return _disjuncts(node.part, not positive, limit)
    if isinstance(node, TruthTest) and _is_decided(node, positive):
        return _disjuncts(node.part, node.truth == "true", limit)
    if isinstance(node, And | Or):
        every = isinstance(node, And) is positive
        parts = [(part, _disjuncts(part, positive, limit)) for part in node.parts]
        return _product(parts, limit) if every else _sum(node, (found for _, found in parts), limit)
    values = true_set(node, positive)
    if values is None:
        return [Conjunction(literals=frozenset({Literal(node, positive)}))]
    path, allowed = values
    return [] if allowed.is_empty else [Conjunction({path: allowed})]


def _product(parts: list[tuple[Expression, list[Conjunction]]], limit: int) -> list[Conjunction]:
    single = [found for _, found in parts if len(found) == 1]
    several = [found for _, found in parts if len(found) > 1]
    if len(single) + len(several) < len(parts):
        return []
    common = Conjunction.of_all(conjunction for (conjunction,) in single)
    found = [] if common is None else [common]
    for alternatives in several:
        if (size := len(found) * len(alternatives)) <= 4 * limit:
            ours, theirs = _predicates(found), _predicates(alternatives)
            _check_predicates(len(alternatives) * ours + len(found) * theirs)
            pairs = map(Conjunction.of_all, product(found, alternatives))
            found = [pair for pair in pairs if pair is not None]
        if size > 4 * limit or len(found) > limit:
            clause, most = max(parts, key=lambda part: len(part[1]))
            raise LimitError(
                f"the normal form has more than {limit:,} conjunctions; the clause "
                f"'{_short(clause)}' multiplies them by {len(most)}: split the subscription, "
                "or write alternatives of one attribute by 'in'"
            )
    return [conjunction for conjunction in found if not conjunction.contradicts_itself]


def _predicates(conjunctions: list[Conjunction]) -> int:
    return sum(each.size for each in conjunctions)


def _check_predicates(count: int) -> None:
    """Refuse conjunctions that are too long together, though they may be few."""
    if count > MOST_PREDICATES:
        raise LimitError(
            f"the normal form has more than {MOST_PREDICATES:,} predicates in its conjunctions: "
            "split the subscription, or write alternatives of one attribute by 'in'"
        )


def _sum(node: Expression, parts: Iterable[list[Conjunction]], limit: int) -> list[Conjunction]:
    """All alternatives; those that are ranges of one and the same attribute become one."""
    total: list[Conjunction] = []
    single: dict[Path, tuple[int, list[ValueSet]]] = {}
    for conjunction in (conjunction for part in parts for conjunction in part):
        path = next(iter(conjunction.box), None)
        if path is None or len(conjunction.box) > 1 or conjunction.literals:
            total.append(conjunction)
        else:
            if path not in single:
                single[path] = (len(total), [])
                total.append(conjunction)
            single[path][1].append(conjunction.box[path])
        if len(total) > limit:
            raise LimitError(
                f"the normal form has more than {limit:,} conjunctions, from the alternatives "
                f"of '{_short(node)}': split the subscription"
            )
    _check_predicates(_predicates(total))
    for path, (index, sets) in single.items():
        total[index] = Conjunction({path: combined(or_, sets)})
    return total


def true_set(node: Expression, positive: bool) -> tuple[Path, ValueSet] | None:
    """Attribute and set of values of which a predicate (or its negation) is true; None if that
    is not such a set."""
    match node:
        case Comparison(left=Attribute() as attribute, right=Constant() as constant) if (
            not node.ignore_case
        ):
            values = _compared(node.operator, constant)
            ordered = node.operator not in ("=", "!=")
        case Between(attribute=attribute):
            values = range_of(node.low.kind, before(node.low.value), after(node.high.value))
            ordered = True
        case In(attribute=attribute) if not node.ignore_case:
            values = points(constant.value for constant in node.values)
            ordered = False
        case TextTest(attribute=attribute):
            found = _texts(node)
            if found is None:
                return None
            values = found
            ordered = True
        case _:
            return None
    if not positive:
        values = values.complement()
        if ordered:  # of values of another kind the predicate is unknown, and so its negation
            values = values.within(_kind(node))
    return attribute.path, values


def _texts(node: TextTest) -> ValueSet | None:
    """The strings of which a test is true, where that is a range of them or a single one."""
    pattern = str(node.pattern.value)
    if not pattern and node.operator in ("starts with", "ends with", "contains text"):
        return prefixed("")
    if node.ignore_case:
        return None
    if node.operator == "starts with":
        return prefixed(pattern)
    match like_parts(pattern) if node.operator == "like" else None:
        case [whole]:
            return points([whole])
        case [start, ""]:
            return prefixed(start)
    return None


def _compared(operator: str, constant: Constant) -> ValueSet:
    value, kind = constant.value, constant.kind
    match operator:
        case "=":
            return points([value])
        case "!=":
            return points([value]).complement()
        case "<":
            return range_of(kind, LEAST, before(value))
        case "<=":
            return range_of(kind, LEAST, after(value))
        case ">":
            return range_of(kind, after(value), GREATEST)
        case _:
            return range_of(kind, before(value), GREATEST)


def _is_decided(node: TruthTest, positive: bool) -> bool:
    """Whether a truth test is true where its part, or the negation of its part, is."""
    return positive and node.truth != "unknown" and not has_variables(node)


def _is_leaf(node: Expression) -> bool:
    return not isinstance(node, And | Or | Not | TruthTest)


def _kind(node: Expression) -> Kind:
    return next(term.kind for term in node.operands() if isinstance(term, Constant))


def _presence(literals: Iterable[Literal]) -> Iterator[tuple[Path, bool]]:
    for node, positive in literals:
        if isinstance(node, Present):
            yield node.attribute.path, positive


def _needed(literals: Iterable[Literal]) -> Iterator[Path]:
    """The attributes that must be there for the literals to be true."""
    for node, positive in literals:
        if positive or not isinstance(node, Present):
            for term in (inner for side in node.operands() for inner in operands_within(side)):
                if isinstance(term, Attribute):
                    yield term.path


def _short(node: Expression) -> str:
    text = str(node)
    return text if len(text) <= 80 else text[:79] + "…"
