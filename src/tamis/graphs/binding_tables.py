"""The two stages of G-ToPSS for one publication: counting edges of GM, and joining binding tables.

    publication's edge ──stars──> edge of GM ──┬── its binding table takes the edge's row
                                               └── each of its subscriptions counts one
    counted as often as it has edges ──> its binding tables, the smallest first ──> constraints

A binding table is a list of edges of the publication, chained from the last to the first. All that
a publication fills in is reset behind it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, number_of
from tamis.arrays.jit import kernel
from tamis.arrays.types import Int8s, Int32s, Int64s
from tamis.graphs.merged_graph import MergedGraph, find_edge, find_pair, pair_hash
from tamis.graphs.publications import Publications
from tamis.graphs.search import Work, bind, grown, names_of, new_work, satisfied, unbind
from tamis.graphs.table import PatternTable

_LOW = (1 << 21) - 1
_STEPS = 100_000
"""Rows of binding tables that a join tries; a candidate beyond that may match or not."""


class EdgeCounts(NamedTuple):
    """What one publication fills in, and what is reset behind it."""

    counts: Int32s
    """By subscription, how many matches of its edges there were."""
    touched: Int32s
    """The subscriptions that were counted."""
    rows: Int32s
    """By edge of GM, the last row of its binding table, or -1."""
    sizes: Int32s
    """By edge of GM, how many rows its binding table has."""
    row: Int32s
    """For each row of all binding tables, the publication's edge and the row before."""
    used: Int64s
    """How many subscriptions were counted, how many rows and edges of GM there are."""
    edges: Int32s
    """The edges of GM whose binding tables have rows."""


class EdgeCount(NamedTuple):
    """What the first stage finds."""

    touched: int
    """Subscriptions of which some edge was met."""
    candidates: int
    """Those of which as many were met as they have."""
    rows: int
    """Rows of all binding tables."""


class SharedJoins(NamedTuple):
    """What is known of pairs of edges of GM and one publication; no arrays if nothing is shared."""

    key: Int64s
    """By the hash of a pair: the pair; a later one takes the place of an earlier one."""
    joins: Int8s
    stars: Int32s
    """By edge of GM, the stars of its vertices and its property; 0 where there is none."""


@kernel
def _count(graph: MergedGraph, v: int, label: int, w: int, i: int, counting: EdgeCounts) -> None:
    """Take a publication's edge into the binding table of an edge of GM, if that is there, and
    count its subscriptions."""
    slot = find_pair(graph, v, w)
    if graph.pairs[slot] == EMPTY:
        return
    slot = find_edge(graph, number_of(graph.pairs[slot]), label)
    if graph.properties[slot] == EMPTY:
        return
    number = number_of(graph.properties[slot])
    used = counting.used
    if counting.rows[number] < 0:
        counting.edges[used[2]] = number
        used[2] += 1
    counting.row[used[1], 0], counting.row[used[1], 1] = i, counting.rows[number]
    counting.rows[number] = used[1]
    counting.sizes[number] += 1
    used[1] += 1
    at = graph.head[number]
    while at >= 0:
        subscription = graph.entry[at, 0]
        if counting.counts[subscription] == 0:
            counting.touched[used[0]] = subscription
            used[0] += 1
        counting.counts[subscription] += 1
        at = graph.entry[at, 1]


@kernel
def count_publication(
    graph: MergedGraph, data: Publications, row: int, stars: Int64s, counting: EdgeCounts
) -> None:
    """The first stage: look up every edge of a publication in GM. ``stars`` are how many there are
    for vertices and for properties."""
    names = names_of(data, row)
    counting.used[:] = 0
    for i in range(data.first[row], data.first[row + 1]):
        key = data.spo[i]
        v, w = names[key >> 42], names[key & _LOW]
        loop = key >> 42 == key & _LOW
        label = names[key >> 21 & _LOW]
        for place in range(-1 if label >= 0 else 0, stars[1]):
            named: Any = label if place < 0 else np.int64(-1 - place)
            if v >= 0 and w >= 0:
                _count(graph, v, named, w, i, counting)
            for first in range(-1, -1 - stars[0], -1):
                if v >= 0:
                    _count(graph, v, named, first, i, counting)
                if w >= 0:
                    _count(graph, first, named, w, i, counting)
                for second in range(-1, -1 - stars[0], -1):
                    if first != second or loop:
                        _count(graph, first, named, second, i, counting)


