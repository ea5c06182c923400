"""The evaluation of one expression on one event: the oracle's heart.

An event matches if there is a binding of its lists, and one substitution of the variables, under
which the expression is true. Plain expressions, of attributes alone, are decided by
``attribute_trial``. All others are split into groups that share no list and no variable:

    a = 1 and p(?x) and ?x < b and (q(?y)) is not true

    groups    a = 1      p(?x) and ?x < b      (q(?y)) is not true

Each group is tried under every choice from the lists that it and its operators look at, and
``solutions`` finds its substitutions there. What a group gives is kept as the set, over all
choices, of the *set* of truths that its substitutions give, so that groups combine exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, reduce
from itertools import chain, product
from operator import or_
from typing import Any, NamedTuple

from tamis.bindings.attribute_trial import (
    IS_FAILED,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    AttributeTrial,
    NotPlainError,
    Truths,
)
from tamis.bindings.calls import Calls, OperatorLike
from tamis.bindings.choices import Binding, Choice, bound_event, choices
from tamis.bindings.needs import (
    bound_paths,
    coupled,
    generates,
    has_calls,
    needs_of,
    variables_of,
)
from tamis.bindings.patterns import Patterns
from tamis.bindings.solutions import Solver
from tamis.bindings.substitution import Table, join_key
from tamis.errors import LimitError
from tamis.model.events.event import Event, single_value
from tamis.model.kinds import Value
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies
from tamis.predicates.expression import (
    And,
    Call,
    Expression,
    Not,
    Or,
    Pattern,
    TruthTest,
    all_of,
    any_of,
    nodes_within,
)
from tamis.predicates.operands import Attribute, Operand, operands_within
from tamis.predicates.truth import (
    FAILED,
    FALSE,
    TRUE,
    UNKNOWN,
    Truth,
    conjunction,
    disjunction,
    negation,
    truth_test,
)

BLANK = re.compile(r"_+b[0-9a-f]{8}_\d+")
"""The variables that stand for blank nodes of patterns, which nobody asks for."""


class World(NamedTuple):
    """What an evaluation must know beside the event and the expression."""

    taxonomies: Taxonomies = NO_TAXONOMIES
    limits: Limits = LIMITS
    operators: Mapping[str, OperatorLike] = {}

    def keys(self, expressions: Iterable[Expression]) -> frozenset[str] | None:
        """The outermost keys of all attributes that expressions and their operators look at; None
        if an operator may look at any."""
        paths = self.paths(expressions)
        return None if paths is None else frozenset(path[0] for path in paths)

    def paths(self, expressions: Iterable[Expression]) -> frozenset[Path] | None:
        """The same, with whole paths."""
        found: set[Path] = set()
        for node in chain.from_iterable(map(nodes_within, expressions)):
            if isinstance(node, Call):
                paths = self.operators[node.name].paths
                if paths is None:
                    return None
                found.update(paths)
            for operand in chain.from_iterable(map(operands_within, node.operands())):
                if isinstance(operand, Attribute):
                    found.add(operand.path)
        return frozenset(found)


class Answer(NamedTuple):
    """What is true of an event and an expression, and why."""

    truth: Truth
    solution: Mapping[str, Any] = {}
    """Values of the variables that make the expression true."""
    reason: str = ""
    """What failed, if the truth is FAILED."""

    @property
    def says_more(self) -> bool:
        """Whether it says more than that the event matches, or does not."""
        return self.truth == FAILED or bool(self.solution)


_ANSWERS = tuple(Answer(truth) for truth in (FALSE, TRUE, UNKNOWN))
WORLD = World()
"""No taxonomies, no operators, and the limits by default."""


class Trial(AttributeTrial):
    """One event, on which expressions are tried; each operator is called once for it."""

    def __init__(self, event: Event, world: World = WORLD) -> None:
        super().__init__(event, world.taxonomies, world.limits)
        self._operators = world.operators

    def matches(self, expression: Expression) -> bool:
        """Whether the expression is true under some binding of lists and variables."""
        truth = self._simple_truth(expression)
        if truth is not None:
            return truth == TRUE
        if needs_of(expression).is_plain:
            return self.can_be(IS_TRUE, expression) == TRUE
        return next(self._solutions(expression), None) is not None

    def answer(self, expression: Expression) -> Answer:
        """The truth of the expression, with what makes it true or why it failed."""
        truth = self._simple_truth(expression)
        if truth is not None:
            return _ANSWERS[truth]
        self.reasons.clear()
        solution = None
        if not needs_of(expression).is_plain:
            solution = next(self.solutions(expression, 1), None)
        if solution is not None:
            return Answer(TRUE, solution)
        truth = self._full_truth(expression)
        return Answer(truth, {}, "; ".join(self.reasons) if truth == FAILED else "")

    def truth_of(self, expression: Expression) -> Truth:
        """TRUE if a binding makes it so, else FAILED if one fails, else FALSE if one gives that."""
        truth = self._simple_truth(expression)
        return self._full_truth(expression) if truth is None else truth

    def _simple_truth(self, expression: Expression) -> Truth | None:
        """The truth, if it needs no lists, calls, patterns or variables; else None."""
        multiple = self.event.multiple
        if multiple and not multiple.isdisjoint(needs_of(expression).keys):
            return None
        try:
            return self.truth(expression, None)
        except NotPlainError:
            return None

    def _full_truth(self, expression: Expression) -> Truth:
        if needs_of(expression).is_plain:
            truth = self.can_be(IS_TRUE, expression)
            if truth == FALSE:
                truth = {TRUE: FALSE, FALSE: UNKNOWN}.get(self.can_be(IS_FALSE, expression), FAILED)
            return truth
        found = set(map(_existence, self._truths(expression)))
        return next(truth for truth in (TRUE, FAILED, FALSE, UNKNOWN) if truth in found)

    def solutions(self, expression: Expression, limit: int) -> Iterator[Mapping[str, Any]]:
        """The values of the variables that make the expression true, each once."""
        seen: set[frozenset[Hashable]] = set()
        for substitution in self._solutions(expression):
            shown = {name: substitution[name] for name in substitution if not BLANK.match(name)}
            key = frozenset((name, join_key(value)) for name, value in shown.items())
            if key not in seen:
                seen.add(key)
                yield shown
            if len(seen) == limit:
                return

    # What makes an expression true: the search ends as soon as nobody asks for more.

    def _solutions(self, node: Expression) -> Iterator[dict[str, Any]]:
        if needs_of(node).is_plain:
            if self.matches(node):
                yield {}
        elif isinstance(node, Or):
            yield from chain.from_iterable(map(self._solutions, node.parts))
        elif isinstance(node, Not | TruthTest):
            if self.truth_of(node) == TRUE:
                yield {}
        elif isinstance(node, And) and len(groups := self._groups(node)) > 1:
            yield from self._joint_solutions(groups)
        else:
            yield from self._solutions_by_choice(node)

    def _joint_solutions(self, groups: list[Expression]) -> Iterator[dict[str, Any]]:
        """The solutions of groups that have nothing in common, first one of each."""
        every = []
        for group in sorted(groups, key=has_calls):
            solutions = self._solutions(group)
            first = next(solutions, None)
            if first is None:
                return
            every.append(chain((first,), solutions))
        firsts = [next(solutions) for solutions in every]
        yield _merged(firsts)
        yield from map(_merged, product(*(chain((a,), b) for a, b in zip(firsts, every))))

    def _solutions_by_choice(self, node: Expression) -> Iterator[dict[str, Any]]:
        try:
            for solver in self._solvers(node):
                for row in solver.rows(node, {}, only_true=True):
                    yield dict(row.substitution)
        except LimitError as error:
            self.reasons[str(error)] = None

    # Which truths an expression has: for each binding of the lists, those of all substitutions.

    def _truths(self, node: Expression) -> frozenset[Truths]:
        if needs_of(node).is_plain:
            return frozenset(self._truths_of_plain(node))
        if isinstance(node, Not):
            return frozenset(1 << negation(_existence(each)) for each in self._truths(node.part))
        if isinstance(node, TruthTest):
            inner = self._truths(node.part)
            return frozenset(1 << truth_test(_existence(each), node.truth) for each in inner)
        if isinstance(node, And | Or) and len(groups := self._groups(node)) > 1:
            return reduce(_combination_of(node), map(self._truths, groups))
        return frozenset(self._truths_by_choice(node))

    def _truths_of_plain(self, node: Expression) -> Iterator[Truths]:
        for truths in (IS_TRUE, IS_FALSE, IS_UNKNOWN):
            found = self.can_be(truths, node)
            if found != FALSE:
                yield truths if found == TRUE else IS_FAILED

    def _truths_by_choice(self, node: Expression) -> Iterator[Truths]:
        try:
            for solver in self._solvers(node):
                if generates(node):
                    found = {row.truth for row in solver.rows(node, {})} or {FALSE}
                else:
                    found = {solver.truth(node, {})}
                yield sum(1 << truth for truth in found)
        except LimitError as error:
            self.reasons[str(error)] = None
            yield IS_FAILED

    # Groups of parts, and the bindings of the lists that concern one.

    def _groups(self, node: And | Or) -> list[Expression]:
        """The parts in groups that share no list and no variable."""
        join = all_of if isinstance(node, And) else any_of
        return [join(*group) for group in coupled(node.parts, self._tokens)]

    def _tokens(self, part: Expression) -> set[Hashable]:
        return {*self._keys(part), *(("?", name) for name in variables_of(part))}

    def _keys(self, part: Expression) -> frozenset[str]:
        """The top-level keys with lists that a part and its operators look at."""
        calls = (node for node in nodes_within(part) if isinstance(node, Call))
        read = chain.from_iterable(map(self.calls.keys, calls))
        return (needs_of(part).keys & self.event.multiple).union(read)

    def _solvers(self, node: Expression) -> Iterator[Solver]:
        """A solver for each choice from the lists that an expression looks at."""
        budget = _Budget(self._limits.bindings)
        if not self._keys(node):
            yield Solver(_Leaves(self, budget, {}, None))
            return
        paths = sorted(set(bound_paths(node)))
        read = self._read(node, paths)
        for choice in choices(self.event, read, self._limits.bindings):
            tree = bound_event(self.event, choice, read).attributes
            values = ((path, single_value(tree, path)) for path in paths)
            binding = {path: value for path, value in values if value is not None}
            yield Solver(_Leaves(self, budget, choice, binding))

    def _read(self, node: Expression, paths: list[Path]) -> list[Path] | None:
        """The attributes that an expression and its operators look at; None for everything."""
        read = list(paths)
        for call in nodes_within(node):
            if isinstance(call, Call):
                more = self.calls.paths(call)
                if more is None:
                    return None
                read += more
        return read

    @cached_property
    def calls(self) -> Calls:
        """The operator calls on the event."""
        return Calls(self.event, self._operators, self._limits.bindings)

    @cached_property
    def patterns(self) -> Patterns:
        """The graph patterns on the event."""
        return Patterns(self.event.graph, self._limits.bindings, self._taxonomies.default)


class _Budget:
    """How many substitutions may still be tried."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise LimitError(
                f"more than {self.limit:,} substitutions of variables to try, which is the limit: "
                "bind them more narrowly, or raise Limits.bindings"
            )


