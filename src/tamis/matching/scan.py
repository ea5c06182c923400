"""The oracle: every subscription is evaluated on every event, in plain Python.

It covers the whole language of attributes and says what is right; every other matcher is held
against it. An event matches if there is a binding under which the expression is true. Binding by
binding is exponential in the number of lists, so parts of a conjunction that share no top-level
key, and hence no list, are decided apart, and so are the alternatives of a disjunction: of
``exists b: p(b) or q(b)`` each side can have a binding of its own, and of ``p and q`` too where no
list concerns both. What remains coupled is enumerated, up to ``Limits.bindings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from tamis.arrays.sharing import Lockable
from tamis.bindings.choices import Binding, bindings
from tamis.errors import UnsupportedError
from tamis.matching.batch import Batch
from tamis.matching.protocol import Pairs, Setting, Slot
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
    IsA,
    Not,
    Or,
    Present,
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
from tamis.predicates.truth import Truth, conjunction, contains, disjunction, holds, negation, test

if TYPE_CHECKING:
    from tamis.matching.planning.plan import Stats


class Scan(Lockable):
    """The matcher that tries every subscription."""

    compiles = False

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._expressions: dict[Slot, tuple[Expression, frozenset[str]]] = {}

    def add(self, slot: Slot, expression: Expression, gone: Iterable[Slot] = ()) -> None:
        """Take in a subscription, with the top-level keys that it needs bound."""
        self.change([(slot, expression)], gone)

    def add_shape(self, slot: Slot, shape: object, constants: object, gone: object = ()) -> None:
        """Refuse: nothing is compiled here."""
        raise UnsupportedError("the oracle tries expressions, and takes no shapes")

    def change(self, new: Iterable[tuple[Slot, Expression]], gone: Iterable[Slot]) -> None:
        """Take in subscriptions, and forget others, in one step."""
        found = {slot: (expression, bound_keys(expression)) for slot, expression in new}
        with self._lock:
            self._expressions |= found
            for slot in gone:
                del self._expressions[slot]

    def load(self) -> ScanLoad:
        """Begin to take in many at once."""
        return ScanLoad(self)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions."""
        self.change((), slots)

    def settle(self, timeout: float | None = None) -> None:
        """Nothing goes on in the background."""

    def learn(self, sample: object) -> None:
        """Whatever comes, every subscription is tried."""

    def segments(self) -> list[Any]:
        """Nothing is compiled here."""
        return []

    def keys(self) -> None:
        """Any attribute may matter."""

    def stats(self) -> Stats:
        """Nothing is held beside the expressions."""
        from tamis.matching.planning.plan import stats_of

        return stats_of([])

    def expected(self) -> None:
        """Nothing is known about events."""

    def renumbered(self, slots: Any, setting: Setting) -> Scan:
        """Another one with the same subscriptions under other slots."""
        other = Scan(setting)
        other._expressions = {
            int(slots[slot]): each for slot, each in self._expressions.items() if slots[slot] >= 0
        }
        return other

    def match(self, event: Event) -> Iterator[Slot]:
        """The slots of all subscriptions that the event matches."""
        trial = Trial(event, self._setting.taxonomies, self._setting.limits)
        with self._lock:
            everything = list(self._expressions.items())
        for slot, (expression, keys) in everything:
            if trial.matches(expression, keys):
                yield slot

    def slots_of_terms(self) -> list[Slot]:
        """The subscriptions that ask for ``is a``."""
        everything = list(self._expressions.items())
        return [
            slot
            for slot, (expression, _) in everything
            if any(isinstance(node, IsA) for node in nodes_within(expression))
        ]

    def recompiled(self, some: Mapping[Slot, Expression], setting: Setting) -> Scan:
        """Another one with the same subscriptions: nothing is compiled here."""
        other = Scan(setting)
        other._expressions = self._expressions.copy()
        return other

    def view(self) -> Scan:
        """What there is now."""
        now = Scan(self._setting)
        with self._lock:
            now._expressions = self._expressions.copy()
        return now

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, a chunk for each event."""
        import numpy as np

        for row, event in enumerate(batch.events()):
            slots = np.array(list(islice(self.match(event), limit)), np.int32)
            yield Pairs(np.full(len(slots), row, np.int32), slots)


class ScanLoad:
    """Subscriptions on their way into the oracle."""

    def __init__(self, matcher: Scan) -> None:
        self._matcher = matcher
        self._new: list[tuple[Slot, Expression]] = []

    def add(self, slot: Slot, expression: Expression) -> None:
        """Take in one subscription."""
        self._new.append((slot, expression))

    def add_shape(self, shape: object, slots: object, columns: object) -> bool:
        """Shapes are not taken."""
        return False

    def install(self, gone: Iterable[Slot] = ()) -> None:
        """Hand them over."""
        self._matcher.change(self._new, gone)


class Trial:
    """One event, against which expressions are tried."""

    def __init__(
        self, event: Event, taxonomies: Taxonomies = NO_TAXONOMIES, limits: Limits = LIMITS
    ) -> None:
        self.event = event
        self._taxonomies = taxonomies
        self._limits = limits

    def matches(self, expression: Expression, keys: frozenset[str]) -> bool:
        """Whether some binding makes the expression, which binds these keys, true."""
        if self.event.multiple.isdisjoint(keys):
            return self.truth(expression, None) is True
        return self._can_be(True, expression)

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
