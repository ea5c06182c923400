"""Hit counts: how many predicates of each box an event satisfies.

Boxes are counted by position: a byte for each, one behind the other, so that to compare the counts
of all of them with what they need is a sweep over bytes.

    position     0   1   2   3   4   5         code of a box in the clusters
    box         17   4   -   9  30   2         its position, or ~position if it is apart
    need         2   1   1   0   3   1
    hits         2   0   0   0   1   1         matched: 17, 9 (which needs none), 2

Boxes that come many at once get positions in the order of their first inequality: the codes that an
event satisfies in a cluster then are nearly runs of positions, and so are the boxes that match.
A free position needs one hit and never gets it.

Boxes *apart* are not swept; somebody asks for the counts of some of them. The hits of both are one
array, those apart before the others, so that counting needs not tell them apart:

    hits        ... ~2 ~1 ~0 | 0 1 2 ...
                             ^ middle
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.jit import kernel
from tamis.matching.published.boxes import (
    AT_LEAST,
    EQUAL,
    Numbers,
    Offsets,
    Points,
    grown,
)
from tamis.matching.published.index import Stabbed
from tamis.matching.published.predicate_clusters import (
    PAGE,
    Clusters,
    find_entry,
    label_place,
    tail_of,
)
from tamis.matching.published.predicates import OPERATORS

Hits = NDArray[Any]
"""Hit counts: bytes, or wider numbers if a box has more than 255 predicates."""

TOP, FREE, COUNT = range(3)
"""One more than the greatest position, the first free one or -1, boxes that are there."""
UP, DOWN = np.int64(1), np.int64(-1)
"""Steps of counting, and of taking it back."""
BLOCK = 64
"""Positions that are compared at once."""
_LEAST, _GREATEST = -(1 << 31), (1 << 31) - 1
"""Codes below and above all others."""


class Positions(NamedTuple):
    """Boxes by position."""

    need: Hits
    box: Numbers
    """The box, or ~n if the position is free and n - 1 is the next free one."""
    place: Numbers
    """The position of each box, or -1."""
    state: Offsets


def no_positions() -> Positions:
    """Positions without boxes."""
    place = np.full(64, -1, np.int32)
    return Positions(
        np.ones(BLOCK, np.uint8), np.empty(BLOCK, np.int32), place, np.array([0, -1, 0])
    )


def with_positions(positions: Positions, more: int, boxes: int, need: int) -> Positions:
    """Positions with room for some more, for boxes below a number, with so many predicates."""
    own, box, place, state = positions
    size = int(state[TOP]) + more
    wide = np.promote_types(own.dtype, np.min_scalar_type(need))
    larger = grown(own, -(-size // BLOCK) * BLOCK).astype(wide, copy=False)
    larger[len(own) :] = 1
    known = len(place)
    place = grown(place, boxes)
    place[known:] = -1
    return Positions(larger, grown(box, len(larger)), place, state)


@kernel
def take_position(positions: Positions, box: int, need: int) -> int:
    """Give a box a position; there must be one."""
    state = positions.state
    position: int = state[FREE]
    if position >= 0:
        state[FREE] = ~positions.box[position] - 1
    else:
        position = state[TOP]
        state[TOP] += 1
    positions.box[position], positions.need[position] = box, need
    positions.place[box] = position
    state[COUNT] += 1
    return position


@kernel
def leave_position(positions: Positions, box: int) -> None:
    """Free the position of a box."""
    position = positions.place[box]
    positions.place[box] = -1
    positions.box[position], positions.need[position] = ~(positions.state[FREE] + 1), 1
    positions.state[FREE] = position
    positions.state[COUNT] -= 1


# --- counting ------------------------------------------------------------------------------------


@kernel
def count_point(
    clusters: Clusters, points: Points, point: int, hits: Hits, middle: int, step: np.int64
) -> tuple[int, int]:
    """Add a step to the hits of the boxes of all predicates that a point satisfies; return how
    many that are, and how many predicates were tried."""
    sums = tried = 0
    for a in range(points.start[point], points.start[point + 1]):
        first = OPERATORS * points.axis[a]
        if first + OPERATORS < len(clusters.begin):
            for cluster in range(first, first + OPERATORS):
                added, steps = count_cluster(clusters, cluster, points.label[a], hits, middle, step)
                sums += added
                tried += steps
    return sums, tried


@kernel
def count_cluster(
    clusters: Clusters, cluster: int, label: int, hits: Hits, middle: int, step: np.int64
) -> tuple[int, int]:
    """Do so for the predicates of one cluster, given the point's label on its axis.

    Satisfied are: of *at least*, those whose labels are at most the point's; of *at most*, those
    whose labels are at least the point's.
    """
    first, last = clusters.begin[cluster], clusters.begin[cluster + 1]
    if first == last:
        return 0, 0
    words, codes = clusters.words, clusters.words.view(np.int32)
    operator = cluster % OPERATORS
    below = operator == AT_LEAST
    entry, tried = find_entry(clusters, cluster, label, _GREATEST if below else _LEAST)
    base = clusters.page[entry] * PAGE
    place, steps = label_place(words, base, label + below)
    tail, stop = tail_of(words, base, place), 2 * (base + PAGE)
    if below:
        begin, end = stop - tail_of(words, base, 0), stop - tail
        others = range(first, entry)
    else:
        begin, end = stop - tail, stop
        others = range(entry + 1, last)
        if operator == EQUAL:
            found = place < words[base] and words[base + 1 + 2 * place] == label
            end = stop - tail_of(words, base, place + 1) if found else begin
            more = entry + 1
            while more < last and clusters.label[more] == label:
                more += 1
            others = range(entry + 1, more)
    add_run(hits, middle, codes, begin, end, step)
    sums = end - begin
    for other in others:
        base = clusters.page[other] * PAGE
        stop, tail = 2 * (base + PAGE), tail_of(words, base, 0)
        begin, end = stop - tail, stop
        if operator == EQUAL:  # its first predicate may be another one since a removal
            end = stop - tail_of(words, base, 1) if words[base + 1] == label else begin
        add_run(hits, middle, codes, begin, end, step)
        sums += end - begin
    return sums, tried + steps


@kernel
def add_run(hits: Hits, middle: int, codes: Numbers, begin: int, end: int, step: np.int64) -> None:
    """Add a step to the hits of codes that lie side by side."""
    for i in range(begin, end):
        hits[middle + codes[i]] += step


# --- comparing -----------------------------------------------------------------------------------


@kernel
def write_matched(
    positions: Positions, hits: Hits, middle: int, chunk: Stabbed, point: int, n: int
) -> int:
    """Write the boxes whose hits are what they need, of all that are not apart, from place n of a
    chunk on, which must have room for one more than those; return the next place. Most blocks match
    wholly or not at all."""
    need, box, start = positions.need, positions.box, n
    for first in range(0, positions.state[TOP], BLOCK):
        equal = 0
        for i in range(first, first + BLOCK):
            equal += hits[middle + i] == need[i]
        if equal == BLOCK:
            for i in range(BLOCK):
                chunk.box[n + i] = box[first + i]
            n += BLOCK
        elif equal:
            for i in range(first, first + BLOCK):
                chunk.box[n] = box[i]
                n += hits[middle + i] == need[i]
    chunk.point[start:n] = point
    return n
