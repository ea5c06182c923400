"""The substitutions under which an expression is true, for one binding of the lists.

A *scope* is the whole expression, or the inside of a ``not (…)`` or an ``is …`` form. Within a
scope, calls and patterns that are not shut in by such a form *generate* substitutions; everything
else is a *condition* on them: predicates, constraints, and the shut-in forms.

    p(?x) and (q(?x, ?y) or a = 1) and ?x < 5 and not r(?x, ?z)

    generators      p(?x)     q(?x, ?y) or a = 1
    conditions      ?x < 5    not r(?x, ?z)

Generators are joined one by one, the smallest first, a disjunction side by side; a condition is
tried as soon as no generator that is left can bind more of its variables, and cuts off what it
makes false. The truth of a scope is the disjunction over all substitutions; a shut-in form opens a
scope of its own, in which the variables bound outside are fixed and all others are existential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol

from tamis.bindings.needs import generates, has_calls, variables_of
from tamis.bindings.substitution import Bound, OpenValue, Substitution, Table
from tamis.model.kinds import Value
from tamis.model.rdf_terms import BlankNode, RdfLiteral
from tamis.predicates.expression import (
    EQUALITIES,
    And,
    Call,
    Comparison,
    Expression,
    Not,
    Or,
    Pattern,
    TruthTest,
)
from tamis.predicates.operands import Arithmetic, Operand, Variable, result_of
from tamis.predicates.truth import (
    FALSE,
    TRUE,
    UNKNOWN,
    Truth,
    conjunction,
    disjunction,
    holds,
    negation,
    truth_test,
)


class Leaves(Protocol):
    """What a scope asks about the event, under one binding of its lists."""

    def truth(self, node: Expression) -> Truth:
        """The truth of a plain expression."""

    def value(self, operand: Operand) -> Value | None:
        """The value of an attribute or a constant."""

    def table(self, node: Call | Pattern) -> Table:
        """What a call or a pattern gives."""

    def size(self, node: Call | Pattern) -> int | None:
        """How many rows a call or a pattern gives, if it is known already."""

    def spend(self) -> None:
        """Note that one more substitution is tried; raise if that is one too many."""


class Row(NamedTuple):
    """A substitution, and the truth of the expression under it."""

    substitution: Substitution
    truth: Truth


class Agenda(NamedTuple):
    """What is still to be joined, and what is still to be tried."""

    generators: tuple[Expression, ...]
    conditions: tuple[Expression, ...]

    def with_part(self, part: Expression) -> Agenda:
        """The agenda with one more conjunct."""
        if not generates(part):
            return Agenda(self.generators, (*self.conditions, part))
        if not isinstance(part, And):
            return Agenda((*self.generators, part), self.conditions)
        agenda = self
        for inner in part.parts:
            agenda = agenda.with_part(inner)
        return agenda

    def without(self, generator: Expression) -> Agenda:
        """The agenda after a generator was joined."""
        place = next(n for n, each in enumerate(self.generators) if each is generator)
        left = (*self.generators[:place], *self.generators[place + 1 :])
        return Agenda(left, self.conditions)


class Solver:
    """Finds the substitutions of expressions, for one binding of the lists."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves

    def truth(self, expression: Expression, given: Substitution) -> Truth:
        """The truth of a scope: the disjunction over all substitutions that extend the given."""
        if not generates(expression):
            return self._condition(expression, given)
        return disjunction(row.truth for row in self.rows(expression, given))

    def rows(
        self, expression: Expression, given: Substitution, *, only_true: bool = False
    ) -> Iterator[Row]:
        """The substitutions under which an expression is not false, or only those that match."""
        agenda = Agenda((), ()).with_part(expression)
        return self._rows(agenda, Row(given, TRUE), only_true)

    def _rows(self, agenda: Agenda, row: Row, only_true: bool) -> Iterator[Row]:
        self._leaves.spend()
        ready, waiting = _split(agenda, row.substitution)
        truth = conjunction(chain((row.truth,), self._tried(ready, row.substitution)))
        if truth == FALSE or (only_true and truth != TRUE):
            return
        row = Row(row.substitution, truth)
        if not agenda.generators:
            yield row
            return
        generator = min(agenda.generators, key=lambda each: self._cost(each, row.substitution))
        left = Agenda(agenda.generators, waiting).without(generator)
        if isinstance(generator, Or):
            for side in generator.parts:
                yield from self._rows(left.with_part(side), row, only_true)
            return
        assert isinstance(generator, Call | Pattern)
        table = self._leaves.table(generator)
        joined = conjunction((row.truth, table.truth))
        for substitution in table.joined(row.substitution):
            yield from self._rows(left, Row(substitution, joined), only_true)

    def _cost(self, generator: Expression, given: Substitution) -> tuple[int, bool, int]:
        """Patterns and calls that were made before other calls, and these before disjunctions; what
        shares variables first, and of that the smallest."""
        apart = variables_of(generator).isdisjoint(given)
        if not isinstance(generator, Call | Pattern):
            return 2, apart, 0
        size = self._leaves.size(generator)
        return int(size is None and isinstance(generator, Call)), apart, size or 0

    def _tried(self, conditions: Iterable[Expression], given: Substitution) -> Iterator[Truth]:
        return (self._condition(condition, given) for condition in conditions)

    def _condition(self, node: Expression, given: Substitution) -> Truth:
        """The truth of what binds nothing, under a substitution."""
        if isinstance(node, And):
            return conjunction(self._tried(node.parts, given))
        if isinstance(node, Or):
            return disjunction(self._tried(node.parts, given))
        names = variables_of(node)
        if any(isinstance(given.get(name), OpenValue) for name in names):
            return UNKNOWN
        if isinstance(node, Not):
            return negation(self.truth(node.part, given))
        if isinstance(node, TruthTest):
            return truth_test(self.truth(node.part, given), node.truth)
        if isinstance(node, Call | Pattern):
            return self._leaves.table(node).truth
        if isinstance(node, Comparison) and names:
            left, right = self._value(node.left, given), self._value(node.right, given)
            return compared(left, node.operator, right, ignore_case=node.ignore_case)
        return self._leaves.truth(node)

    def _value(self, operand: Operand, given: Substitution) -> Bound | None:
        """The value of an operand under a substitution, if it has one."""
        if isinstance(operand, Variable):
            value = given.get(operand.name)
            return None if isinstance(value, OpenValue) else value
        if isinstance(operand, Arithmetic):
            left, right = self._value(operand.left, given), self._value(operand.right, given)
            if left is None or right is None or _is_term(left) or _is_term(right):
                return None
            return result_of(left, operand.operator, right)  # type: ignore[arg-type]
        return self._leaves.value(operand)


def compared(left: Bound | None, operator: str, right: Bound | None, *, ignore_case: bool) -> Truth:
    """A constraint; an RDF term that is not a value equals only itself, and has no order."""
    if left is None or right is None:
        return UNKNOWN
    if _is_term(left) or _is_term(right):
        if operator not in EQUALITIES:
            return UNKNOWN
        return int((left == right) is (operator == "="))
    return holds(left, operator, right, ignore_case=ignore_case)  # type: ignore[arg-type]


def _is_term(value: Bound) -> bool:
    return isinstance(value, BlankNode | RdfLiteral)


def _split(agenda: Agenda, given: Substitution) -> tuple[list[Expression], tuple[Expression, ...]]:
    """The conditions that can be tried now, without calls first, and those that must wait."""
    coming = frozenset[str]().union(*map(variables_of, agenda.generators))
    coming = frozenset(
        name for name in coming if given.get(name) is None or isinstance(given[name], OpenValue)
    )
    ready: list[Expression] = []
    waiting: list[Expression] = []
    for condition in agenda.conditions:
        (ready if coming.isdisjoint(variables_of(condition)) else waiting).append(condition)
    return sorted(ready, key=has_calls), tuple(waiting)
