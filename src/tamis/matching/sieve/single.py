"""Matching one point: no blocks, no cursor, and few arguments.

A batch is worth its four passes (kernels.py); one event is not. Its probes are looked up as they
come, and the arrays of the sieve are handed over as the address of one table of addresses: to take
apart two dozen arrays would cost more than to match.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import addresses, array_at, array_from, brief, kernel
from tamis.arrays.key_table import find_entry
from tamis.arrays.types import Addresses, Packed, Ranks, Slots
from tamis.matching.boxes.layout import AT_LEAST, AT_MOST
from tamis.matching.sieve.build import UNSORTED, Sieve
from tamis.matching.sieve.kernels import search
from tamis.matching.sieve.runs import MANY, copy_slots, sift_boxes, test_boxes

ROOM = 1 << 10
"""Matches that a buffer for one event holds at first."""
TOO_MANY = -1

WIDE = 0
"""The first entry: whether constants and tests take four bytes."""
(
    GATE, GATED, ATTRIBUTE, STRIDE, BASE, KIND, REACH, WIDTH, ROW, TABLE, CONSTANT, SLOT, TESTS,
    IS_SELDOM, FIRST,
) = range(1, 16)  # fmt: skip
"""The entries of the arrays, in the order of the fields of a sieve."""
ENTRIES = 16


def places_of(sieve: Sieve) -> Addresses:
    """The arrays of a sieve by their addresses, in the order of its fields."""
    arrays = addresses([np.asarray(each) for each in sieve[:-1]])
    wide = int(sieve.tests.dtype == np.uint32)
    return np.concatenate((np.array([[wide, 0]]), arrays))


@brief
def match_point(places: int, point: int, length: int, out: int, room: int) -> int:
    """Write the slots of the boxes that contain a point, repeated ones complemented and perhaps
    several times; return how many, or TOO_MANY. All arrays are given by their addresses; the point,
    with a 0 behind its ranks, has a length, and what is written a room."""
    table = array_from(places, 2 * ENTRIES, np.int64).reshape((ENTRIES, 2))
    return _match_either(
        table, array_from(point, length, np.int32), array_from(out, room, np.int32)
    )


@kernel
def _match_either(places: Addresses, point: Ranks, out: Slots) -> int:
    if places[WIDE, 0]:
        constant, tests = array_at(places[CONSTANT], np.uint32), array_at(places[TESTS], np.uint32)
        return _match(places, constant, tests, point, out)
    constant, tests = array_at(places[CONSTANT], np.uint16), array_at(places[TESTS], np.uint16)
    return _match(places, constant, tests, point, out)


@brief
def match_each(places: Addresses, point: Ranks, ranks: Ranks, out: int, room: int) -> int:
    """The same of several points, which differ in their last rank alone, the one before the 0."""
    last, n = len(point) - 2, 0
    slots = array_from(out, room, np.int32)
    for rank in ranks:
        point[last] = rank
        count = _match_either(places, point, slots[n:])
        if count < 0:
            return TOO_MANY
        n += count
    return n


@kernel
def _match(places: Addresses, constant: Packed, tests: Packed, point: Ranks, out: Slots) -> int:
    gate, gated = array_at(places[GATE], np.uint32), array_at(places[GATED], np.int32)
    attribute, stride = array_at(places[ATTRIBUTE], np.uint32), array_at(places[STRIDE], np.int64)
    base, table = array_at(places[BASE], np.int64), array_at(places[TABLE], np.int64)
    n = 0
    for g in range(len(gate)):
        if point[gate[g]] < 0:
            continue
        for s in range(gated[g], gated[g + 1]):
            x, y = point[attribute[4 * s]], point[attribute[4 * s + 1]]
            z, u = point[attribute[4 * s + 2]], point[attribute[4 * s + 3]]
            if (x | y | z | u) < 0:
                continue
            key = base[s] + stride[3 * s] * x + stride[3 * s + 1] * y + stride[3 * s + 2] * z
            at = find_entry(key, table)
            if table[at] == key:
                start, stop = table[at + 1] >> 32, table[at + 1] & 0x7FFFFFFF
                count = _emit(places, constant, tests, s, start, stop, point, out[n:])
                if count < 0:
                    return TOO_MANY
                n += count
    return n


@kernel
def _emit(
    places: Addresses,
    constant: Packed,
    tests: Packed,
    s: int,
    start: int,
    stop: int,
    point: Ranks,
    out: Slots,
) -> int:
    """Write the matches of a slice of the boxes of signature s; return how many, or TOO_MANY."""
    rank = point[array_at(places[ATTRIBUTE], np.uint32)[4 * s + 3]]
    kind, reach = array_at(places[KIND], np.int8)[s], array_at(places[REACH], np.int32)[s]
    if kind == AT_LEAST:
        stop = search(constant, start, stop, rank + 1)
    elif kind == AT_MOST:
        start = search(constant, start, stop, rank)
    elif kind != UNSORTED:
        start = search(constant, start, stop, rank - reach)
        stop = search(constant, start, stop, rank + 1)
    count = stop - start
    if count > len(out):
        return TOO_MANY
    slot = array_at(places[SLOT], np.int32)[start:stop]
    width, room = array_at(places[WIDTH], np.int32)[s], out[:count]
    row = np.uint64(array_at(places[ROW], np.int64)[s] + 3 * width * start)
    if width == 0:
        copy_slots(slot, room)
    elif count < MANY:
        count = test_boxes(tests, slot, row, width, point, room)
    else:
        is_seldom = array_at(places[IS_SELDOM], np.bool_)[s]
        first = array_at(places[FIRST], np.uint16)[start : stop if is_seldom else start]
        count = int(sift_boxes(tests, slot, row, width, point, first, room))
    return int(count)
