"""An event asks the equality clusters: which groups of boxes have its labels?

Three passes, so that misses of the cache overlap: sets of axes, which give slots; slots, which give
slabs; and what the caller does with each slab.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.matching.jit import kernel, prefetch
from tamis.matching.published.axis_sets import (
    AXIS,
    BOXES,
    CHILDREN,
    DEPTH,
    PARENT,
    SetTree,
    find_child,
)
from tamis.matching.published.boxes import Labels, Numbers, Offsets, Points
from tamis.matching.published.index import EVALUATED, VISITED, Tally
from tamis.matching.published.label_groups import HEADER, Groups
from tamis.matching.published.slots import EMPTY, SEED, mixed, number_of


class Asked(NamedTuple):
    """Scratch of one event after the other."""

    label: Labels
    """By axis; -1 where the event has none."""
    node: Numbers
    """Of the clusters that are asked."""
    hash: Labels
    slot: Offsets
    """The first that has the hash."""
    stack: Labels


def asked_of(tree: SetTree, axes: int) -> Asked:
    """Scratch for one thread; points have no more than so many axes."""
    nodes = len(tree.node)
    return Asked(
        np.full(axes, -1, np.int64),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(3 * (axes + 1), np.int64),
    )


@kernel
def ask_clusters(
    tree: SetTree, groups: Groups, points: Points, point: int, asked: Asked, tally: Tally
) -> int:
    """Find the groups that have the hash of a point's labels on the axes of a cluster; return how
    many they are."""
    stop, mask = points.start[point + 1], len(groups.slot) - 1
    node, following, hash = asked.stack[0::3], asked.stack[1::3], asked.stack[2::3]
    node[0], following[0], hash[0] = 0, points.start[point], SEED
    depth = n = 0
    while depth >= 0:
        a = following[depth]
        if a == stop:
            depth -= 1
            continue
        following[depth] += 1
        at = find_child(tree, node[depth], points.axis[a])
        if at < 0:
            continue
        child, mix = number_of(tree.child[at]), mixed(hash[depth], points.label[a])
        tally[VISITED] += 1
        if tree.node[child, BOXES]:
            asked.node[n], asked.hash[n] = child, mixed(mix, child)
            prefetch(groups.slot, asked.hash[n] & mask)
            tally[EVALUATED] += tree.node[child, DEPTH]
            n += 1
        if tree.node[child, CHILDREN]:
            depth += 1
            node[depth], following[depth], hash[depth] = child, a + 1, mix
    return find_hashes(groups, asked, n)


@kernel
def find_hashes(groups: Groups, asked: Asked, count: int) -> int:
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
def slab_of(tree: SetTree, groups: Groups, asked: Asked, i: int) -> int:
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
def depth_of(tree: SetTree, asked: Asked, i: int) -> int:
    """How many labels the i-th group that was found has."""
    depth: int = tree.node[asked.node[i], DEPTH]
    return depth
