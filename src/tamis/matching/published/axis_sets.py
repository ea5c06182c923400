"""Sets of axes, as a tree: a node is a set, its children have one axis more, above all of its own.

    (no axis)
      category
        price            {category, price}
      price

The child of a node by an axis is found by hash. A node that nobody needs any more goes; its number
is given out again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.jit import kernel
from tamis.matching.published.boxes import Offsets
from tamis.matching.published.slots import (
    EMPTY,
    SEED,
    Slots,
    delete_slot,
    empty_slots,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)

PARENT, AXIS, DEPTH, BOXES, CHILDREN = range(5)
"""Of a node: that of one axis less, or the next free one; its last axis; how many axes; boxes of
the cluster; nodes of one axis more."""
NODES, UNUSED, SETS = range(3)
"""Nodes that were ever used, the first that is free or -1, those that are there but the root."""


class SetTree(NamedTuple):
    """Sets of axes; the root is node 0."""

    child: Slots
    """By hash of node and axis."""
    node: NDArray[np.int32]
    state: Offsets


def empty_tree() -> SetTree:
    """The tree of the empty set."""
    return SetTree(empty_slots(8), np.zeros((16, 5), np.int32), np.array([1, -1, 0]))


def with_sets(tree: SetTree, more: int) -> SetTree:
    """A tree with room for some sets more."""
    child, node, state = tree
    if state[NODES] + more > len(node):
        node = np.concatenate((node, np.zeros((len(node) + more, 5), np.int32)))
    return SetTree(roomy_slots(child, int(state[SETS]) + more), node, state)


@kernel
def find_child(tree: SetTree, node: int, axis: int) -> int:
    """The slot of the child of a node, or -1."""
    slots, mask = tree.child, len(tree.child) - 1
    hash = mixed(mixed(SEED, node), axis)
    at = hash & mask
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            child = tree.node[number_of(slots[at])]
            if child[PARENT] == node and child[AXIS] == axis:
                return at
        at = at + 1 & mask
    return -1


@kernel
def new_child(tree: SetTree, node: int, axis: int) -> int:
    """Make a child of a node; there must be room."""
    state = tree.state
    child: int = state[UNUSED]
    if child >= 0:
        state[UNUSED] = tree.node[child, PARENT]
    else:
        child = state[NODES]
        state[NODES] += 1
    tree.node[child, PARENT], tree.node[child, AXIS] = node, axis
    tree.node[child, DEPTH] = tree.node[node, DEPTH] + 1
    tree.node[child, BOXES] = tree.node[child, CHILDREN] = 0
    tree.node[node, CHILDREN] += 1
    put_slot(tree.child, mixed(mixed(SEED, node), axis), child)
    state[SETS] += 1
    return child


@kernel
def prune(tree: SetTree, node: int) -> None:
    """Let a node go if no box needs it, and those above it too."""
    while node and tree.node[node, BOXES] == 0 and tree.node[node, CHILDREN] == 0:
        parent = tree.node[node, PARENT]
        delete_slot(tree.child, find_child(tree, parent, tree.node[node, AXIS]))
        tree.node[parent, CHILDREN] -= 1
        tree.node[node, PARENT] = tree.state[UNUSED]
        tree.state[UNUSED] = node
        tree.state[SETS] -= 1
        node = parent
