"""A table of patterns in flat arrays, each found by the key of its first edge.

    edges      [first[0] … first[1])   those of pattern 0, the access edge first, then in the order
                                       in which they are joined
    next       0 → 3 → -1              patterns with the same access key
    slots      hash of the key | the first of the chain         (arrays/hash_table.py)

The *access key* is an edge with its variables left out, ``(-, ex:maker, ex:acme)``. A pattern
matches no publication that lacks its access edge, so a publication that looks up its own triples
meets only patterns with a chance. The access edge is the rarest: the one with the fewest others
like it, where an edge with a variable counts for more (``_WEIGHTS``).

Chains begin with the last pattern that was added. A reader that knows how many patterns there were
passes over those behind, so that one thread may add while others read. In a finished segment the
patterns of a chain stand together, and those among them with the same edges side by side: they are
joined once for all (``alike``), and only their constraints are tested one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, LOAD, SEED, mixed, number_of, put_slot
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Float64s, Int8s, Int32s, Int64s, Numbers, Offsets

NEVER = np.iinfo(np.int64).max
"""The epoch in which a pattern is removed that is still there."""
_WEIGHTS = np.array([1 << 20, 64, 1024, 4, 64, 4, 4, 1], np.int64)
"""What an edge like others counts for, by the places that are constants: 1 subject, 2 property, 4
object. A publication has most properties of its domain, many of its resources, and few of its
triples."""
SKETCH = 1 << 18
"""Cells of the counts of edges; patterns in different cells never disturb each other."""


class PatternTable(NamedTuple):
    """Patterns in flat arrays; the live one has room behind them."""

    first: Offsets
    edges: Int32s
    variables: Int32s
    """How many variables each pattern has."""
    filtered: Int8s
    """1 where a pattern has filters that no kernel tests, so that all its solutions are needed."""
    first_constraint: Offsets
    constraint: Int32s
    """Variable and operator of each constraint, side by side."""
    bound: Float64s
    """The number that each constraint compares with."""
    next: Int32s
    alike: Int8s
    """1 where a pattern has the edges of the one before it, which leads to it; not in files."""
    number: Numbers
    removed: Int64s
    """The epoch in which each was removed."""
    slots: Buckets
    masks: Int8s
    """For each combination of constants whether an access key has it."""


def empty_table(patterns: int, edges: int, constraints: int, keys: int) -> PatternTable:
    """A table with room for so many."""
    return PatternTable(
        np.zeros(patterns + 1, np.int64),
        np.empty((edges, 3), np.int32),
        np.empty(patterns, np.int32),
        np.zeros(patterns, np.int8),
        np.zeros(patterns + 1, np.int64),
        np.empty((constraints, 2), np.int32),
        np.empty(constraints, np.float64),
        np.empty(patterns, np.int32),
        np.zeros(patterns, np.int8),
        np.empty(patterns, np.int32),
        np.full(patterns, NEVER, np.int64),
        np.full(1 << max(4, int(keys / LOAD).bit_length()), EMPTY, np.int64),
        np.zeros(8, np.int8),
    )


@kernel
def mask_of(s: int, p: int, o: int) -> int:
    """Which places of an edge are constants."""
    return (s >= 0) | (p >= 0) << 1 | (o >= 0) << 2


@kernel
def hash_of(s: int, p: int, o: int) -> int:
    """The hash of an access key; variables are any negative numbers."""
    return mixed(mixed(mixed(SEED, max(s, -1) + 1), max(p, -1) + 1), max(o, -1) + 1)


@kernel
def has_key(table: PatternTable, pattern: int, s: int, p: int, o: int) -> bool:
    """Whether a pattern has this access key."""
    edge = table.edges[table.first[pattern]]
    same = max(edge[0], -1) == max(s, -1) and max(edge[1], -1) == max(p, -1)
    return bool(same and max(edge[2], -1) == max(o, -1))


@kernel
def find_slot(table: PatternTable, hash: int, s: int, p: int, o: int) -> int:
    """The slot of an access key, or the empty one where it would be."""
    slots = table.slots
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash and has_key(table, number_of(slots[at]), s, p, o):
            return at
        at = at + 1 & len(slots) - 1
    return at


@kernel
def count_edges(edges: Int32s, counts: Int32s, change: int) -> None:
    """Note edges that come (1) or go (-1)."""
    for e in range(len(edges)):
        counts[hash_of(edges[e, 0], edges[e, 1], edges[e, 2]) & len(counts) - 1] += change


@kernel
def discount(table: PatternTable, places: Int64s, counts: Int32s) -> None:
    """Note that some patterns of a table go."""
    for at in places:
        count_edges(table.edges[table.first[at] : table.first[at + 1]], counts, -1)


@kernel
def order_edges(edges: Int32s, counts: Int32s) -> None:
    """Put the access edge of one pattern first, then always what has the most bound places. The
    order that the edges had before says nothing."""
    best, least = 0, np.int64(np.iinfo(np.int64).max)
    for e in range(len(edges)):
        s, p, o = edges[e]
        cost = _WEIGHTS[mask_of(s, p, o)] * max(1, counts[hash_of(s, p, o) & len(counts) - 1])
        if cost < least or (cost == least and _is_less(edges[e], edges[best])):
            best, least = e, cost
    _swap(edges, 0, best)
    for done in range(1, len(edges) - 1):
        best, most = done, -1
        for e in range(done, len(edges)):
            bound = 0
            for place in range(3):
                bound += 1 + (place != 1) if _is_bound(edges, done, edges[e, place]) else 0
            if bound > most or (bound == most and _is_less(edges[e], edges[best])):
                best, most = e, bound
        _swap(edges, done, best)


@kernel
def _is_less(edge: Int32s, other: Int32s) -> bool:
    for place in range(3):
        if edge[place] != other[place]:
            return bool(edge[place] < other[place])
    return False


@kernel
def _is_bound(edges: Int32s, done: int, term: int) -> bool:
    if term >= 0:
        return True
    for e in range(done):
        if edges[e, 0] == term or edges[e, 1] == term or edges[e, 2] == term:
            return True
    return False


@kernel
def _swap(edges: Int32s, one: int, other: int) -> None:
    for place in range(3):
        edges[one, place], edges[other, place] = edges[other, place], edges[one, place]


@kernel
def append(
    table: PatternTable,
    at: int,
    edges: Int32s,
    constraint: Int32s,
    bound: Float64s,
    numbers: Int32s,
) -> None:
    """Write a pattern behind the others and begin its chain with it; ``numbers`` are its number,
    how many variables it has, and whether it has other filters."""
    start, first = table.first[at], table.first_constraint[at]
    table.edges[start : start + len(edges)] = edges
    table.first[at + 1] = start + len(edges)
    table.constraint[first : first + len(bound)] = constraint
    table.bound[first : first + len(bound)] = bound
    table.first_constraint[at + 1] = first + len(bound)
    table.number[at] = numbers[0]
    table.variables[at] = numbers[1]
    table.filtered[at] = numbers[2]
    table.removed[at] = NEVER
    chain(table, at)


@kernel
def chain(table: PatternTable, at: int) -> None:
    """Put a pattern at the head of the chain of its key."""
    s, p, o = table.edges[table.first[at]]
    hash = hash_of(s, p, o)
    slot = find_slot(table, hash, s, p, o)
    table.masks[mask_of(s, p, o)] = 1
    if table.slots[slot] == EMPTY:
        table.next[at] = -1
        put_slot(table.slots, hash, at)
    else:
        table.next[at] = number_of(table.slots[slot])
        table.slots[slot] = hash << 32 | at


@kernel
def copy_patterns(source: PatternTable, chosen: Int64s, target: PatternTable, start: int) -> None:
    """Copy patterns behind the first ``start`` of another table, without chaining them."""
    for i in range(len(chosen)):
        at, to = chosen[i], start + i
        begin, end = source.first[at], source.first[at + 1]
        here = target.first[to]
        target.edges[here : here + end - begin] = source.edges[begin:end]
        target.first[to + 1] = here + end - begin
        begin, end = source.first_constraint[at], source.first_constraint[at + 1]
        here = target.first_constraint[to]
        target.constraint[here : here + end - begin] = source.constraint[begin:end]
        target.bound[here : here + end - begin] = source.bound[begin:end]
        target.first_constraint[to + 1] = here + end - begin
        target.variables[to] = source.variables[at]
        target.filtered[to] = source.filtered[at]
        target.number[to] = source.number[at]
        target.removed[to] = source.removed[at]


@kernel
def access_hashes(table: PatternTable, counts: Int32s, ordered: bool) -> Int64s:
    """The hash of each pattern's access key, after its edges were ordered."""
    hashes = np.empty(len(table.number), np.int64)
    for at in range(len(hashes)):
        edges = table.edges[table.first[at] : table.first[at + 1]]
        if not ordered:
            order_edges(edges, counts)
        hashes[at] = hash_of(edges[0, 0], edges[0, 1], edges[0, 2])
    return hashes


