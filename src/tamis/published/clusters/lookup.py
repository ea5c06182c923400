"""An event asks the equality clusters: which groups of boxes have its labels?

Three passes, so that misses of the cache overlap: sets of axes, which give slots; slots, which give
slabs; and what the caller does with each slab. Both callers spell the third pass out: with one
function for it an event takes a tenth longer (W1, 20,000 boxes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, SEED, mixed, number_of
from tamis.arrays.jit import kernel, prefetch
from tamis.arrays.types import Labels, Numbers, Offsets, Tally
from tamis.published.boxes import Points
from tamis.published.clusters.axis_sets import (
    AXIS,
    BOXES,
    CHILD,
    CHILDREN,
    DEPTH,
    NEXT,
    PARENT,
    SetTree,
    find_child,
)
from tamis.published.clusters.label_groups import HEADER, Groups
from tamis.published.index import EVALUATED, VISITED


class Lookup(NamedTuple):
    """Scratch of one event after the other."""

    label: Labels
    """By axis; -1 where the event has none."""
    node: Numbers
    """The sets of axes that the event has; then those whose clusters are asked; then those that
    have the hash of its labels."""
    hash: Labels
    slot: Offsets
    """The first that has the hash."""


def asked_of(tree: SetTree, axes: int) -> Lookup:
    """Scratch for one thread; points have no more than so many axes."""
    nodes = len(tree.node)
    return Lookup(
        np.full(axes, -1, np.int64),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
    )


@kernel
def ask_clusters(
    tree: SetTree, groups: Groups, points: Points, point: int, asked: Lookup, tally: Tally
) -> int:
    """Find the groups that have the hash of a point's labels on the axes of a cluster; return how
    many they are."""
    count, mask, n = reach_sets(tree, points, point, asked), len(groups.slot) - 1, 0
    for i in range(1, count):
        node = asked.node[i]
        if tree.node[node, BOXES]:
            asked.node[n], asked.hash[n] = node, mixed(asked.hash[i], node)
            prefetch(groups.slot, asked.hash[n] & mask)
            tally[EVALUATED] += tree.node[node, DEPTH]
            n += 1
    tally[VISITED] += count - 1
    return find_hashes(groups, asked, n)


@kernel
def reach_sets(tree: SetTree, points: Points, point: int, asked: Lookup) -> int:
    """Write all sets of axes that a point has, the empty one first, and hashes of its labels there;
    return how many they are."""
    node, begin, end = tree.node, points.start[point], points.start[point + 1]
    asked.node[0], asked.hash[0] = 0, SEED
    i, n = 0, 1
    while i < n:
        parent, hash = asked.node[i], asked.hash[i]
        if node[parent, CHILDREN] <= end - begin:
            child = node[parent, CHILD]
            while child:
                label = asked.label[node[child, AXIS]]
                if label >= 0:
                    asked.node[n], asked.hash[n] = child, mixed(hash, label)
                    n += 1
                child = node[child, NEXT]
        else:
            for a in range(begin, end):
                if points.axis[a] > node[parent, AXIS]:
                    at = find_child(tree, parent, points.axis[a])
                    if at >= 0:
                        asked.node[n] = number_of(tree.child[at])
                        asked.hash[n] = mixed(hash, points.label[a])
                        n += 1
        i += 1
    return n


@kernel
def find_hashes(groups: Groups, asked: Lookup, count: int) -> int:
    """Keep of the clusters that are asked those that have the hash; return how many they are."""
    slots, mask, n = groups.slot, len(groups.slot) - 1, 0
    for i in range(count):
        at = asked.hash[i] & mask
        while slots[at] != EMPTY and slots[at] >> 32 != asked.hash[i]:
            at = at + 1 & mask
        if slots[at] != EMPTY:
            asked.node[n], asked.hash[n], asked.slot[n] = asked.node[i], asked.hash[i], at
            prefetch(groups.words, number_of(slots[at]))
            n += 1
    return n


@kernel
def slab_of(tree: SetTree, groups: Groups, asked: Lookup, i: int) -> int:
    """The slab of the i-th group that was found, or -1 if its labels are others after all."""
    slots, mask, at = groups.slot, len(groups.slot) - 1, asked.slot[i]
    while slots[at] != EMPTY:
        if slots[at] >> 32 == asked.hash[i]:
            slab, node = number_of(slots[at]), asked.node[i]
            same = groups.words.view(np.int32)[2 * slab] == node
            while same and node:
                own = groups.words[slab + HEADER - 1 + tree.node[node, DEPTH]]
                same = own == asked.label[tree.node[node, AXIS]]
                node = tree.node[node, PARENT]
            if same:
                return slab
        at = at + 1 & mask
    return -1


@kernel
def depth_of(tree: SetTree, asked: Lookup, i: int) -> int:
    """How many labels the i-th group that was found has."""
    depth: int = tree.node[asked.node[i], DEPTH]
    return depth