class _Leaves:
    """What a solver asks about the event, under one choice from its lists."""

    def __init__(
        self, trial: Trial, budget: _Budget, choice: Choice, binding: Binding | None
    ) -> None:
        self._trial = trial
        self._choice = choice
        self._binding = binding
        self.spend = budget.spend

    def truth(self, node: Expression) -> Truth:
        return self._trial.truth(node, self._binding)

    def value(self, operand: Operand) -> Value | None:
        return self._trial.value(operand, self._binding)

    def table(self, node: Call | Pattern) -> Table:
        if isinstance(node, Call):
            table, reason = self._trial.calls.table(node, self._choice)
        else:
            table, reason = self._trial.patterns.table(node)
        if reason:
            self._trial.reasons[reason] = None
        return table

    def size(self, node: Call | Pattern) -> int | None:
        if isinstance(node, Pattern):
            return None
        rows = self._trial.calls.made(node, self._choice)
        return None if rows is None else len(rows.rows)


def _merged(solutions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for solution in solutions for name, value in solution.items()}


@lru_cache(maxsize=16)
def _existence(truths: Truths) -> Truth:
    """The disjunction over substitutions."""
    return disjunction(_members(truths))


def _members(truths: Truths) -> list[Truth]:
    return [truth for truth in (FALSE, TRUE, UNKNOWN, FAILED) if truths >> truth & 1]


Combination = Callable[[frozenset[Truths], frozenset[Truths]], frozenset[Truths]]


def _combination_of(node: And | Or) -> Combination:
    """What independent parts of a conjunction or a disjunction give together."""
    if isinstance(node, And):
        return _CONJUNCTIONS
    return _UNIONS if generates(node) else _DISJUNCTIONS


def _pair_by_pair(combine: Callable[[Truths, Truths], Truths]) -> Combination:
    def combined(ours: frozenset[Truths], theirs: frozenset[Truths]) -> frozenset[Truths]:
        return frozenset(combine(one, other) for one, other in product(ours, theirs))

    return combined


def _pointwise(combine: Callable[[Iterable[Truth]], Truth]) -> Callable[[Truths, Truths], Truths]:
    @lru_cache(maxsize=256)
    def combined(one: Truths, other: Truths) -> Truths:
        pairs = product(_members(one), _members(other))
        return sum(1 << truth for truth in set(map(combine, pairs)))

    return combined


_CONJUNCTIONS = _pair_by_pair(_pointwise(conjunction))
_DISJUNCTIONS = _pair_by_pair(_pointwise(disjunction))
_UNIONS = _pair_by_pair(or_)
"""Sides that bind variables give substitutions of their own, which add up."""
