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
from tamis.arrays.types import Float64s, Int8s, Int32s, Truths
from tamis.predicates.truth import TRUE

NO, YES, CLAIMED, FAILING, UNDECIDED = range(5)
"""What is known of a node; NO, YES, FAILING and UNDECIDED have the numbers of FALSE, TRUE, FAILED
and OPEN. A node is undecided only as long as all above it are. A claimed one waits for what a round
has chosen."""
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
    node_end: Int32s
    """Where the nodes below a node, which follow it, end."""
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


ROWS = 64
"""Rows of a block. Kernels go over all rows of a block for each edge: 64 bytes of status are one
line of the cache."""


class Progress(NamedTuple):
    """What is known for a block of events (rows), which are the columns of these arrays: all that
    is known of a node, or predicate, stands together."""

    status: Int8s
    left: Int32s
    """Edges and nodes that a node still waits for."""
    failing: Int8s
    """Whether something that a node is made of has failed."""
    truth: Truths
    """Of each predicate; UNASKED, ASKED, or what came out."""


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
    by_predicate = np.zeros(predicates + 1, np.int32)
    node_at, question_at = np.empty_like(node), np.empty_like(question)
    sort_by_predicate(predicate, node, question, by_predicate, node_at, question_at)
    return Graph(
        first_node, first_edge, kind, parent, owner, width, ends_below(parent), predicate,
        node, question, by_predicate, node_at, question_at,
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


def begin(graph: Graph, rows: int, wanted: Demand) -> Progress:
    """Nothing is known of what is wanted."""
    nodes = len(graph.kind)
    status = np.zeros((nodes, rows), np.int8)
    mark_wanted(graph.first_node, status, wanted.row, wanted.subscription)
    left = np.empty((nodes, rows), np.int8 if graph.width.max(initial=0) < 128 else np.int32)
    left[:] = graph.width[:, None]
    failing = np.zeros((nodes, rows), np.int8)
    truth = np.full((graph.predicates, rows), UNASKED, np.int8)
    progress = Progress(status, left, failing, truth)
    if (graph.width == 0).any():
        settle_empty(graph, progress)
    return progress


@kernel
def mark_wanted(first_node: Int32s, status: Int8s, row: Int32s, subscription: Int32s) -> None:
    """Mark the nodes of pairs as undecided."""
    for number in range(len(row)):
        own, r = subscription[number], row[number]
        for n in range(first_node[own], first_node[own + 1]):
            status[n, r] = UNDECIDED


@kernel
def write_verdicts(
    first_node: Int32s, status: Int8s, row: Int32s, subscription: Int32s, verdict: Int8s
) -> None:
    """Write what is known of pairs."""
    for number in range(len(row)):
        verdict[number] = status[first_node[subscription[number]], row[number]]


@kernel
def settle_empty(graph: Graph, progress: Progress) -> None:
    """Decide nodes that are made of nothing: EVERY is so, SOME is not."""
    status, left, failing = progress.status, progress.left, progress.failing
    for row in range(status.shape[1]):
        for n in range(len(graph.kind)):
            if graph.width[n] == 0 and status[n, row] == UNDECIDED:
                verdict = YES if graph.kind[n] == EVERY else NO
                close(
                    graph.kind, graph.parent, graph.node_end, status, left, failing, n, row, verdict
                )


# Kernels get arrays one by one where they are called for each edge: handing over a whole graph
# costs more than what they do.


@kernel
def close(
    kind: Int8s, parent: Int32s, node_end: Int32s, status: Int8s, left: Int32s, failing: Int8s,
    n: int, row: int, verdict: int,
) -> None:  # fmt: skip
    """Decide a node, and those above that this decides; what is below matters no longer."""
    while True:
        status[n, row] = verdict
        for below in range(n + 1, node_end[n]):
            status[below, row] = NO
        n = parent[n]
        if n < 0:
            return
        verdict = arrive(kind, left, failing, n, row, verdict)
        if verdict == UNDECIDED:
            return


@kernel
def arrive(kind: Int8s, left: Int32s, failing: Int8s, n: int, row: int, verdict: int) -> int:
    """Note a verdict at an undecided node; the node's own, if this decides it."""
    ends = NO if kind[n] == EVERY else YES
    if verdict == ends:
        return ends
    if verdict == FAILING:
        failing[n, row] = 1
    left[n, row] -= 1
    if left[n, row] > 0:
        return UNDECIDED
    return FAILING if failing[n, row] else YES - ends


@kernel
def is_needed(graph: Graph, status: Int8s, p: int, row: int) -> bool:
    """Whether any subscription still waits for a predicate."""
    for place in range(graph.by_predicate[p], graph.by_predicate[p + 1]):
        if status[graph.node_at[place], row] == UNDECIDED:
            return True
    return False


@kernel
def answer(graph: Graph, progress: Progress, row: Int32s, predicate: Int32s, truth: Truths) -> None:
    """Note the truths of predicates on rows, and decide what they decide; the rows of a predicate
    stand together."""
    status, left, failing, known = progress
    kind, parent, node_end, by_predicate = (
        graph.kind, graph.parent, graph.node_end, graph.by_predicate
    )  # fmt: skip
    said = np.empty(status.shape[1], np.int8)
    start = 0
    while start < len(row):
        p, end, failed = predicate[start], start, False
        said[:] = UNASKED
        while end < len(row) and predicate[end] == p:
            said[row[end]] = known[p, row[end]] = truth[end]
            failed |= truth[end] == FAILING
            end += 1
        for place in range(by_predicate[p], by_predicate[p + 1]):
            n, question = graph.node_at[place], graph.question_at[place]
            is_top = parent[n] < 0 and node_end[n] == n + 1
            if is_top and kind[n] == EVERY and question == IS_TRUE and not failed:
                conjoin(n, said, status, left, failing)
                continue
            for number in range(start, end):
                r = row[number]
                if status[n, r] == UNDECIDED:
                    told = VERDICTS[question, truth[number]]
                    told = arrive(kind, left, failing, n, r, told)
                    if told != UNDECIDED:
                        close(kind, parent, node_end, status, left, failing, n, r, told)
        start = end


@kernel
def conjoin(n: int, said: Truths, status: Int8s, left: Int32s, failing: Int8s) -> None:
    """Note at a conjunction that stands alone what was said of one of its predicates, for all rows
    at once: there are no branches."""
    for row in range(len(said)):
        is_open = status[n, row] == UNDECIDED
        yes = is_open and said[row] == TRUE
        no = is_open and said[row] < UNASKED and said[row] != TRUE
        left[n, row] -= yes
        ends = yes and left[n, row] == 0
        verdict = YES + 2 * failing[n, row] if ends else status[n, row]
        status[n, row] = NO if no else verdict


@kernel
def needed_on(graph: Graph, status: Int8s, some: Int32s) -> Int8s:
    """For some predicates and each row, whether undecided nodes ask for them (0 is no)."""
    needed = np.zeros((len(some), status.shape[1]), np.int8)
    for number in range(len(some)):
        p = some[number]
        for place in range(graph.by_predicate[p], graph.by_predicate[p + 1]):
            n = graph.node_at[place]
            for row in range(status.shape[1]):
                needed[number, row] |= status[n, row] & UNDECIDED
    return needed
