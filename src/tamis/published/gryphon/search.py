"""The search of Gryphon's trees (section 3; Le Subscribe, figure 7): which boxes points stab.

From a node, the edge with the result of its test is followed before the *-edge. Without successor
sets the *-edge is kept for later; with them (successors.py) a search that succeeds keeps
nothing: where it is blocked, or at a leaf, the set of that node says where else to go.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Tally
from tamis.published.boxes import Points, clear_labels, set_labels
from tamis.published.gryphon.factoring import gate_for
from tamis.published.gryphon.placing import Forest
from tamis.published.gryphon.successors import Successors
from tamis.published.gryphon.tree import (
    BELOW,
    BOXES,
    LEAF,
    NODES,
    NOT_BELOW,
    VALUE,
    Tree,
    find_edge,
)
from tamis.published.index import EVALUATED, VISITED, BoxHits


@kernel
def search(
    forest: Forest,
    successors: Successors,
    points: Points,
    first: int,
    last: int,
    chunk: BoxHits,
    tally: Tally,
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room, up to the last."""
    tree, _, levels, _ = forest
    labels = np.full(max(points.axes, len(levels.level)), -1, np.int64)
    stack = np.empty(tree.state[NODES] + 1, np.int32)
    n, point = 0, first
    while point < last and n + tree.state[BOXES] <= len(chunk.box):
        set_labels(points, point, labels)
        before = n
        n = visit(forest, successors, labels, stack, chunk.box, n, tally)
        chunk.point[before:n] = point
        clear_labels(points, point, labels)
        point += 1
    return point, n


@kernel
def visit(
    forest: Forest,
    successors: Successors,
    labels: Labels,
    stack: Numbers,
    boxes: Numbers,
    n: int,
    tally: Tally,
) -> int:
    """Write the boxes of one point behind the first n."""
    tree, leaves, levels, _ = forest
    start, members = successors
    known = len(start) > 0
    visited, tested, top = 0, 0, 0
    gate = gate_for(tree, levels, labels)
    if gate < 0:
        return n
    for root in (tree.first[gate], tree.star[gate]):
        if root >= 0:
            stack[top] = root
            top += 1
    while top:
        top -= 1
        node = stack[top]
        child = node
        while child >= 0:
            node = child
            visited += 1
            if tree.axis[node] == LEAF:
                break
            tested += 1
            child = find_edge(tree, node, result_of(tree, node, labels))
            star = tree.star[node]
            if not known and star >= 0:
                if child >= 0:
                    stack[top] = star
                    top += 1
                else:
                    child = star
        if tree.axis[node] == LEAF:
            entry = tree.star[node]
            while entry >= 0:
                boxes[n] = leaves.box[entry]
                entry = leaves.next[entry]
                n += 1
        if known:
            for i in range(start[node], start[node + 1]):
                stack[top] = members[i]
                top += 1
    tally[VISITED] += visited
    tally[EVALUATED] += tested
    return n


@kernel
def result_of(tree: Tree, node: int, labels: Labels) -> int:
    """The result of the test of a node, or -1 if the attribute is absent."""
    label = labels[tree.axis[node]]
    asked = tree.asked[node]
    if asked == VALUE or label < 0:
        return int(label)
    return BELOW if label < asked else NOT_BELOW
