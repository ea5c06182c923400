"""Interval binary search trees (Hanson et al. 1990, cited in Le Subscribe, section 3): intervals of
labels that a label is in, one tree for each axis, all in the same flat arrays.

    intervals   A 2..5   B 5..5   C at most 7   D at least 3

                           5                                    search 4    5 <   C
              < {C}  = {A B C D}  > {D}                                     2 >   A
                   ┌───────┴────────┐                                       3 >   D
                   2                7
         < {}  = {A}  > {A}    < {C}  = {C}  > {}
                   └───┐
                       3
             < {}  = {D}  > {D}

A node is an end of intervals. Its range is what its subtree is about, between two nodes above it;
the node splits it in three: what is less, what is equal and what is greater, a *slot* each. An
interval is marked in a slot if it covers all of that part of the range, but not the whole range (or
else it is marked further up). So the slots on the way to a label have each of its intervals once.

Invariants. (1) The marks are exactly those. An interval that has a mark below a node has an end
there, so its marks stand on the ways to its two ends, at most four at a level. (2) The weight of a
node is the number of ends in its subtree, equal ones counted each; no weight is 0. (3) A child has
at most 7/10 of the weight of its parent, so a tree of N ends is at most log N / log(10/7) deep.

Changes. An insertion adds an end, or weight to the node that it has; a removal takes weight away,
and cuts off a subtree that has none left, in which by (1) there is no mark. Then the topmost node
on the way where (3) fails has its subtree built anew: split at the weighted median, which leaves a
child at most half the weight, and marked again. That costs O(log N) for each end in the subtree,
and since at least 2/7 as many changes have been made there since it was last built, O(log N) for a
change at each of its O(log N) levels: O(log² N) a change, amortised, and whatever the intervals.
Rotations, the alternative, would have to mend all marks of the slots they touch, and one slot may
have N of them: equal ends weigh nothing in an AVL tree. A node that has lost its own ends stays
until its subtree is built; having two children by (3), it is one of fewer than N.

Time of a search: O(log N + found). Space: O(N log N) marks, one for an equality.
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets

LESS, EQUAL, GREATER = 0, 1, 2
"""The slots of a node: slot s of node n has the number 3 n + s."""
BLOCK = 8
"""Marks in a block."""
MOST_MARKS = 256
"""An interval has fewer marks: four at each of the 62 levels that a tree of 2^31 ends can have."""


class Nodes(NamedTuple):
    """Node 0 is none. The root of an axis is the right child of a node -1 of its own, whose slot
    GREATER is about all labels."""

    key: Labels
    left: Numbers
    right: Numbers
    weight: Numbers


class Marks(NamedTuple):
    """A slot is a list of blocks, of which all but the first are full.

        slot 31, 11 intervals   first ─→ block 9: 4 8 2 . . . . .   next ─→ block 5: 7 1 9 3 6 5 0 2

    The last mark of a slot takes the place of one that goes. The marks of one interval are chained,
    so that they are found without a search; they are few.
    """

    first: Numbers
    """Of each slot: its first block; 0 for none."""
    held: Numbers
    """Of each slot: its intervals."""
    next: Numbers
    slot: Numbers
    interval: Numbers
    """At each place, that is, 8 times the block, and so on."""
    more: Numbers
    """At each place: the place of another mark of the interval; -1 at the last."""


class Intervals(NamedTuple):
    """Intervals by number. The low end is -1 if there is none, as node -1 is below all labels."""

    low: Labels
    high: Labels
    axis: Numbers
    """-1 for a number that is not there."""
    first_mark: Numbers
    """The place of the first mark in the chain; -1 for none."""


class IntervalTrees(NamedTuple):
    """All trees."""

    root: Numbers
    """Of each axis: its node -1; 0 for none."""
    nodes: Nodes
    marks: Marks
    intervals: Intervals
    state: Offsets
    """By the numbers below."""


FIRST_NODE, FIRST_BLOCK, FREE_NODES, FREE_BLOCKS, LACKING_NODES, LACKING_BLOCKS, STEPS = range(7)
"""The first free node (others follow by ``right``) and block (by ``next``), how many are free, how
many more an operation needs that had no room, and what was done so far: nodes passed and made,
marks made and passed."""


@kernel
def way_to(forest: IntervalTrees, axis: int, label: int, slots: Offsets) -> int:
    """Write the slots that together have the intervals that a label is in; return how many."""
    nodes, node, n = forest.nodes, 0, 0
    if axis < len(forest.root):
        node = forest.root[axis]
    while node:
        key = nodes.key[node]
        if label < key:
            slots[n] = 3 * node + LESS
            node = nodes.left[node]
        elif label > key:
            slots[n] = 3 * node + GREATER
            node = nodes.right[node]
        else:
            slots[n] = 3 * node + EQUAL
            node = 0
        n += 1
    return n


@kernel
def cover(
    nodes: Nodes, top: int, below: int, above: int, low: int, high: int, slots: Offsets
) -> int:
    """Write the slots in which an interval is marked, of the subtree at ``top`` that is about what
    lies between two ends; return how many."""
    n = 0
    if below < low < above:
        node, end = top, above
        while True:
            key = nodes.key[node]
            if low <= key <= high:
                slots[n] = 3 * node + EQUAL
                slots[n + 1] = 3 * node + GREATER
                n += 1 + (end <= high)
            if key == low:
                break
            if low < key:
                end = key
            node = nodes.left[node] if low < key else nodes.right[node]
    if below < high < above and low != high:
        node, end = top, below
        while True:
            key = nodes.key[node]
            if key <= high and low <= end:
                slots[n] = 3 * node + EQUAL
                slots[n + 1] = 3 * node + LESS
                n += 2
            if key == high:
                break
            if key < high:
                end = key
            node = nodes.left[node] if high < key else nodes.right[node]
    return n


@kernel
def put(forest: IntervalTrees, slot: int, interval: int) -> None:
    """Mark an interval in a slot."""
    marks, state = forest.marks, forest.state
    fill = marks.held[slot] % BLOCK
    if fill == 0:
        block = state[FIRST_BLOCK]
        state[FIRST_BLOCK] = marks.next[block]
        state[FREE_BLOCKS] -= 1
        marks.next[block], marks.slot[block] = marks.first[slot], slot
        marks.first[slot] = block
    place = marks.first[slot] * BLOCK + fill
    marks.interval[place] = interval
    marks.more[place] = forest.intervals.first_mark[interval]
    forest.intervals.first_mark[interval] = place
    marks.held[slot] += 1
    state[STEPS] += 1


@kernel
def drop(forest: IntervalTrees, place: int) -> None:
    """Let the last mark of a slot take the place of another; the chain of the other is not mended,
    that of the last one is."""
    marks, mark = forest.marks, forest.intervals.first_mark
    slot = marks.slot[place // BLOCK]
    marks.held[slot] -= 1
    block = marks.first[slot]
    last = block * BLOCK + marks.held[slot] % BLOCK
    if last != place:
        moved = marks.interval[last]
        marks.interval[place], marks.more[place] = moved, marks.more[last]
        if mark[moved] == last:
            mark[moved] = place
        else:
            other = mark[moved]
            while marks.more[other] != last:
                other = marks.more[other]
                forest.state[STEPS] += 1
            marks.more[other] = place
    if marks.held[slot] % BLOCK == 0:
        marks.first[slot] = marks.next[block]
        free_block(forest, block)


@kernel
def free_block(forest: IntervalTrees, block: int) -> None:
    """Give a block back."""
    forest.marks.next[block] = forest.state[FIRST_BLOCK]
    forest.state[FIRST_BLOCK] = block
    forest.state[FREE_BLOCKS] += 1


@kernel
def make_node(forest: IntervalTrees, key: int, weight: int) -> int:
    """A node without children and marks."""
    nodes, state = forest.nodes, forest.state
    node = state[FIRST_NODE]
    state[FIRST_NODE] = nodes.right[node]
    state[FREE_NODES] -= 1
    state[STEPS] += 1
    nodes.key[node], nodes.weight[node] = key, weight
    nodes.left[node] = nodes.right[node] = 0
    return int(node)


@kernel
def tree_of(forest: IntervalTrees, axis: int) -> int:
    """The node -1 of an axis."""
    if not forest.root[axis]:
        forest.root[axis] = make_node(forest, -1, 0)
    return int(forest.root[axis])


@kernel
def replace_child(nodes: Nodes, parent: int, old: int, new: int) -> None:
    """Put a subtree in the place of another."""
    if old and nodes.left[parent] == old:
        nodes.left[parent] = new
    else:
        nodes.right[parent] = new


@kernel
def insert_end(forest: IntervalTrees, tree: int, end: int) -> None:
    """Give weight to an end, which has a node then."""
    nodes = forest.nodes
    node, parent = tree, 0
    while node:
        forest.state[STEPS] += 1
        nodes.weight[node] += 1
        if nodes.key[node] == end:
            return
        parent = node
        node = nodes.left[node] if end < nodes.key[node] else nodes.right[node]
    if end < nodes.key[parent]:
        nodes.left[parent] = make_node(forest, end, 1)
    else:
        nodes.right[parent] = make_node(forest, end, 1)


@kernel
def remove_end(forest: IntervalTrees, tree: int, end: int) -> None:
    """Take weight from an end; a subtree without any goes."""
    nodes = forest.nodes
    nodes.weight[tree] -= 1
    parent, node = tree, nodes.right[tree]
    while True:
        forest.state[STEPS] += 1
        nodes.weight[node] -= 1
        if nodes.weight[node] == 0:
            replace_child(nodes, parent, node, 0)
            fell(forest, node)
            return
        if nodes.key[node] == end:
            return
        parent = node
        node = nodes.left[node] if end < nodes.key[node] else nodes.right[node]


@kernel
def fell(forest: IntervalTrees, node: int) -> None:
    """Give the nodes of a subtree back, and their blocks; left children are rotated up first, so
    that no stack is needed."""
    nodes, marks, state = forest.nodes, forest.marks, forest.state
    while node:
        left = nodes.left[node]
        if left:
            nodes.left[node], nodes.right[left] = nodes.right[left], node
            node = left
            continue
        for slot in range(3 * node, 3 * node + 3):
            while marks.first[slot]:
                block = marks.first[slot]
                marks.first[slot] = marks.next[block]
                free_block(forest, block)
            marks.held[slot] = 0
        following = nodes.right[node]
        nodes.right[node] = state[FIRST_NODE]
        state[FIRST_NODE] = node
        state[FREE_NODES] += 1
        state[STEPS] += 1
        node = following
