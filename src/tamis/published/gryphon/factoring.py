r"""Factoring (Gryphon, section 5): trees of their own for the values of some index attributes.

The first levels are taken out of the trees. Gates stand for them; an event passes exactly one gate
a level, and none of what lies behind the others is ever visited.

    a0 indexed        gate 0                      boxes   A: a0 = 1, a2 = 3
                  1/    2|     \*                        B: a0 = 2, a2 = 3
               gate     gate    gate                     C: a2 = 3
              A, C      B, C     C
                              the event has another value there, which no box names, or none at all

A subscription goes, without its tests of index attributes, to every gate that is consistent with
them: one that does not care to all, one with a range to the values inside it; behind the *-gate,
where the value is not known, a range is tested still. So the *-gate has what the gate of any
further value begins with, and no other gate need be looked at when a value is named for the first
time. A gate counts the boxes that name its value, and goes with the last of them.

Copies are multiplied by the values of each index attribute that a subscription does not care about;
there is a limit to them. One level of gates costs an event one look-up.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import BoxArrays
from tamis.published.gryphon.leaves import Leaves, entries_below, remove_entry
from tamis.published.gryphon.levels import Levels
from tamis.published.gryphon.tree import (
    GATE,
    GATES,
    STAR,
    Tree,
    attach,
    detach,
    find_edge,
    new_node,
    release,
)


@kernel
def open_gate(tree: Tree, parent: int, label: int) -> int:
    """A new gate, that nobody names yet; there must be room. Without a parent it is gate 0."""
    gate = new_node(tree, GATE, 0)
    tree.parent[gate], tree.label[gate] = -1, STAR
    if parent >= 0:
        attach(tree, parent, label, gate)
    tree.state[GATES] += 1
    return gate


@kernel
def depth_of(tree: Tree, gate: int) -> int:
    """How many gates are above a gate."""
    depth = 0
    while tree.parent[gate] >= 0:
        gate = tree.parent[gate]
        depth += 1
    return depth


@kernel
def side_on(arrays: BoxArrays, box: int, axis: int) -> int:
    """The side of a box on an axis, or -1."""
    for side in range(arrays.begin[box], arrays.end[box]):
        if arrays.axis[side] == axis:
            return int(side)
    return -1


@kernel
def find_gates(
    tree: Tree, levels: Levels, arrays: BoxArrays, box: int, gate: int, gates: Numbers
) -> tuple[int, int, int, int]:
    """Write the gates below a gate to whose trees a box goes, from the front, and those whose
    values it names, from the back; return how many of both, or -1 and the parent and label of a
    gate that is missing."""
    if levels.indexed == 0:
        gates[0] = gate
        return 1, 0, -1, STAR
    top, n, named = 1, 0, 0
    stack = np.empty((tree.state[GATES], 2), np.int32)
    stack[0, 0], stack[0, 1] = gate, depth_of(tree, gate)
    while top:
        top -= 1
        gate, level = stack[top, 0], stack[top, 1]
        if level == levels.indexed:
            gates[n] = gate
            n += 1
            continue
        side = side_on(arrays, box, levels.axis[level])
        if side >= 0 and arrays.low[side] == arrays.high[side]:
            child = find_edge(tree, gate, arrays.low[side])
            if child < 0:
                return -1, 0, gate, arrays.low[side]
            named += 1
            gates[len(gates) - named] = child
            stack[top, 0], stack[top, 1] = child, level + 1
            top += 1
            continue
        if tree.star[gate] < 0:
            return -1, 0, gate, STAR
        stack[top, 0], stack[top, 1] = tree.star[gate], level + 1
        top += 1
        child = tree.first[gate]
        while child >= 0:
            label = tree.label[child]
            if side < 0 or (arrays.low[side] <= label <= arrays.high[side]):
                stack[top, 0], stack[top, 1] = child, level + 1
                top += 1
            child = tree.next[child]
    return n, named, -1, STAR


@kernel
def gate_for(tree: Tree, levels: Levels, labels: Labels) -> int:
    """The gate that an event passes last, or -1."""
    gate = 0
    for level in range(levels.indexed):
        label = labels[levels.axis[level]]
        child = find_edge(tree, gate, label) if label >= 0 else -1
        gate = child if child >= 0 else tree.star[gate]
        if gate < 0:
            return -1
    return gate


@kernel
def boxes_for(
    tree: Tree, leaves: Leaves, arrays: BoxArrays, star: int, axis: int, label: int
) -> Numbers:
    """The boxes behind a *-gate that go to the gate of a value too, each once."""
    boxes = leaves.box[entries_below(tree, leaves, star)]
    boxes.sort()
    n = 0
    for i in range(len(boxes)):
        box = boxes[i]
        if i and box == boxes[i - 1]:
            continue
        side = side_on(arrays, box, axis)
        if side < 0 or (arrays.low[side] <= label <= arrays.high[side]):
            boxes[n] = box
            n += 1
    return boxes[:n]


@kernel
def close_gate(tree: Tree, leaves: Leaves, gate: int) -> None:
    """Release a gate and all below it: copies of boxes that are elsewhere too."""
    for entry in entries_below(tree, leaves, gate):
        remove_entry(tree, leaves, entry, True)
    detach(tree, gate)
    stack = np.empty(tree.state[GATES], np.int32)
    stack[0] = gate
    top = 1
    while top:
        top -= 1
        gate = stack[top]
        while tree.star[gate] >= 0 or tree.first[gate] >= 0:
            child = tree.star[gate] if tree.star[gate] >= 0 else tree.first[gate]
            detach(tree, child)
            stack[top] = child
            top += 1
        release(tree, gate)
        tree.state[GATES] -= 1
