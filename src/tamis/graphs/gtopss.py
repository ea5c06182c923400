"""G-ToPSS as published: all patterns merged into one graph GM, candidates found by counting edges.

Matching (section 4.2). A publication edge (v, w) looks up v w, v ⋆i, ⋆i w and ⋆i ⋆j, and ⋆i ⋆i only
if it is a loop. Each edge of GM that it finds takes (v, w) into its binding table and counts one
for each of its subscriptions. A subscription with as many counts as edges is a candidate: the
binding tables of its edges are joined, the smallest first, and its constraints are tested.

Beyond the paper: a property may be a star too; a reset concerns every subscription that was
counted; the mapping of variables to stars can be *sparse*: variables get their stars by what is
around them, so that like edges of different subscriptions fall on one edge of GM; and joins can be
*shared*. A star has one meaning within a subscription, so whether the binding tables of two edges
of GM have a row in common is the same question for all subscriptions that have both edges. It is
answered once for a publication; a subscription with two edges that do not join is not joined.

Patterns and publications are numbered as for ``PatternIndex``, to compare algorithms and not
languages. Constraints are those of ``encoding.py``; filters that need Python are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, number_of
from tamis.arrays.jit import kernel
from tamis.arrays.types import Int8s, Int32s, Int64s
from tamis.errors import SubscriptionError
from tamis.graphs.encoding import EncodedPattern
from tamis.graphs.index import arrays_of
from tamis.graphs.merged_graph import (
    MergedGraph,
    empty_graph,
    find_edge,
    find_pair,
    insert_edges,
    pair_hash,
    remove_edges,
    roomy,
    roomy_graph,
)
from tamis.graphs.publications import Publications
from tamis.graphs.search import Work, bind, grown, names_of, new_work, satisfied, unbind
from tamis.graphs.table import PatternTable, empty_table

_LOW = (1 << 21) - 1
_STEPS = 100_000
"""Rows of binding tables that a join tries; a candidate beyond that may match or not."""
_SHARED = 1 << 12
"""Pairs of edges that are remembered for a publication."""


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


class GToPSS:
    """Subscriptions by number, in the merged graph; ``sparse`` chooses stars by structure,
    ``shared`` joins pairs of edges once for all subscriptions."""

    def __init__(self, *, sparse: bool = False, shared: bool = False) -> None:
        self.sparse = sparse
        self.shared = shared
        self._used = np.zeros(3, np.int64)
        self._graph = empty_graph()
        self._stars = np.zeros(2, np.int64)
        self._table = empty_table(64, 64, 64, 0)
        """The subscriptions themselves, by number."""
        self._taken: Int32s = np.empty(64, np.int32)
        """For each edge of theirs, the edge of GM."""
        self._is_there = np.zeros(64, bool)
        self._size = 0
        self._counting = _counts(0, 0, 0)
        nothing = np.empty((0, 3), np.int32)
        self._sharing = SharedJoins(np.empty(0, np.int64), np.empty(0, np.int8), nothing)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._is_there))

    @property
    def size(self) -> int:
        """The number that comes next."""
        return self._size

    @property
    def edges(self) -> int:
        """How many edges GM has."""
        return int(np.count_nonzero(self._graph.properties != EMPTY))

    @property
    def nbytes(self) -> int:
        """The bytes of GM, without the subscriptions themselves."""
        return sum(array.nbytes for array in self._graph)

    def insert(self, number: int, pattern: EncodedPattern) -> None:
        """Algorithm Insert, for a subscription under a number that is greater than all before."""
        if number < self._size:
            raise SubscriptionError(f"the number {number} of a pattern is, or was, in use")
        edges = np.array(self._starred(pattern), np.int32).reshape(-1, 3)
        self._graph = roomy_graph(self._graph, self._used, len(edges))
        taken = np.empty(len(edges), np.int32)
        insert_edges(self._graph, edges, number, self._used, taken)
        self._append(number, pattern, taken)

    def _append(self, number: int, pattern: EncodedPattern, taken: Int32s) -> None:
        """Keep a subscription behind the others, for the second stage."""
        edges, constraint, bound = arrays_of(pattern)
        start = int(self._table.first[self._size])
        first = int(self._table.first_constraint[self._size])
        self._make_room(number + 1, start + len(edges), first + len(bound))
        table = self._table
        table.first[self._size : number + 1] = start
        table.first_constraint[self._size : number + 1] = first
        table.edges[start : start + len(edges)] = edges
        self._taken[start : start + len(edges)] = taken
        table.first[number + 1] = start + len(edges)
        table.constraint[first : first + len(bound)] = constraint
        table.bound[first : first + len(bound)] = bound
        table.first_constraint[number + 1] = first + len(bound)
        table.variables[number] = len(pattern.variables)
        self._is_there[number] = True
        self._size = number + 1

    def _make_room(self, size: int, edges: int, constraints: int) -> None:
        table = self._table
        self._table = table._replace(
            first=roomy(table.first, size + 1),
            edges=roomy(table.edges, edges),
            first_constraint=roomy(table.first_constraint, size + 1),
            constraint=roomy(table.constraint, constraints),
            bound=roomy(table.bound, constraints),
            variables=roomy(table.variables, size),
        )
        self._taken = roomy(self._taken, edges)
        if size > len(self._is_there):
            self._is_there = np.concatenate((self._is_there, np.zeros(2 * size, bool)))

    def remove(self, number: int) -> None:
        """Take a subscription out of GM."""
        if not 0 <= number < self._size or not self._is_there[number]:
            raise SubscriptionError(f"no pattern has the number {number}")
        first = self._table.first
        remove_edges(self._graph, self._taken[first[number] : first[number + 1]], number)
        self._is_there[number] = False

    def match(self, data: Publications) -> list[list[int]]:
        """The numbers of the subscriptions that each publication matches."""
        counting, shared = self._prepared(data)
        found = []
        for row in range(len(data)):
            count_publication(self._graph, data, row, self._stars, counting)
            numbers = join_candidates(data, row, self._table, self._taken, counting, shared)
            found.append(numbers.tolist())
        return found

    def stages(
        self, data: Publications, row: int
    ) -> tuple[Callable[[], None], Callable[[], Int32s]]:
        """The two stages for one publication, to be timed apart."""
        counting, shared = self._prepared(data)
        return (
            lambda: count_publication(self._graph, data, row, self._stars, counting),
            lambda: join_candidates(data, row, self._table, self._taken, counting, shared),
        )

    def counted(self, data: Publications, row: int) -> EdgeCount:
        """What the first stage finds of one publication."""
        counting, shared = self._prepared(data)
        count_publication(self._graph, data, row, self._stars, counting)
        touched = counting.touched[: counting.used[0]]
        sizes = np.diff(self._table.first[: self._size + 1])
        candidates = int((counting.counts[touched] >= sizes[touched]).sum())
        found = EdgeCount(len(touched), candidates, int(counting.used[1]))
        join_candidates(data, row, self._table, self._taken, counting, shared)  # which resets
        return found

    def _starred(self, pattern: EncodedPattern) -> list[tuple[int, int, int]]:
        """The edges with stars for variables, numbered from 1 in each subscription."""
        labels = {label for _, label, _ in pattern.edges if label < 0}
        vertices = list(
            dict.fromkeys(term for s, _, o in pattern.edges for term in (s, o) if term < 0)
        )
        if self.sparse:
            around = {
                star: sorted(
                    (label, o if s == star else s, s == star)
                    for s, label, o in pattern.edges
                    if star in (s, o) and label >= 0
                )
                for star in vertices
            }
            vertices.sort(key=lambda star: around[star])
        names = {star: -1 - place for place, star in enumerate(vertices)}
        properties = {star: -1 - place for place, star in enumerate(sorted(labels, reverse=True))}
        self._stars[:] = np.maximum(self._stars, [len(names), len(properties)])
        return [
            (names.get(s, s), properties.get(label, label), names.get(o, o))
            for s, label, o in pattern.edges
        ]

    def _prepared(self, data: Publications) -> tuple[EdgeCounts, SharedJoins]:
        """Counters for the largest publication, and what is shared."""
        most = int(np.diff(data.first).max(initial=0)) * int((self._stars[0] + 1) ** 2)
        rows = max(1, most * int(self._stars[1] + 1))
        have = self._counting
        enough = len(have.row) >= rows and len(have.counts) >= self._size
        if not enough or len(have.rows) < self._used[1]:
            self._counting = _counts(2 * self._size, 2 * int(self._used[1]), rows)
        if self.shared and len(self._sharing.stars) < self._used[1]:
            graph, edges = self._graph, int(self._used[1])
            stars = np.zeros((edges, 3), np.int32)
            stars[:, [0, 2]] = graph.pair[graph.edge[:edges, 0]]
            stars[:, 1] = graph.edge[:edges, 1]
            key, joins = np.empty(_SHARED, np.int64), np.empty(_SHARED, np.int8)
            self._sharing = SharedJoins(key, joins, np.minimum(stars, 0))
        return self._counting, self._sharing


def _counts(subscriptions: int, edges: int, rows: int) -> EdgeCounts:
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
