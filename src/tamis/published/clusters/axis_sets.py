"""Sets of axes, as a tree: a node is a set, its children have one axis more, above all of its own.

    (no axis)
      category
        price            {category, price}
      price

The child of a node by an axis is found by hash; the children of a node are a list besides, since
most have fewer of them than an event has axes. A node that nobody needs any more goes; its number
is given out again.
"""

from __future__ import annotations

from typing import NamedTuple

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
from tamis.arrays.types import Buckets, Offsets

PARENT, AXIS, DEPTH, BOXES, CHILDREN, CHILD, NEXT, BEFORE = range(8)
"""Of a node: that of one axis less, its last axis, how many axes, boxes of the cluster, how many
children, the first one, and the children of its parent behind and before it; 0 where none is, as
the root is nobody's child. A free node has the next free one as its parent."""
FIELDS = 8
NODES, UNUSED, SETS = range(3)
"""Nodes that were ever used, the first that is free or -1, those that are there but the root."""


class SetTree(NamedTuple):
    """Sets of axes; the root is node 0."""

    child: Buckets
    """By hash of node and axis."""
    node: NDArray[np.int32]
    state: Offsets


def empty_tree() -> SetTree:
    """The tree of the empty set."""
    node = np.zeros((16, FIELDS), np.int32)
    node[0, AXIS] = -1
    return SetTree(empty_slots(8), node, np.array([1, -1, 0]))


def with_sets(tree: SetTree, more: int) -> SetTree:
    """A tree with room for some sets more."""
    child, node, state = tree
    if state[NODES] + more > len(node):
        node = np.concatenate((node, np.zeros((len(node) + more, FIELDS), np.int32)))
    return SetTree(roomy_slots(child, int(state[SETS]) + more), node, state)


@kernel
def hash_of(node: int, axis: int) -> int:
    """The hash of a child."""
    return mixed(SEED, int(node) << 32 | int(axis))


@kernel
def find_child(tree: SetTree, parent: int, axis: int) -> int:
    """The slot of the child of a node, or -1."""
    slots, mask = tree.child, len(tree.child) - 1
    hash = hash_of(parent, axis)
    at = hash & mask
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            child = number_of(slots[at])
            if tree.node[child, PARENT] == parent and tree.node[child, AXIS] == axis:
                return at
        at = at + 1 & mask
    return -1


@kernel
def new_child(tree: SetTree, parent: int, axis: int) -> int:
    """Make a child of a node; there must be room."""
    node, state = tree.node, tree.state
    child: int = state[UNUSED]
    if child >= 0:
        state[UNUSED] = node[child, PARENT]
    else:
        child = state[NODES]
        state[NODES] += 1
    first = node[parent, CHILD]
    node[child, PARENT], node[child, AXIS], node[child, DEPTH] = (
        parent,
        axis,
        node[parent, DEPTH] + 1,
    )
    node[child, BOXES] = node[child, CHILDREN] = node[child, CHILD] = node[child, BEFORE] = 0
    node[child, NEXT] = first
    if first:
        node[first, BEFORE] = child
    node[parent, CHILD] = child
    node[parent, CHILDREN] += 1
    put_slot(tree.child, hash_of(parent, axis), child)
    state[SETS] += 1
    return child


@kernel
def prune(tree: SetTree, node: int) -> None:
    """Let a node go if no box needs it, and those above it too."""
    field = tree.node
    while node and field[node, BOXES] == 0 and field[node, CHILDREN] == 0:
        parent, behind, before = field[node, PARENT], field[node, NEXT], field[node, BEFORE]
        delete_slot(tree.child, find_child(tree, parent, field[node, AXIS]))
        if behind:
            field[behind, BEFORE] = before
        if before:
            field[before, NEXT] = behind
        else:
            field[parent, CHILD] = behind
        field[parent, CHILDREN] -= 1
        field[node, PARENT] = tree.state[UNUSED]
        tree.state[UNUSED] = node
        tree.state[SETS] -= 1
        node = parent
