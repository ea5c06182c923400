"""The cache of variable dependencies (PADRES, section 4.4 and figure 8): which predicates follow.

    x1: price > 10   →   x2: price > 8   →   x3: price > 5

An edge says that whenever its lower variable is true, its upper one is. Only edges that do not
follow from others are kept: x1 → x3 is not there. So what a variable implies is what can be reached
from it, and what implies it is what reaches it.

Deviation: figure 8 tries every dependency after each addition. A new variable changes only edges
that run past it: those from the greatest ones below it to the least ones above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Labels, Numbers, Offsets
from tamis.published.boxes import grown
from tamis.published.mbd.variables import CHANGES, TOP, Variables

FREE, EDGES = range(2)
"""The first free edge, or -1; edges that are there."""


class Edges(NamedTuple):
    """Dependencies, in a list for each lower and for each upper variable."""

    lower: Numbers
    upper: Numbers
    next_up: Numbers
    """The next edge with the same lower variable; of a free edge the next free one."""
    next_down: Numbers
    """The next edge with the same upper variable."""
    up: Numbers
    """By variable: its first edge upwards, or -1."""
    down: Numbers
    state: Offsets


class DependencyCache:
    """The minimal dependencies of the variables of diagrams."""

    def __init__(self) -> None:
        self._state: Offsets | None = None
        self._changes = 0
        """Of which variables this is the cache, and how many had come or gone."""
        self._axis = np.full(64, -1, np.int32)
        self._low: Labels = np.zeros(64, np.int64)
        self._high: Labels = np.zeros(64, np.int64)
        self.edges = Edges(
            lower=np.zeros(64, np.int32),
            upper=np.zeros(64, np.int32),
            next_up=np.full(64, -1, np.int32),
            next_down=np.full(64, -1, np.int32),
            up=np.full(64, -1, np.int32),
            down=np.full(64, -1, np.int32),
            state=np.array([-1, 0]),
        )
        _free_edges(self.edges, 0)

    def follow(self, variables: Variables) -> None:
        """Take over the variables that came and went."""
        if variables.state is self._state and variables.state[CHANGES] == self._changes:
            return
        self._state, self._changes = variables.state, int(variables.state[CHANGES])
        top = int(variables.state[TOP])
        self._make_room(top)
        axis = np.full(len(self._axis), -1, np.int32)
        axis[:top] = np.where(variables.uses[:top] > 0, variables.axis[:top], -1)
        changed = axis != self._axis
        changed[:top] |= (axis[:top] >= 0) & (
            (variables.low[:top] != self._low[:top]) | (variables.high[:top] != self._high[:top])
        )
        for number in np.flatnonzero(changed).tolist():
            if self._axis[number] >= 0:
                self._remove(number)
        for number in np.flatnonzero(changed).tolist():
            if axis[number] >= 0:
                self._add(variables, number, int(axis[number]))

    def _make_room(self, top: int) -> None:
        known = len(self._axis)
        if top <= known:
            return
        self._axis, self._low = grown(self._axis, top), grown(self._low, top)
        self._high = grown(self._high, top)
        up, down = grown(self.edges.up, top), grown(self.edges.down, top)
        self._axis[known:] = up[known:] = down[known:] = -1
        self.edges = self.edges._replace(up=up, down=down)

    def _remove(self, number: int) -> None:
        self._reserve(self._degree(number, up=True) * self._degree(number, up=False))
        remove_variable(self.edges, self._low, self._high, number)
        self._axis[number] = -1

    def _add(self, variables: Variables, number: int, axis: int) -> None:
        self._axis[number] = axis
        self._low[number], self._high[number] = variables.low[number], variables.high[number]
        self._reserve(2 * len(self._axis))
        add_variable(self.edges, self._axis, self._low, self._high, number)

    def _degree(self, number: int, *, up: bool) -> int:
        """How many edges a variable has upwards, or downwards."""
        first, after = ("up", "next_up") if up else ("down", "next_down")
        edge, count = getattr(self.edges, first)[number], 0
        while edge >= 0:
            edge, count = getattr(self.edges, after)[edge], count + 1
        return count

    def _reserve(self, more: int) -> None:
        count, known = int(self.edges.state[EDGES]), len(self.edges.lower)
        if count + more <= known:
            return
        lower, upper, next_up, next_down, up, down, state = self.edges
        size = count + more
        self.edges = Edges(
            grown(lower, size),
            grown(upper, size),
            grown(next_up, size),
            grown(next_down, size),
            up,
            down,
            state,
        )
        _free_edges(self.edges, known)

    def pairs(self) -> set[tuple[int, int]]:
        """The dependencies that are kept."""
        lower, upper, next_up = (each.tolist() for each in self.edges[:3])
        found = set()
        for edge in self.edges.up.tolist():
            while edge >= 0:
                found.add((lower[edge], upper[edge]))
                edge = next_up[edge]
        return found


def _free_edges(edges: Edges, first: int) -> None:
    """Put the edges from the first on into the list of free ones."""
    numbers = np.arange(first + 1, len(edges.lower) + 1, dtype=np.int32)
    numbers[-1] = edges.state[FREE]
    edges.next_up[first:] = numbers
    edges.state[FREE] = first


@kernel
def add_edge(edges: Edges, lower: int, upper: int) -> None:
    """Add a dependency; there must be room."""
    edge = edges.state[FREE]
    edges.state[FREE] = edges.next_up[edge]
    edges.state[EDGES] += 1
    edges.lower[edge], edges.upper[edge] = lower, upper
    edges.next_up[edge], edges.next_down[edge] = edges.up[lower], edges.down[upper]
    edges.up[lower] = edges.down[upper] = edge


@kernel
def delete_edge(edges: Edges, lower: int, upper: int) -> None:
    """Delete a dependency, if it is there."""
    before, edge = -1, edges.up[lower]
    while edge >= 0 and edges.upper[edge] != upper:
        before, edge = edge, edges.next_up[edge]
    if edge < 0:
        return
    if before < 0:
        edges.up[lower] = edges.next_up[edge]
    else:
        edges.next_up[before] = edges.next_up[edge]
    before, other = -1, edges.down[upper]
    while other != edge:
        before, other = other, edges.next_down[other]
    if before < 0:
        edges.down[upper] = edges.next_down[edge]
    else:
        edges.next_down[before] = edges.next_down[edge]
    edges.next_up[edge] = edges.state[FREE]
    edges.state[FREE] = edge
    edges.state[EDGES] -= 1


@kernel
def is_within(low: Labels, high: Labels, inner: int, outer: int) -> bool:
    """Whether one of two different variables of an axis implies the other."""
    return bool(low[outer] <= low[inner] and high[inner] <= high[outer])


@kernel
def add_variable(edges: Edges, axis: Numbers, low: Labels, high: Labels, number: int) -> None:
    """Add the dependencies of a new variable, and delete those that now follow."""
    same = np.flatnonzero(axis == axis[number])
    above, below = np.empty(len(same), np.int64), np.empty(len(same), np.int64)
    ups = downs = 0
    for each in same:
        other = int(each)
        if other == number:
            continue
        if is_within(low, high, number, other):
            ups = keep_nearest(low, high, above, ups, other, True)
        elif is_within(low, high, other, number):
            downs = keep_nearest(low, high, below, downs, other, False)
    for i in range(downs):
        for j in range(ups):
            delete_edge(edges, int(below[i]), int(above[j]))
        add_edge(edges, int(below[i]), number)
    for j in range(ups):
        add_edge(edges, number, int(above[j]))


@kernel
def keep_nearest(
    low: Labels, high: Labels, nearest: Labels, count: int, other: int, above: bool
) -> int:
    """Add a variable to the least ones above, or the greatest ones below, if it is one of them."""
    kept = 0
    for i in range(count):
        known = nearest[i]
        inner, outer = (known, other) if above else (other, known)
        if is_within(low, high, inner, outer):
            return count
    for i in range(count):
        known = nearest[i]
        inner, outer = (other, known) if above else (known, other)
        if not is_within(low, high, inner, outer):
            nearest[kept] = known
            kept += 1
    nearest[kept] = other
    return kept + 1


@kernel
def remove_variable(edges: Edges, low: Labels, high: Labels, number: int) -> None:
    """Delete the dependencies of a variable, and add those that followed from them alone."""
    lowers, uppers = np.empty(0, np.int64), np.empty(0, np.int64)
    edge = edges.down[number]
    while edge >= 0:
        lowers = np.append(lowers, edges.lower[edge])
        edge = edges.next_down[edge]
    edge = edges.up[number]
    while edge >= 0:
        uppers = np.append(uppers, edges.upper[edge])
        edge = edges.next_up[edge]
    for i in range(len(lowers)):
        delete_edge(edges, int(lowers[i]), number)
    for j in range(len(uppers)):
        delete_edge(edges, number, int(uppers[j]))
    for i in range(len(lowers)):
        for j in range(len(uppers)):
            edge, upper = edges.up[int(lowers[i])], int(uppers[j])
            while edge >= 0 and not is_within(low, high, edges.upper[edge], upper):
                edge = edges.next_up[edge]
            if edge < 0:
                add_edge(edges, int(lowers[i]), upper)


@kernel
def mark_reached(edges: Edges, number: int, upwards: bool, mark: Bytes, stack: Numbers) -> int:
    """Mark a variable and all above it, or all below it; return how many edges were followed.

    The stack has room for all variables: each is on it once at most.
    """
    stack[0] = number
    mark[number] = 1
    size, followed = 1, 0
    while size:
        size -= 1
        at = stack[size]
        edge = edges.up[at] if upwards else edges.down[at]
        while edge >= 0:
            other = edges.upper[edge] if upwards else edges.lower[edge]
            followed += 1
            if not mark[other]:
                mark[other] = 1
                stack[size] = other
                size += 1
            edge = edges.next_up[edge] if upwards else edges.next_down[edge]
    return followed
