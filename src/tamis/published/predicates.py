"""The predicates of boxes: a side is one of them, or two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import AT_LEAST, AT_MOST, EQUAL, UNBOUNDED, BoxArrays

OPERATORS = 3


class Postings(NamedTuple):
    """Predicates, one row for each box that has one: which cluster it is of, the label, the box."""

    cluster: Numbers
    """OPERATORS * axis + operator."""
    label: Labels
    owner: Numbers


@kernel
def first_predicate(low: int, high: int) -> tuple[int, int]:
    """The operator and the label of a side's only or first predicate."""
    if low == high:
        return EQUAL, low
    if low > 0 or high == UNBOUNDED:
        return AT_LEAST, low
    return AT_MOST, high


@kernel
def is_two_sided(low: int, high: int) -> bool:
    """Whether a side has a second predicate: at most ``high``."""
    return 0 < low < high < UNBOUNDED


@kernel
def predicate_count(boxes: BoxArrays, box: int, with_equal: bool) -> int:
    """How many predicates a box has, equalities among them or not."""
    count = 0
    for side in range(boxes.begin[box], boxes.end[box]):
        low, high = boxes.low[side], boxes.high[side]
        if low < high:
            count += 1 + is_two_sided(low, high)
        else:
            count += with_equal
    return count


def postings_of(boxes: BoxArrays, numbers: Numbers, with_equal: bool) -> Postings:
    """The predicates of boxes; their owners are places among the numbers, ascending."""
    room = 2 * int((boxes.end[numbers] - boxes.begin[numbers]).sum())
    postings = Postings(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32)
    )
    count = write_postings(boxes, numbers, with_equal, postings)
    cluster, label, owner = postings
    return Postings(cluster[:count], label[:count], owner[:count])


@kernel
def write_postings(boxes: BoxArrays, numbers: Numbers, with_equal: bool, out: Postings) -> int:
    """Write the predicates of boxes; return how many there are."""
    n = 0
    for owner, box in enumerate(numbers):
        for side in range(boxes.begin[box], boxes.end[box]):
            low, high = boxes.low[side], boxes.high[side]
            if low == high and not with_equal:
                continue
            operator, label = first_predicate(low, high)
            out.cluster[n] = OPERATORS * boxes.axis[side] + operator
            out.label[n], out.owner[n] = label, owner
            n += 1
            if is_two_sided(low, high):
                out.cluster[n] = OPERATORS * boxes.axis[side] + AT_MOST
                out.label[n], out.owner[n] = high, owner
                n += 1
    return n
