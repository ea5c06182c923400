"""What schedules work on: subscriptions and predicates as a bipartite graph, in flat arrays.

A *predicate* here is a distinct call (or pattern, or attribute test): whatever is evaluated once
for an event. A subscription is a small formula over questions to predicates, and most are a plain
conjunction, one node. ``p and (q or not r)`` is two nodes:

    node      0 EVERY              1 SOME (parent 0)
    edges     0: p is true?        1: q is true?   2: r is false?

Nodes of a subscription stand one behind the other, parents first, and so do the edges of a node
and of all nodes below it. The graph is kept from both sides, as in the paper's section 5.1, which
has two hash tables for it: edges by subscription, and the same edges by predicate. So both
"what is left of this subscription" and "who needs this predicate" are slices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Float64s, Int8s, Int32s

EVERY, SOME = 0, 1
IS_TRUE, NOT_TRUE, IS_FALSE, NOT_FALSE, ANY = range(5)
"""Questions to a predicate; ANY only wants it to be evaluated."""


class Graph(NamedTuple):
    """Subscriptions and predicates, numbered from 0."""

    first_node: Int32s
    """Of each subscription, and the end of the last one's."""
    first_edge: Int32s
    """Likewise."""
    kind: Int8s
    parent: Int32s
    """Of each node; -1 of the topmost one."""
    owner: Int32s
    """The subscription of each node."""
    width: Int32s
    """How many edges and nodes a node is made of."""
    node_end: Int32s
    """Where the nodes below a node, which follow it, end."""
    first_digit: Int32s
    """Where the binary digits of each node's width begin, where all stand side by side, and the end
    of the last one's."""
    predicate: Int32s
    """Of each edge."""
    node: Int32s
    question: Int8s
    by_predicate: Int32s
    """Where the edges of each predicate begin in the next two, and the end of the last one's."""
    node_at: Int32s
    question_at: Int8s

    @property
    def subscriptions(self) -> int:
        """How many there are."""
        return len(self.first_node) - 1

    @property
    def predicates(self) -> int:
        """How many there are."""
        return len(self.by_predicate) - 1


class Expectation(NamedTuple):
    """What is expected of each predicate: the chance to be true, and the costs, in any unit."""

    chance: Float64s
    cost: Float64s
    operator: Int32s
    """The number of the operator, whose set-up its predicates share."""
    setup: Float64s
    """For each operator the cost of its set-up for an event."""
    share: Float64s
    """For each operator the part of its set-up that one predicate counts before it is paid."""


def expected(
    chance: Float64s,
    cost: Float64s | None = None,
    operator: Int32s | None = None,
    setup: Float64s | None = None,
    calls: Float64s | None = None,
) -> Expectation:
    """An expectation; without costs, all predicates cost 1 and nothing is set up.

    calls: how many calls of each operator an event is expected to make, if it makes one.
    """
    if cost is None:
        cost = np.ones(len(chance))
    if operator is None or setup is None:
        operator, setup = np.zeros(len(chance), np.int32), np.zeros(1)
    if calls is None:
        calls = np.maximum(1, np.bincount(operator, minlength=len(setup))).astype(float)
    return Expectation(chance, cost, operator, setup, setup / np.maximum(1, calls))


def conjunctions(offsets: Int32s, predicate: Int32s, predicates: int) -> Graph:
    """The graph of plain conjunctions; ``predicate[offsets[i]:offsets[i + 1]]`` are those of
    subscription i."""
    count = len(offsets) - 1
    own = np.arange(count + 1, dtype=np.int32)
    node = np.repeat(own[:-1], np.diff(offsets)).astype(np.int32)
    return with_both_sides(
        own,
        offsets.astype(np.int32),
        np.zeros(count, np.int8),
        np.full(count, -1, np.int32),
        predicate.astype(np.int32),
        node,
        np.zeros(len(predicate), np.int8),
        predicates,
    )


def with_both_sides(
    first_node: Int32s,
    first_edge: Int32s,
    kind: Int8s,
    parent: Int32s,
    predicate: Int32s,
    node: Int32s,
    question: Int8s,
    predicates: int,
) -> Graph:
    """The graph with its edges also by predicate."""
    owner = np.repeat(np.arange(len(first_node) - 1, dtype=np.int32), np.diff(first_node))
    width = np.bincount(node, minlength=len(kind)).astype(np.int32)
    below = parent[parent >= 0]
    width += np.bincount(below, minlength=len(kind)).astype(np.int32)
    digits = np.ceil(np.log2(width + 1.0)).astype(np.int32)
    first_digit = np.concatenate((np.zeros(1, np.int32), np.cumsum(digits, dtype=np.int32)))
    by_predicate = np.zeros(predicates + 1, np.int32)
    node_at, question_at = np.empty_like(node), np.empty_like(question)
    sort_by_predicate(predicate, node, question, by_predicate, node_at, question_at)
    return Graph(
        first_node, first_edge, kind, parent, owner, width, ends_below(parent),
        first_digit, predicate, node, question, by_predicate, node_at, question_at,
    )  # fmt: skip


@kernel
def ends_below(parent: Int32s) -> Int32s:
    """For each node, the end of the nodes below it."""
    end = np.arange(1, len(parent) + 1).astype(np.int32)
    for n in range(len(parent) - 1, -1, -1):
        if parent[n] >= 0:
            end[parent[n]] = max(end[parent[n]], end[n])
    return end


@kernel
def sort_by_predicate(
    predicate: Int32s,
    node: Int32s,
    question: Int8s,
    start: Int32s,
    node_at: Int32s,
    question_at: Int8s,
) -> None:
    """Sort edges by predicate, in their order."""
    for e in range(len(predicate)):
        start[predicate[e] + 1] += 1
    for p in range(len(start) - 1):
        start[p + 1] += start[p]
    place = start[:-1].copy()
    for e in range(len(predicate)):
        at = place[predicate[e]]
        node_at[at], question_at[at] = node[e], question[e]
        place[predicate[e]] = at + 1


class Demand(NamedTuple):
    """What is asked: subscriptions of rows, the rows ascending."""

    row: Int32s
    subscription: Int32s


def everything(graph: Graph, rows: int) -> Demand:
    """All subscriptions of all rows."""
    every = np.arange(graph.subscriptions, dtype=np.int32)
    return Demand(np.repeat(np.arange(rows, dtype=np.int32), len(every)), np.tile(every, rows))
