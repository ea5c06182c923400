"""What an expression needs for its evaluation: attributes, lists, variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from tamis.model.paths import Path
from tamis.predicates.expression import (
    And,
    Call,
    Comparison,
    Contains,
    Expression,
    Not,
    Or,
    Pattern,
    Present,
    TruthTest,
    nodes_within,
)
from tamis.predicates.operands import Attribute, Operand, Variable, operands_within

Part = TypeVar("Part")

_COMPOUND = frozenset({And, Or, Not, TruthTest})


class Needs(NamedTuple):
    """What must be known of an expression before it is tried."""

    keys: frozenset[str]
    """The top-level keys of the attributes that a binding must give a value."""
    is_plain: bool
    """Whether it speaks of attributes alone: no calls, patterns or variables."""


def needs_of(expression: Expression) -> Needs:
    """What an expression needs; keep it where the expression is tried on many events."""
    keys: set[str] = set()
    is_plain = _collect(expression, keys)
    return Needs(frozenset(keys), is_plain)


def _collect(node: Expression, keys: set[str]) -> bool:
    """Add the keys of a node; whether it is plain."""
    kind = type(node)
    if kind in _COMPOUND:
        is_plain = True
        for part in node.children():
            is_plain &= _collect(part, keys)
        return is_plain
    if kind is Call or kind is Pattern:
        return False
    if kind is Contains or kind is Present:
        return True
    return _collect_operands(node.operands(), keys)


def _collect_operands(operands: Iterable[Operand], keys: set[str]) -> bool:
    is_plain = True
    for operand in operands:
        if type(operand) is Attribute:
            keys.add(operand.path[0])
        elif type(operand) is Variable:
            is_plain = False
        else:
            is_plain &= _collect_operands(operand.children(), keys)
    return is_plain


def bound_paths(expression: Expression) -> Iterator[Path]:
    """The attributes of an expression that a binding must give a value."""
    for node in nodes_within(expression):
        if not isinstance(node, Contains | Present):
            for term in (inner for side in node.operands() for inner in operands_within(side)):
                if isinstance(term, Attribute):
                    yield term.path


@lru_cache(maxsize=10_000)
def variables_of(expression: Expression) -> frozenset[str]:
    """The names of all variables that occur in an expression."""
    if isinstance(expression, Call | Pattern | Comparison):
        terms = (inner for side in expression.operands() for inner in operands_within(side))
        return frozenset(term.name for term in terms if isinstance(term, Variable))
    return frozenset().union(*map(variables_of, expression.children()))


@lru_cache(maxsize=10_000)
def generates(expression: Expression) -> bool:
    """Whether an expression can bind variables: a call or pattern that no ``not`` shuts in."""
    if isinstance(expression, Call | Pattern):
        return bool(variables_of(expression))
    if isinstance(expression, And | Or):
        return any(map(generates, expression.parts))
    return False


@lru_cache(maxsize=10_000)
def has_calls(expression: Expression) -> bool:
    """Whether there is an operator call or a graph pattern in an expression."""
    return any(isinstance(node, Call | Pattern) for node in nodes_within(expression))


def coupled(
    parts: Iterable[Part], tokens_of: Callable[[Part], Iterable[Hashable]]
) -> list[list[Part]]:
    """The parts in groups: no two groups share a token, such as a list or a variable."""
    groups: dict[Hashable, list[Part]] = {}
    alone: list[list[Part]] = []
    for part in parts:
        tokens = set(tokens_of(part))
        if not tokens:
            alone.append([part])
            continue
        shared = {id(groups[token]): groups[token] for token in tokens if token in groups}
        merged = [*(member for group in shared.values() for member in group), part]
        members = {token for token, group in groups.items() if id(group) in shared}
        groups.update(dict.fromkeys(tokens | members, merged))
    return [*alone, *{id(group): group for group in groups.values()}.values()]
