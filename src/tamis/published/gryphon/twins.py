"""Boxes of the general trees by content, so that those with identical predicates share a leaf.

The paper takes it for granted that identical subscriptions are one. In the equality tree they meet
by themselves; in the general tree a second one may be led elsewhere by edges that came in between.

    | box 7 |  -1  | box 3 | ...        a hash table: open addressing, at most half full

Of each set of twins one box is in the table; its sides are compared in the table of all boxes.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int64s, Numbers
from tamis.published.boxes import BoxArrays
from tamis.published.gryphon.edges import scramble
from tamis.published.gryphon.tree import TWINS

Twins = Numbers


@kernel
def scramble_box(arrays: BoxArrays, box: int) -> int:
    """A hash of the sides of a box."""
    mixed = 0
    for side in range(arrays.begin[box], arrays.end[box]):
        mixed = scramble(arrays.axis[side], mixed ^ arrays.low[side])
        mixed = scramble(side - arrays.begin[box], mixed ^ arrays.high[side])
    return mixed


@kernel
def are_twins(arrays: BoxArrays, one: int, other: int) -> bool:
    """Whether two boxes have the same sides."""
    begin, count = arrays.begin[one], arrays.end[one] - arrays.begin[one]
    shift = arrays.begin[other] - begin
    if arrays.end[other] - arrays.begin[other] != count:
        return False
    for side in range(begin, begin + count):
        if (
            arrays.axis[side] != arrays.axis[side + shift]
            or arrays.low[side] != arrays.low[side + shift]
            or arrays.high[side] != arrays.high[side + shift]
        ):
            return False
    return True


@kernel
def find_twin(twins: Twins, arrays: BoxArrays, box: int) -> int:
    """The place of the twin of a box, or of the gap where it would be."""
    mask = len(twins) - 1
    at = scramble_box(arrays, box) & mask
    while twins[at] >= 0 and not are_twins(arrays, box, twins[at]):
        at = (at + 1) & mask
    return int(at)


@kernel
def take_twin(twins: Twins, arrays: BoxArrays, state: Int64s, hole: int) -> None:
    """Empty a place of the table; what stands behind it moves back where it may."""
    mask = len(twins) - 1
    at = (hole + 1) & mask
    while twins[at] >= 0:
        home = scramble_box(arrays, twins[at]) & mask
        if (at - home) & mask >= (at - hole) & mask:
            twins[hole] = twins[at]
            hole = at
        at = (at + 1) & mask
    twins[hole] = -1
    state[TWINS] -= 1


def resized_twins(twins: Twins, arrays: BoxArrays, size: int) -> Twins:
    """The same table with another size, a power of two."""
    resized = np.full(size, -1, np.int32)
    move_twins(twins, arrays, resized)
    return resized


@kernel
def move_twins(twins: Twins, arrays: BoxArrays, larger: Twins) -> None:
    """Take all boxes of a table into an empty one."""
    for box in twins:
        if box >= 0:
            larger[find_twin(larger, arrays, box)] = box
