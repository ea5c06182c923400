"""The global predicate index of PADRES (section 3.1): each distinct predicate is one variable.

    variable    0      1           2             3            4
    predicate   false  price = 4   price 0..9    color = 17   price >= 8
                       next 2      next 4        next -1      next -1
    axis        price: first 1     color: first 3

A predicate is a side of a box: an interval of labels on one axis. The variables of an axis are a
list, so that an event's label there is compared with each of them once. Variable 0 is never true;
it stands where a node was removed. Numbers of variables that no node uses are given out again.

A hash table finds the variable of a predicate (``arrays/hash_table.py``).
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
from tamis.arrays.types import Buckets, Bytes, Labels, Numbers, Offsets
from tamis.published.boxes import UNBOUNDED, Points, grown

TOP, FREE, COUNT, CHANGES = range(4)
"""One more than the greatest number, the first free one or 0, variables that are there, and how
many have come or gone."""


class Variables(NamedTuple):
    """Predicates by number."""

    axis: Numbers
    low: Labels
    high: Labels
    uses: Numbers
    """Nodes that test it."""
    next: Numbers
    """The next variable of the same axis, or -1; of a free number the next free one, or 0."""
    before: Numbers
    """The one before it, or -1."""
    first: Numbers
    """By axis: its first variable, or -1."""
    slots: Buckets
    state: Offsets


def no_variables() -> Variables:
    """Variables with room for a few; only 0 is there."""
    few = [np.zeros(64, np.int32) for _ in range(4)]
    return Variables(
        axis=few[0],
        low=np.zeros(64, np.int64),
        high=np.zeros(64, np.int64),
        uses=few[1],
        next=few[2],
        before=few[3],
        first=np.full(16, -1, np.int32),
        slots=np.full(128, EMPTY, np.int64),
        state=np.array([1, 0, 0, 0]),
    )


def with_variables(variables: Variables, more: int, axes: int) -> Variables:
    """Variables with room for some more, and for axes below a number."""
    size = int(variables.state[TOP]) + more
    known = len(variables.first)
    first = grown(variables.first, axes)
    first[known:] = -1
    return Variables(
        grown(variables.axis, size),
        grown(variables.low, size),
        grown(variables.high, size),
        grown(variables.uses, size),
        grown(variables.next, size),
        grown(variables.before, size),
        first,
        roomy_slots(variables.slots, int(variables.state[COUNT]) + more),
        variables.state,
    )


@kernel
def variable_hash(axis: int, low: int, high: int) -> int:
    """The hash of a predicate; labels have 62 bits, and so must UNBOUNDED."""
    return mixed(mixed(mixed(SEED, axis), low), high & UNBOUNDED - 1)


@kernel
def find_variable(variables: Variables, axis: int, low: int, high: int) -> int:
    """The variable of a predicate, or 0."""
    hash = variable_hash(axis, low, high)
    slots = variables.slots
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            number = number_of(slots[at])
            if (
                variables.axis[number] == axis
                and variables.low[number] == low
                and variables.high[number] == high
            ):
                return int(number)
        at = at + 1 & len(slots) - 1
    return 0


@kernel
def take_variable(variables: Variables, axis: int, low: int, high: int) -> int:
    """The variable of a predicate, a new one if it has none; there must be room."""
    number = find_variable(variables, axis, low, high)
    if number:
        return number
    state = variables.state
    number = state[FREE]
    if number:
        state[FREE] = variables.next[number]
    else:
        number = state[TOP]
        state[TOP] += 1
    variables.axis[number] = axis
    variables.low[number], variables.high[number] = low, high
    variables.uses[number] = 0
    first = variables.first[axis]
    variables.next[number], variables.before[number] = first, -1
    if first >= 0:
        variables.before[first] = number
    variables.first[axis] = number
    put_slot(variables.slots, variable_hash(axis, low, high), number)
    state[COUNT] += 1
    state[CHANGES] += 1
    return int(number)


@kernel
def leave_variable(variables: Variables, number: int) -> None:
    """Forget a variable that no node uses."""
    axis = variables.axis[number]
    hash = variable_hash(axis, variables.low[number], variables.high[number])
    slots = variables.slots
    at = hash & len(slots) - 1
    while number_of(slots[at]) != number:
        at = at + 1 & len(slots) - 1
    delete_slot(slots, at)
    before, after = variables.before[number], variables.next[number]
    if before >= 0:
        variables.next[before] = after
    else:
        variables.first[axis] = after
    if after >= 0:
        variables.before[after] = before
    variables.next[number] = variables.state[FREE]
    variables.state[FREE] = number
    variables.state[COUNT] -= 1
    variables.state[CHANGES] += 1


@kernel
def assign_truths(variables: Variables, points: Points, point: int, truth: Bytes) -> int:
    """Write the truth of all variables for a point, 0 where it has no such attribute; return how
    many predicates were evaluated."""
    truth[: variables.state[TOP]] = 0
    evaluated = 0
    for a in range(points.start[point], points.start[point + 1]):
        axis, label = points.axis[a], points.label[a]
        number = variables.first[axis] if axis < len(variables.first) else -1
        while number >= 0:
            truth[number] = variables.low[number] <= label <= variables.high[number]
            evaluated += 1
            number = variables.next[number]
    return evaluated
