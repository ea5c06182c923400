"""What is known of some events (rows) while they are decided, for 64 rows at a time.

Of each node a word says on which rows it is undecided, bit r for row r, others on which it has come
out. So an answer that says the same of many rows is noted for all of them at once, and to ask how
many rows wait for a predicate is a look at as many words as it has edges.

    node   undecided   yes     failed         how many parts are left, in binary, a word a digit
    0      0110        0001    0000           1: 0100   2: 0010     (row 1: two, row 2: one)

Three answers go up from a predicate: NO, YES, FAILED. NO ends an EVERY, YES ends a SOME; what
ends the topmost node decides the subscription, and its other predicates are not needed for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import inlined, kernel, prefetch
from tamis.arrays.types import Int8s, Int32s, Truths, UInt64s
from tamis.operators.schedules.graph import (
    ANY,
    EVERY,
    IS_FALSE,
    IS_TRUE,
    NOT_FALSE,
    NOT_TRUE,
    Graph,
)
from tamis.predicates.truth import FAILED, FALSE, OPEN, TRUE, UNKNOWN

NO, YES, FAILING, UNDECIDED = FALSE, TRUE, FAILED, OPEN
"""What is known of a node."""
UNASKED = OPEN
"""The truth of a predicate that was not evaluated."""
ROWS = 64
"""Rows of a block: the bits of a word."""
NOWHERE, FIRST, EVERYWHERE = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)
"""On no row, on the first one, and on all."""


class Progress(NamedTuple):
    """What is known of a block of rows."""

    open: UInt64s
    """Where each node is undecided, and all above it are."""
    yes: UInt64s
    failed: UInt64s
    stuck: UInt64s
    """Where something that a node is made of has failed."""
    left: UInt64s
    """The binary digits of how many parts a node still waits for."""
    asked: UInt64s
    """Where each predicate was asked for."""
    truth: Truths
    """Of each predicate on each row: UNASKED, or what came out."""


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
    word = np.uint8 if rows == 1 else np.uint64  # less memory to look at
    undecided, yes, failed, stuck = np.zeros((4, len(graph.kind)), word)
    progress = Progress(
        undecided,
        yes,
        failed,
        stuck,
        np.empty(graph.first_digit[-1], word),
        np.zeros(graph.predicates, word),
        np.full((graph.predicates, rows), UNASKED, np.int8),
    )
    write_widths(graph.width, graph.first_digit, progress.left)
    mark_wanted(graph.first_node, progress.open, wanted.row, wanted.subscription)
    if (graph.width == 0).any():
        settle_empty(graph, progress)
    return progress


@kernel
def write_widths(width: Int32s, first_digit: Int32s, left: UInt64s) -> None:
    """Write the width of each node in binary, for all rows."""
    for n in range(len(width)):
        for place in range(first_digit[n], first_digit[n + 1]):
            is_set = width[n] >> (place - first_digit[n]) & 1
            left[place] = EVERYWHERE if is_set else NOWHERE


@kernel
def mark_wanted(first_node: Int32s, undecided: UInt64s, row: Int32s, subscription: Int32s) -> None:
    """Mark the nodes of pairs as undecided; the rows of a block are numbered from any multiple of
    ``ROWS`` on."""
    for number in range(len(row)):
        own, bit = subscription[number], FIRST << np.uint64(row[number] % ROWS)
        for n in range(first_node[own], first_node[own + 1]):
            undecided[n] |= bit


@kernel
def write_verdicts(
    first_node: Int32s, progress: Progress, row: Int32s, subscription: Int32s, verdict: Int8s
) -> None:
    """Write what is known of pairs, whose rows are numbered likewise."""
    undecided, yes, failed = progress.open, progress.yes, progress.failed
    for number in range(len(row)):
        n, bit = first_node[subscription[number]], FIRST << np.uint64(row[number] % ROWS)
        found = UNDECIDED if undecided[n] & bit else NO
        found = YES if yes[n] & bit else found
        verdict[number] = FAILING if failed[n] & bit else found


@kernel
def settle_empty(graph: Graph, progress: Progress) -> None:
    """Decide nodes that are made of nothing: EVERY is so, SOME is not."""
    for n in range(len(graph.kind)):
        rows = progress.open[n]
        if graph.width[n] == 0 and rows:
            progress.open[n] = NOWHERE
            every = graph.kind[n] == EVERY
            progress.yes[n] |= rows if every else NOWHERE
            no, yes = (NOWHERE, rows) if every else (rows, NOWHERE)
            climb(
                graph.kind, graph.parent, graph.node_end, graph.first_digit, progress.open,
                progress.yes, progress.failed, progress.stuck, progress.left, graph.parent[n], no,
                yes, NOWHERE,
            )  # fmt: skip


@inlined
def count_down(left: UInt64s, first: int, end: int, some: np.uint64) -> np.uint64:
    """Take one away from the number with these digits on some rows; those where nothing is left."""
    borrow, rest = some, NOWHERE
    for place in range(first, end):
        digit = left[place]
        left[place] = digit ^ borrow
        rest |= digit ^ borrow
        borrow &= ~digit
    return some & ~rest


@inlined
def climb(
    kind: Int8s, parent: Int32s, node_end: Int32s, first_digit: Int32s, undecided: UInt64s,
    said: UInt64s, failed: UInt64s, stuck: UInt64s, left: UInt64s, n: int, no: np.uint64,
    yes: np.uint64, fail: np.uint64,
) -> None:  # fmt: skip
    """Note on which rows a part of a node came out in which way, and decide what this decides: the
    node, and those above; what is below matters no longer. ``said`` is where nodes are YES."""
    while n >= 0:
        live = undecided[n]
        no, yes, fail = no & live, yes & live, fail & live
        if not no | yes | fail:
            return
        ends, goes = (no, yes) if kind[n] == EVERY else (yes, no)
        settled, some = NOWHERE, goes | fail
        if some:
            if fail:
                stuck[n] |= fail
            settled = count_down(left, first_digit[n], first_digit[n + 1], some)
            fail = NOWHERE
            if settled:
                settled, fail = settled & ~stuck[n], settled & stuck[n]
        closed = ends | settled | fail
        if not closed:
            return
        undecided[n] = live & ~closed
        for below in range(n + 1, node_end[n]):
            undecided[below] &= ~closed
        no, yes = (ends, settled) if kind[n] == EVERY else (settled, ends)
        if yes:
            said[n] |= yes
        if fail:
            failed[n] |= fail
        n = parent[n]


@kernel
def waiting(graph: Graph, undecided: UInt64s, p: int) -> np.uint64:
    """On which rows undecided nodes ask for a predicate."""
    found = NOWHERE
    for place in range(graph.by_predicate[p], graph.by_predicate[p + 1]):
        found |= undecided[graph.node_at[place]]
    return found


@kernel
def waiting_for(graph: Graph, undecided: UInt64s, some: Int32s) -> UInt64s:
    """The same for several."""
    found = np.empty(len(some), np.uint64)
    for number in range(len(some)):
        found[number] = waiting(graph, undecided, some[number])
    return found


@kernel
def answer(graph: Graph, progress: Progress, row: Int32s, predicate: Int32s, truth: Truths) -> None:
    """Note the truths of predicates on rows, and decide what they decide; the rows of a predicate
    stand together."""
    known, asked = progress.truth, progress.asked
    rows, says = np.empty(4, np.uint64), np.empty(5, np.uint64)  # by truth; YES by question
    number = 0
    while number < len(row):
        p = predicate[number]
        rows[:] = NOWHERE
        while number < len(row) and predicate[number] == p:
            known[p, row[number]] = truth[number]
            rows[truth[number]] |= FIRST << np.uint64(row[number])
            number += 1
        if number < len(row):
            prefetch(graph.node_at, graph.by_predicate[predicate[number]])
        every = rows[0] | rows[1] | rows[2] | rows[3]
        asked[p] |= every
        says[IS_TRUE], says[NOT_TRUE] = rows[TRUE], rows[FALSE] | rows[UNKNOWN]
        says[IS_FALSE], says[NOT_FALSE] = rows[FALSE], rows[TRUE] | rows[UNKNOWN]
        says[ANY] = every
        tell(graph, progress, p, every, says, rows[FAILED])


@kernel(allocates=False)
def tell(
    graph: Graph, progress: Progress, p: int, every: np.uint64, says: UInt64s, failed: np.uint64
) -> None:
    """Tell the nodes of a predicate on which rows it came out, what it says to each question, and
    where it has failed."""
    first, last = graph.by_predicate[p], graph.by_predicate[p + 1]
    for place in range(first, last):
        n = graph.node_at[place]
        prefetch(progress.open, n)
        prefetch(progress.left, graph.first_digit[n])
    for place in range(first, last):
        n = graph.node_at[place]
        if progress.open[n] & every:
            yes = says[graph.question_at[place]]
            fail = failed & ~yes
            climb(
                graph.kind, graph.parent, graph.node_end, graph.first_digit, progress.open,
                progress.yes, progress.failed, progress.stuck, progress.left, n,
                every & ~yes & ~fail, yes, fail,
            )  # fmt: skip
