"""The formulas of a segment as one graph, in flat arrays: each distinct test and part once.

    kind 'a' and (size < 5 or text contains 'x')

    node    kind    axis   items                 items are what a node is made of
    0       SIDE    3      4..4                  kind: intervals of ranks on an axis
    1       SIDE    7      0..2                  size
    2       FOUND   9      6..6                  text: things that may be found there, by ranks
    3       SOME           1 2                   nodes; ~n if node n must not hold
    4       EVERY          0 3

Parts have lesser numbers than what they are part of. A TEST has, in the place of the axis, the
number of a literal that columns decide (column_tests.py); ASK is left to the oracle. Within EVERY
and SOME, nodes come in the order of their kinds, the cheapest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.key_table import GOLDEN
from tamis.arrays.types import Flags, Int8s, Int32s, Int64s, Numbers
from tamis.matching.boxes.layout import Boxes

SIDE, FOUND, EVERY, SOME, TEST, ASK = range(6)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Nodes(NamedTuple):
    """The graph."""

    kind: Int8s
    axis: Int32s
    start: Int32s  # of the items of each node, and the end of the last one's
    low: Int32s  # of an interval; or a node
    high: Int32s

    @classmethod
    def none(cls) -> Nodes:
        """A graph without nodes."""
        nothing = np.empty(0, np.int32)
        return cls(np.empty(0, np.int8), nothing, np.zeros(1, np.int32), nothing, nothing)

    @property
    def nbytes(self) -> int:
        """Memory of the graph."""
        return sum(array.nbytes for array in self)


def shared(nodes: Nodes, roots: Numbers) -> tuple[Nodes, Numbers]:
    """The graph with equal nodes as one, and without what no root needs; the roots in it."""
    count = len(nodes.kind)
    twin = np.arange(count, dtype=np.int32)
    nodes = nodes._replace(low=nodes.low.copy())
    table = np.full(1 << max(4, int(2 * count).bit_length()), -1, np.int32)
    find_twins(nodes, table, twin)
    roots = np.where(roots < 0, ~twin[~roots], twin[roots]) if count else roots
    used = np.zeros(count, np.bool_)
    used[np.where(roots < 0, ~roots, roots)] = True
    mark_used(nodes, used)
    number = (np.cumsum(used) - 1).astype(np.int32)
    length = np.diff(nodes.start)[used]
    start = np.concatenate((np.zeros(1, np.int32), np.cumsum(length))).astype(np.int32)
    low, high = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    left = Nodes(nodes.kind[used], nodes.axis[used], start, low, high)
    copy_items(nodes, used, number, left)
    return left, np.where(roots < 0, ~number[~roots], number[roots]).astype(np.int32)


@kernel
def find_twins(nodes: Nodes, table: Int32s, twin: Int32s) -> None:
    """Write for each node the first one that is equal to it; items become twins, in order."""
    mask = len(table) - 1
    for n in range(len(nodes.kind)):
        if nodes.kind[n] == ASK:
            continue  # equal to nothing, so that a hash of it would find all others
        first, stop = nodes.start[n], nodes.start[n + 1]
        if nodes.kind[n] == EVERY or nodes.kind[n] == SOME:
            sort_parts(nodes, first, stop, twin)
        place = np.int64(hash_node(nodes, n) & np.uint64(mask))
        while table[place] >= 0 and not are_equal(nodes, table[place], n):
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = n
        twin[n] = table[place]


@kernel
def sort_parts(nodes: Nodes, first: int, stop: int, twin: Int32s) -> None:
    """Replace parts by their twins, and sort them by kind and number."""
    keys = np.empty(stop - first, np.int64)
    for c in range(first, stop):
        part = nodes.low[c]
        number = twin[part if part >= 0 else ~part]
        kind = np.int64(nodes.kind[number])
        keys[c - first] = kind << 40 | np.int64(number) << 1 | np.int64(part < 0)
    keys.sort()
    for c in range(first, stop):
        number = np.int32((keys[c - first] & ((1 << 40) - 1)) >> 1)
        nodes.low[c] = ~number if keys[c - first] & 1 else number


@kernel
def hash_node(nodes: Nodes, n: int) -> np.uint64:
    """A hash of what a node is."""
    found = np.uint64(nodes.kind[n]) ^ np.uint64(np.int64(nodes.axis[n])) << np.uint64(3)
    for c in range(nodes.start[n], nodes.start[n + 1]):
        item = np.uint64(np.int64(nodes.low[c])) ^ np.uint64(np.int64(nodes.high[c])) << np.uint64(
            32
        )
        found = (found ^ item) * _SPREAD
        found ^= found >> np.uint64(29)
    return found * GOLDEN >> np.uint64(20)


@kernel
def are_equal(nodes: Nodes, n: int, m: int) -> bool:
    """Tell whether two nodes are the same."""
    length = nodes.start[n + 1] - nodes.start[n]
    if nodes.kind[n] != nodes.kind[m] or nodes.axis[n] != nodes.axis[m]:
        return False
    if length != nodes.start[m + 1] - nodes.start[m]:
        return False
    for c in range(length):
        at, other = nodes.start[n] + c, nodes.start[m] + c
        if nodes.low[at] != nodes.low[other] or nodes.high[at] != nodes.high[other]:
            return False
    return True


@kernel
def mark_used(nodes: Nodes, used: Flags) -> None:
    """Mark what the marked nodes are made of."""
    for n in range(len(used) - 1, -1, -1):
        if used[n] and (nodes.kind[n] == EVERY or nodes.kind[n] == SOME):
            for c in range(nodes.start[n], nodes.start[n + 1]):
                part = nodes.low[c]
                used[part if part >= 0 else ~part] = True


@kernel
def mark_wholes(nodes: Nodes, marked: Flags) -> None:
    """Mark what has a marked part."""
    for n in range(len(marked)):
        if nodes.kind[n] == EVERY or nodes.kind[n] == SOME:
            for c in range(nodes.start[n], nodes.start[n + 1]):
                part = nodes.low[c]
                marked[n] |= marked[part if part >= 0 else ~part]


@kernel
def copy_items(nodes: Nodes, used: Flags, number: Int32s, left: Nodes) -> None:
    """Copy the items of the used nodes, in which nodes have other numbers."""
    at = 0
    for n in range(len(used)):
        if not used[n]:
            continue
        is_whole = nodes.kind[n] == EVERY or nodes.kind[n] == SOME
        for c in range(nodes.start[n], nodes.start[n + 1]):
            low = nodes.low[c]
            if is_whole:
                low = number[low] if low >= 0 else ~number[~low]
            left.low[at], left.high[at] = low, nodes.high[c]
            at += 1


def with_intervals(kind: Int8s, axis: Int32s, parts: tuple[Int64s, Int32s], sides: Boxes) -> Nodes:
    """A graph from its parts, given with the nodes that they are parts of, and the intervals of
    its leaves, which own boxes of one side."""
    node = np.concatenate((parts[0], sides.owner))
    low = np.concatenate((parts[1], sides.low)).astype(np.int32)
    high = np.concatenate((np.zeros(len(parts[0]), np.int32), sides.high)).astype(np.int32)
    order = np.lexsort((low, node))
    count = np.bincount(node, minlength=len(kind))
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(count))).astype(np.int32)
    return Nodes(kind, axis, start, low[order], high[order])


def leaf_intervals(nodes: Nodes) -> Boxes:
    """The intervals of the leaves, as boxes of one side that the nodes own."""
    node = np.repeat(np.arange(len(nodes.kind), dtype=np.int32), np.diff(nodes.start))
    own = np.flatnonzero(nodes.kind[node] <= FOUND)
    node = node[own]
    start = np.arange(len(own) + 1)
    return Boxes(start, nodes.axis[node], nodes.low[own], nodes.high[own], node)


def parts_of(nodes: Nodes) -> tuple[Int64s, Int32s]:
    """The parts of EVERY and SOME, with the nodes that they are parts of."""
    node = np.repeat(np.arange(len(nodes.kind)), np.diff(nodes.start))
    own = np.flatnonzero(nodes.kind[node] > FOUND)
    return node[own], nodes.low[own]
