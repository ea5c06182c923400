"""G-ToPSS as published: all patterns merged into one graph GM, candidates found by counting edges.

    T1    (v, w)  →  pair          vertices of GM: constants, and stars for variables
    T2    (pair, property)  →  edge of GM  →  list of subscriptions, binding table

Matching (section 4.2). A publication edge (v, w) looks up v w, v ⋆i, ⋆i w and ⋆i ⋆j, and ⋆i ⋆i only
if it is a loop. Each edge of GM that it finds takes (v, w) into its binding table and counts one
for each of its subscriptions. A subscription with as many counts as edges is a candidate: the
binding tables of its edges are joined, the smallest first, and its constraints are tested.

Beyond the paper: a property may be a star too, a reset concerns every subscription that was
counted, and the mapping of variables to stars can be *sparse*: variables get their stars by what is
around them, so that like edges of different subscriptions fall on one edge of GM.

Patterns and publications are numbered as for ``PatternIndex``, to compare algorithms and not
languages. Constraints are those of ``encoding.py``; filters that need Python are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.hash_table import (
    EMPTY,
    SEED,
    delete_slot,
    empty_slots,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Int32s, Int64s
from tamis.errors import SubscriptionError
from tamis.graphs.encoding import EncodedPattern
from tamis.graphs.index import table_of
from tamis.graphs.publications import Publications
from tamis.graphs.search import Work, bind, grown, names_of, new_work, satisfied, unbind
from tamis.graphs.table import PatternTable

_LOW = (1 << 21) - 1


class MergedGraph(NamedTuple):
    """GM; the arrays have room behind what is used."""

    pairs: Buckets
    """T1: from two vertices to the number of the pair."""
    pair: Int32s
    """The vertices of each pair."""
    properties: Buckets
    """T2: from a pair and a property to the number of the edge."""
    edge: Int32s
    """The pair and the property of each edge."""
    head: Int32s
    """The first entry of each edge's list of subscriptions."""
    entry: Int32s
    """The subscription of each entry, and the next entry of its list."""


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


@kernel
def pair_hash(v: int, w: int) -> int:
    """The hash of two vertices; stars are negative."""
    return mixed(mixed(SEED, v + (1 << 30)), w + (1 << 30))


@kernel
def find_pair(graph: MergedGraph, v: int, w: int) -> int:
    """The slot of a pair of vertices, or the empty one where it would be."""
    hash = pair_hash(v, w)
    at = hash & len(graph.pairs) - 1
    while graph.pairs[at] != EMPTY:
        number = number_of(graph.pairs[at])
        if (
            graph.pairs[at] >> 32 == hash
            and graph.pair[number, 0] == v
            and graph.pair[number, 1] == w
        ):
            return at
        at = at + 1 & len(graph.pairs) - 1
    return at


@kernel
def find_edge(graph: MergedGraph, pair: int, label: int) -> int:
    """The slot of an edge of a pair, or the empty one where it would be."""
    hash = pair_hash(pair, label)
    at = hash & len(graph.properties) - 1
    while graph.properties[at] != EMPTY:
        number = number_of(graph.properties[at])
        same = graph.edge[number, 0] == pair and graph.edge[number, 1] == label
        if graph.properties[at] >> 32 == hash and same:
            return at
        at = at + 1 & len(graph.properties) - 1
    return at


@kernel
def insert_edges(
    graph: MergedGraph, edges: Int32s, subscription: int, used: Int64s, taken: Int32s
) -> None:
    """Algorithm Insert; ``used`` counts pairs, edges and entries, ``taken`` gets edges of GM."""
    for e in range(len(edges)):
        v, label, w = edges[e]
        slot = find_pair(graph, v, w)
        if graph.pairs[slot] == EMPTY:
            pair = used[0]
            graph.pair[pair, 0], graph.pair[pair, 1] = v, w
            put_slot(graph.pairs, pair_hash(v, w), pair)
            used[0] += 1
        else:
            pair = number_of(graph.pairs[slot])
        slot = find_edge(graph, pair, label)
        if graph.properties[slot] == EMPTY:
            number = used[1]
            graph.edge[number, 0], graph.edge[number, 1] = pair, label
            graph.head[number] = -1
            put_slot(graph.properties, pair_hash(pair, label), number)
            used[1] += 1
        else:
            number = number_of(graph.properties[slot])
        entry = used[2]
        graph.entry[entry, 0], graph.entry[entry, 1] = subscription, graph.head[number]
        graph.head[number] = entry
        used[2] += 1
        taken[e] = number


