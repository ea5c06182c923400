"""The schedules by name: which predicates to evaluate next, given what is known.

All give the same result, and differ in what they evaluate. A schedule is asked for a round of
predicates of some events (rows), and told what came out, until it asks for nothing more. Rows are
worked on in blocks, each with arrays of its own.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Int8s, Int32s, Truths
from tamis.operators.schedules.adaptive import (
    DROP,
    Credits,
    Turn,
    answer_adaptively,
    choose_adaptively,
    credits_of,
    first_turn,
)
from tamis.operators.schedules.alone import TurnAlone, choose_alone, first_turn_alone
from tamis.operators.schedules.chains import chain_order
from tamis.operators.schedules.graph import Expectation, Graph
from tamis.operators.schedules.progress import (
    FIRST,
    ROWS,
    UNDECIDED,
    Demand,
    Progress,
    answer,
    begin,
    waiting_for,
    write_verdicts,
)
from tamis.operators.schedules.sequential import choose_sequentially
from tamis.operators.schedules.walk import choose_walking

UNLIMITED = 1 << 30


class Round(NamedTuple):
    """Predicates to evaluate, on rows."""

    row: Int32s
    predicate: Int32s


class Schedule(ABC):
    """An order of evaluation for some rows; ``prepared`` is what ``prepare`` gave for the graph, if
    that is not too long ago."""

    def __init__(
        self,
        graph: Graph,
        expectation: Expectation,
        rows: int,
        wanted: Demand,
        prepared: Any = None,
    ) -> None:
        self.graph = graph
        self.expectation = expectation
        self.rows = rows
        self.prepared = self.prepare(graph, expectation) if prepared is None else prepared
        self._parts: list[Demand] = []
        self.blocks: list[Progress] = []
        for first in range(0, rows, ROWS):
            count = min(ROWS, rows - first)
            part = _part(wanted, first, first + count)
            self._parts.append(part)
            self.blocks.append(begin(graph, count, part))
        self._begin()

    @staticmethod
    @abstractmethod
    def prepare(graph: Graph, expectation: Expectation) -> Any:
        """What a schedule makes of a graph; it may be used for many events."""

    @abstractmethod
    def _begin(self) -> None:
        """Make what an order needs of its own."""

    def choose(self, most: int = UNLIMITED) -> Round:
        """What to evaluate next, at most so many for each row; nothing if all is decided."""
        return _joined([self._choose(number, most) for number in range(len(self.blocks))])

    @abstractmethod
    def _choose(self, number: int, most: int) -> Round:
        """What a block asks for next."""

    def answer(self, asked: Round, truth: Truths) -> None:
        """Note what came out; rows of a block stand together, and in them those of a predicate."""
        if not len(asked.row):
            return
        bounds = np.array([0, len(asked.row)])
        if len(self.blocks) > 1:
            block = asked.row // ROWS
            bounds = np.insert(bounds, 1, np.flatnonzero(block[1:] != block[:-1]) + 1)
        for start, end in itertools.pairwise(bounds.tolist()):
            number = int(asked.row[start]) // ROWS
            row = asked.row[start:end] - np.int32(number * ROWS)
            self._answer(number, row, asked.predicate[start:end], truth[start:end])

    def _answer(self, number: int, row: Int32s, predicate: Int32s, truth: Truths) -> None:
        answer(self.graph, self.blocks[number], row, predicate, truth)

    def truth(self, row: int) -> Truths:
        """What came out of each predicate on a row, or that nobody asked."""
        return self.blocks[row // ROWS].truth[:, row % ROWS]

    def undecided(self) -> int:
        """How many subscriptions are undecided, over all rows."""
        return int((self.verdicts() == UNDECIDED).sum())

    def needed(self, call: Int32s) -> int:
        """How many calls the undecided ask for, each once for a row; ``call`` is that of each
        predicate, or -1."""
        some = np.flatnonzero(call >= 0).astype(np.int32)
        if not len(some):
            return 0
        some = some[np.argsort(call[some], kind="stable")]
        starts = np.flatnonzero(np.diff(call[some], prepend=-1))
        count = 0
        for block in self.blocks:
            waiting = waiting_for(self.graph, block.open, some)
            count += int(np.bitwise_count(np.bitwise_or.reduceat(waiting, starts)).sum())
        return count

    def needing(self, some: Int32s) -> Round:
        """On which rows some predicates are needed by the undecided."""
        rounds = []
        for number, block in enumerate(self.blocks):
            waiting = waiting_for(self.graph, block.open, some) & ~block.asked[some]
            bits = FIRST << np.arange(block.truth.shape[1], dtype=np.uint64)
            place, row = np.nonzero(waiting[:, None] & bits)
            rounds.append(Round((row + number * ROWS).astype(np.int32), some[place]))
        return _joined(rounds)

    def verdicts(self) -> Int8s:
        """What is known of each wanted pair."""
        found = np.empty(sum(len(part.row) for part in self._parts), np.int8)
        start = 0
        for block, part in zip(self.blocks, self._parts):
            end = start + len(part.row)
            write_verdicts(self.graph.first_node, block, *part, found[start:end])
            start = end
        return found


def _joined(rounds: list[Round]) -> Round:
    none = np.empty(0, np.int32)
    row, predicate = zip(*rounds, (none, none))
    return Round(np.concatenate(row), np.concatenate(predicate))


def _part(wanted: Demand, first: int, end: int) -> Demand:
    """What is wanted of some rows."""
    some = slice(*np.searchsorted(wanted.row, np.array((first, end), np.int32)))
    return Demand(wanted.row[some], wanted.subscription[some])


class History(Schedule):
    """One subscription after another, as they were made."""

    def _begin(self) -> None:
        self._cursor = np.zeros(self.rows, np.int32)
        self._found = np.empty(max(1, self.graph.predicates), np.int32)

    @staticmethod
    def prepare(graph: Graph, expectation: Expectation) -> Int32s:
        """The edges in the order in which they are walked."""
        return np.arange(len(graph.predicate), dtype=np.int32)

    def _choose(self, number: int, most: int) -> Round:
        first, block = number * ROWS, self.blocks[number]
        found, counts = [], []
        for row in range(block.truth.shape[1]):
            count = self._choose_one(block, row, first + row, self._found[:most])
            found.append(self._found[:count].copy())
            counts.append(count)
        rows = np.arange(first, first + len(counts), dtype=np.int32)
        return Round(np.repeat(rows, counts), np.concatenate(found))

    def _choose_one(self, block: Progress, row: int, place: int, found: Int32s) -> int:
        """Write what a row asks for next; how many. ``place`` is its number in all blocks."""
        cursor = self._cursor[place : place + 1]
        return choose_walking(self.graph, block, row, self.prepared, cursor, found)


class SubOrder(History):
    """Chains in an order that is expected to save most (section 4.2)."""

    @staticmethod
    def prepare(graph: Graph, expectation: Expectation) -> Int32s:
        """The edges in the order in which they are walked."""
        return chain_order(graph, expectation)


class Sequential(History):
    """Algorithm 1."""

    def _begin(self) -> None:
        super()._begin()
        self._marked = np.zeros((self.rows, 2), np.int32)
        self._marked[:, 1] = -1

    def _choose_one(self, block: Progress, row: int, place: int, found: Int32s) -> int:
        """Always one predicate, for what it decides says who needs more."""
        return choose_sequentially(self.graph, block, row, self._marked[place], found[:1])


class Adaptive(Schedule):
    """What is expected to decide most for its cost, in rounds."""

    drop = DROP

    @staticmethod
    def prepare(graph: Graph, expectation: Expectation) -> Credits:
        """The credits of all edges."""
        return credits_of(graph, expectation.chance)

    def _begin(self) -> None:
        self._turns = [self._first_turn(block) for block in self.blocks]
        self._chosen = np.empty((2, self.graph.predicates * min(self.rows, ROWS)), np.int32)

    def _first_turn(self, block: Progress) -> Turn | TurnAlone:
        if block.truth.shape[1] == 1:
            return first_turn_alone(block, self.expectation, self.prepared)
        return first_turn(block, self.prepared, self.expectation)

    def _choose(self, number: int, most: int) -> Round:
        turn, block, first = self._turns[number], self.blocks[number], np.int32(number * ROWS)
        predicate, row = self._chosen
        if isinstance(turn, TurnAlone):
            count = choose_alone(
                self.graph, block, self.expectation, self.prepared, turn, self.drop, most, predicate
            )
            return Round(np.full(count, first), predicate[:count].copy())
        count = choose_adaptively(
            self.graph, block, self.expectation, self.prepared, turn, self.drop, most, predicate,
            row,
        )  # fmt: skip
        return Round(row[:count] + first, predicate[:count].copy())

    def _answer(self, number: int, row: Int32s, predicate: Int32s, truth: Truths) -> None:
        turn, block = self._turns[number], self.blocks[number]
        if isinstance(turn, TurnAlone):
            answer(self.graph, block, row, predicate, truth)
        else:
            answer_adaptively(self.graph, block, turn, row, predicate, truth)


SCHEDULES: dict[str, type[Schedule]] = {
    "history": History,
    "sequential": Sequential,
    "sub_order": SubOrder,
    "adaptive": Adaptive,
}
"""By the names that ``Engine(schedule=…)`` takes."""
