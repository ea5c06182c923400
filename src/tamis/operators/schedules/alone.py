"""Adaptive for one row: the same rounds as in ``adaptive``, from scores that are kept up to date.

A block of rows adds scores up again, for all its rows at once. For one row it is cheaper to take
the credits of a node away when it is decided: so each edge is touched twice for an event, in the
order in which edges stand, instead of once for each look at its predicate.

    node     open   counted          score of a predicate = the units of its edges at counted nodes
    0        yes    yes              before a round, what differs is added or taken away
    1        no     yes  ──taken away
    2        yes    no   ──added

Only those whose score is high enough for the round are added up again one by one, without what the
round has claimed. Credits are whole units, so nothing is lost in adding and taking away, and a row
is asked for the same predicates as in a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel, prefetch
from tamis.arrays.types import Bytes, Float64s, Int32s, Int64s, UInt64s
from tamis.operators.schedules.adaptive import Credits, descending
from tamis.operators.schedules.graph import Expectation, Graph
from tamis.operators.schedules.progress import Progress

AHEAD = 4
"""Predicates ahead of which memory is asked for: it does not fit into the second level of caches,
beyond which an access takes 120 ns."""
CHOSEN = np.inf
"""The rate of what the round takes."""


class TurnAlone(NamedTuple):
    """What changes from round to round."""

    score: Int64s
    """Of each predicate, in units."""
    counted: Bytes
    """Whether the score counts each node."""
    free: Bytes
    """Whether each node is undecided, and not claimed in this round."""
    paid: Bytes
    """Whether the set-up of each operator is paid."""
    worth: Float64s
    """A unit of each predicate over what the predicate costs now."""


def first_turn_alone(progress: Progress, expectation: Expectation, credits: Credits) -> TurnAlone:
    """The turn before the first round: no set-up is paid."""
    counted, free = np.zeros((2, len(progress.open)), np.uint8)
    score, paid = np.zeros(len(credits.unit), np.int64), np.zeros(len(expectation.setup), np.uint8)
    if progress.open.all():
        counted[:] = 1
        score[:] = np.rint(credits.total / credits.unit)
    turn = TurnAlone(score, counted, free, paid, np.empty(len(score)))
    weigh(expectation, credits.unit, turn)
    return turn


@kernel
def recount(
    predicate: Int32s, credits: Credits, undecided: UInt64s | Bytes, turn: TurnAlone
) -> None:
    """Count the nodes that are undecided, and no others; none is claimed."""
    units, first_edge = credits.by_node, credits.first_edge
    score, counted, free = turn.score, turn.counted, turn.free
    for n in range(len(undecided)):
        now = undecided[n]
        free[n] = now
        if counted[n] != now:
            counted[n] = now
            for e in range(first_edge[n], first_edge[n + 1]):
                score[predicate[e]] += units[e] if now else -np.int64(units[e])


@kernel
def choose_alone(
    graph: Graph, progress: Progress, expectation: Expectation, credits: Credits,
    turn: TurnAlone, drop: float, most: int, chosen: Int32s,
) -> int:  # fmt: skip
    """Write the predicates of the next round into ``chosen``, at most ``most``; how many."""
    by_predicate, node_at, asked = graph.by_predicate, graph.node_at, progress.asked
    score, paid, worth, operator = turn.score, turn.paid, turn.worth, expectation.operator
    owner, first_node, predicate = graph.owner, graph.first_node, graph.predicate
    units, first_edge, free = credits.by_node, credits.first_edge, turn.free
    recount(graph.predicate, credits, progress.open, turn)
    every, rate, best = np.arange(len(worth), dtype=np.int32), np.empty(len(worth)), 0.0
    for p in range(len(worth)):
        rate[p] = score[p] * worth[p] * (1 - asked[p])
        best = max(best, rate[p])
    count, least = 0, best * drop
    if best == 0:
        return 0
    order, margin = descending(every, rate, least, best), np.empty(len(worth), np.int32)
    for p in order:
        margin[p] = score[p] - np.int64(np.ceil(least * (1 - 1e-6) / worth[p]))
    for place in range(len(order)):
        if place + AHEAD < len(order):
            prefetch(node_at, by_predicate[order[place + AHEAD]])
        p = order[place]
        if margin[p] < 0:
            continue
        rate[p] = CHOSEN
        count += 1
        if count == most:
            break
        claim_alone(
            by_predicate[p], by_predicate[p + 1], node_at, owner, first_node, first_edge,
            predicate, units, free, margin,
        )  # fmt: skip
    count, pays = 0, False
    for p in range(len(rate)):
        if rate[p] == CHOSEN:
            asked[p] = 1
            chosen[count] = p
            count += 1
            pays = pays or not paid[operator[p]]
            paid[operator[p]] = 1
    if pays:
        weigh(expectation, credits.unit, turn)
    return count


@kernel
def weigh(expectation: Expectation, unit: Float64s, turn: TurnAlone) -> None:
    """Write what a unit of each predicate is worth."""
    cost, operator, share = expectation.cost, expectation.operator, expectation.share
    for p in range(len(unit)):
        due = cost[p] if turn.paid[operator[p]] else cost[p] + share[operator[p]]
        turn.worth[p] = unit[p] / due


@kernel(allocates=False)
def claim_alone(
    first: int, last: int, node_at: Int32s, owner: Int32s, first_node: Int32s, first_edge: Int32s,
    predicate: Int32s, units: Bytes, free: Bytes, margin: Int32s,
) -> None:  # fmt: skip
    """Claim the subscriptions that wait for a predicate, whose edges are given."""
    flat = len(owner) == len(first_node) - 1  # each subscription is one node
    for place in range(first, last):
        prefetch(predicate, first_edge[node_at[place]])
    for place in range(first, last):
        n = node_at[place]
        if not free[n]:
            continue
        begin, end = (n, n + 1) if flat else (first_node[owner[n]], first_node[owner[n] + 1])
        for m in range(begin, end):
            if free[m]:
                free[m] = 0
                for e in range(first_edge[m], first_edge[m + 1]):
                    margin[predicate[e]] -= units[e]
