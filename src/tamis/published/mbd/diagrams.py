"""Multi-rooted decision diagrams (PADRES, sections 3.1 to 3.3) of conjunctions, in flat arrays.

    price < 5 and color = 'red'      price < 9 and color = 'red' and size = 4      color = 'red'

    node      0       1             2            3           4
    variable          color = red   price < 5    price < 9   size = 4
    child     (true)  0             1            1           3
    output            box 2         box 0        -           box 1

The diagram of a conjunction is a chain: each node goes on to its child if its variable is true, and
to false otherwise. The attributes of all chains follow one order, the popular ones at the bottom,
and nodes with the same variable and the same child are one. The node at the top of a subscription's
chain is its output. A diagram of the paper is the set of outputs that have the same child; as nodes
are shared by all diagrams, one sweep evaluates all of them, each node once.

Invariant: a node's child has a smaller number. So a sweep over ascending numbers finds each child
evaluated, without a branch. A removed node keeps its number, with variable 0, until most nodes are
removed; then the rest moves together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import (
    EMPTY,
    SEED,
    delete_slot,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Bytes, Numbers, Offsets
from tamis.published.boxes import grown

NODES, LIVE, BOXES = range(3)
"""One more than the greatest number of a node, nodes that are there, boxes that are there."""
TRUE = 0
"""The node that is always true."""


class Diagrams(NamedTuple):
    """Nodes by number, and the boxes of outputs."""

    variable: Numbers
    child: Numbers
    uses: Numbers
    """Parents and boxes."""
    is_output: Bytes
    box: Numbers
    """The first box of an output, or -1."""
    next: Numbers
    """By box: the next one of the same output, or -1."""
    node: Numbers
    """By box: its output, or -1."""
    slots: Buckets
    state: Offsets


def no_diagrams() -> Diagrams:
    """Diagrams with room for a few; only TRUE is there."""
    return Diagrams(
        variable=np.zeros(64, np.int32),
        child=np.zeros(64, np.int32),
        uses=np.zeros(64, np.int32),
        is_output=np.zeros(64, np.uint8),
        box=np.full(64, -1, np.int32),
        next=np.full(64, -1, np.int32),
        node=np.full(64, -1, np.int32),
        slots=np.full(128, EMPTY, np.int64),
        state=np.array([1, 0, 0]),
    )


def with_nodes(diagrams: Diagrams, more: int, boxes: int) -> Diagrams:
    """Diagrams with room for some more nodes, and for boxes below a number."""
    variable, child, uses, is_output, box, next, node, slots, state = diagrams
    size, nodes, known = int(state[NODES]) + more, len(box), len(next)
    box, next, node = grown(box, size), grown(next, boxes), grown(node, boxes)
    box[nodes:] = next[known:] = node[known:] = -1
    return Diagrams(
        grown(variable, size),
        grown(child, size),
        grown(uses, size),
        grown(is_output, size),
        box,
        next,
        node,
        roomy_slots(slots, int(state[LIVE]) + more),
        state,
    )


@kernel
def find_node(diagrams: Diagrams, variable: int, child: int) -> int:
    """The node with a variable and a child, or 0."""
    slots = diagrams.slots
    hash = mixed(mixed(SEED, variable), child)
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        number = number_of(slots[at])
        if diagrams.variable[number] == variable and diagrams.child[number] == child:
            return int(number)
        at = at + 1 & len(slots) - 1
    return 0


@kernel
def new_node(diagrams: Diagrams, variable: int, child: int) -> int:
    """Make a node; there must be room."""
    state = diagrams.state
    number = state[NODES]
    state[NODES] += 1
    state[LIVE] += 1
    diagrams.variable[number], diagrams.child[number] = variable, child
    diagrams.uses[number] = diagrams.is_output[number] = 0
    diagrams.box[number] = -1
    diagrams.uses[child] += 1
    put_slot(diagrams.slots, mixed(mixed(SEED, variable), child), number)
    return int(number)


@kernel
def forget_node(diagrams: Diagrams, number: int) -> None:
    """Forget a node that nobody uses; its child loses a parent."""
    slots = diagrams.slots
    variable, child = diagrams.variable[number], diagrams.child[number]
    at = mixed(mixed(SEED, variable), child) & len(slots) - 1
    while number_of(slots[at]) != number:
        at = at + 1 & len(slots) - 1
    delete_slot(slots, at)
    diagrams.variable[number] = diagrams.child[number] = 0
    diagrams.uses[child] -= 1
    diagrams.state[LIVE] -= 1


@kernel
def put_box(diagrams: Diagrams, node: int, box: int) -> None:
    """Let a node be the output of a box."""
    diagrams.next[box], diagrams.node[box] = diagrams.box[node], node
    diagrams.box[node] = box
    diagrams.is_output[node] = 1
    diagrams.uses[node] += 1
    diagrams.state[BOXES] += 1


@kernel
def take_box(diagrams: Diagrams, box: int) -> int:
    """Take a box from its output; return the output."""
    node = diagrams.node[box]
    other = diagrams.box[node]
    if other == box:
        diagrams.box[node] = diagrams.next[box]
    else:
        while diagrams.next[other] != box:
            other = diagrams.next[other]
        diagrams.next[other] = diagrams.next[box]
    diagrams.node[box] = diagrams.next[box] = -1
    diagrams.is_output[node] = diagrams.box[node] >= 0
    diagrams.uses[node] -= 1
    diagrams.state[BOXES] -= 1
    return int(node)


@kernel
def close_gaps(diagrams: Diagrams) -> None:
    """Move the nodes that are there together, in the same order."""
    variable, child, uses, is_output, box, next, node, slots, state = diagrams
    place = np.zeros(state[NODES], np.int32)
    n = 1
    slots[:] = EMPTY
    for old in range(1, state[NODES]):
        if variable[old] == 0:
            continue
        place[old] = n
        variable[n], child[n] = variable[old], place[child[old]]
        uses[n], is_output[n], box[n] = uses[old], is_output[old], box[old]
        each = box[n]
        while each >= 0:
            node[each] = n
            each = next[each]
        put_slot(slots, mixed(mixed(SEED, variable[n]), child[n]), n)
        n += 1
    state[NODES] = n


@kernel
def evaluate_all(diagrams: Diagrams, truth: Bytes, value: Bytes, hit: Numbers) -> int:
    """Evaluate every node, and write the outputs that are true; return how many."""
    variable, child, is_output = diagrams.variable, diagrams.child, diagrams.is_output
    value[TRUE] = 1
    hit[0] = TRUE
    found = np.uintp(is_output[TRUE])
    for node in range(np.uintp(1), np.uintp(diagrams.state[NODES])):
        is_true = truth[np.uintp(variable[node])] & value[np.uintp(child[node])]
        value[node] = is_true
        hit[found] = node
        found += np.uintp(is_true & is_output[node])
    return int(found)