@kernel
def join_candidates(
    data: Publications,
    row: int,
    table: PatternTable,
    taken: Int32s,
    counting: EdgeCounts,
    shared: SharedJoins,
) -> Int32s:
    """The second stage: join the binding tables of the candidates, and reset all that was
    counted."""
    work = new_work(512)
    found = np.empty(16, np.int32)
    size = 0
    shared.key[:] = -1
    for t in range(counting.used[0]):
        at = counting.touched[t]
        start, end = table.first[at], table.first[at + 1]
        if counting.counts[at] >= end - start and _joins(
            data, row, table, at, taken, counting, work, shared
        ):
            found = grown(found, size + 1)
            found[size] = at
            size += 1
        counting.counts[at] = 0
    for e in range(counting.used[2]):
        counting.rows[counting.edges[e]] = -1
        counting.sizes[counting.edges[e]] = 0
    return found[:size]


@kernel
def _pairs_join(
    data: Publications, edges: int, counting: EdgeCounts, work: Work, shared: SharedJoins
) -> bool:
    """Whether the smallest binding table of a subscription joins with each of the others."""
    one = work.high[0]
    for e in range(1, edges):
        other = work.high[e]
        key = one << 32 | other
        at = pair_hash(one, other) & len(shared.key) - 1
        if shared.key[at] != key:
            shared.key[at] = key
            shared.joins[at] = _tables_join(data, one, other, counting, shared.stars)
        if not shared.joins[at]:
            return False
    return True


@kernel
def _tables_join(
    data: Publications, one: int, other: int, counting: EdgeCounts, stars: Int32s
) -> bool:
    """Whether two binding tables have rows that agree on the stars that both edges have."""
    ours = counting.rows[one]
    while ours >= 0:
        mine = data.spo[counting.row[ours, 0]]
        theirs = counting.rows[other]
        while theirs >= 0:
            if _agree(mine, data.spo[counting.row[theirs, 0]], one, other, stars):
                return True
            theirs = counting.row[theirs, 1]
        ours = counting.row[ours, 1]
    return False


@kernel
def _agree(mine: int, yours: int, one: int, other: int, stars: Int32s) -> bool:
    for a in range(3):
        if stars[one, a] == 0:
            continue
        for b in range(3):
            same_star = (a == 1) == (b == 1) and stars[one, a] == stars[other, b]
            if same_star and mine >> 42 - 21 * a & _LOW != yours >> 42 - 21 * b & _LOW:
                return False
    return True


@kernel
def _joins(
    data: Publications,
    row: int,
    table: PatternTable,
    at: int,
    taken: Int32s,
    counting: EdgeCounts,
    work: Work,
    shared: SharedJoins,
) -> bool:
    """Whether the natural join of the binding tables of a subscription has a row that satisfies
    its constraints, or there are too many to try; the smallest table comes first."""
    start, edges = table.first[at], table.first[at + 1] - table.first[at]
    for e in range(edges):  # insertion sort by the sizes of the tables
        if counting.rows[taken[start + e]] < 0:
            return False
        place = e
        while place and counting.sizes[work.high[place - 1]] > counting.sizes[taken[start + e]]:
            work.high[place] = work.high[place - 1]
            work.edges[place] = work.edges[place - 1]
            place -= 1
        work.high[place] = taken[start + e]
        work.edges[place] = table.edges[start + e]
    if len(shared.key) and not _pairs_join(data, edges, counting, work, shared):
        return False
    steps = 0
    work.binding[: table.variables[at]] = -1
    work.order[:edges] = 0
    work.bound[:edges] = 0
    depth = 0
    work.low[0] = counting.rows[work.high[0]]
    while depth >= 0:
        unbind(work, depth)
        entry = work.low[depth]
        if entry < 0:
            depth -= 1
            continue
        work.low[depth] = counting.row[entry, 1]
        i = counting.row[entry, 0]
        steps += 1
        if steps > _STEPS:
            return True
        if bind(work, depth, data, i) and satisfied(work, depth, data, row, table, at):
            depth += 1
            if depth == edges:
                return True
            work.low[depth] = counting.rows[work.high[depth]]
    return False


def new_counts(subscriptions: int, edges: int, rows: int) -> EdgeCounts:
    """Counters at their beginning."""
    return EdgeCounts(
        np.zeros(subscriptions, np.int32),
        np.empty(subscriptions, np.int32),
        np.full(edges, -1, np.int32),
        np.zeros(edges, np.int32),
        np.empty((rows, 2), np.int32),
        np.zeros(3, np.int64),
        np.empty(edges, np.int32),
    )
