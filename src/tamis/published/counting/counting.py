"""Hit counts: how many predicates of each box an event satisfies.

Boxes are counted by position: a byte for each, one behind the other, so that to compare the counts
of all of them with what they need is a sweep over bytes.

    position     0   1   2   3   4   5         code of a box in the clusters
    box         17   4   -   9  30   2         its position, or ~position if it is apart
    need         2   1   1   0   3   1
    hits         2   0   0   0   1   1         matched: 17, 9 (which needs none), 2

Boxes that come many at once get positions by need and then in the order of their first inequality:
the codes that an event satisfies in a cluster then are nearly runs of positions, and so are the
boxes that match. A free position needs one hit and never gets it.

Boxes *apart* are not swept; somebody asks for the counts of some of them. The hits of both are one
array, those apart before the others, so that counting needs not tell them apart:

    hits        ... ~2 ~1 ~0 | 0 1 2 ...
                             ^ middle
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Counters, Numbers, Offsets
from tamis.published.boxes import AT_LEAST, EQUAL, Points, Usage, grown
from tamis.published.counting.predicate_clusters import (
    PAGE,
    Clusters,
    find_entry,
    label_place,
    tail_of,
)
from tamis.published.index import BoxHits
from tamis.published.predicates import OPERATORS

TOP, FREE, COUNT = range(3)
"""One more than the greatest position, the first free one or -1, boxes that are there."""
UP, DOWN = np.int64(1), np.int64(-1)
"""Steps of counting, and of taking it back."""
BLOCK = 64
"""Room for positions comes in multiples of this, so that hits can be compared by words."""
_LEAST, _GREATEST = -(1 << 31), (1 << 31) - 1
"""Codes below and above all others."""
_NONE, _EIGHT, _BYTE = np.uint64(0), np.uint64(8), np.uint64(0xFF)
_LOWER = np.uint64(0x7F7F7F7F7F7F7F7F)


class Positions(NamedTuple):
    """Boxes by position."""

    need: Counters
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


def position_usage(positions: Positions) -> Usage:
    """The memory of positions."""
    each = positions.need.itemsize + positions.box.itemsize
    return Usage(len(positions.need) * each, int(positions.state[COUNT]) * each)


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
    clusters: Clusters, points: Points, point: int, hits: Counters, middle: int, step: np.int64
) -> tuple[int, int]:
    """Add a step to the hits of the boxes of all predicates that a point satisfies; return how
    many that are, and how many predicates were tried."""
    sums = tried = 0
    for a in range(points.start[point], points.start[point + 1]):
        first = OPERATORS * points.axis[a]
        if first + OPERATORS < len(clusters.begin):
            for cluster in range(first, first + OPERATORS):
                if clusters.begin[cluster] < clusters.begin[cluster + 1]:
                    added, steps = count_cluster(
                        clusters, cluster, points.label[a], hits, middle, step
                    )
                    sums += added
                    tried += steps
    return sums, tried


@kernel
def count_cluster(
    clusters: Clusters, cluster: int, label: int, hits: Counters, middle: int, step: np.int64
) -> tuple[int, int]:
    """Do so for the predicates of one cluster, which has some, given the point's label on its axis.

    Satisfied are: of *at least*, those whose labels are at most the point's; of *at most*, those
    whose labels are at least the point's.
    """
    first, last = clusters.begin[cluster], clusters.begin[cluster + 1]
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
def add_run(
    hits: Counters, middle: int, codes: Numbers, begin: int, end: int, step: np.int64
) -> None:
    """Add a step to the hits of codes that lie side by side."""
    for code in codes[begin:end]:
        hits[np.uintp(middle + code)] += step  # unsigned: Numba need not look for negative places


# --- comparing -----------------------------------------------------------------------------------


@kernel
def write_matched(
    positions: Positions, hits: Counters, middle: int, chunk: BoxHits, point: int, n: int
) -> int:
    """Write the boxes whose hits are what they need, of all that are not apart, from place n of a
    chunk on, which must have room for one more than those; return the next place."""
    if positions.need.itemsize == 1:
        end = int(compare_bytes(positions, hits, middle, chunk.box, n))
    else:
        end = n
        for position in range(positions.state[TOP]):
            chunk.box[end] = positions.box[position]
            end += hits[middle + position] == positions.need[position]
    chunk.point[n:end] = point
    return end


@kernel
def compare_bytes(
    positions: Positions, hits: Counters, middle: int, out: Numbers, first: int
) -> np.int64:
    """Compare eight positions at once: mostly none of them matches, or all do.

    A byte of ``apart`` is 0 where hits are what is needed: where its lower bits plus 127 do not
    carry into the highest one, nor is that set.
    """
    needed, counted = positions.need.view(np.uint64), hits.view(np.uint64)
    box, n = positions.box, np.uintp(first)
    begin = np.uintp(middle // 8)
    for word in range(np.uintp(-(-positions.state[TOP] // 8))):
        apart = counted[begin + word] ^ needed[word]
        if apart == _NONE:
            for i in range(_EIGHT):
                out[n + i] = box[_EIGHT * word + i]
            n += _EIGHT
        elif ~((apart & _LOWER) + _LOWER | apart | _LOWER) != _NONE:
            for i in range(_EIGHT):
                out[n] = box[_EIGHT * word + i]
                n += np.uintp(apart & _BYTE == _NONE)
                apart >>= _EIGHT
    return np.int64(n)
