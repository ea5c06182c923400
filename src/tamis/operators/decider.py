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

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.sharing import Lockable, lazy
from tamis.arrays.types import Flags, Int32s, Int64s, Truths
from tamis.bindings.calls import Calls, Numbered
from tamis.bindings.choices import Choice
from tamis.bindings.evaluation import Trial, World
from tamis.bindings.substitution import Rows
from tamis.matching.batch import Batch
from tamis.matching.pairs import Pairs, joined
from tamis.model.events.event import Event
from tamis.operators.estimates import Estimates
from tamis.operators.formulas import filtered_call
from tamis.operators.guarded import SESSION, GuardedOperators
from tamis.operators.leaf_kinds import (
    CallLeaves,
    FilteredLeaves,
    LeafKind,
    PatternLeaves,
    PlainLeaves,
    Results,
    Sight,
)
from tamis.operators.residues import LocalGraph, Residues, canonical
from tamis.operators.schedules.graph import NO, UNASKED, YES, Expectation
from tamis.operators.schedules.schedules import SCHEDULES, Schedule
from tamis.predicates.expression import Call, Expression
from tamis.predicates.truth import FAILED, TRUE

CELLS = 1 << 25
"""Nodes and predicates, times rows, that are worked on at once: some 20 bytes each."""
FIRST = 16
"""Rows of the very first batch that are decided by themselves, so that the others profit from what
is learned of chances and costs."""
_MOST = 1 << 30
"""Predicates of a round: no limit is meant."""
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
        self._world = world
        self.operators = world.operators
        self._expressions = expressions
        self.schedule = schedule
        self.residues = Residues(
            expressions, lambda expression: world.keys([expression]), tested=tested
        )
        self.estimates = Estimates()
        self._known = known or {}
        calls = CallLeaves(world.operators, world.limits.bindings)
        filtered = FilteredLeaves(calls, self.residues)
        self.kinds: list[LeafKind] = [calls, PatternLeaves(), filtered, PlainLeaves()]
        """Asked in turn; more can be put before the last one."""
        self.work = Work()
        self._operator_numbers: dict[str, int] = {}
        self._leaf_kind: list[int] = []
        self._leaf_operator: list[int] = []
        self._last: _KnownGraph | None = None

    def defers(self, slots: Int32s) -> Flags:
        """Which of some slots it decides."""
        return self.residues.defers(slots)

    def decided(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some open pairs that match, or that nobody can decide."""
        found: list[Pairs] = []
        with SESSION.keep():
            for rows, part in self._parts(pairs):
                events = [batch.event(row) for row in rows.tolist()]
                found.append(_Chunk(self, rows, events, part).decided())
        return joined(found)

    def _parts(self, pairs: Pairs) -> Iterator[tuple[Int32s, Pairs]]:
        """Pairs of as many rows as can be worked on at once, with these rows."""
        pairs = pairs._replace(open=None)
        if (np.diff(pairs.row) < 0).any():
            pairs = pairs.take(np.argsort(pairs.row, kind="stable"))
        rows, start = np.unique(pairs.row, return_index=True)
        start = np.append(start, len(pairs.row))
        begin = 0
        while begin < len(rows):
            width = 4 * int(np.diff(start[begin:]).max()) + 1
            most = FIRST if not self.work.made else max(1, CELLS // width)
            end = min(len(rows), begin + most)
            yield rows[begin:end], pairs.take(np.arange(start[begin], start[end]))
            begin = end

    def graph(self, slots: Int32s) -> _KnownGraph:
        """The graph of some slots; the last one is kept."""
        last = self._last
        if last is not None and np.array_equal(last.local.slots, slots):
            return last
        local = self.residues.graph(slots)
        kinds, operators = self._numbers(local.leaves)
        found = self._last = _KnownGraph(local, kinds, operators)
        return found

    def expectation(self, leaves: Int32s, kinds: Int32s, operators: Int32s) -> Expectation:
        """What is known of leaves, given with the numbers of their kinds and operators."""
        chance = self.estimates.chance(leaves, operators)
        key = kinds.astype(np.int64) << 32 | operators
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

    def _numbers(self, leaves: Int32s) -> tuple[Int32s, Int32s]:
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
                    leaf, own = len(self._leaf_kind) - 1, self._leaf_operator[-1]
                    self.estimates.restore(self._known, leaf, own, self.key_of(node))
            kinds = np.array(self._leaf_kind, np.int32)
            return kinds[leaves], np.array(self._leaf_operator, np.int32)[leaves]

    def key_of(self, node: Expression) -> str:
        """A leaf by name, with the version of its operator."""
        version = ""
        if isinstance(node, Call):
            version = f"@{self.operators[node.name].operator.version}"
        return canonical(node) + version

    def learned(self) -> dict[str, Any]:
        """What is known of calls, as plain data."""
        names = [self.key_of(node) for node in self.residues.leaves]
        return {**self._known, **self.estimates.to_json(names)}

    def count(self, more: Work) -> None:
        """Add to what deciding has cost."""
        with self._lock:
            self.work = Work(*(ours + theirs for ours, theirs in zip(self.work, more)))


class _KnownGraph(NamedTuple):
    """A graph, and which kind and operator each of its leaves is of."""

    local: LocalGraph
    kinds: Int32s
    operators: Int32s


class _Chunk:
    """Open pairs of some rows, which are decided together; rows are numbered from 0 here."""

    def __init__(
        self, decider: Decider, rows: Int32s, events: Sequence[Event], pairs: Pairs
    ) -> None:
        self._decider = decider
        self._pairs = pairs
        self._events = events
        self._row = np.searchsorted(rows, pairs.row).astype(np.int32)
        self._trials: dict[int, Trial] = {}
        self.truth: Truths | None = None
        self.leaves = np.empty(0, np.int32)

    def trial(self, row: int) -> Trial:
        """The trial of a row, whose calls are those of the chunk."""
        found = self._trials.get(row)
        if found is None:
            world = self._decider._world
            found = self._trials[row] = _SharedTrial(self, row, self._events[row], world)
        return found

    @lazy
    def sight(self) -> Sight:
        """What the kinds of leaves see."""
        return Sight(self._events, self._decider.residues.leaves, self.trial)

    def truth_of(self, row: int, leaf: int) -> int:
        """What came out of a leaf; UNASKED if it was not evaluated."""
        place = int(np.searchsorted(self.leaves, leaf))
        if self.truth is None or place == len(self.leaves) or self.leaves[place] != leaf:
            return UNASKED
        return int(self.truth[row, place])

    def decided(self) -> Pairs:
        """The pairs that match, or that nobody can decide."""
        decider = self._decider
        listed = self._needs_lists()
        plain = np.flatnonzero(~listed)
        asked = [np.flatnonzero(listed)]
        certain = np.empty(0, np.int64)
        if len(plain):
            slots = self._pairs.slot[plain]
            sub = np.arange(len(slots))
            if len(self._events) > 1:
                slots, sub = _distinct(slots)
            verdict = self._evaluate(decider.graph(slots), self._row[plain], sub)
            exact = decider.residues.is_exact[self._pairs.slot[plain]]
            certain = plain[(verdict == YES) & exact]
            asked.append(plain[(verdict != NO) & ~((verdict == YES) & exact)])
        others = np.concatenate(asked)
        decider.count(Work(pairs=len(self._row), asked=len(others)))
        return joined([self._pairs.take(certain), self._answered(np.sort(others))])

    def _needs_lists(self) -> Flags:
        """Which pairs look at lists, so that their calls depend on elements that are picked."""
        listed = np.zeros(len(self._row), bool)
        multiple = [event.multiple for event in self._events]
        if any(multiple):
            looks_at = self._decider.residues.looks_at
            slots = self._pairs.slot.tolist()
            for place, (row, slot) in enumerate(zip(self._row.tolist(), slots)):
                if multiple[row]:
                    keys = looks_at[slot]
                    listed[place] = keys is None or not multiple[row].isdisjoint(keys)
        return listed

    def _evaluate(self, known: _KnownGraph, row: Int32s, sub: Int64s) -> Truths:
        """The verdict of each pair, given by row and subscription of the graph."""
        decider = self._decider
        local, kinds, operators = known
        wanted = np.zeros((len(self._events), len(local.slots)), bool)
        wanted[row, sub] = True
        expectation = decider.expectation(local.leaves, kinds, operators)
        make = SCHEDULES[decider.schedule]
        schedule = make(local.graph, expectation, len(self._events), wanted)
        self.leaves = local.leaves
        self.truth = schedule.progress.truth
        cheap = len(decider.kinds) - 1
        self._ask_first(schedule, np.flatnonzero(kinds == cheap), local, wanted)
        active = np.flatnonzero(schedule.progress.undecided)
        rounds = made = 0
        while len(active):
            asking, chosen = self._round(schedule, active)
            if not len(chosen):
                break
            rounds += 1
            truth, calls = self._results(local, kinds, operators, asking, chosen)
            made += calls
            self._tell(schedule, asking, chosen, truth)
            active = active[schedule.progress.undecided[active] > 0]
        possible = self._possible(local, wanted)
        decider.count(Work(possible=possible, made=made, rounds=rounds))
        verdict: Truths = schedule.verdicts()[row, sub]
        return verdict

    def _possible(self, local: LocalGraph, wanted: Flags) -> int:
        """Distinct calls that the pairs name."""
        calls = np.array(self._decider.residues.call_of, np.int32)
        call = calls[local.leaves]
        if wanted.all():
            return len(wanted) * len(np.unique(call[call >= 0]))
        edge = np.flatnonzero(call[local.graph.predicate] >= 0)
        owner = local.graph.owner[local.graph.node[edge]]
        of_edge = call[local.graph.predicate[edge]]
        count = 0
        for each in wanted:
            named = np.zeros(len(calls), bool)
            named[of_edge[each[owner]]] = True
            count += int(named.sum())
        return count

    def _ask_first(
        self, schedule: Schedule, cheap: Int64s, local: LocalGraph, wanted: Flags
    ) -> None:
        """Evaluate what costs next to nothing, before any call, where a pair needs it."""
        if not len(cheap):
            return
        graph, kind = local.graph, self._decider.kinds[-1]
        is_cheap = np.zeros(graph.predicates, bool)
        is_cheap[cheap] = True
        edge = np.flatnonzero(is_cheap[graph.predicate])
        owner = graph.owner[graph.node[edge]]
        for row in range(len(wanted)):
            found = np.unique(graph.predicate[edge[wanted[row, owner]]]).astype(np.int32)
            if len(found):
                same = np.full(len(found), row, np.int32)
                truth = kind.evaluate(local.leaves[found], same, self.sight).truth
                schedule.answer(row, found, truth)

    def _round(self, schedule: Schedule, active: Int64s) -> tuple[Int32s, Int32s]:
        """What each active row asks for next, as rows and predicates."""
        rows, chosen = [], [np.empty(0, np.int32)]
        for row in active.tolist():
            found = schedule.choose(row, _MOST)
            chosen.append(found)
            rows.append(len(found))
        return np.repeat(active, rows).astype(np.int32), np.concatenate(chosen)

    def _results(
        self, local: LocalGraph, kinds: Int32s, operators: Int32s, row: Int32s, chosen: Int32s
    ) -> tuple[Truths, int]:
        """The truths of what a round asks for, operator by operator; how many calls that took."""
        truth = np.empty(len(chosen), np.int8)
        calls = 0
        group = kinds[chosen].astype(np.int64) << 32 | operators[chosen]
        for one in np.unique(group).tolist():
            places = np.flatnonzero(group == one)
            leaf = local.leaves[chosen[places]]
            kind = self._decider.kinds[one >> 32]
            found: Results = kind.evaluate(leaf, row[places], self.sight)
            truth[places] = found.truth
            calls += found.calls
            known = found.truth != FAILED
            self._decider.estimates.note(
                leaf[known], operators[chosen[places]][known], found.truth[known] == TRUE
            )
        return truth, calls

    def _tell(self, schedule: Schedule, row: Int32s, chosen: Int32s, truth: Truths) -> None:
        """Tell the schedule what came out, row by row."""
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(row)]):
            schedule.answer(int(row[begin]), chosen[begin:end], truth[begin:end])

    def _answered(self, places: Int64s) -> Pairs:
        """What the oracle says of some pairs, with the calls that were made."""
        kept: list[int] = []
        answers = []
        for place in places.tolist():
            trial = self.trial(int(self._row[place]))
            slot = int(self._pairs.slot[place])
            answer = trial.answer(self._decider._expressions(slot))
            if answer.truth in (TRUE, FAILED):
                kept.append(place)
                answers.append(answer if answer.says_more else None)
        found = self._pairs.take(np.array(kept, np.int64))
        if all(answer is None for answer in answers):
            return found
        said = np.empty(len(answers), np.object_)
        said[:] = answers
        return found._replace(answer=said)


def _distinct(slots: Int32s) -> tuple[Int32s, Int64s]:
    """Distinct slots, ascending, and the place of each slot among them."""
    seen = np.zeros(int(slots.max()) + 1, bool)
    seen[slots] = True
    place = np.cumsum(seen) - 1
    return np.flatnonzero(seen).astype(np.int32), place[slots]


class _SharedTrial(Trial):
    """A trial whose calls were made by a schedule, as far as it needed them."""

    def __init__(self, chunk: _Chunk, row: int, event: Event, world: World) -> None:
        super().__init__(event, world)
        self._chunk = chunk
        self._row = row

    @lazy
    def calls(self) -> Calls:
        """The operator calls on the event."""
        return _SharedCalls(self._chunk, self._row, self.event, self._chunk._decider._world)


class _SharedCalls(Calls):
    def __init__(self, chunk: _Chunk, row: int, event: Event, world: World) -> None:
        super().__init__(event, world.operators, world.limits.bindings)
        self._chunk = chunk
        self._row = row

    def _call(self, node: Call, numbered: Numbered, choice: Choice) -> Rows:
        chunk = self._chunk
        leaf = None if choice else chunk._decider.residues.number_of(node)
        if leaf is not None:
            rows = chunk.sight.made.get((self._row, leaf))
            truth = UNASKED if rows is not None else chunk.truth_of(self._row, leaf)
            if rows is not None or truth < UNASKED:
                return rows or Rows((), truth)
        chunk._decider.count(Work(made=1))
        return super()._call(node, numbered, choice)
