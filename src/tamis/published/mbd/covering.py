"""Covering by decision diagrams (PADRES, sections 4.2 and 4.3, figure 7).

A new subscription gives every variable two bits: whether its own predicate on the same attribute
covers that of the variable (left), and whether it is covered by it (right). It is covered by an
output if all variables of the output's chain have the right bit.

Made sound: the paper lets the new subscription cover an output if all variables of its chain have
the left bit. Then ``price > 5 and dest = 'Ottawa'`` would cover ``price > 10``, which has no
destination. Here the left bits of a chain are counted: each predicate of the new subscription must
cover one of the output's, and what the output asks for besides does not matter.

``one_phase`` finds both in one sweep, with the early exits of figure 7, which hold if no output
covers another: what is covered covers none of them, and what covers one is covered by none.
``two_phase`` sweeps once for each question, the second time only if the first was answered no;
``both_phases`` sweeps twice in any case, as two separate algorithms do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Labels, Numbers
from tamis.published.mbd.dependencies import DependencyCache, Edges, mark_reached
from tamis.published.mbd.diagrams import NODES, TRUE, Diagrams
from tamis.published.mbd.mbd import MBD
from tamis.published.mbd.variables import TOP, Variables, find_variable

BOTH = 3
"""Two phases of which the second does not depend on the first."""


class Sides(NamedTuple):
    """The sides of one box."""

    axis: Numbers
    low: Labels
    high: Labels


class CoveringAnswer(NamedTuple):
    """What is known of a new box: whether it is covered, else the boxes that it covers."""

    is_covered: bool
    boxes: Numbers


class DiagramCoverer:
    """Answers covering questions by the diagrams of an index, in which no box covers another."""

    def __init__(self, index: MBD, *, phases: int = 1, cached: bool = True) -> None:
        self._index = index
        self._phases = phases
        self._cache = DependencyCache() if cached else None
        self.compared = 0
        """Predicates compared, or dependencies followed, so far."""

    def relate(self, sides: Sides) -> CoveringAnswer:
        """How a new box relates to those of the index."""
        variables, diagrams = self._index.variables, self._index.diagrams
        left, right = self._assign(variables, sides)
        nodes = int(diagrams.state[NODES])
        hit = np.empty(nodes, np.int32)
        sweep = {1: one_phase, 2: two_phase, BOTH: both_phases}[self._phases]
        is_covered, count = sweep(diagrams, left, right, len(sides.axis), hit)
        return CoveringAnswer(bool(is_covered), boxes_of(diagrams, hit[:count]))

    def _assign(self, variables: Variables, sides: Sides) -> tuple[Bytes, Bytes]:
        top = int(variables.state[TOP])
        left, right = np.zeros(top, np.uint8), np.zeros(top, np.uint8)
        if self._cache is None:
            self.compared += compare_predicates(variables, sides, left, right)
        else:
            self._cache.follow(variables)
            self.compared += look_up_predicates(variables, self._cache.edges, sides, left, right)
        return left, right


@kernel
def compare_side(
    variables: Variables, axis: int, low: int, high: int, left: Bytes, right: Bytes
) -> int:
    """Write the two bits of all variables of an axis; return how many there are."""
    number = variables.first[axis] if axis < len(variables.first) else -1
    compared = 0
    while number >= 0:
        least, most = variables.low[number], variables.high[number]
        left[number] = low <= least and most <= high
        right[number] = least <= low and high <= most
        compared += 1
        number = variables.next[number]
    return compared


@kernel
def compare_predicates(variables: Variables, sides: Sides, left: Bytes, right: Bytes) -> int:
    """Write the two bits of all variables; return how many predicates were compared."""
    compared = 0
    for i in range(len(sides.axis)):
        compared += compare_side(variables, sides.axis[i], sides.low[i], sides.high[i], left, right)
    return compared


@kernel
def look_up_predicates(
    variables: Variables, edges: Edges, sides: Sides, left: Bytes, right: Bytes
) -> int:
    """Do so by the cache, where it knows the predicate; return how many steps that took."""
    steps = 0
    stack = np.empty(len(left) + 1, np.int32)
    for i in range(len(sides.axis)):
        axis, low, high = sides.axis[i], sides.low[i], sides.high[i]
        number = find_variable(variables, axis, low, high)
        if number:
            steps += mark_reached(edges, number, True, right, stack)
            steps += mark_reached(edges, number, False, left, stack)
        else:
            steps += compare_side(variables, axis, low, high, left, right)
    return steps


@kernel
def one_phase(
    diagrams: Diagrams, left: Bytes, right: Bytes, sides: int, hit: Numbers
) -> tuple[bool, int]:
    """Whether an output covers a box of so many sides, else the outputs that it covers.

    A node's value has both answers: the lowest bit says whether all variables of its chain have the
    right bit, those above it count the left bits.
    """
    variable, child, is_output = diagrams.variable, diagrams.child, diagrams.is_output
    nodes = diagrams.state[NODES]
    if is_output[TRUE]:
        return True, 0
    bits = left << np.uint8(1) | right
    value = np.empty(nodes, np.uint16)
    value[TRUE] = 1
    found = 0
    node = 1
    while node < nodes and found == 0:
        both = np.uint16(bits[np.uintp(variable[node])])
        below = value[np.uintp(child[node])]
        own = (below & (np.uint16(0xFFFE) | both)) + (both & np.uint16(2))
        value[node] = own
        if own & 1 and is_output[node]:
            return True, 0
        if own >> 1 == sides and is_output[node]:
            hit[found] = node
            found += 1
        node += 1
    while node < nodes:
        own = value[np.uintp(child[node])] + (bits[np.uintp(variable[node])] & np.uint16(2))
        value[node] = own
        if own >> 1 == sides and is_output[node]:
            hit[found] = node
            found += 1
        node += 1
    return False, found


@kernel
def two_phase(
    diagrams: Diagrams, left: Bytes, right: Bytes, sides: int, hit: Numbers
) -> tuple[bool, int]:
    """The same by two sweeps."""
    if find_coverer(diagrams, right):
        return True, 0
    return False, find_outputs_covered(diagrams, left, sides, hit)


@kernel
def both_phases(
    diagrams: Diagrams, left: Bytes, right: Bytes, sides: int, hit: Numbers
) -> tuple[bool, int]:
    """The same by two algorithms that know nothing of each other."""
    found = find_outputs_covered(diagrams, left, sides, hit)
    if find_coverer(diagrams, right):
        return True, 0
    return False, found


@kernel
def find_coverer(diagrams: Diagrams, right: Bytes) -> bool:
    """Whether an output covers a box, given the right bits of variables."""
    variable, child, is_output = diagrams.variable, diagrams.child, diagrams.is_output
    nodes = diagrams.state[NODES]
    if is_output[TRUE]:
        return True
    covers = np.empty(nodes, np.uint8)
    covers[TRUE] = 1
    for node in range(1, nodes):
        covers[node] = right[np.uintp(variable[node])] & covers[np.uintp(child[node])]
        if covers[node] and is_output[node]:
            return True
    return False


@kernel
def find_outputs_covered(diagrams: Diagrams, left: Bytes, sides: int, hit: Numbers) -> int:
    """Write the outputs that a box of so many sides covers, given the left bits of variables."""
    variable, child, is_output = diagrams.variable, diagrams.child, diagrams.is_output
    nodes = diagrams.state[NODES]
    count = np.empty(nodes, np.uint16)
    count[TRUE] = 0
    found = 0
    for node in range(1, nodes):
        count[node] = count[np.uintp(child[node])] + left[np.uintp(variable[node])]
        if count[node] == sides and is_output[node]:
            hit[found] = node
            found += 1
    return found


@kernel
def boxes_of(diagrams: Diagrams, outputs: Numbers) -> Numbers:
    """The boxes of outputs."""
    count = 0
    for output in outputs:
        box = diagrams.box[output]
        while box >= 0:
            count += 1
            box = diagrams.next[box]
    boxes = np.empty(count, np.int32)
    n = 0
    for output in outputs:
        box = diagrams.box[output]
        while box >= 0:
            boxes[n] = box
            n += 1
            box = diagrams.next[box]
    return boxes
