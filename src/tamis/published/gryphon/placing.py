"""Many boxes into the trees of Gryphon and out of them.

Kernels cannot make arrays longer. They stop before the first box that needs something from outside,
say what it is, and go on from there when they are called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Numbers
from tamis.published.boxes import BoxArrays
from tamis.published.gryphon.edges import HASHED
from tamis.published.gryphon.equality import insert_by_levels
from tamis.published.gryphon.factoring import find_gates
from tamis.published.gryphon.general import insert_by_tests
from tamis.published.gryphon.leaves import Leaves, add_entry, entry_at, remove_entry
from tamis.published.gryphon.levels import (
    Levels,
    Tests,
    fill_tests,
    has_ranges,
    new_axis,
    new_tests,
)
from tamis.published.gryphon.tree import (
    BOXES,
    ENTRIES,
    GATES,
    NODES,
    STAR,
    TWINS,
    Tree,
)
from tamis.published.gryphon.twins import Twins, are_twins, find_twin, take_twin

DONE, ROOM, AXIS, GATE_MISSING, COPIES = range(5)
"""Why a kernel stopped: nothing is left, no room for so many copies of a box, an axis without a
level, a gate that is missing, too many copies."""


class Forest(NamedTuple):
    """All trees."""

    tree: Tree
    leaves: Leaves
    levels: Levels
    twins: Twins


class Stop(NamedTuple):
    """Before which box a kernel stopped, and why."""

    box: int
    reason: int
    number: int
    """Of copies, or of the axis, or of the gate above the missing one."""
    label: int
    """Of the missing gate."""


@kernel
def place_boxes(
    forest: Forest, arrays: BoxArrays, boxes: Numbers, first: int, gate: int, copies: int
) -> Stop:
    """Put boxes into the trees below a gate: new ones if it is gate 0, else copies of boxes that
    are there."""
    tree, _, levels, twins = forest
    state = tree.state
    tests = new_tests(levels)
    gates = np.empty(2 * state[GATES], np.int32)
    for i in range(first, len(boxes)):
        box = boxes[i]
        axis = new_axis(arrays, box, levels)
        if axis >= 0:
            return Stop(i, AXIS, axis, STAR)
        n, named, parent, label = find_gates(tree, levels, arrays, box, gate, gates)
        if n < 0:
            return Stop(i, GATE_MISSING, parent, label)
        if not has_room(forest, n):
            return Stop(i, ROOM, n, STAR)
        if state[ENTRIES] + n - state[BOXES] - (gate == 0) > copies:
            return Stop(i, COPIES, n, STAR)
        general = has_ranges(arrays, box)
        twin = -1
        if general:
            at = find_twin(twins, arrays, box)
            twin = twins[at]
            if twin < 0:
                twins[at] = box
                state[TWINS] += 1
        for j in range(n):
            place(forest, arrays, box, gates[j], twin, tests)
        for j in range(len(gates) - named, len(gates)):
            tree.asked[gates[j]] += 1
    return Stop(len(boxes), DONE, 0, STAR)


@kernel
def place(forest: Forest, arrays: BoxArrays, box: int, gate: int, twin: int, tests: Tests) -> None:
    """Put a box into one of the trees below a gate."""
    tree, leaves, levels, _ = forest
    if twin >= 0:
        entry = entry_at(leaves, twin, gate)
        if entry >= 0:
            add_entry(tree, leaves, leaves.leaf[entry], box, gate)
            return
    count = fill_tests(arrays, box, levels, tree, gate, tests)
    if has_ranges(arrays, box):
        leaf = insert_by_tests(tree, gate, tests, count)
    else:
        leaf = insert_by_levels(tree, levels, gate, tests, count)
    add_entry(tree, leaves, leaf, box, gate)


@kernel
def has_room(forest: Forest, copies: int) -> bool:
    """Whether the arrays have room for so many copies of any box."""
    tree, leaves, levels, twins = forest
    state = tree.state
    return bool(
        state[NODES] + copies * (2 * len(levels.axis) + 2) <= len(tree.axis)
        and state[ENTRIES] + copies <= len(leaves.box)
        and 2 * (state[HASHED] + 2 * copies) <= len(tree.slots.child)
        and 2 * (state[TWINS] + 1) <= len(twins)
    )


@kernel
def remove_boxes(forest: Forest, arrays: BoxArrays, boxes: Numbers) -> Numbers:
    """Take boxes out of all trees; return the gates whose values nobody names any more."""
    tree, leaves, levels, _ = forest
    gates = np.empty(2 * tree.state[GATES], np.int32)
    emptied = np.empty(tree.state[GATES], np.int32)
    n = 0
    for box in boxes:
        general = has_ranges(arrays, box)
        if general:
            remove_twin(forest, arrays, box)
        _, named, _, _ = find_gates(tree, levels, arrays, box, 0, gates)
        for j in range(len(gates) - named, len(gates)):
            gate = gates[j]
            tree.asked[gate] -= 1
            if tree.asked[gate] == 0:
                emptied[n] = gate
                n += 1
        while leaves.of[box] >= 0:
            remove_entry(tree, leaves, leaves.of[box], general or levels.collapse)
    return emptied[:n].copy()


@kernel
def remove_twin(forest: Forest, arrays: BoxArrays, box: int) -> None:
    """Let another box stand for its twins, if this one did; behind a gate, its leaf may have boxes
    that differ where the gate has decided."""
    tree, leaves, _, twins = forest
    at = find_twin(twins, arrays, box)
    if twins[at] != box:
        return
    entry = tree.star[leaves.leaf[leaves.of[box]]]
    while entry >= 0:
        other = leaves.box[entry]
        if other != box and are_twins(arrays, box, other):
            twins[at] = other
            return
        entry = leaves.next[entry]
    take_twin(twins, arrays, tree.state, at)
