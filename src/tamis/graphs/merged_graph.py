"""GM, the graph that G-ToPSS merges all patterns into, as two hash tables in flat arrays.

    T1    (v, w)  →  pair          vertices of GM: constants, and stars for variables
    T2    (pair, property)  →  edge of GM  →  list of subscriptions

Paper, section 4.1. Insertion and removal take time in proportion to the edges of a pattern, but for
the removal from a list, which is walked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def empty_graph() -> MergedGraph:
    """A graph without edges."""
    return MergedGraph(
        empty_slots(1_024),
        np.empty((1_024, 2), np.int32),
        empty_slots(1_024),
        np.empty((1_024, 2), np.int32),
        np.empty(1_024, np.int32),
        np.empty((1_024, 2), np.int32),
    )


def roomy_graph(graph: MergedGraph, used: Int64s, edges: int) -> MergedGraph:
    """The graph with room for so many edges more."""
    pairs, all_edges, entries = (int(each) + edges for each in used)
    return MergedGraph(
        roomy_slots(graph.pairs, pairs),
        roomy(graph.pair, pairs),
        roomy_slots(graph.properties, all_edges),
        roomy(graph.edge, all_edges),
        roomy(graph.head, all_edges),
        roomy(graph.entry, entries),
    )


def roomy(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a larger copy, with room for so many."""
    if size <= len(array):
        return array
    larger = np.empty((2 * size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
