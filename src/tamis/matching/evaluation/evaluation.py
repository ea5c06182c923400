"""Shared evaluation: candidates of a segment, decided column by column.

doors ──(point, condition)──┬─certain──────────────────────────────> matches
                            └─(point, node)──kernel──┬─true────────> matches
                                              ^      └─open──tests──┐
                                              └─────────────────────┘ ──still open──> oracle
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.arrays.distinct import distinct
from tamis.arrays.sharing import lazy
from tamis.arrays.types import Flags, Int32s, Int64s, Numbers, Ranks, Slots, Truths
from tamis.bindings.attribute_trial import AttributeTrial
from tamis.matching.batch import Batch
from tamis.matching.evaluation.column_tests import Texts, evaluate_test, paths_of
from tamis.matching.evaluation.entries import CERTAIN, Candidates, Entries, Verdicts
from tamis.matching.evaluation.kernels import (
    Memory,
    Sight,
    collect_requests,
    decide_one,
    evaluate,
    forget,
    memory_of,
    write_open_slots,
)
from tamis.matching.evaluation.nodes import ASK, EVERY, SIDE, SOME, Nodes, mark_wholes
from tamis.matching.evaluation.pattern_sets import FEW, PatternSet, pattern_sets
from tamis.matching.points.contents import FoundThings
from tamis.matching.points.of_events import Points
from tamis.matching.sieve.kernels import flatten_points
from tamis.model.events.event import Event, single_value
from tamis.model.limits import LIMITS
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES
from tamis.predicates.expression import TextTest
from tamis.predicates.normal import Literal
from tamis.predicates.truth import FALSE, OPEN, TRUE, UNKNOWN

_NO_TESTS = np.empty(0, np.int64), np.empty(0, np.int8)


class Evaluation:
    """The formulas of a segment."""

    def __init__(self, entries: Entries, nodes: Nodes, literals: Sequence[Literal]) -> None:
        self.entries = entries
        self.nodes = nodes
        self.literals = list(literals)
        """What TEST nodes are about."""
        self.paths = sorted({path for literal in literals for path in paths_of(literal)})
        """The attributes whose values the tests look at."""
        self._memories: list[Memory] = []
        """Of threads that are done with them."""

    @classmethod
    def none(cls) -> Evaluation:
        """Nothing to evaluate."""
        return cls(Entries.none(), Nodes.none(), [])

    @property
    def nbytes(self) -> int:
        """Memory of the conditions and formulas."""
        return self.nodes.nbytes + sum(array.nbytes for array in self.entries)

    def slots_about(self, axes: Flags) -> Slots:
        """The slots of the formulas that look at some of the axes, given by a mask."""
        about = np.zeros(len(self.nodes.kind), bool)
        sides = np.flatnonzero(self.nodes.kind == SIDE)
        about[sides] = axes[self.nodes.axis[sides]]
        return self._slots_with(about)

    def open_slots(self) -> Slots:
        """The slots of the formulas that the oracle may have to decide on."""
        return self._slots_with(self.nodes.kind == ASK)

    def _slots_with(self, about: Flags) -> Slots:
        """The slots of the formulas that have some of the nodes."""
        mark_wholes(self.nodes, about)
        slot, node, _ = self.entries
        open_ = np.flatnonzero(node != CERTAIN)
        number = np.where(node[open_] < 0, ~node[open_], node[open_])
        return slot[open_[about[number]]]

    def candidates(
        self,
        point: Int32s,
        condition: Numbers,
        points: Points,
        found: Sequence[FoundThings],
        batch: Batch,
    ) -> Candidates:
        """Pairs, a point and a condition that holds there, without those that are not so."""
        slot, node, several = self.entries
        if self._is_open is not None:
            slots = np.empty(len(point), np.int32)
            if write_open_slots(point, condition, self._is_open, slot, slots):
                return Candidates(point, slots, np.ones(len(point), bool), False)
        own = node[condition]
        certain = own == CERTAIN
        if certain.all():
            ask = np.zeros(len(point), bool)
            return Candidates(point, slot[condition], ask, bool(several[condition].any()))
        kept = np.flatnonzero(~certain)
        ascends = (point[1:] >= point[:-1]).all()
        if not ascends or several[condition[kept]].any():
            keys = point[kept].astype(np.int64) << 32 | slot[condition[kept]]
            kept = kept[np.unique(keys, return_index=True)[1]]
        truth = self._truths(
            point[kept],
            own[kept],
            _sight(points, found),
            lambda keys: self._tested(keys, points, batch),
        )
        left = kept[truth != FALSE]
        order = np.concatenate((np.flatnonzero(certain), left))
        ask = np.concatenate((np.zeros(certain.sum(), bool), truth[truth != FALSE] == OPEN))
        again = bool(several[condition[order]].any()) and bool(certain.any())
        return Candidates(point[order], slot[condition[order]], ask, again)

    def verdicts(
        self,
        condition: array[int],
        point: Ranks,
        found: Sequence[tuple[int, list[int]]],
        axes: int,
        event: Event,
    ) -> Verdicts:
        """The slots of conditions that hold for one event, given by its ranks with a 0 behind
        them, and by the ranks of what was found in it on some of the axes of found things, of
        which there are so many."""
        if not condition:
            return Verdicts({}, {})
        conditions = np.frombuffer(condition, np.int32)
        slots, keys = np.empty(len(condition), np.int32), np.empty(2 * len(condition), np.int64)
        sight, memory = _sight_of_one(point, found, axes), self._memory()
        certain, back, count = self._decide(sight, memory, conditions, slots, keys)
        if count:
            while count > len(keys):
                keys = np.empty(count, np.int64)
                certain, back, count = self._decide(sight, memory, conditions, slots, keys)
            tests = np.array(sorted({*keys[:count].tolist()}))
            sight = sight._replace(test=tests, truth=self._tested_on_one(tests, event))
            certain, back, _ = self._decide(sight, memory, conditions, slots, keys)
        self._memories.append(memory)
        return Verdicts(
            dict.fromkeys(slots[:certain].tolist()), dict.fromkeys(slots[back:].tolist())
        )

    def _decide(
        self, sight: Sight, memory: Memory, condition: Int32s, slots: Slots, keys: Int64s
    ) -> tuple[int, int, int]:
        """What ``decide_one`` says of a point of which nothing was found out yet."""
        forget(memory, 1)
        found: tuple[int, int, int] = decide_one(
            self.entries, self.nodes, sight, memory, condition, slots, keys
        )
        return found

    def _memory(self) -> Memory:
        """A memory for the caller alone, until it is given back."""
        try:
            return self._memories.pop()
        except IndexError:
            return memory_of(self.nodes)

    def _truths(
        self, point: Int32s, node: Numbers, sight: Sight, tested: Callable[[Int64s], Truths]
    ) -> Truths:
        """The truths of nodes at points, which ascend; OPEN if only the oracle can tell.

        tested: makes tests, given as test << 32 | point, ascending.
        """
        decidable = self._decidable
        if decidable is None:
            return self._evaluated(point, node, sight, tested)
        truth = np.full(len(point), OPEN, np.int8)
        some = np.flatnonzero(decidable[np.where(node < 0, ~node, node)])
        if len(some):
            truth[some] = self._evaluated(point[some], node[some], sight, tested)
        return truth

    @lazy
    def _decidable(self) -> Flags | None:
        """The nodes that something here can decide; formulas of operator calls alone are not. None
        if all are."""
        nodes = self.nodes
        decidable = nodes.kind != ASK
        whole = (nodes.kind == EVERY) | (nodes.kind == SOME)
        decidable[whole & (np.diff(nodes.start) > 0)] = False
        mark_wholes(nodes, decidable)
        return None if decidable.all() else decidable

    @lazy
    def _is_open(self) -> Flags | None:
        """The conditions whose formulas nothing here can decide, of slots that have one condition;
        None if there is none."""
        if self._decidable is None:
            return None
        _, node, several = self.entries
        open_: Flags = ~several & (node != CERTAIN)
        open_[open_] = ~self._decidable[np.where(node < 0, ~node, node)[open_]]
        return open_

    def _evaluated(
        self, point: Int32s, node: Numbers, sight: Sight, tested: Callable[[Int64s], Truths]
    ) -> Truths:
        """The truths of nodes, by what is known and by tests."""
        memory = self._memory()
        forget(memory, sight.points)
        truth = np.empty(len(point), np.int8)
        if evaluate(self.nodes, sight, memory, point, node, truth) and self.literals:
            open_ = np.flatnonzero(truth == OPEN)
            keys = self._requests(sight, memory, point[open_], node[open_])
            if len(keys):
                keys = distinct(keys)
                sight = sight._replace(test=keys, truth=tested(keys))
                forget(memory, sight.points)
                again = np.empty(len(open_), np.int8)
                evaluate(self.nodes, sight, memory, point[open_], node[open_], again)
                truth[open_] = again
        self._memories.append(memory)
        return truth

    def _requests(self, sight: Sight, memory: Memory, point: Int32s, node: Numbers) -> Int64s:
        """The tests that open candidates need, as test << 32 | point."""
        keys = np.empty(2 * len(point), np.int64)
        while True:
            forget(memory, sight.points)  # a whole's parts may be remembered for a later point
            count = collect_requests(self.nodes, sight, memory, point, node, keys)
            if count <= len(keys):
                return keys[:count]
            keys = np.empty(count, np.int64)

    def _tested_on_one(self, keys: Int64s, event: Event) -> Truths:
        """What tests say of one event without lists."""
        trial = AttributeTrial(event, NO_TAXONOMIES, LIMITS)
        tests = (keys >> 32).tolist()
        known: dict[int, int] = {}
        for each in self._pattern_sets if len(tests) > FEW else ():
            if each.pays(keys >> 32):
                text = single_value(event.attributes, each.path)
                truth = FALSE if isinstance(text, str) else UNKNOWN
                known |= dict.fromkeys(each.tests.tolist(), truth)
                if isinstance(text, str):
                    known |= dict.fromkeys(each.found_in(text), TRUE)
        said = np.empty(len(tests), np.int8)
        for place, test in enumerate(tests):
            node, positive = self.literals[test]
            truth = known[test] if test in known else trial.truth(node, None)
            said[place] = truth == int(positive)
        return said

    @lazy
    def _pattern_sets(self) -> list[PatternSet]:
        return list(pattern_sets(self.literals))

    def _tested(self, keys: Int64s, points: Points, batch: Batch) -> Truths:
        """What tests say of points, given as test << 32 | point, ascending."""
        test, point = keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)
        said = np.zeros(len(keys), np.int8)
        texts = Texts(point, points)
        together = self._tested_together(keys, points, said)
        ends = np.flatnonzero(np.diff(test, append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            literal = self.literals[test[begin]]
            if together[begin]:
                pass
            elif isinstance(literal.predicate, TextTest):
                texts.add(literal.predicate, literal.positive, begin, end)
            else:
                said[begin:end] = evaluate_test(literal, point[begin:end], points, batch)
            begin = end
        texts.write(said)
        return said

    def _tested_together(self, keys: Int64s, points: Points, said: Truths) -> Flags:
        """Write what sets of patterns say; return which of the tests these are."""
        done = np.zeros(len(keys), bool)
        for each in self._pattern_sets:
            if each.pays(keys >> 32):
                own = np.flatnonzero(np.isin(keys >> 32, each.tests))
                rows, found = each.found(keys[own], points)
                positive = np.array([self.literals[test].positive for test in each.tests.tolist()])
                wanted = positive[np.searchsorted(each.tests, keys[own] >> 32)]
                known = np.isin(keys[own] & 0xFFFFFFFF, rows)
                said[own] = known & (np.isin(keys[own], found) == wanted)
                done[own] = True
        return done


def _sight_of_one(point: Ranks, found: Sequence[tuple[int, list[int]]], axes: int) -> Sight:
    """What is known of one point."""
    text = np.full(axes, -1, np.int32)
    start: list[int] = [0]
    things: list[int] = []
    for number, (axis, ranks) in enumerate(found):
        text[axis] = number
        things += ranks
        start.append(len(things))
    count = len(point) - 1
    first = np.zeros(axes, np.int64)
    return Sight(
        point,
        len(point),
        1,
        count,
        text,
        1,
        first,
        np.array(start),
        np.array(things, np.int32),
        *_NO_TESTS,
    )


def _sight(points: Points, found: Sequence[FoundThings]) -> Sight:
    """What is known of points before any test was made."""
    flat = flatten_points(points.ranks)
    count = [len(each.start) - 1 for each in found]
    texts: Any = [each.text for each in found]
    ends = np.cumsum([0, *(each.start[-1] for each in found)])
    starts = [each.start[:-1] + end for each, end in zip(found, ends)]
    nothing = np.empty(0, np.int32)
    return Sight(
        flat.rank,
        flat.event_stride,
        flat.attribute_stride,
        points.ranks.shape[1],
        np.concatenate([nothing, *texts]).astype(np.int32),
        flat.events,
        np.cumsum([0, *count])[:-1].astype(np.int64),
        np.concatenate([*starts, ends[-1:]]).astype(np.int64),
        np.concatenate([nothing, *(each.rank for each in found)]).astype(np.int32),
        *_NO_TESTS,
    )
