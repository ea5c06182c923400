"""Open pairs of some events, decided together: rounds of a schedule, and the oracle for the rest.

Rows are numbered from 0 in a chunk. What calls gave stays with it, so that the oracle, which is
asked about variables, attributes and failures in the end, makes no call again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tamis.arrays.sharing import lazy
from tamis.arrays.types import Int32s, Int64s, Truths
from tamis.bindings.calls import Calls, Numbered
from tamis.bindings.choices import Choice, part_of
from tamis.bindings.evaluation import Trial, World
from tamis.bindings.substitution import Rows
from tamis.matching.pairs import Pairs, joined
from tamis.model.events.event import Event
from tamis.operators.leaf_kinds import Sight, distinct
from tamis.operators.schedules.progress import NO, ROWS, UNASKED, YES, Demand
from tamis.operators.schedules.schedules import SCHEDULES, Round, Schedule
from tamis.predicates.expression import Call
from tamis.predicates.truth import FAILED, TRUE

if TYPE_CHECKING:
    from tamis.operators.decider import Decider, KnownGraph


class Chunk:
    """Open pairs of some rows, the rows ascending."""

    def __init__(
        self, decider: Decider, events: Sequence[Event], pairs: Pairs, counts: Int64s
    ) -> None:
        """counts: how many pairs each event has."""
        self.decider = decider
        self._pairs = pairs
        self._events = events
        self._row = np.repeat(np.arange(len(events), dtype=np.int32), counts)
        self._trials: dict[int, Trial] = {}
        self._schedule: Schedule | None = None
        self._leaves = np.empty(0, np.int32)

    def trial(self, row: int) -> Trial:
        """The trial of a row, whose calls are those of the chunk."""
        found = self._trials.get(row)
        if found is None:
            found = self._trials[row] = _SharedTrial(self, row, self._events[row])
        return found

    @lazy
    def sight(self) -> Sight:
        """What the kinds of leaves see."""
        return Sight(self._events, self.decider.residues.leaves, self.trial)

    def truth_of(self, row: int, leaf: int) -> int:
        """What came out of a leaf; UNASKED if it was not evaluated."""
        place = int(np.searchsorted(self._leaves, leaf))
        if self._schedule is None or place == len(self._leaves) or self._leaves[place] != leaf:
            return UNASKED
        if self._events[row].multiple and self._look(row)[self.decider.residues.keys_of[leaf]]:
            return UNASKED
        return int(self._schedule.truth(row)[place])

    def decided(self) -> Pairs:
        """The pairs that match, or that nobody can decide."""
        if len(self._events) > 1:
            slots, sub = distinct(self._pairs.slot)
        else:
            slots, sub = self._pairs.slot, np.arange(len(self._pairs.slot), dtype=np.int32)
        verdict = self._evaluated(self.decider.graph(slots), Demand(self._row, sub))
        left = np.flatnonzero(verdict != NO)
        known = (verdict[left] == YES) & self.decider.residues.is_exact[self._pairs.slot[left]]
        asked = left[~known]
        self.decider.count(pairs=len(self._row), asked=len(asked))
        return joined([self._pairs.take(left[known]), self._answered(asked)])

    def _evaluated(self, known: KnownGraph, wanted: Demand) -> Truths:
        """The verdict of each pair that is wanted, by the rounds of a schedule."""
        decider = self.decider
        leaves = known.local.leaves
        expectation = decider.expectation(leaves, known.kinds, known.operators)
        make = SCHEDULES[decider.schedule]
        prepared = decider.prepared(known, expectation)
        schedule = make(known.local.graph, expectation, len(self._events), wanted, prepared)
        self._schedule, self._leaves = schedule, leaves
        possible = schedule.needed(np.array(decider.residues.call_of, np.int32)[leaves])
        listed = self._listed(leaves)
        schedule.answer(listed, np.full(len(listed.row), FAILED, np.int8))
        free = schedule.needing(np.flatnonzero(known.kinds == decider.free).astype(np.int32))
        rounds = made = 0
        asked = free if len(free.row) else schedule.choose()
        while len(asked.row):
            truth, calls = self._results(known, asked)
            rounds, made = rounds + 1, made + calls
            schedule.answer(asked, truth)
            asked = schedule.choose()
        decider.count(possible=possible, made=made, rounds=rounds)
        return schedule.verdicts()

    def _listed(self, leaves: Int32s) -> Round:
        """What looks at lists, and so has no truth before elements are picked: to a schedule it is
        as if it had failed, which excludes nothing."""
        residues = self.decider.residues
        rows = [row for row, event in enumerate(self._events) if event.multiple]
        if not rows:
            return Round(np.empty(0, np.int32), np.empty(0, np.int32))
        looks = np.array([self._look(row) for row in rows], bool)
        keys = np.array(residues.keys_of, np.int32)[leaves]
        place, predicate = np.nonzero(looks[:, keys])
        row = np.array(rows, np.int32)[place]
        order = np.lexsort((row, predicate, row // ROWS))
        return Round(row[order], predicate[order].astype(np.int32))

    def _look(self, row: int) -> list[bool]:
        """Which sets of keys are about lists of a row."""
        multiple = self._events[row].multiple
        return [
            keys is None or not multiple.isdisjoint(keys) for keys in self.decider.residues.keys
        ]

    def _results(self, known: KnownGraph, asked: Round) -> tuple[Truths, int]:
        """The truths of what a round asks for, operator by operator; how many calls that took."""
        group = known.group[asked.predicate]
        if (group == group[0]).all():
            return self._results_of(known, asked)
        truth = np.empty(len(group), np.int8)
        calls = 0
        for one in np.unique(group).tolist():
            places = np.flatnonzero(group == one)
            some = Round(asked.row[places], asked.predicate[places])
            truth[places], more = self._results_of(known, some)
            calls += more
        return truth, calls

    def _results_of(self, known: KnownGraph, asked: Round) -> tuple[Truths, int]:
        """The same, for leaves of one kind and operator."""
        first = int(asked.predicate[0])
        leaf = known.local.leaves[asked.predicate]
        kind = self.decider.kinds[known.kinds[first]]
        found = kind.evaluate(leaf, asked.row, self.sight)
        self.decider.estimates.note(leaf, int(known.operators[first]), found.truth)
        return found.truth, found.calls

    def _answered(self, places: Int64s) -> Pairs:
        """What the oracle says of some pairs, with the calls that were made."""
        kept: list[int] = []
        answers = []
        for place in places.tolist():
            trial = self.trial(int(self._row[place]))
            slot = int(self._pairs.slot[place])
            answer = trial.answer(self.decider.expressions(slot))
            if answer.truth in (TRUE, FAILED):
                kept.append(place)
                answers.append(answer if answer.says_more else None)
        found = self._pairs.take(np.array(kept, np.int64))
        if all(answer is None for answer in answers):
            return found
        said = np.empty(len(answers), np.object_)
        said[:] = answers
        return found._replace(answer=said)


class _SharedTrial(Trial):
    """A trial whose calls were made by a schedule, as far as it needed them."""

    def __init__(self, chunk: Chunk, row: int, event: Event) -> None:
        super().__init__(event, chunk.decider.world)
        self._chunk = chunk
        self._row = row

    @lazy
    def calls(self) -> Calls:
        """The operator calls on the event."""
        return _SharedCalls(self._chunk, self._row, self.event, self._chunk.decider.world)


class _SharedCalls(Calls):
    def __init__(self, chunk: Chunk, row: int, event: Event, world: World) -> None:
        super().__init__(event, world.operators, world.limits.bindings)
        self._chunk = chunk
        self._row = row

    def made(self, node: Call, choice: Choice) -> Rows | None:
        """What a call gave, if it was made, here or by the schedule."""
        return super().made(node, choice) or self._scheduled(node, choice)

    def _scheduled(self, node: Call, choice: Choice) -> Rows | None:
        chunk = self._chunk
        picked = choice and part_of(choice, self.paths(node))
        leaf = None if picked else chunk.decider.residues.number_of(node)
        if leaf is None:
            return None
        rows = chunk.sight.made.get((self._row, leaf))
        if rows is not None:
            return rows
        truth = chunk.truth_of(self._row, leaf)
        return Rows((), truth) if truth < UNASKED else None

    def _call(self, node: Call, numbered: Numbered, choice: Choice) -> Rows:
        rows = self._scheduled(node, choice)
        if rows is not None:
            return rows
        self._chunk.decider.count(made=1)
        return super()._call(node, numbered, choice)
