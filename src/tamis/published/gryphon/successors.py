r"""Successor sets (Gryphon, section 5): where a search goes on, found by static analysis.

A search follows result edges as long as it can. Where it is blocked, or at a leaf, it goes on with
the successors of that node: they are as far down the *-branches passed by as what the path has
shown to be true can lead, so that no test with a known result is made again.

                a0 ?               An event with 1, 2, 3 comes to N, and let it be blocked there.
            1/        \*           It has passed by the *-branches of a0, a1 and a2. In the first
           a1 ?        a1 ?        2 and 3 are known to lead to B, in the second 3 leads to C, the
         2/   \*         |2        third is not there: the successors of N are B and C. Those of B
        a2 ?   a2 ?     a2 ?       are what a search that comes to B has passed by below the
        3|      |3       |3        *-edge, so that C, which N has seen to, does not come twice.
        a3 ?N  a3 ?C    a3 ?B
        8|      |8      8| |9

The set of a node is, with "resolved" as below,
- its child by the *-edge, if it has one, and,
- if a result edge leads to it, the set of its parent;
both resolved by the results on the path from the root. To resolve a node whose test they decide:
take the child by that result, and resolve it further; without such a child, resolve the node's own
set instead. Leaves and nodes whose test is open stay. The path of a node that a *-edge leads to
begins anew: what was passed by above it, the search has kept elsewhere.

So the sets of all nodes that a search comes to are disjoint, together they lead to every leaf, and
none comes twice: what a plain search finds below all *-edges on the way. In the equality tree it is
the paper's rule: the paths with one of the last values replaced by *, as far as they exist. Here it
is one for any tests, a comparison being decided by what is known of its attribute (x < 3 decides
x < 5).

The aggressive form knows more at a blocked node: its test had none of the results that it has edges
for, if it had a result. A successor that has edges for no other result is resolved as one that is
blocked: B in the drawing stays for 9, C goes, and nothing comes in its place.

All sets are made in one walk, in which the *-branch of a node comes before the node and its other
branches after it, so that the sets that one refers to are there. They stand in one array, 8 bytes a
node and 4 a successor; a change to the tree makes them void as a whole, since a new node may be a
successor of many. Time is proportional to what is looked up; in practice some successors a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.published.boxes import UNBOUNDED
from tamis.published.gryphon.general import result_within
from tamis.published.gryphon.tree import (
    BELOW,
    GATE,
    LEAF,
    NODES,
    NOT_BELOW,
    TOP,
    VALUE,
    Tree,
    find_edge,
)


class Successors(NamedTuple):
    """The successor sets of all nodes, that of node i being start[i]:start[i + 1]; no starts if
    they are not known."""

    start: Offsets
    members: Numbers


class Sets(NamedTuple):
    """The same in the making: in the order of the walk."""

    start: Offsets
    size: Numbers
    members: Numbers


class Facts(NamedTuple):
    """What the path to a node says of each axis, and what was known before each of its results."""

    low: Labels
    """-1 if the attribute may be absent."""
    high: Labels
    depth: Numbers
    """Of the node that each result leads to."""
    axis: Numbers
    lows: Labels
    highs: Labels


def no_successors() -> Successors:
    """Nothing known."""
    return Successors(np.empty(0, np.int64), np.empty(0, np.int32))


@kernel
def find_successors(tree: Tree, axes: int, aggressive: bool) -> Successors:
    """The successor sets of all nodes of all trees."""
    room = tree.state[NODES]
    facts = new_facts(axes, room)
    plain, refined = new_sets(tree), new_sets(tree)
    members, others = np.empty(room, np.int32), np.empty(room, np.int32)
    stack, depths, work = np.empty(2 * room, np.int32), np.empty(2 * room, np.int32), members.copy()
    n = m = known = 0
    for root in range(tree.state[TOP]):
        if not is_root(tree, root):
            continue
        stack[0], depths[0], top = root, 0, 1
        while top:
            top -= 1
            node, depth = stack[top], depths[top]
            if node >= 0:
                known = learn(tree, facts, known, node, depth)
                top = push_below(tree, stack, depths, top, node, depth)
                continue
            node = ~node
            known = forget(facts, known, depth + 1)
            sets = Sets(plain.start, plain.size, members)
            plain.start[node] = n
            count = push_passed(tree, sets, node, work)
            members, n = resolve(tree, facts, sets, work, count, -1, members, n)
            plain.size[node] = n - plain.start[node]
            if aggressive:
                sets = Sets(plain.start, plain.size, members)
                refined.start[node] = m
                count = push_set(sets, node, work, 0)
                others, m = resolve(tree, facts, sets, work, count, node, others, m)
                refined.size[node] = m - refined.start[node]
        known = forget(facts, known, 0)
    if aggressive:
        return by_node(Sets(refined.start, refined.size, others))
    return by_node(Sets(plain.start, plain.size, members))


@kernel
def new_sets(tree: Tree) -> Sets:
    """Room for the sets of all nodes, without their members."""
    top = tree.state[TOP]
    return Sets(np.zeros(top, np.int64), np.zeros(top, np.int32), np.empty(0, np.int32))


@kernel
def by_node(sets: Sets) -> Successors:
    """The finished sets in the order of the nodes, where a search finds both ends at once."""
    start = np.zeros(len(sets.start) + 1, np.int64)
    start[1:] = np.cumsum(sets.size)
    members = np.empty(start[-1], np.int32)
    for node in range(len(sets.start)):
        push_set(sets, node, members, start[node])
    return Successors(start, members)


@kernel
def new_facts(axes: int, room: int) -> Facts:
    """Nothing known, and room for so many results on a path."""
    return Facts(
        np.full(axes, -1, np.int64),
        np.full(axes, UNBOUNDED, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
    )


@kernel
def is_root(tree: Tree, node: int) -> bool:
    """Whether a gate leads to a node, which is none itself."""
    return bool(tree.axis[node] > GATE and tree.axis[tree.parent[node]] == GATE)


@kernel
def push_below(tree: Tree, stack: Numbers, depths: Numbers, top: int, node: int, depth: int) -> int:
    """Push the *-branch of a node, the node itself, inverted, and its other branches, so that they
    are taken up in this order."""
    inner = tree.axis[node] != LEAF
    child = tree.first[node] if inner else -1
    while child >= 0:
        stack[top], depths[top] = child, depth + 1
        child = tree.next[child]
        top += 1
    stack[top], depths[top] = ~node, depth
    top += 1
    if inner and tree.star[node] >= 0:
        stack[top], depths[top] = tree.star[node], depth + 1
        top += 1
    return top


@kernel
def learn(tree: Tree, facts: Facts, known: int, node: int, depth: int) -> int:
    """Take over what the edge to a node says, in the place of all that was said so deep or deeper;
    return how many results are known."""
    known = forget(facts, known, depth)
    label = tree.label[node]
    if label < 0:
        return known
    axis, asked = tree.axis[tree.parent[node]], tree.asked[tree.parent[node]]
    low, high = facts.low[axis], facts.high[axis]
    facts.depth[known], facts.axis[known] = depth, axis
    facts.lows[known], facts.highs[known] = low, high
    if asked == VALUE:
        low = high = label
    elif label == BELOW:
        low, high = max(low, 0), min(high, asked - 1)
    else:
        low = max(low, asked)
    facts.low[axis], facts.high[axis] = low, high
    return known + 1


@kernel
def forget(facts: Facts, known: int, depth: int) -> int:
    """Take back what edges at a depth or below it said; return how many results are known."""
    while known and facts.depth[known - 1] >= depth:
        known -= 1
        axis = facts.axis[known]
        facts.low[axis], facts.high[axis] = facts.lows[known], facts.highs[known]
    return known


@kernel
def push_passed(tree: Tree, sets: Sets, node: int, work: Numbers) -> int:
    """Write what a search that comes to a node has passed by, or is about to; return how much."""
    count = 0
    if tree.axis[node] != LEAF and tree.star[node] >= 0:
        work[0] = tree.star[node]
        count = 1
    if tree.label[node] >= 0:
        count = push_set(sets, tree.parent[node], work, count)
    return count


@kernel
def push_set(sets: Sets, node: int, work: Numbers, top: int) -> int:
    """Push the set of a node."""
    for i in range(sets.start[node], sets.start[node] + sets.size[node]):
        work[top] = sets.members[i]
        top += 1
    return top


@kernel
def resolve(
    tree: Tree,
    facts: Facts,
    sets: Sets,
    work: Numbers,
    top: int,
    blocked: int,
    out: Numbers,
    n: int,
) -> tuple[Numbers, int]:
    """Write what the nodes at work lead to by the known facts, given that the search is blocked at
    a node unless that is a leaf or -1; return where it is written and how much."""
    if blocked >= 0 and tree.axis[blocked] == LEAF:
        blocked = -1
    while top:
        top -= 1
        node = work[top]
        axis = tree.axis[node]
        if axis != LEAF:
            low, result, child = facts.low[axis], -1, -1
            if low >= 0:
                result = result_within(tree.asked[node], low, facts.high[axis])
            if result >= 0:
                child = find_edge(tree, node, result)
            if child >= 0:
                work[top] = child
                top += 1
                continue
            if result >= 0 or (blocked >= 0 and is_blocked_too(tree, node, blocked)):
                top = push_set(sets, node, work, top)
                continue
        if n == len(out):
            out = np.concatenate((out, out))
        out[n] = node
        n += 1
    return out, n


@kernel
def is_blocked_too(tree: Tree, node: int, blocked: int) -> bool:
    """Whether a search that is blocked at one node would be at another."""
    if tree.edges[node] > 0 and tree.axis[node] != tree.axis[blocked]:
        return False
    child = tree.first[node]
    while child >= 0:
        if is_open(tree, blocked, tree.asked[node], tree.label[child]):
            return False
        child = tree.next[child]
    return True


@kernel
def is_open(tree: Tree, blocked: int, asked: int, result: int) -> bool:
    """Whether a test of the axis of a node can have a result when the search is blocked there."""
    constant = tree.asked[blocked]
    if constant == VALUE:
        return asked != VALUE or find_edge(tree, blocked, result) < 0
    below = find_edge(tree, blocked, BELOW) < 0
    not_below = find_edge(tree, blocked, NOT_BELOW) < 0
    if asked == VALUE:
        return below if result < constant else not_below
    if result == BELOW:
        return below or (not_below and asked > constant)
    return not_below or (below and asked < constant)
