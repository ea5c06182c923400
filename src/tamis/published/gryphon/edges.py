"""The hash table of the edges of all nodes that have more than one.

    | node, child | node, child |     -1     | node, child | ...

Open addressing, linear probing, at most half full. The label of an edge is not in the table: it is
in the child, which a search that succeeds visits next anyhow. Deletion moves the edges behind it
back, so that there are no graves, and any sequence of changes leaves the table as fast as it was.
A bucket of ``arrays/hash_table`` has bits of the hash in the place of the node, by which a search
would have to go on to the child and then to its parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int64s, Labels, Numbers

HASHED = 0
"""Place in the state: edges in the table."""
_LOW_BITS = 0x7FFFFFFF


SLOT = np.dtype([("node", np.int32), ("child", np.int32)])


class Slots(NamedTuple):
    """The table; its size is a power of two."""

    node: Numbers
    child: Numbers
    """-1 where there is none."""


def empty_slots(size: int) -> NDArray[np.void]:
    """A table without edges."""
    slots = np.empty(size, SLOT)
    slots["child"] = -1
    return slots


@kernel
def scramble(number: int, label: int) -> int:
    """A hash below 2^62 of a number below 2^31 and a label."""
    folded = (label ^ (label >> 31)) & _LOW_BITS
    mixed = (np.int64(number) * 0x5851F42D) ^ (np.int64(folded) * 0x6C8E9CF5)
    mixed = ((mixed ^ (mixed >> 31)) & _LOW_BITS) * 0x5BD1E995
    return int(mixed ^ (mixed >> 29))


@kernel
def put_edge(slots: Slots, label: Labels, state: Int64s, node: int, child: int) -> None:
    """Take in an edge, for which there must be room."""
    mask = len(slots.child) - 1
    at = scramble(node, label[child]) & mask
    while slots.child[at] >= 0:
        at = (at + 1) & mask
    slots.node[at], slots.child[at] = node, child
    state[HASHED] += 1


@kernel
def slot_of(slots: Slots, label: Labels, node: int, child: int) -> int:
    """Where an edge is."""
    mask = len(slots.child) - 1
    at = scramble(node, label[child]) & mask
    while slots.child[at] != child:
        at = (at + 1) & mask
    return int(at)


@kernel
def take_edge(slots: Slots, label: Labels, state: Int64s, node: int, child: int) -> None:
    """Take out an edge; what stands behind it moves back where it may."""
    mask = len(slots.child) - 1
    hole = slot_of(slots, label, node, child)
    at = (hole + 1) & mask
    while slots.child[at] >= 0:
        home = scramble(slots.node[at], label[slots.child[at]]) & mask
        if (at - home) & mask >= (at - hole) & mask:
            slots.node[hole], slots.child[hole] = slots.node[at], slots.child[at]
            hole = at
        at = (at + 1) & mask
    slots.child[hole] = -1
    state[HASHED] -= 1


@kernel
def rehash(label: Labels, parent: Numbers, edges: Numbers, slots: Slots, state: Int64s) -> None:
    """Take in all edges again: to every node that is one of several of its parent."""
    state[HASHED] = 0
    for child in range(len(label)):
        if label[child] >= 0 and edges[parent[child]] > 1:
            put_edge(slots, label, state, parent[child], child)
