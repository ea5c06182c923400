"""What of an expression calls decide: a formula of questions to leaves.

SQL's logic has three values, but a subscription asks one question: is it *true*? The question goes
down the tree as it does in ``matching/covers/formula.py``, and stops at calls, at patterns, and at
parts that speak of attributes alone:

    a = 1 and (p('x') or not q() and (r() is not true))

    every   a = 1 is true?
            some    p('x') is true?
                    every   q() is false?    r() is not true?

A call and the constraints on its variables alone are one leaf, ``distance('x', ?d) and ?d < 9``: so
the constraint ends what the call by itself would not. Where there are variables otherwise, the
formula says what must be so at least: that a call gives rows is necessary, whether they join and
satisfy the constraints is another matter (``is_exact``). Calls inside a ``not (…)`` or an ``is …``
form with variables are only asked to be evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tamis.bindings.needs import needs_of, variables_of
from tamis.operators.schedules.graph import (
    ANY,
    EVERY,
    IS_FALSE,
    IS_TRUE,
    NOT_FALSE,
    NOT_TRUE,
    SOME,
)
from tamis.predicates.expression import (
    And,
    Call,
    Comparison,
    Expression,
    Not,
    Or,
    Pattern,
    TruthTest,
    all_of,
    nodes_within,
)
from tamis.predicates.variables import has_variables

_QUESTIONS = {
    (True, True): IS_TRUE,
    (True, False): NOT_TRUE,
    (False, True): IS_FALSE,
    (False, False): NOT_FALSE,
}


class Leaf(NamedTuple):
    """A question to a call, a pattern, or a plain part."""

    question: int
    node: Expression


class Branch(NamedTuple):
    """All parts, or some part."""

    kind: int
    parts: tuple[Formula, ...]


Formula = Leaf | Branch
_PERHAPS = Branch(EVERY, ())


class Residue(NamedTuple):
    """The formula of a subscription, and what it does not say."""

    formula: Branch
    is_exact: bool
    """Whether the subscription is true if the formula is so; else only not if it is not."""


def residue_of(expression: Expression, *, tested: bool) -> Residue:
    """The residue of an expression.

    tested: whether its attributes have been tested as far as that could be done, so that plain
    conjuncts are left out: the oracle confirms what is left.
    """
    parts = expression.parts if isinstance(expression, And) else (expression,)
    plain = [part for part in parts if tested and needs_of(part).is_plain]
    others = [part for part in parts if not any(part is each for each in plain)]
    formula = _join(EVERY, [_ask(part, True, True) for part in _with_constraints(others)])
    if not isinstance(formula, Branch):
        formula = Branch(EVERY, (formula,))
    return Residue(formula, not plain and not has_variables(expression))


def _with_constraints(parts: list[Expression]) -> list[Expression]:
    """Conjuncts with each constraint joined to a call that binds all its variables, if any does."""
    calls: dict[Expression, list[Expression]] = {
        part: [part] for part in parts if isinstance(part, Call) and variables_of(part)
    }
    found: list[Expression] = []
    for part in parts:
        names = variables_of(part) if isinstance(part, Comparison) else frozenset[str]()
        binder = next((call for call in calls if names and names <= variables_of(call)), None)
        if binder is not None:
            calls[binder].append(part)
        elif part not in calls:
            found.append(part)
    return [*(all_of(*group) for group in calls.values()), *found]


def filtered_call(node: Expression) -> Call | None:
    """The call of a leaf that is a call with constraints on its variables."""
    if isinstance(node, And) and node.parts and isinstance(node.parts[0], Call):
        call, *others = node.parts
        assert isinstance(call, Call)
        if others and all(isinstance(each, Comparison) for each in others):
            return call
    return None


def _ask(node: Expression, truth: bool, holds: bool) -> Formula:
    """Whether a node is true, or false; or, if it must not hold, whether that is not so."""
    if needs_of(node).is_plain:
        return Leaf(_QUESTIONS[truth, holds], node)
    if truth and holds and filtered_call(node) is not None and _is_closed(node):
        return Leaf(IS_TRUE, node)
    if isinstance(node, And | Or):
        kind = EVERY if isinstance(node, And) is (truth is holds) else SOME
        return _join(kind, [_ask(part, truth, holds) for part in node.parts])
    if isinstance(node, Call | Pattern):
        if has_variables(node) and not (truth and holds):
            return Leaf(ANY, node)
        return Leaf(_QUESTIONS[truth, holds], node)
    if isinstance(node, Not | TruthTest) and has_variables(node):
        return _join(EVERY, [Leaf(ANY, call) for call in _calls_within(node)])
    if isinstance(node, Not):
        return _ask(node.part, not truth, holds)
    if isinstance(node, TruthTest):
        return _ask_test(node, truth is holds)
    return _PERHAPS  # a constraint on variables


def _is_closed(node: Expression) -> bool:
    """Whether the call of a filtered leaf binds all variables of its constraints."""
    call = filtered_call(node)
    return call is not None and variables_of(node) == variables_of(call)


def _ask_test(node: TruthTest, holds: bool) -> Formula:
    """Whether a truth test, which is never unknown, is true."""
    if node.truth != "unknown":
        return _ask(node.part, node.truth == "true", holds)
    either = [_ask(node.part, truth, not holds) for truth in (True, False)]
    return _join(EVERY if holds else SOME, either)


def _calls_within(node: Expression) -> Iterator[Expression]:
    return (each for each in nodes_within(node) if isinstance(each, Call | Pattern))


def _join(kind: int, parts: list[Formula]) -> Formula:
    """A branch whose parts are none of its kind, each leaf once."""
    flat: dict[Formula, None] = {}
    for part in parts:
        same = isinstance(part, Branch) and (part.kind == kind or len(part.parts) == 1)
        for each in part.parts if same and isinstance(part, Branch) else (part,):
            flat[each] = None
    return next(iter(flat)) if len(flat) == 1 else Branch(kind, tuple(flat))