@kernel
def remove_edges(graph: MergedGraph, taken: Int32s, subscription: int) -> None:
    """Take a subscription out of the lists of its edges; an edge without any leaves T2."""
    for number in taken:
        last, at = -1, graph.head[number]
        while at >= 0 and graph.entry[at, 0] != subscription:
            last, at = at, graph.entry[at, 1]
        if at < 0:
            continue
        if last >= 0:
            graph.entry[last, 1] = graph.entry[at, 1]
        else:
            graph.head[number] = graph.entry[at, 1]
        if graph.head[number] < 0:
            pair, label = graph.edge[number]
            slot = find_edge(graph, pair, label)
            if graph.properties[slot] != EMPTY:
                delete_slot(graph.properties, slot)


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
    data: Publications, row: int, table: PatternTable, taken: Int32s, counting: EdgeCounts
) -> Int32s:
    """The second stage: join the binding tables of the candidates, and reset all that was
    counted."""
    work = new_work(512)
    found = np.empty(16, np.int32)
    size = 0
    for t in range(counting.used[0]):
        at = counting.touched[t]
        start, end = table.first[at], table.first[at + 1]
        if counting.counts[at] >= end - start and _joins(
            data, row, table, at, taken, counting, work
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
def _joins(
    data: Publications,
    row: int,
    table: PatternTable,
    at: int,
    taken: Int32s,
    counting: EdgeCounts,
    work: Work,
) -> bool:
    """Whether the natural join of the binding tables of a subscription has a row that satisfies
    its constraints; the smallest table comes first."""
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
        if bind(work, depth, data, i) and satisfied(work, depth, data, row, table, at):
            depth += 1
            if depth == edges:
                return True
            work.low[depth] = counting.rows[work.high[depth]]
    return False


class GToPSS:
    """Subscriptions by number, in the merged graph; ``sparse`` chooses stars by structure."""

    def __init__(self, *, sparse: bool = False) -> None:
        self.sparse = sparse
        self._used = np.zeros(3, np.int64)
        self._graph = MergedGraph(
            empty_slots(1_024),
            np.empty((1_024, 2), np.int32),
            empty_slots(1_024),
            np.empty((1_024, 2), np.int32),
            np.empty(1_024, np.int32),
            np.empty((1_024, 2), np.int32),
        )
        self._stars = np.zeros(2, np.int64)
        self._patterns: dict[int, EncodedPattern] = {}
        self._taken: dict[int, Int32s] = {}
        self._compiled: tuple[PatternTable, Int32s, EdgeCounts] | None = None

    def __len__(self) -> int:
        return len(self._patterns)

    @property
    def edges(self) -> int:
        """How many edges GM has."""
        return int(np.count_nonzero(self._graph.properties != EMPTY))

    @property
    def nbytes(self) -> int:
        """The bytes of GM, without the subscriptions themselves."""
        return sum(array.nbytes for array in self._graph)

    def insert(self, number: int, pattern: EncodedPattern) -> None:
        """Algorithm Insert, for a subscription under a small number."""
        if number in self._patterns:
            raise SubscriptionError(f"the number {number} of a pattern is in use")
        edges = np.array(self._starred(pattern), np.int32).reshape(-1, 3)
        self._reserve(len(edges))
        taken = np.empty(len(edges), np.int32)
        insert_edges(self._graph, edges, number, self._used, taken)
        self._patterns[number] = pattern
        self._taken[number] = taken
        self._compiled = None

    def remove(self, number: int) -> None:
        """Take a subscription out of GM."""
        if number not in self._patterns:
            raise SubscriptionError(f"no pattern has the number {number}")
        remove_edges(self._graph, self._taken.pop(number), number)
        del self._patterns[number]
        self._compiled = None

    def match(self, data: Publications) -> list[list[int]]:
        """The numbers of the subscriptions that each publication matches."""
        table, taken, counting = self._prepared(data)
        found = []
        for row in range(len(data)):
            count_publication(self._graph, data, row, self._stars, counting)
            found.append(join_candidates(data, row, table, taken, counting).tolist())
        return found

    def stages(
        self, data: Publications, row: int
    ) -> tuple[Callable[[], None], Callable[[], Int32s]]:
        """The two stages for one publication, to be timed apart."""
        table, taken, counting = self._prepared(data)
        return (
            lambda: count_publication(self._graph, data, row, self._stars, counting),
            lambda: join_candidates(data, row, table, taken, counting),
        )

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

    def _reserve(self, edges: int) -> None:
        """Make room for so many edges more."""
        graph, used = self._graph, self._used
        self._graph = MergedGraph(
            roomy_slots(graph.pairs, int(used[0]) + edges),
            _roomy(graph.pair, int(used[0]) + edges),
            roomy_slots(graph.properties, int(used[1]) + edges),
            _roomy(graph.edge, int(used[1]) + edges),
            _roomy(graph.head, int(used[1]) + edges),
            _roomy(graph.entry, int(used[2]) + edges),
        )

    def _prepared(self, data: Publications) -> tuple[PatternTable, Int32s, EdgeCounts]:
        """The subscriptions themselves, by number, and counters for the largest publication."""
        most = int(np.diff(data.first).max(initial=0)) * int((self._stars[0] + 1) ** 2)
        rows = max(1, most * int(self._stars[1] + 1))
        if self._compiled is None or len(self._compiled[2].row) < rows:
            size = max(self._patterns, default=-1) + 1
            every = [self._patterns.get(number, _NOTHING) for number in range(size)]
            table = table_of(every, np.arange(size, dtype=np.int32))
            lists = [self._taken[number] for number in range(size) if number in self._taken]
            taken = np.concatenate([np.empty(0, np.int32), *lists])
            edges = int(self._used[1])
            counting = EdgeCounts(
                np.zeros(size, np.int32),
                np.empty(size, np.int32),
                np.full(edges, -1, np.int32),
                np.zeros(edges, np.int32),
                np.empty((rows, 2), np.int32),
                np.zeros(3, np.int64),
                np.empty(edges, np.int32),
            )
            self._compiled = table, taken, counting
        return self._compiled


_NOTHING = EncodedPattern((), (), (), ())


def _roomy(array: Int32s, size: int) -> Int32s:
    if size <= len(array):
        return array
    larger = np.empty((2 * size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
