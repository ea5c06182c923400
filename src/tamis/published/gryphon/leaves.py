"""Which boxes are in which leaves.

    leaf 5      entry 2 <-> entry 8 <-> entry 3       boxes with the same predicates
                 box 7       box 9       box 4
                                          |
    leaf 11                              entry 6      box 4 again, in the subtree of another gate

An entry is a box in a leaf. A leaf has a list of entries, linked both ways, so that any of them can
go in constant time however many boxes share it; a box has a list of its entries, which are several
only if factoring makes copies (factoring.py). 24 bytes an entry and 4 a box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Numbers
from tamis.published.gryphon.tree import (
    BOXES,
    ENTRIES,
    ENTRY_TOP,
    ENTRY_UNUSED,
    LEAF,
    NODES,
    Tree,
    prune,
)

ENTRY = np.dtype(
    [
        ("box", np.int32),
        ("leaf", np.int32),
        ("next", np.int32),
        ("previous", np.int32),
        ("other", np.int32),
        ("gate", np.int32),
    ]
)


class Leaves(NamedTuple):
    """Fields of all entries; -1 where there is no such entry."""

    box: Numbers
    """-1 of a released entry."""
    leaf: Numbers
    next: Numbers
    """The next one in the leaf; of a released one the next released one."""
    previous: Numbers
    other: Numbers
    """The next one of the same box."""
    gate: Numbers
    """Above the tree that the leaf is in."""
    of: Numbers
    """The first entry of each box."""


@kernel
def add_entry(tree: Tree, leaves: Leaves, leaf: int, box: int, gate: int) -> None:
    """Put a box into a leaf; there must be room."""
    state = tree.state
    entry = state[ENTRY_UNUSED]
    if entry >= 0:
        state[ENTRY_UNUSED] = leaves.next[entry]
    else:
        entry = state[ENTRY_TOP]
        state[ENTRY_TOP] += 1
    state[ENTRIES] += 1
    behind = tree.star[leaf]
    tree.star[leaf] = entry
    if behind >= 0:
        leaves.previous[behind] = entry
    leaves.box[entry], leaves.leaf[entry], leaves.gate[entry] = box, leaf, gate
    leaves.next[entry], leaves.previous[entry] = behind, -1
    if leaves.of[box] < 0:
        state[BOXES] += 1
    leaves.other[entry] = leaves.of[box]
    leaves.of[box] = entry


@kernel
def remove_entry(tree: Tree, leaves: Leaves, entry: int, splicing: bool) -> None:
    """Take a box out of a leaf, which goes with what led only to it if it was the last one."""
    state, leaf = tree.state, leaves.leaf[entry]
    before, behind = leaves.previous[entry], leaves.next[entry]
    if behind >= 0:
        leaves.previous[behind] = before
    if before >= 0:
        leaves.next[before] = behind
    else:
        tree.star[leaf] = behind
    forget_entry(leaves, entry)
    leaves.next[entry] = state[ENTRY_UNUSED]
    state[ENTRY_UNUSED] = entry
    state[ENTRIES] -= 1
    if leaves.of[leaves.box[entry]] < 0:
        state[BOXES] -= 1
    leaves.box[entry] = -1
    if tree.star[leaf] < 0:
        prune(tree, leaf, splicing)


@kernel
def forget_entry(leaves: Leaves, entry: int) -> None:
    """Take an entry out of the list of its box."""
    box = leaves.box[entry]
    if leaves.of[box] == entry:
        leaves.of[box] = leaves.other[entry]
        return
    before = leaves.of[box]
    while leaves.other[before] != entry:
        before = leaves.other[before]
    leaves.other[before] = leaves.other[entry]


@kernel
def entry_at(leaves: Leaves, box: int, gate: int) -> int:
    """The entry of a box in the trees below a gate, or -1."""
    entry = leaves.of[box]
    while entry >= 0 and leaves.gate[entry] != gate:
        entry = leaves.other[entry]
    return int(entry)


@kernel
def entries_below(tree: Tree, leaves: Leaves, node: int) -> Numbers:
    """All entries below a node."""
    found = np.empty(tree.state[ENTRIES], np.int32)
    stack = np.empty(tree.state[NODES], np.int32)
    stack[0] = node
    top, n = 1, 0
    while top:
        top -= 1
        node = stack[top]
        if tree.axis[node] == LEAF:
            entry = tree.star[node]
            while entry >= 0:
                found[n] = entry
                entry = leaves.next[entry]
                n += 1
            continue
        if tree.star[node] >= 0:
            stack[top] = tree.star[node]
            top += 1
        child = tree.first[node]
        while child >= 0:
            stack[top] = child
            child = tree.next[child]
            top += 1
    return found[:n].copy()
