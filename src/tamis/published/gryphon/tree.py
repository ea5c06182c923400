r"""The matching trees of Gryphon in flat arrays, and how their nodes are joined and parted.

            gate 0                       not part of a tree: it holds the roots of two
           /      \
     equality    general
       a1 ?        a3 ? 40
      1/ |*         |<
     a2 ? a2 ?     leaf: boxes 7, 9
     ...

A node asks something of one attribute: its value, or whether it is below a constant. An edge has a
label, which is the result under which it is followed: a value, BELOW or NOT_BELOW; the *-edge is
followed in any case. An attribute that an event lacks has no result. A leaf has boxes.

The edges of a node are a list of its children, each of which knows its label; from the second on
they are in one hash table of all nodes too (edges.py), so that the many nodes with a single
edge cost none. What a search reads of a node stands together in half a cache line, what only
changes read stands apart: 44 bytes a node, and 16 to 32 an edge in the table. A pointer map of its
own for each node would take some hundred.

Numbers of released nodes are given out again. Invariants: a node but a gate has a parent, in whose
list, *-edge or root it is; a node that is neither leaf nor gate has an edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.gryphon.edges import Slots, put_edge, scramble, slot_of, take_edge

STAR, GENERAL = -1, -2
"""Labels of edges without a result: don't-care (from a gate: to the equality tree), and from a gate
to the general tree."""
BELOW, NOT_BELOW = 0, 1
"""The results of a comparison."""
LEAF, GATE, FREE = -1, -2, -3
"""In the place of the axis, in nodes that test nothing."""
VALUE = -1
"""Asked of an axis, in the place of a constant: which value it has."""

NODES, TOP, UNUSED, GATES = range(1, 5)
"""Places in the state, behind HASHED: nodes that there are, one more than the greatest number given
out, the first released one, and gates that there are."""
ENTRIES, ENTRY_TOP, ENTRY_UNUSED, BOXES, TWINS = range(5, 10)
"""The same of leaf entries (leaves.py); boxes that there are, and those in the table of
twins (twins.py)."""
STATE = 10

NODE = np.dtype(
    [
        ("axis", np.int32),
        ("edges", np.int32),
        ("star", np.int32),
        ("first", np.int32),
        ("asked", np.int64),
        ("label", np.int64),
    ]
)
LINK = np.dtype([("parent", np.int32), ("next", np.int32), ("previous", np.int32)])


class Tree(NamedTuple):
    """Fields of all nodes; -1 where there is no such node."""

    axis: Numbers
    """What it tests, or LEAF, GATE or FREE."""
    edges: Numbers
    """How many it has without the *-edge."""
    star: Numbers
    """The child by the *-edge; of a leaf the first entry."""
    first: Numbers
    """The first child by another edge; of a gate above trees the root of the general one."""
    asked: Labels
    """VALUE, or the constant to compare with; of a gate how many boxes name its label."""
    label: Labels
    """Of the edge that leads to it."""
    parent: Numbers
    next: Numbers
    """The next in the list of its parent, in which those without a result are not; of a released
    node the next released one."""
    previous: Numbers
    slots: Slots
    state: NDArray[np.int64]


@kernel
def new_node(tree: Tree, axis: int, asked: int) -> int:
    """A node without edges, for which there must be room."""
    state = tree.state
    node = state[UNUSED]
    if node >= 0:
        state[UNUSED] = tree.next[node]
    else:
        node = state[TOP]
        state[TOP] += 1
    state[NODES] += 1
    tree.axis[node], tree.asked[node], tree.edges[node] = axis, asked, 0
    tree.star[node] = tree.first[node] = -1
    return int(node)


@kernel
def release(tree: Tree, node: int) -> None:
    """Give back the number of a node that nothing leads to."""
    tree.axis[node] = tree.label[node] = FREE
    tree.next[node] = tree.state[UNUSED]
    tree.state[UNUSED] = node
    tree.state[NODES] -= 1


@kernel
def find_edge(tree: Tree, node: int, label: int) -> int:
    """The child by an edge other than the *-edge, or -1."""
    edges = tree.edges[node]
    if edges == 0:
        return -1
    if edges == 1:
        only = tree.first[node]
        return int(only) if tree.label[only] == label else -1
    slots = tree.slots
    mask = len(slots.child) - 1
    at = scramble(node, label) & mask
    while slots.child[at] >= 0:
        child = slots.child[at]
        if slots.node[at] == node and tree.label[child] == label:
            return int(child)
        at = (at + 1) & mask
    return -1


@kernel
def attach(tree: Tree, parent: int, label: int, child: int) -> None:
    """Let an edge, which was not there, lead to a node."""
    tree.parent[child], tree.label[child] = parent, label
    tree.next[child] = tree.previous[child] = -1
    if label == STAR:
        tree.star[parent] = child
        return
    behind = tree.first[parent]
    tree.first[parent] = child
    if label == GENERAL:
        return
    tree.next[child] = behind
    tree.edges[parent] += 1
    if behind >= 0:
        tree.previous[behind] = child
        if tree.edges[parent] == 2:
            put_edge(tree.slots, tree.label, tree.state, parent, behind)
        put_edge(tree.slots, tree.label, tree.state, parent, child)


@kernel
def detach(tree: Tree, child: int) -> None:
    """Take away the edge that leads to a node."""
    parent, label = tree.parent[child], tree.label[child]
    if label == STAR:
        tree.star[parent] = -1
        return
    if label == GENERAL:
        tree.first[parent] = -1
        return
    before, behind = tree.previous[child], tree.next[child]
    if tree.edges[parent] > 1:
        take_edge(tree.slots, tree.label, tree.state, parent, child)
    if before >= 0:
        tree.next[before] = behind
    else:
        tree.first[parent] = behind
    if behind >= 0:
        tree.previous[behind] = before
    tree.edges[parent] -= 1
    if tree.edges[parent] == 1:
        take_edge(tree.slots, tree.label, tree.state, parent, tree.first[parent])


@kernel
def replace(tree: Tree, old: int, new: int) -> None:
    """Let the edge that leads to one node lead to another, which has none yet."""
    parent, label = tree.parent[old], tree.label[old]
    tree.parent[new], tree.label[new] = parent, label
    tree.next[new] = tree.previous[new] = -1
    if label == STAR:
        tree.star[parent] = new
        return
    if label == GENERAL:
        tree.first[parent] = new
        return
    before, behind = tree.previous[old], tree.next[old]
    tree.previous[new], tree.next[new] = before, behind
    if before >= 0:
        tree.next[before] = new
    else:
        tree.first[parent] = new
    if behind >= 0:
        tree.previous[behind] = new
    if tree.edges[parent] > 1:
        tree.slots.child[slot_of(tree.slots, tree.label, parent, old)] = new


@kernel
def interpose(tree: Tree, child: int, axis: int, asked: int) -> int:
    """A new test in the place of a node, which is behind the *-edge of it now."""
    node = new_node(tree, axis, asked)
    replace(tree, child, node)
    attach(tree, node, STAR, child)
    return node


@kernel
def prune(tree: Tree, node: int, splicing: bool) -> None:
    """Release a node that has nothing below it, and its parents as far as they have nothing else;
    a parent whose *-edge alone remains gives its place to what is behind it, if asked for."""
    while True:
        parent = tree.parent[node]
        detach(tree, node)
        release(tree, node)
        if tree.axis[parent] == GATE or tree.edges[parent] > 0:
            return
        star = tree.star[parent]
        if star >= 0:
            if splicing:
                replace(tree, parent, star)
                release(tree, parent)
            return
        node = parent
