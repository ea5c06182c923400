"""SieveView: for a batch of points, the slots of the boxes that contain them.

Events go through in blocks, each block in four passes. A single event would wait for one cache
miss after the other (table, constants, tests, slots: 140 ns each from memory); in a pass the
same miss of hundreds of probes is under way at once, and each pass asks for the lines of the next.

    enumerate_probes   event -> signatures whose attributes it has -> keys
    look_up            key -> slice of boxes, or nothing
    narrow             slice -> run of boxes whose sorted range can contain the rank
    emit               run -> matches: copied if nothing is left to test, else tested

Matches leave by the caller's buffers. When these are full, `cursor` says where to go on: from an
event on (which is enumerated again: its runs come in the same order), a run and a box. Blocks begin
small and grow, so that little is enumerated in vain when one event fills the buffers.
"""

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel, prefetch
from tamis.arrays.key_table import find_entry, home_entry
from tamis.arrays.types import Cursor, Int32s, Int64s, Packed, Ranks, Slots
from tamis.matching.boxes.layout import AT_LEAST, AT_MOST
from tamis.matching.sieve.build import UNSORTED, Sieve
from tamis.matching.sieve.runs import (
    MANY,
    copy_slots,
    count_boxes,
    drop_repeated,
    sift_boxes,
    test_boxes,
    write_event,
)

FIRST_BLOCK, BLOCK = 4, 128  # events in a block
PROBES = 2048  # probes in a block, at least one event's
CURSOR = 4  # integers in a cursor: the event to go on with, and where among its runs
EVENT, RUN, POSITION, TAKEN = range(CURSOR)
LAST_STAMP = np.iinfo(np.int32).max


class Probes(NamedTuple):
    """Scratch of one thread: the block's points, and its probes, those of an event side by side."""

    point: Ranks  # [BLOCK, k + 1]
    owner: Int32s  # which event of the block
    signature: Int32s
    key: Int64s
    start: Int32s
    stop: Int32s
    stamp: Int32s  # of repeated slots: the last event that they were emitted for
    clock: Int64s  # stamp of the batch's first event, and of the next batch's


class Matches(NamedTuple):
    """Buffers for matches: row of the event, slot of the box."""

    event: Int32s
    slot: Slots


class Points(NamedTuple):
    """A batch of points, by rows or by columns: one compiled kernel serves both."""

    rank: Ranks
    events: int
    event_stride: int
    attribute_stride: int


def flatten_points(points: Ranks) -> Points:
    """Return a batch [events, attributes]; copied if neither rows nor columns are contiguous."""
    events, k = points.shape
    if points.flags.c_contiguous:
        return Points(points.reshape(-1), events, k, 1)
    return Points(points.ravel(order="F"), events, 1, events)


def make_probes(sieve: Sieve, k: int) -> Probes:
    """Allocate the scratch of one thread: for one batch after the other."""
    room = PROBES + len(sieve.base)
    slots = int((~sieve.slot).max(initial=-1)) + 1 if sieve.repeated else 0
    owner, signature, start, stop = (np.empty(room, np.int32) for _ in range(4))
    return Probes(
        np.zeros((BLOCK, k + 1), np.int32), owner, signature, np.empty(room, np.int64), start, stop,
        np.zeros(slots, np.int32), np.ones(2, np.int64),
    )  # fmt: skip


def begin_batch(probes: Probes, events: int) -> None:
    """Set the clock so that no stamp of an earlier batch is taken for one of this."""
    if probes.clock[1] + events > LAST_STAMP:
        probes.stamp.fill(0)
        probes.clock[1] = 1
    probes.clock[0] = probes.clock[1]
    probes.clock[1] += events


@kernel(allocates=False)
def fill_matches(
    sieve: Sieve, points: Points, probes: Probes, cursor: Cursor, limit: int, matches: Matches
) -> int:
    """Fill the buffers with matches from the cursor on; return how many, and move the cursor.

    All events are done when `cursor[EVENT]` is their number.
    """
    n, block = 0, FIRST_BLOCK
    while cursor[EVENT] < points.events:
        events, count = enumerate_probes(sieve, points, cursor[EVENT], block, probes)
        count = look_up(sieve, probes, count)
        count = narrow(sieve, probes, count)
        n, is_full = emit(sieve, probes, count, cursor, limit, matches, n)
        if is_full:
            break
        cursor[EVENT] += events
        cursor[RUN], cursor[POSITION], cursor[TAKEN] = 0, 0, 0
        block = min(2 * block, BLOCK)
    return n


@kernel(allocates=False)
def count_matches(sieve: Sieve, points: Points, probes: Probes, counts: Int64s) -> None:
    """Add to `counts` how many boxes contain each point."""
    event = 0
    while event < points.events:
        events, count = enumerate_probes(sieve, points, event, BLOCK, probes)
        count = look_up(sieve, probes, count)
        count = narrow(sieve, probes, count)
        for i in range(count):
            s, owner = probes.signature[i], probes.owner[i]
            start, stop = probes.start[i], probes.stop[i]
            width, n = sieve.width[s], stop - start
            if width:
                row = np.uint64(sieve.row[s] + 3 * width * start)
                n = count_boxes(sieve.tests, n, row, width, probes.point[owner])
            counts[event + owner] += n
        event += events


