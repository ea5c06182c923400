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

Three answers go up from a predicate: NO, YES, FAILED. NO ends an EVERY, YES ends a SOME; what
ends the topmost node decides the subscription, and its other predicates are not needed for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Float64s, Int8s, Int32s, Truths

NO, YES, FAILING, UNDECIDED = 0, 1, 3, 4
"""What is known of a node; the numbers are those of FALSE, TRUE, FAILED and OPEN."""
UNASKED, ASKED = 4, 5
"""A predicate that was not evaluated, and one that is being evaluated."""
EVERY, SOME = 0, 1
IS_TRUE, NOT_TRUE, IS_FALSE, NOT_FALSE, ANY = range(5)
"""Questions to a predicate; ANY only wants it to be evaluated."""

# verdict of each question (row) on FALSE, TRUE, UNKNOWN and FAILED
VERDICTS = np.array(
    [
        [NO, YES, NO, FAILING],
        [YES, NO, YES, FAILING],
        [YES, NO, NO, FAILING],
        [NO, YES, YES, FAILING],
        [YES, YES, YES, YES],
    ],
    np.int8,
)


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
    edge_begin: Int32s
    edge_end: Int32s
    """The edges of a node and all nodes below it."""
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


class Progress(NamedTuple):
    """What is known for each of several events (rows); columns are nodes or predicates."""

    status: Int8s
    left: Int32s
    """Edges and nodes that a node still waits for."""
    failing: Int8s
    """Whether something that a node is made of has failed."""
    truth: Truths
    """Of each predicate; UNASKED, ASKED, or what came out."""
    undecided: Int32s
    """Subscriptions of each row."""


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
        offsets[:-1].astype(np.int32),
        offsets[1:].astype(np.int32),
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
    edge_begin: Int32s,
    edge_end: Int32s,
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
    by_predicate = np.zeros(predicates + 1, np.int32)
    node_at, question_at = np.empty_like(node), np.empty_like(question)
    sort_by_predicate(predicate, node, question, by_predicate, node_at, question_at)
    return Graph(
        first_node, first_edge, kind, parent, owner, width, edge_begin, edge_end,
        predicate, node, question, by_predicate, node_at, question_at,
    )  # fmt: skip


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


def begin(graph: Graph, rows: int, wanted: Flags | None = None) -> Progress:
    """Nothing is known; ``wanted[row, subscription]`` says what is asked of each row (all)."""
    nodes, count = len(graph.kind), graph.subscriptions
    status = np.full((rows, nodes), UNDECIDED, np.int8)
    undecided = np.full(rows, count, np.int32)
    if wanted is not None:
        status[~wanted[:, graph.owner]] = NO
        undecided[:] = wanted.sum(1)
    left = np.empty((rows, nodes), np.int32)
    left[:] = graph.width
    failing = np.zeros((rows, nodes), np.int8)
    truth = np.full((rows, graph.predicates), UNASKED, np.int8)
    progress = Progress(status, left, failing, truth, undecided)
    if (graph.width == 0).any():
        settle_empty(graph, progress)
    return progress


@kernel
def settle_empty(graph: Graph, progress: Progress) -> None:
    """Decide nodes that are made of nothing: EVERY is so, SOME is not."""
    for row in range(len(progress.undecided)):
        status, left = progress.status[row], progress.left[row]
        failing = progress.failing[row]
        for n in range(len(graph.kind)):
            if graph.width[n] == 0 and status[n] == UNDECIDED:
                verdict = YES if graph.kind[n] == EVERY else NO
                top = close(graph.kind, graph.parent, status, left, failing, n, verdict)
                progress.undecided[row] -= graph.parent[top] < 0


# Kernels get arrays one by one where they are called for each edge: handing over a whole graph
# costs more than what they do.


@kernel
def close(
    kind: Int8s, parent: Int32s, status: Int8s, left: Int32s, failing: Int8s, n: int, verdict: int
) -> int:
    """Decide a node, and those above that this decides; the topmost of them."""
    while True:
        status[n] = verdict
        above = parent[n]
        if above < 0 or status[above] != UNDECIDED:
            return n
        result = arrive(kind, left, failing, above, verdict)
        if result == UNDECIDED:
            return n
        n, verdict = above, result


@kernel
def arrive(kind: Int8s, left: Int32s, failing: Int8s, n: int, verdict: int) -> int:
    """Note a verdict at a node; the node's own, if this decides it."""
    ends = NO if kind[n] == EVERY else YES
    if verdict == ends:
        return ends
    if verdict == FAILING:
        failing[n] = 1
    left[n] -= 1
    if left[n] > 0:
        return UNDECIDED
    return FAILING if failing[n] else YES - ends


@kernel
def is_open(parent: Int32s, status: Int8s, n: int) -> bool:
    """Whether a node and all above it are undecided, so that what it is made of matters."""
    while n >= 0:
        if status[n] != UNDECIDED:
            return False
        n = parent[n]
    return True


@kernel
def is_needed(graph: Graph, status: Int8s, p: int) -> bool:
    """Whether any subscription still waits for a predicate."""
    for place in range(graph.by_predicate[p], graph.by_predicate[p + 1]):
        if is_open(graph.parent, status, graph.node_at[place]):
            return True
    return False


@kernel
def answer(graph: Graph, progress: Progress, row: int, found: Int32s, truth: Truths) -> None:
    """Note the truths of some predicates, and decide what they decide."""
    status, left, failing = progress.status[row], progress.left[row], progress.failing[row]
    kind, parent, known = graph.kind, graph.parent, progress.truth[row]
    node_at, question_at = graph.node_at, graph.question_at
    for number in range(len(found)):
        p = found[number]
        known[p] = truth[number]
        for place in range(graph.by_predicate[p], graph.by_predicate[p + 1]):
            n = node_at[place]
            if status[n] != UNDECIDED or not is_open(parent, status, parent[n]):
                continue
            told = VERDICTS[question_at[place], truth[number]]
            verdict = arrive(kind, left, failing, n, told)
            if verdict != UNDECIDED:
                top = close(kind, parent, status, left, failing, n, verdict)
                progress.undecided[row] -= parent[top] < 0


def verdicts(graph: Graph, progress: Progress) -> Int8s:
    """What is known of each subscription, by row."""
    return progress.status[:, graph.first_node[:-1]]
