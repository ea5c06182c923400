"""Decides what matchers leave undecided: pairs of an event and a subscription with calls.

    open pairs ──lists that calls read──> oracle, one pair at a time, calls shared
        └──graph of the slots──> schedule ──round of (row, leaf)──> leaf kinds ──results──┐
                                    ^─────────────────────────────────────────────────────┘
        └──verdict: NO ──> gone     YES, all said ──> match
                    YES, with variables or attributes; FAILED ──> oracle, with the results

All pairs of an event, or of many events, are decided together, and each distinct call is made at
most once for an event. In a round, every event asks for what it needs next, and calls of one
operator are handed over together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Int32s, Int64s
from tamis.bindings.evaluation import World
from tamis.matching.batch import Batch
from tamis.matching.pairs import Pairs, joined
from tamis.operators.chunk import Chunk
from tamis.operators.estimates import Estimates
from tamis.operators.formulas import filtered_call
from tamis.operators.guarded import SESSION, GuardedOperators
from tamis.operators.leaf_kinds import (
    CallLeaves,
    FilteredLeaves,
    LeafKind,
    PatternLeaves,
    PlainLeaves,
)
from tamis.operators.linked_chains import LinkedChains
from tamis.operators.residues import LocalGraph, Residues, canonical
from tamis.operators.schedules.graph import Expectation
from tamis.operators.schedules.schedules import SCHEDULES
from tamis.predicates.expression import Call, Expression

PAIRS = 1 << 25
"""Pairs that are worked on at once: some 8 bytes each."""
FIRST = 16
"""Rows of the very first batch that are decided by themselves, so that the others profit from what
is learned of chances and costs."""
NEWS = 1.05
"""How much more must be known of calls before what a schedule has prepared is made again."""
_PLAIN = 0
"""The operator number of leaves that are no calls."""


class Work(NamedTuple):
    """What deciding has cost so far."""

    pairs: int = 0
    """Pairs that attributes left undecided."""
    possible: int = 0
    """Calls that they name, each distinct one once for an event."""
    made: int = 0
    """Calls that were made of these."""
    rounds: int = 0
    asked: int = 0
    """Pairs that the oracle was asked about in the end."""

    @property
    def saved(self) -> int:
        """Calls that were not made."""
        return self.possible - self.made


class Decider(Lockable):
    """Decides open pairs, by one schedule."""

    def __init__(
        self,
        world: World,
        expressions: Callable[[int], Expression],
        schedule: str = "adaptive",
        *,
        tested: bool = False,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        assert isinstance(world.operators, GuardedOperators)
        self.world = world
        self.operators = world.operators
        self.expressions = expressions
        self.schedule = schedule
        self.residues = Residues(
            expressions, lambda expression: world.keys([expression]), tested=tested
        )
        self.estimates = Estimates()
        self.chains = LinkedChains(self)
        self._known = known or {}
        calls = CallLeaves(world.operators, world.limits.bindings)
        filtered = FilteredLeaves(calls, self.residues)
        self.kinds: list[LeafKind] = [calls, PatternLeaves(world), filtered, PlainLeaves()]
        """Asked in turn; more can be put before the last one."""
        self.work = Work()
        self._operator_numbers: dict[str, int] = {}
        self._leaf_kind: list[int] = []
        self._leaf_operator: list[int] = []
        self._last: KnownGraph | None = None
        self._prepared: tuple[KnownGraph, int, Any] | None = None

    def defers(self, slots: Int32s) -> Flags:
        """Which of some slots it decides."""
        return self.residues.defers(slots)

    def decided(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some open pairs that match, or that nobody can decide."""
        found: list[Pairs] = []
        with SESSION.keep():
            for part, start in self._parts(pairs):
                events = [batch.event(row) for row in part.row[start[:-1]].tolist()]
                found.append(Chunk(self, events, part, np.diff(start)).decided())
        return joined(found)

    def _parts(self, pairs: Pairs) -> Iterator[tuple[Pairs, Int64s]]:
        """Pairs of as many rows as can be worked on at once, and where each row begins."""
        if (pairs.row[1:] < pairs.row[:-1]).any():
            pairs = pairs.take(np.argsort(pairs.row, kind="stable"))
        start = np.flatnonzero(pairs.row[1:] != pairs.row[:-1]) + 1
        start = np.concatenate(([0], start, [len(pairs.row)])) if len(pairs.row) else start[:0]
        begin, rows = 0, len(start) - 1
        while begin < rows:
            most = max(1, PAIRS // int(np.diff(start[begin:]).max()))
            end = min(rows, begin + (most if self.work.made else FIRST))
            part = slice(start[begin], start[end])
            yield Pairs(pairs.row[part], pairs.slot[part]), start[begin : end + 1] - start[begin]
            begin = end

    def prepared(self, known: KnownGraph, expectation: Expectation) -> Any:
        """What the schedule has made of a graph: kept as long as the graph is the same, and little
        was learned since."""
        if self.schedule == "sub_order":
            return self.chains.walk(known, expectation)
        noted, last = self.estimates.noted, self._prepared
        if last is None or last[0] is not known or noted > NEWS * last[1]:
            last = known, noted, SCHEDULES[self.schedule].prepare(known.local.graph, expectation)
            self._prepared = last
        return last[2]

    def first_walked(self) -> Int64s:
        """For each leaf, when a walk comes to it first, if all slots are walked."""
        known = self.graph_of(self.residues.slots())
        expectation = self.expectation(known.local.leaves, known.kinds, known.operators)
        order = self.prepared(known, expectation)
        walked = known.local.graph.predicate[order]
        found = np.full(len(self.residues.leaves), len(walked))
        met, first = np.unique(walked, return_index=True)
        found[known.local.leaves[met]] = first
        return found

    @property
    def free(self) -> int:
        """The number of the kind that costs next to nothing, and is evaluated before any call."""
        return len(self.kinds) - 1

    def graph(self, slots: Int32s) -> KnownGraph:
        """The graph of some slots; the last one is kept."""
        last = self._last
        if last is not None and np.array_equal(last.local.slots, slots):
            return last
        found = self._last = self.graph_of(slots)
        return found

    def graph_of(self, slots: Int32s) -> KnownGraph:
        """The graph of some slots."""
        local = self.residues.graph(slots)
        kinds, operators = self.numbers(local.leaves)
        return KnownGraph(local, kinds, operators, _groups(kinds, operators))

    def expectation(self, leaves: Int32s, kinds: Int32s, operators: Int32s) -> Expectation:
        """What is known of leaves, given with the numbers of their kinds and operators."""
        chance = self.estimates.chance(leaves, operators)
        key = _groups(kinds, operators)
        if len(key) and (key == key[0]).all():
            first, which = np.zeros(1, np.int64), np.zeros(len(key), np.int64)
        else:
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
        costs = [
            self.kinds[kind].cost(self.residues.leaves[leaf])
            for kind, leaf in zip(kinds[first].tolist(), leaves[first].tolist())
        ]
        each = np.array([cost.each for cost in costs])
        groups = {cost.group: number for number, cost in enumerate(costs) if cost.group}
        group = np.array(
            [groups.get(cost.group, number) for number, cost in enumerate(costs)], np.int32
        )
        setup = np.array([cost.setup for cost in costs])
        calls = np.maximum(1, np.bincount(group[which], minlength=len(costs))).astype(float)
        return Expectation(chance, each[which], group[which], setup, setup / calls)

    def numbers(self, leaves: Int32s) -> tuple[Int32s, Int32s]:
        """The kind and the operator of each of some leaves, by number."""
        with self._lock:
            for node in self.residues.leaves[len(self._leaf_kind) :]:
                kind = next(n for n, each in enumerate(self.kinds) if each.takes(node))
                self._leaf_kind.append(kind)
                call = node if isinstance(node, Call) else filtered_call(node)
                name = call.name if call is not None else ""
                number = self._operator_numbers.setdefault(name, len(self._operator_numbers) + 1)
                self._leaf_operator.append(number if name else _PLAIN)
                if self._known:
                    self._restore(len(self._leaf_kind) - 1, node, name)
            kinds = np.array(self._leaf_kind, np.int32)
            return kinds[leaves], np.array(self._leaf_operator, np.int32)[leaves]

    def key_of(self, node: Expression) -> str:
        """A leaf by name, with the version of its operator."""
        version = ""
        if isinstance(node, Call):
            version = f"@{self.operators[node.name].operator.version}"
        return canonical(node) + version

    def learned(self) -> dict[str, Any]:
        """What is known, as plain data: true results and all of each call, and the measured seconds
        and set-up of each operator, both by name and version."""
        names = [self.key_of(node) for node in self.residues.leaves]
        costs = {
            f"{name}@{each.operator.version}": [each.cost, each.prepare_cost]
            for name, each in self.operators.guarded.items()
            if each.counts.calls
        }
        return {**self._known, **costs, **self.estimates.to_json(names)}

    def learn(self, known: Mapping[str, Any]) -> None:
        """Take over what ``learned`` gave."""
        with self._lock:
            self._known = known
            for leaf, node in enumerate(self.residues.leaves[: len(self._leaf_kind)]):
                call = node if isinstance(node, Call) else filtered_call(node)
                self._restore(leaf, node, "" if call is None else call.name)

    def _restore(self, leaf: int, node: Expression, name: str) -> None:
        """Take over what is known of a leaf, and of its operator if that was not used yet."""
        self.estimates.restore(self._known, leaf, self._leaf_operator[leaf], self.key_of(node))
        if name:
            guarded = self.operators[name]
            costs = self._known.get(f"{name}@{guarded.operator.version}")
            if costs and not guarded.counts.calls:
                guarded.cost = guarded.operator.cost or float(costs[0])
                guarded.prepare_cost = guarded.operator.prepare_cost or float(costs[1])

    def count(self, **more: int) -> None:
        """Add to what deciding has cost."""
        with self._lock:
            ours = self.work._asdict()
            self.work = self.work._replace(**{name: ours[name] + more[name] for name in more})


class KnownGraph(NamedTuple):
    """A graph, and which kind and operator each of its leaves is of."""

    local: LocalGraph
    kinds: Int32s
    operators: Int32s
    group: Int64s
    """Kind and operator as one number: leaves of a group are evaluated together."""


def _groups(kinds: Int32s, operators: Int32s) -> Int64s:
    return kinds.astype(np.int64) << 32 | operators