@kernel(allocates=False)
def enumerate_probes(
    sieve: Sieve, points: Points, event: int, block: int, probes: Probes
) -> tuple[int, int]:
    """Write the keys to look up for a block of events; return its events and its probes."""
    events, n = 0, 0
    while events < block and event + events < points.events and n < PROBES:
        point = probes.point[events]
        at = (event + events) * points.event_stride
        for a in range(len(point) - 1):
            point[a] = points.rank[at]
            at += points.attribute_stride
        for g in range(len(sieve.gate)):
            if point[sieve.gate[g]] >= 0:
                for s in range(sieve.gated[g], sieve.gated[g + 1]):
                    x, y = point[sieve.attribute[s, 0]], point[sieve.attribute[s, 1]]
                    z, u = point[sieve.attribute[s, 2]], point[sieve.attribute[s, 3]]
                    key = sieve.base[s] + sieve.stride[s, 0] * x
                    key += sieve.stride[s, 1] * y + sieve.stride[s, 2] * z
                    probes.key[n] = key
                    probes.owner[n] = events
                    probes.signature[n] = s
                    has_all = (x | y | z | u) >= 0
                    prefetch(sieve.table, home_entry(key if has_all else 0, sieve.table))
                    n += has_all
        events += 1
    return events, n


@kernel(allocates=False)
def look_up(sieve: Sieve, probes: Probes, count: int) -> int:
    """Find the slices of the probes' keys; return how many there are, moved to the front."""
    n = 0
    for i in range(count):
        key = probes.key[i]
        at = find_entry(key, sieve.table)
        entry = sieve.table[at + 1]
        start, stop = entry >> 32, entry & 0x7FFFFFFF
        probes.owner[n] = probes.owner[i]
        probes.signature[n] = probes.signature[i]
        probes.start[n] = start
        probes.stop[n] = stop
        if sieve.table[at] == key:
            prefetch(sieve.constant, (start + stop) >> 1)
            n += 1
    return n


@kernel(allocates=False)
def narrow(sieve: Sieve, probes: Probes, count: int) -> int:
    """Cut the slices down to the runs that can match; return how many are not empty."""
    n = 0
    for i in range(count):
        s, owner = probes.signature[i], probes.owner[i]
        start, stop = probes.start[i], probes.stop[i]
        kind = sieve.kind[s]
        if kind != UNSORTED:
            rank = probes.point[owner, sieve.attribute[s, 3]]
            if kind == AT_LEAST:
                stop = search(sieve.constant, start, stop, rank + 1)
            elif kind == AT_MOST:
                start = search(sieve.constant, start, stop, rank)
            else:
                start = search(sieve.constant, start, stop, rank - sieve.reach[s])
                stop = search(sieve.constant, start, stop, rank + 1)
        probes.owner[n], probes.signature[n] = owner, s
        probes.start[n], probes.stop[n] = start, stop
        if start < stop:
            prefetch(sieve.slot, start)
            prefetch(sieve.tests, sieve.row[s] + 3 * sieve.width[s] * start)
            n += 1
    return n


@kernel(allocates=False)
def search(constant: Packed, start: int, stop: int, value: int) -> int:
    """Return the first place in start..stop whose constant is at least `value`, else stop."""
    length = stop - start
    while length > 0:
        half = length >> 1
        below = constant[start + half] < value
        start = start + half + 1 if below else start
        length = length - half - 1 if below else half
    return start


@kernel(allocates=False)
def emit(
    sieve: Sieve, probes: Probes, runs: int, cursor: Cursor, limit: int, matches: Matches, n: int
) -> tuple[int, bool]:
    """Write the matches of the runs behind the n first ones; return how many, and whether full."""
    position, taken = cursor[POSITION], cursor[TAKEN]
    last, first = 0, 0  # event of the last run, and its first run
    for j in range(cursor[RUN], runs):
        s, owner, stop = probes.signature[j], probes.owner[j], probes.stop[j]
        if owner != last:
            last, first, taken = owner, j, 0
        i = max(position, np.int64(probes.start[j]))
        while i < stop and taken < limit:
            piece = min(stop - i, len(matches.slot) - n, limit - taken)
            if piece == 0:
                cursor[EVENT] += owner
                cursor[RUN], cursor[POSITION], cursor[TAKEN] = j - first, i, taken
                return n, True
            slot, out = sieve.slot[i : i + piece], matches.slot[n : n + piece]
            width, count = sieve.width[s], piece
            row = np.uint64(sieve.row[s] + 3 * width * i)
            if width == 0:
                copy_slots(slot, out)
            elif piece < MANY:
                count = test_boxes(sieve.tests, slot, row, width, probes.point[owner], out)
            else:
                seen = sieve.first[i : i + (piece if sieve.is_seldom[s] else 0)]
                count = sift_boxes(sieve.tests, slot, row, width, probes.point[owner], seen, out)
            if sieve.repeated:
                count = drop_repeated(
                    out[:count], probes.stamp, probes.clock[0] + cursor[EVENT] + owner
                )
            write_event(matches.event[n : n + count], cursor[EVENT] + owner)
            taken += count
            n += count
            i += piece
        position = 0
    return n, False
