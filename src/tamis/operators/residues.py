"""The formulas of all subscriptions that have calls or patterns, in flat arrays that grow.

    slot ──> span (nodes and edges of its formula) ──> nodes, edges ──> leaves, each distinct once

A subscription is compiled when an event first reaches it; slots are never given out twice, so what
is there stays right. The graph of some slots is cut out of these arrays by whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Int8s, Int32s, Slots
from tamis.bindings.calls import numbered_variables
from tamis.bindings.needs import has_calls
from tamis.operators.formulas import Branch, Leaf, filtered_call, residue_of
from tamis.operators.schedules.graph import Graph, with_both_sides
from tamis.predicates.expression import Call, Expression
from tamis.predicates.operands import Variable
from tamis.predicates.printing import to_text

_NEW, _OTHER, _DEFERRED = 0, 1, 2
KeysOf = Callable[[Expression], frozenset[str] | None]
"""The outermost keys of what a leaf and its operators look at; None for everything."""


class GrowingArray:
    """An array that grows at its end."""

    def __init__(self, dtype: Any) -> None:
        self._items: NDArray[Any] = np.empty(16, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, items: list[Any]) -> None:
        """Add items."""
        end = self._count + len(items)
        if end > len(self._items):
            self._items = np.resize(self._items, max(end, 2 * len(self._items)))
        self._items[self._count : end] = items
        self._count = end

    @property
    def array(self) -> NDArray[Any]:
        """What there is now."""
        return self._items[: self._count]


class LocalGraph(NamedTuple):
    """The graph of some slots, whose subscriptions and predicates are numbered from 0."""

    graph: Graph
    slots: Slots
    leaves: Int32s
    """The leaf of each predicate."""


class Residues(Lockable):
    """Formulas by slot, and the leaves that they share."""

    def __init__(
        self, expressions: Callable[[int], Expression], keys: KeysOf, *, tested: bool
    ) -> None:
        super().__init__()
        self._expressions = expressions
        self._keys = keys
        self._tested = tested
        self._kind = np.zeros(64, np.int8)
        self._span = np.zeros((64, 4), np.int64)  # nodes from, nodes, edges from, edges
        self.is_exact = np.zeros(64, np.bool_)
        self.keys: list[frozenset[str] | None] = []
        """The distinct sets of keys that leaves look at; None for everything."""
        self.keys_of: list[int] = []
        """For each leaf, the number of its keys."""
        self._key_numbers: dict[frozenset[str] | None, int] = {}
        self._node_kind, self._parent = GrowingArray(np.int8), GrowingArray(np.int32)
        self._leaf, self._node = GrowingArray(np.int32), GrowingArray(np.int32)
        self._question = GrowingArray(np.int8)
        self._numbers: dict[Hashable, int] = {}
        self.leaves: list[Expression] = []
        """The distinct calls, patterns and plain parts."""
        self.call_of: list[int] = []
        """The call that each leaf needs: itself, that of a filtered call, or -1."""

    def defers(self, slots: Slots) -> Flags:
        """Which of some slots have calls or patterns."""
        found = np.empty(len(slots), np.bool_)
        if not write_deferred(self._kind, slots, found):
            with self._lock:
                self._grow(int(slots.max()))
                for slot in np.unique(slots[self._kind[slots] == _NEW]).tolist():
                    self._compile(slot)
            write_deferred(self._kind, slots, found)
        return found

    def _grow(self, most: int) -> None:
        if most >= len(self._kind):
            more = max(most + 1, 2 * len(self._kind)) - len(self._kind)
            self._span = np.concatenate((self._span, np.zeros((more, 4), np.int64)))
            self.is_exact = np.concatenate((self.is_exact, np.zeros(more, np.bool_)))
            self._kind = np.concatenate((self._kind, np.zeros(more, np.int8)))

    def _compile(self, slot: int) -> None:
        expression = self._expressions(slot)
        if not has_calls(expression):
            self._kind[slot] = _OTHER
            return
        residue = residue_of(expression, tested=self._tested)
        nodes, edges = len(self._node_kind), len(self._leaf)
        self._add(residue.formula, -1, nodes)
        self._span[slot] = nodes, len(self._node_kind) - nodes, edges, len(self._leaf) - edges
        self.is_exact[slot] = residue.is_exact
        self._kind[slot] = _DEFERRED

    def _add(self, branch: Branch, parent: int, nodes: int) -> None:
        """Add a branch and what is below it; numbers are counted from the slot's first ones."""
        number = len(self._node_kind) - nodes
        self._node_kind.extend([branch.kind])
        self._parent.extend([parent])
        leaves = [part for part in branch.parts if isinstance(part, Leaf)]
        self._leaf.extend([self._number(leaf.node) for leaf in leaves])
        self._node.extend([number] * len(leaves))
        self._question.extend([leaf.question for leaf in leaves])
        for part in branch.parts:
            if isinstance(part, Branch):
                self._add(part, number, nodes)

    def _number(self, node: Expression) -> int:
        """The number of a leaf; equivalent calls have the same."""
        key: Hashable = node
        if isinstance(node, Call):
            key = node.name, numbered_variables(node)[1]
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.leaves)
            self.leaves.append(node)
            keys = self._keys(node)
            self.keys_of.append(self._key_numbers.setdefault(keys, len(self.keys)))
            if self.keys_of[found] == len(self.keys):
                self.keys.append(keys)
            call = filtered_call(node)
            self.call_of.append(found if isinstance(node, Call) else -1)
            if call is not None:
                self.call_of[found] = self._number(call)
        return found

    def uses(self) -> Int32s:
        """The leaf of each edge."""
        return self._leaf.array

    def slots(self) -> Slots:
        """All slots that have calls or patterns, of those that events have reached."""
        return np.flatnonzero(self._kind == _DEFERRED).astype(np.int32)

    def number_of(self, node: Call) -> int | None:
        """The number of the leaf that a call is, if it is one."""
        return self._numbers.get((node.name, numbered_variables(node)[1]))

    def graph(self, slots: Slots) -> LocalGraph:
        """The graph of some distinct slots."""
        with self._lock:
            span = self._span[slots]
            nodes, first_node = _ranges(span[:, 0], span[:, 1])
            edges, first_edge = _ranges(span[:, 2], span[:, 3])
            owner = np.repeat(np.arange(len(slots)), span[:, 1])
            parent = self._parent.array[nodes]
            parent = np.where(parent < 0, -1, parent + first_node[owner]).astype(np.int32)
            of_edge = np.repeat(first_node[:-1], span[:, 3])
            node = (self._node.array[edges] + of_edge).astype(np.int32)
            leaves, predicate = np.unique(self._leaf.array[edges], return_inverse=True)
            graph = with_both_sides(
                first_node, first_edge, self._node_kind.array[nodes], parent,
                predicate.astype(np.int32), node, self._question.array[edges], len(leaves),
            )  # fmt: skip
        return LocalGraph(graph, slots, leaves.astype(np.int32))


@kernel
def write_deferred(kind: Int8s, slots: Slots, deferred: Flags) -> bool:
    """Write which of some slots are deferred; not if one is new."""
    for place in range(len(slots)):
        if slots[place] >= len(kind) or kind[slots[place]] == _NEW:
            return False
        deferred[place] = kind[slots[place]] == _DEFERRED
    return True


def _ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> tuple[Any, Int32s]:
    """All numbers of some ranges, one behind the other, and where each range begins there."""
    first = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
    return np.repeat(start - first[:-1], count) + np.arange(first[-1]), first


def canonical(node: Expression) -> str:
    """A leaf as a text that equivalent calls share."""
    if not isinstance(node, Call):
        return to_text(node)
    numbered = numbered_variables(node)[1]
    renamed = (Variable(f"v{each}") if isinstance(each, int) else each for each in numbered)
    return to_text(Call(node.name, tuple(renamed)))