@kernel
def edge_hashes(table: PatternTable) -> Int64s:
    """A hash of all edges of each pattern, in their order."""
    hashes = np.empty(len(table.number), np.int64)
    for at in range(len(hashes)):
        hash = SEED
        for e in range(table.first[at], table.first[at + 1]):
            for place in range(3):
                hash = mixed(hash, table.edges[e, place] + (1 << 30))
        hashes[at] = hash
    return hashes


@kernel
def chain_all(table: PatternTable) -> None:
    """Chain all patterns, from the last to the first, so that neighbours follow each other."""
    for at in range(len(table.number) - 1, -1, -1):
        chain(table, at)


@kernel
def mark_alike(table: PatternTable) -> None:
    """Mark the patterns with the edges of the one before them in their chain."""
    for at in range(1, len(table.number)):
        before, start, end = table.first[at - 1], table.first[at], table.first[at + 1]
        alike = table.next[at - 1] == at and start - before == end - start
        for e in range(end - start):
            for place in range(3):
                alike = alike and table.edges[before + e, place] == table.edges[start + e, place]
        table.alike[at] = alike


def finished(table: PatternTable, counts: Int32s) -> PatternTable:
    """The patterns of a full table under their rarest keys, those of one key side by side."""
    hashes = access_hashes(table, counts, False)
    order = np.lexsort((edge_hashes(table), hashes))
    ordered = hashes[order]
    keys = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1])) if len(order) else 0
    made = empty_table(len(table.number), len(table.edges), len(table.bound), keys)
    copy_patterns(table, order, made, 0)
    chain_all(made)
    mark_alike(made)
    return made
