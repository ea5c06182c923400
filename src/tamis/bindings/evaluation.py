"""The oracle: one expression is evaluated on one event, in plain Python.

It covers the whole language of attributes and says what is right; every other matcher is held
against it. An event matches if there is a binding under which the expression is true. Binding by
binding is exponential in the number of lists, so parts of a conjunction that share no top-level
key, and hence no list, are decided apart, and so are the alternatives of a disjunction: of
``exists b: p(b) or q(b)`` each side can have a binding of its own, and of ``p and q`` too where no
list concerns both. What remains coupled is enumerated, up to ``Limits.bindings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tamis.bindings.choices import Binding, bindings
from tamis.model.events.event import Event, single_value
from tamis.model.kinds import Value
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies
from tamis.predicates.expression import (
    And,
    Comparison,
    Contains,
    Expression,
    Not,
    Or,
    Present,
    TruthTest,
    nodes_within,
)
from tamis.predicates.operands import (
    Arithmetic,
    Attribute,
    Constant,
    Operand,
    operands_within,
    result_of,
)
from tamis.predicates.truth import (
    FAILED,
    FALSE,
    TRUE,
    TRUTHS,
    Truth,
    conjunction,
    contains,
    disjunction,
    holds,
    negation,
    test,
)


class World(NamedTuple):
    """What evaluation knows beside event and expression."""

    taxonomies: Taxonomies = NO_TAXONOMIES
    limits: Limits = LIMITS
    operators: Mapping[str, Any] = {}


WORLD = World()


class Answer(NamedTuple):
    """What the oracle says of an event and an expression."""

    truth: int
    solution: Mapping[str, Any] = {}
    reason: str = ""

    @property
    def says_more(self) -> bool:
        """Whether it says more than that the event matches, or does not."""
        return self.truth == FAILED or bool(self.solution)


MATCHES, MATCHES_NOT = Answer(TRUE), Answer(FALSE)


class Trial:
    """One event, against which expressions are tried."""

    def __init__(self, event: Event, world: World = WORLD) -> None:
        self.event = event
        self._taxonomies = world.taxonomies
        self._limits = world.limits

    def matches(self, expression: Expression) -> bool:
        """Whether some binding makes the expression true."""
        if not self.event.multiple or self.event.multiple.isdisjoint(bound_keys(expression)):
            return self.truth(expression, None) is True
        return self._can_be(True, expression)

    def answer(self, expression: Expression) -> Answer:
        """Whether the event matches, and why nobody can tell."""
        return MATCHES if self.matches(expression) else MATCHES_NOT

    def verdict(self, expression: Expression) -> Truth:
        """True if some binding makes it so, else false if one does, else unknown."""
        if self.event.multiple.isdisjoint(bound_keys(expression)):
            return self.truth(expression, None)
        if self._can_be(True, expression):
            return True
        return False if self._can_be(False, expression) else None

    def bindings(self, expressions: Iterable[Expression]) -> Iterator[Binding]:
        """All bindings of the attributes that the expressions compare."""
        paths = [path for expression in expressions for path in bound_paths(expression)]
        return bindings(self.event, paths, self._limits.bindings)

    def _can_be(self, wanted: bool, node: Expression) -> bool:
        """Whether some binding makes the expression true (or false, as wanted)."""
        if isinstance(node, Not):
            return self._can_be(not wanted, node.part)
        if isinstance(node, And | Or):
            if isinstance(node, And) is wanted:
                return all(self._can_all_be(wanted, group) for group in _coupled(node.parts))
            return any(self._can_be(wanted, part) for part in node.parts)
        return self._can_all_be(wanted, [node])

    def _can_all_be(self, wanted: bool, parts: list[Expression]) -> bool:
        """Whether one binding makes all parts true (or false, as wanted)."""
        if len(parts) == 1 and isinstance(parts[0], And | Or | Not):
            return self._can_be(wanted, parts[0])
        return any(
            all(self.truth(part, binding) is wanted for part in parts)
            for binding in self.bindings(parts)
        )

    def truth(self, node: Expression, binding: Binding | None) -> Truth:
        """The truth of an expression under a binding; without lists none is needed."""
        if isinstance(node, And):
            return conjunction(self.truth(part, binding) for part in node.parts)
        if isinstance(node, Or):
            return disjunction(self.truth(part, binding) for part in node.parts)
        if isinstance(node, Not):
            return negation(self.truth(node.part, binding))
        if isinstance(node, TruthTest):
            return TRUTHS[self.truth(node.part, binding)] == node.truth
        if isinstance(node, Present):
            return self.event.present(node.attribute.path)
        if isinstance(node, Contains):
            path = node.attribute.path
            return contains(node, self.event.values(path)) if self.event.present(path) else None
        if isinstance(node, Comparison):
            left, right = self._value(node.left, binding), self._value(node.right, binding)
            return holds(left, node.operator, right, ignore_case=node.ignore_case)
        (attribute,) = (term for term in node.operands() if isinstance(term, Attribute))
        value = self._value(attribute, binding)
        return None if value is None else test(node, value, self._taxonomies.of(attribute.path))

    def _value(self, term: Operand, binding: Binding | None) -> Value | None:
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Attribute):
            if binding is not None:
                return binding.get(term.path)
            return single_value(self.event.attributes, term.path)
        assert isinstance(term, Arithmetic)
        left, right = self._value(term.left, binding), self._value(term.right, binding)
        return None if left is None or right is None else result_of(left, term.operator, right)


def bound_paths(expression: Expression) -> Iterator[Path]:
    """The attributes of an expression that a binding must give a value."""
    for node in nodes_within(expression):
        if not isinstance(node, Contains | Present):
            for term in (inner for side in node.operands() for inner in operands_within(side)):
                if isinstance(term, Attribute):
                    yield term.path


def bound_keys(expression: Expression) -> frozenset[str]:
    """The top-level keys of those attributes."""
    return frozenset(path[0] for path in bound_paths(expression))


def _coupled(parts: tuple[Expression, ...]) -> list[list[Expression]]:
    """The parts in groups: no two groups share a top-level key, so no list concerns both."""
    groups: dict[str, list[Expression]] = {}
    alone: list[list[Expression]] = []
    for part in parts:
        keys = bound_keys(part)
        if not keys:
            alone.append([part])
            continue
        shared = {id(groups[key]): groups[key] for key in keys if key in groups}
        merged = [*(member for group in shared.values() for member in group), part]
        members = {key for key, group in groups.items() if id(group) in shared}
        groups.update(dict.fromkeys(keys | members, merged))
    return [*alone, *{id(group): group for group in groups.values()}.values()]
