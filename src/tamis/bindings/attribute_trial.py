"""The evaluation of plain expressions, which speak of attributes alone, on one event.

Binding by binding is exponential in the number of lists, so parts of a conjunction that share no
top-level key, and hence no list, are decided apart, and so are the alternatives of a disjunction:
of ``exists b: p(b) or q(b)`` each side can have a binding of its own, and of ``p and q`` too where
no list concerns both. What remains coupled is enumerated, up to ``Limits.bindings``.

What an expression can be is asked by a *set* of truths, one bit for each:

    can ``a and b`` be …    true          all parts can, under one binding
                            false         some part can
                            not true      some part can be false or unknown
                            unknown       some part can, while the others are true or unknown
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tamis.bindings.choices import Binding, bindings
from tamis.bindings.needs import bound_paths, coupled, needs_of
from tamis.errors import LimitError
from tamis.model.events.event import Event, single_value
from tamis.model.kinds import Value
from tamis.model.limits import Limits
from tamis.model.taxonomy.taxonomies import Taxonomies
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
)
from tamis.predicates.operands import Arithmetic, Attribute, Constant, Operand, result_of
from tamis.predicates.truth import (
    FAILED,
    FALSE,
    TRUE,
    TRUTHS,
    UNKNOWN,
    Truth,
    conjunction,
    contains,
    disjunction,
    holds,
    negation,
    test,
    truth_test,
)

Truths = int
"""A set of truths: bit t stands for the truth t."""

IS_FALSE, IS_TRUE, IS_UNKNOWN, IS_FAILED = 1 << FALSE, 1 << TRUE, 1 << UNKNOWN, 1 << FAILED
_ANY = IS_FALSE | IS_TRUE | IS_UNKNOWN
_ASKED = {word: 1 << truth for truth, word in TRUTHS.items()}
_COMPOUND = frozenset({And, Or, Not, TruthTest})


class Wish(NamedTuple):
    """A part, and the truths that it may have."""

    part: Expression
    truths: Truths


class NotPlainError(Exception):
    """The truth depends on a call, a pattern or a variable."""


class AttributeTrial:
    """One event, on which plain expressions are tried."""

    def __init__(self, event: Event, taxonomies: Taxonomies, limits: Limits) -> None:
        self.event = event
        self.reasons: dict[str, None] = {}
        """Why something failed since they were last cleared."""
        self._taxonomies = taxonomies
        self._limits = limits

    def can_be(self, truths: Truths, node: Expression) -> Truth:
        """Whether some binding gives a truth of the set; FAILED if there are too many to tell."""
        kind = type(node)
        if kind is Not:
            return self.can_be(_negated(truths), node.part)  # type: ignore[attr-defined]
        if kind is And or kind is Or:
            return self._parts_can_be(truths, node, kind is And)
        if isinstance(node, TruthTest):
            asked = _ASKED[node.truth]
            inner = (asked if truths & IS_TRUE else 0) | (~asked & _ANY if truths & IS_FALSE else 0)
            return self.can_be(inner, node.part) if inner else FALSE
        return self._can_all_be([Wish(node, truths)])

    def _parts_can_be(self, truths: Truths, node: Expression, is_and: bool) -> Truth:
        """The same of a conjunction, or of a disjunction, where true and false change places."""
        decisive, neutral = (IS_FALSE, IS_TRUE) if is_and else (IS_TRUE, IS_FALSE)
        parts = list(node.children())
        if truths & decisive:
            some = disjunction(self.can_be(truths & ~neutral, part) for part in parts)
            if some == TRUE or not truths & neutral:
                return some
            return disjunction((some, self._can_all_be(Wish(part, neutral) for part in parts)))
        if truths & neutral:
            return self._can_all_be(Wish(part, truths) for part in parts)
        others = neutral | IS_UNKNOWN
        return disjunction(
            self._can_all_be(
                Wish(part, IS_UNKNOWN if index == chosen else others)
                for index, part in enumerate(parts)
            )
            for chosen in range(len(parts))
        )

    def _can_all_be(self, wishes: Iterable[Wish]) -> Truth:
        """Whether one binding fulfils all wishes."""
        groups = coupled(wishes, lambda wish: needs_of(wish.part).keys)
        return conjunction(map(self._can_group_be, groups))

    def _can_group_be(self, wishes: list[Wish]) -> Truth:
        if len(wishes) == 1 and type(wishes[0].part) in _COMPOUND:
            return self.can_be(wishes[0].truths, wishes[0].part)
        try:
            tried = self.bindings(wish.part for wish in wishes)
        except LimitError as error:
            self.reasons[str(error)] = None
            return FAILED
        for binding in tried:
            if all(truths >> self.truth(part, binding) & 1 for part, truths in wishes):
                return TRUE
        return FALSE

    def bindings(self, expressions: Iterable[Expression]) -> Iterator[Binding]:
        """All bindings of the attributes that the expressions compare."""
        paths = [path for expression in expressions for path in bound_paths(expression)]
        return bindings(self.event, paths, self._limits.bindings)

    def truth(self, node: Expression, binding: Binding | None) -> Truth:
        """The truth of an expression under a binding; without lists none is needed.

        Raises NotPlainError if calls, patterns or variables must be looked at to tell.
        """
        if isinstance(node, And):
            return conjunction(self.truth(part, binding) for part in node.parts)
        if isinstance(node, Or):
            return disjunction(self.truth(part, binding) for part in node.parts)
        if isinstance(node, Not):
            return negation(self.truth(node.part, binding))
        if isinstance(node, Comparison):
            left, right = self.value(node.left, binding), self.value(node.right, binding)
            return holds(left, node.operator, right, ignore_case=node.ignore_case)
        if isinstance(node, Present):
            return int(self.event.present(node.attribute.path))
        if isinstance(node, Contains):
            path = node.attribute.path
            if not self.event.present(path):
                return UNKNOWN
            return int(contains(node, self.event.values(path)))
        if isinstance(node, TruthTest):
            return truth_test(self.truth(node.part, binding), node.truth)
        if isinstance(node, Call | Pattern):
            raise NotPlainError
        (attribute,) = (term for term in node.operands() if isinstance(term, Attribute))
        value = self.value(attribute, binding)
        return UNKNOWN if value is None else test(node, value, self._taxonomies.of(attribute.path))

    def value(self, term: Operand, binding: Binding | None) -> Value | None:
        """The value of an operand without variables under a binding, if it has one."""
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Attribute):
            if binding is not None:
                return binding.get(term.path)
            return single_value(self.event.attributes, term.path)
        if not isinstance(term, Arithmetic):
            raise NotPlainError
        left, right = self.value(term.left, binding), self.value(term.right, binding)
        return None if left is None or right is None else result_of(left, term.operator, right)


def _negated(truths: Truths) -> Truths:
    """The truths of whose negations these are."""
    swapped = (truths & IS_TRUE) >> 1 | (truths & IS_FALSE) << 1
    return swapped | truths & ~(IS_TRUE | IS_FALSE)
