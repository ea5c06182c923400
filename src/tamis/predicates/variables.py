"""Which variables an expression binds, and whether every constraint finds its variables bound.

Worked out over the tree, without expanding it. What a node binds *outside* is bound whenever the
node is true:

    near('x', ?d), { ?s ?p ?o }     their own variables
    A and B                         what A binds and what B binds
    A or B                          what both bind
    not (…), (…) is …               nothing, whatever stands inside
    false                           everything, for it is never true

Inside a ``not (…)`` or an ``is …`` form a constraint may use what is bound around the form, and
what is bound within it: ``not (near('x', ?d) and ?d < 5)`` says that nothing is near.
"""

from __future__ import annotations

from collections.abc import Iterator

from tamis.errors import SubscriptionError
from tamis.predicates.expression import (
    And,
    Between,
    Call,
    Comparison,
    Contains,
    Expression,
    In,
    InCidr,
    IsA,
    Or,
    Pattern,
    Present,
    TextTest,
)
from tamis.predicates.operands import Attribute, Constant, Variable, operands_within

Bound = frozenset[Variable] | None
"""The variables that are bound; None if all are, since this is never true."""

_NOTHING: frozenset[Variable] = frozenset()
_WITHOUT = frozenset({Between, Contains, In, InCidr, IsA, Present, TextTest})
"""Predicates that never have a variable."""


def check_variables(expression: Expression) -> None:
    """Refuse an expression with a constraint on a variable that may be left unbound."""
    found = next(_unbound(expression, ()), None) if has_variables(expression) else None
    if found is not None:
        variable, constraint = found
        text = str(constraint)
        shown = text if len(text) <= 80 else text[:79] + "…"
        raise SubscriptionError(
            f"nothing binds ?{variable.name} in '{shown}': a call or a pattern must name it on "
            "both sides of every 'or', and outside of 'not (…)' and '(…) is …'"
        )


def is_safe(expression: Expression) -> bool:
    """Whether every constraint finds its variables bound."""
    return next(_unbound(expression, ()), None) is None


def bound_variables(expression: Expression) -> Bound:
    """The variables that are bound whenever the expression is true; None stands for all."""
    if isinstance(expression, Call | Pattern):
        return frozenset(term for term in expression.operands() if isinstance(term, Variable))
    if isinstance(expression, And):
        sides = [bound_variables(part) for part in expression.parts]
        known = [side for side in sides if side is not None]
        return _NOTHING.union(*known) if len(known) == len(sides) else None
    if isinstance(expression, Or):
        sides = [bound_variables(part) for part in expression.parts]
        possible = [side for side in sides if side is not None]
        return frozenset.intersection(*possible) if possible else None
    return _NOTHING


def has_variables(expression: Expression) -> bool:
    """Whether an operator call, a pattern or a constraint inside may bind or use a variable."""
    left = [expression]
    while left:
        node = left.pop()
        if isinstance(node, Pattern):
            return True
        if node.depth:
            left += [child for child in node.children() if type(child) not in _WITHOUT]
        elif isinstance(node, Call | Comparison) and _has_variable(node):
            return True
    return False


def _unbound(
    node: Expression, around: tuple[frozenset[Variable], ...]
) -> Iterator[tuple[Variable, Comparison]]:
    """The variables of constraints that are bound neither here nor around, with their places.

    ``around`` has what each node above binds; one set of all would be copied for every node."""
    own = bound_variables(node)
    if own is None or isinstance(node, Pattern):  # which checks its filters itself
        return
    bound = (*around, own) if own else around
    if isinstance(node, Comparison):
        for term in _variables(node):
            if not any(term in each for each in bound):
                yield term, node
    for child in node.children():
        yield from _unbound(child, bound)


def _has_variable(node: Expression) -> bool:
    if type(node) is Comparison and type(node.left) is Attribute and type(node.right) is Constant:
        return False  # as most are
    return next(_variables(node), None) is not None


def _variables(node: Expression) -> Iterator[Variable]:
    for term in (inner for side in node.operands() for inner in operands_within(side)):
        if isinstance(term, Variable):
            yield term
