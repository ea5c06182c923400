"""Literals: tests that are not sets of values by themselves, and what is known of them anyway."""

from __future__ import annotations

from collections.abc import Iterator

from tamis.model.kinds import ORDERED, Kind, Value
from tamis.model.paths import Path
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import (
    EQUALITIES,
    And,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Not,
    Or,
    TextTest,
    TruthTest,
    nodes_within,
)
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Attribute, Constant, operands_within
from tamis.predicates.texts import fold, like_prefix
from tamis.predicates.truth import test
from tamis.predicates.valueset import GREATEST, LEAST, ValueSet, prefixed, range_of

STRINGS = range_of(Kind.STRING, LEAST, GREATEST)
_ORDERED = ValueSet(dict.fromkeys(sorted(ORDERED), ((LEAST, GREATEST),)))
_ANYTHING = ValueSet().complement()
_FOLDED = ("starts with", "ends with", "contains text")


def tested_path(node: Expression) -> Path | None:
    """The attribute of a test on the value of one attribute; None of anything else."""
    if isinstance(node, Comparison):
        single = isinstance(node.left, Attribute) and isinstance(node.right, Constant)
        return node.left.path if single and isinstance(node.left, Attribute) else None
    return node.attribute.path if isinstance(node, In | IsA | InCidr | TextTest) else None


def fulfils(literal: Literal, value: Value, taxonomy: Taxonomy | None) -> bool | None:
    """Whether a bound value makes a test true; None if that cannot be known."""
    node, positive = literal
    if isinstance(node, IsA) and taxonomy is None:
        if value == node.ancestor.value:
            return positive
        return None if isinstance(value, str) else False
    return test(node, value, taxonomy) == int(positive)


def is_opaque(literal: Literal) -> bool:
    """Whether a literal is a whole expression, of which no value needs to be bound to be true."""
    return isinstance(literal.predicate, And | Or | Not | TruthTest)


def attributes_of(expression: Expression) -> Iterator[Path]:
    """The attributes that a predicate names, or all predicates inside it."""
    for node in nodes_within(expression):
        for term in (inner for side in node.operands() for inner in operands_within(side)):
            if isinstance(term, Attribute):
                yield term.path


def canonical(literal: Literal) -> Literal:
    """The literal in the one form of those that say the same: case folded, no negated ``!=``."""
    node, positive = literal
    if isinstance(node, Comparison) and node.operator == "!=":
        node = Comparison(node.left, "=", node.right, node.ignore_case)
        positive = not positive
    if isinstance(node, Comparison) and node.ignore_case and isinstance(node.right, Constant):
        node = Comparison(node.left, node.operator, _folded(node.right), ignore_case=True)
    elif isinstance(node, In) and node.ignore_case:
        values = tuple(dict.fromkeys(map(_folded, node.values)))
        node = In(node.attribute, tuple(sorted(values, key=_text)), ignore_case=True)
    elif isinstance(node, Contains) and node.ignore_case:
        node = Contains(node.attribute, _folded(node.value), ignore_case=True)
    elif isinstance(node, TextTest) and node.ignore_case and node.operator in _FOLDED:
        node = TextTest(node.attribute, node.operator, _folded(node.pattern), ignore_case=True)
    return Literal(node, positive)


def _text(constant: Constant) -> str:
    return str(constant.value)


def _folded(constant: Constant) -> Constant:
    return Constant(fold(str(constant.value)))


def bound(literal: Literal) -> ValueSet:
    """A set that holds all values of which a literal can be true."""
    node, positive = literal
    if isinstance(node, TextTest) and positive and node.operator == "like" and not node.ignore_case:
        return prefixed(like_prefix(str(node.pattern.value)))
    if isinstance(node, TextTest | IsA | InCidr):
        return STRINGS
    if isinstance(node, In) or (isinstance(node, Comparison) and node.operator in EQUALITIES):
        folded = node.ignore_case and tested_path(node) is not None
        return STRINGS if positive and folded else _ANYTHING
    return _ORDERED
