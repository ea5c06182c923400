"""The schedules by name: which predicates to evaluate next, given what is known.

All give the same result, and differ in what they evaluate. A schedule is asked for a round of
predicates of an event (a row), and told what came out, until it asks for nothing more.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tamis.arrays.types import Flags, Int8s, Int32s, Truths
from tamis.operators.schedules.adaptive import (
    DROP,
    answer_adaptively,
    choose_adaptively,
    credits_of,
    no_scores,
    start_scores,
)
from tamis.operators.schedules.chains import chain_order
from tamis.operators.schedules.graph import (
    Expectation,
    Graph,
    answer,
    begin,
    verdicts,
)
from tamis.operators.schedules.sequential import choose_sequentially
from tamis.operators.schedules.walk import choose_walking


class Schedule(Protocol):
    """An order of evaluation for some rows."""

    def choose(self, row: int, most: int) -> Int32s:
        """The predicates to evaluate next, at most so many; none if all is decided."""

    def answer(self, row: int, found: Int32s, truth: Truths) -> None:
        """Note what came out."""

    def undecided(self, row: int) -> int:
        """How many subscriptions are undecided."""

    def verdicts(self) -> Int8s:
        """What is known of each subscription, by row."""


class _Base:
    def __init__(
        self, graph: Graph, expectation: Expectation, rows: int, wanted: Flags | None = None
    ) -> None:
        self.graph = graph
        self.expectation = expectation
        self.progress = begin(graph, rows, wanted)
        self._found = np.empty(max(1, graph.predicates), np.int32)

    def answer(self, row: int, found: Int32s, truth: Truths) -> None:
        """Note what came out."""
        answer(self.graph, self.progress, row, found, truth)

    def undecided(self, row: int) -> int:
        """How many subscriptions are undecided."""
        return int(self.progress.undecided[row])

    def verdicts(self) -> Int8s:
        """What is known of each subscription, by row."""
        return verdicts(self.graph, self.progress)


class History(_Base):
    """One subscription after another, as they were made."""

    def __init__(
        self, graph: Graph, expectation: Expectation, rows: int, wanted: Flags | None = None
    ) -> None:
        super().__init__(graph, expectation, rows, wanted)
        self.order = self._order()
        self._cursor = np.zeros(rows, np.int32)

    def _order(self) -> Int32s:
        return np.arange(len(self.graph.predicate), dtype=np.int32)

    def choose(self, row: int, most: int) -> Int32s:
        """The predicates to evaluate next."""
        found = self._found[:most]
        count = choose_walking(self.graph, self.progress, row, self.order, self._cursor, found)
        return found[:count].copy()


class SubOrder(History):
    """Chains in an order that is expected to save most (section 4.2)."""

    def _order(self) -> Int32s:
        return chain_order(self.graph, self.expectation)


class Sequential(_Base):
    """Algorithm 1."""

    def __init__(
        self, graph: Graph, expectation: Expectation, rows: int, wanted: Flags | None = None
    ) -> None:
        super().__init__(graph, expectation, rows, wanted)
        self._cursor = np.zeros((rows, 2), np.int32)
        self._cursor[:, 1] = -1

    def choose(self, row: int, most: int) -> Int32s:
        """The predicates to evaluate next: always one, for what it decides says who needs more."""
        found = self._found[:1]
        count = choose_sequentially(self.graph, self.progress, row, self._cursor, found)
        return found[:count].copy()


class Adaptive(_Base):
    """What is expected to decide most for its cost, in rounds."""

    drop = DROP

    def __init__(
        self, graph: Graph, expectation: Expectation, rows: int, wanted: Flags | None = None
    ) -> None:
        super().__init__(graph, expectation, rows, wanted)
        self._credit = credits_of(graph, expectation)
        self._scores = no_scores(graph, expectation, rows)
        self._started = np.zeros(rows, bool)

    def choose(self, row: int, most: int) -> Int32s:
        """The predicates of the next round."""
        if not self._started[row]:
            self._started[row] = True
            start_scores(self.graph, self.progress, self._credit, self._scores, row)
        found = self._found[:most]
        count = choose_adaptively(
            self.graph, self.progress, self.expectation, self._credit, self._scores, row,
            self.drop, found,
        )  # fmt: skip
        return found[:count].copy()

    def answer(self, row: int, found: Int32s, truth: Truths) -> None:
        """Note what came out."""
        answer_adaptively(self.graph, self.progress, self._credit, self._scores, row, found, truth)


SCHEDULES: dict[str, type[History | Sequential | Adaptive]] = {
    "history": History,
    "sequential": Sequential,
    "sub_order": SubOrder,
    "adaptive": Adaptive,
}
"""By the names that ``Engine(schedule=…)`` takes."""
