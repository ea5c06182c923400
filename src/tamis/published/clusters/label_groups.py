"""Boxes that have the same labels on the same axes: groups of records, in slabs of one array.

    slab       node | class   used | dead   labels of the cluster's axes   record   record ...
    record     box | following    as many words more

A record has what somebody wants to know of the box beside: its other sides (axis, low, high), as
the paper stores the predicates that are left with each subscription, or its position among the hit
counts. So to verify a group is to read one stretch of memory; looking each box up in the table
would miss the cache four times a box.

A slab has one of the sizes 2, 3, 4, 6, 8, 12 ..., and free slabs of a size are in a list. A group
that grows moves to a larger slab; places of records are relative to it and stay. A removed record
has the box -1; when more than half of a slab are such, the others move together. All takes constant
time, amortised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, delete_slot, empty_slots, number_of, put_slot
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Labels, Numbers, Offsets
from tamis.published.boxes import BoxArrays

HEADER = 2
"""Words before the labels of a slab."""
SIDE = 3
"""Words of a side in a record."""
ROOM = 1 << 10
"""Words at first."""
CLASSES = 64
"""Sizes of slabs."""
TOP, GROUPS, LIVE, WANTED = range(4)
"""Words that were ever used, groups, words of groups, and words that there was no room for."""


class Groups(NamedTuple):
    """Slabs, and where they are by hash of their nodes and labels."""

    slot: Buckets
    words: Labels
    free: Offsets
    """The first free slab of each size, or -1; each has the next one in its first word."""
    place: Offsets
    """Where the record of each box begins within its slab, or 0."""
    state: Offsets


def empty_groups() -> Groups:
    """No groups, and room for some."""
    return Groups(
        empty_slots(8),
        np.zeros(ROOM, np.int64),
        np.full(CLASSES, -1, np.int64),
        np.zeros(64, np.int64),
        np.zeros(4, np.int64),
    )


@kernel
def class_of(size: int) -> int:
    """The least class of slabs that have so many words."""
    number = 0
    while slab_size(number) < size:
        number += 1
    return number


@kernel
def slab_size(number: int) -> int:
    """The words of the slabs of a class."""
    return 2 + (number & 1) << (number >> 1)


@kernel
def new_slab(groups: Groups, number: int) -> int:
    """Where a slab of a class is that nobody uses, or -1 if there is no room."""
    at: int = groups.free[number]
    size = slab_size(number)
    if at >= 0:
        groups.free[number] = groups.words[at]
    else:
        at = groups.state[TOP]
        if at + size > len(groups.words):
            groups.state[WANTED] = size
            return -1
        groups.state[TOP] += size
    groups.state[LIVE] += size
    return at


@kernel
def free_slab(groups: Groups, at: int, number: int) -> None:
    """Let others use a slab."""
    groups.words[at] = groups.free[number]
    groups.free[number] = at
    groups.state[LIVE] -= slab_size(number)


@kernel
def find_group(groups: Groups, hash: int, node: int, own: Labels, depth: int) -> int:
    """The slot of the group of a node and labels, or -1."""
    slots, mask = groups.slot, len(groups.slot) - 1
    at = hash & mask
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            slab = number_of(slots[at])
            same = groups.words.view(np.int32)[2 * slab] == node
            for i in range(depth):
                same &= groups.words[slab + HEADER + i] == own[i]
            if same:
                return at
        at = at + 1 & mask
    return -1


@kernel
def record_size(table: BoxArrays, box: int, positions: Numbers) -> int:
    """The words of a record: a box and its position, or a box and its sides that are no
    equalities."""
    if len(positions):
        return 2
    size = 1
    for side in range(table.begin[box], table.end[box]):
        size += SIDE * (table.low[side] < table.high[side])
    return size


@kernel
def roomy_group(groups: Groups, hash: int, node: int, own: Labels, depth: int, size: int) -> int:
    """The slab of a group, made or moved so that it has room for some words; -1 if it cannot."""
    words, halves = groups.words, groups.words.view(np.int32)
    at = find_group(groups, hash, node, own, depth)
    if at < 0:
        number = class_of(HEADER + depth + size)
        slab = new_slab(groups, number)
        if slab >= 0:
            halves[2 * slab], halves[2 * slab + 1] = node, number
            halves[2 * slab + 2], halves[2 * slab + 3] = HEADER + depth, 0
            words[slab + HEADER : slab + HEADER + depth] = own[:depth]
            put_slot(groups.slot, hash, slab)
            groups.state[GROUPS] += 1
        return slab
    slab = number_of(groups.slot[at])
    number, used = halves[2 * slab + 1], halves[2 * slab + 2]
    if used + size <= slab_size(number):
        return slab
    larger = class_of(used + size)
    moved = new_slab(groups, larger)
    if moved >= 0:
        words[moved : moved + used] = words[slab : slab + used]
        halves[2 * moved + 1] = larger
        groups.slot[at] = hash << 32 | moved
        free_slab(groups, slab, number)
    return moved


@kernel
def put_record(
    groups: Groups, slab: int, table: BoxArrays, box: int, positions: Numbers, i: int
) -> None:
    """Append the record of a box to a slab that has room."""
    words, halves = groups.words, groups.words.view(np.int32)
    used = halves[2 * slab + 2]
    at = slab + used
    groups.place[box] = used
    size = 1
    if len(positions):
        words[at + 1] = positions[i]
        size = 2
    else:
        for side in range(table.begin[box], table.end[box]):
            if table.low[side] < table.high[side]:
                words[at + size] = table.axis[side]
                words[at + size + 1], words[at + size + 2] = table.low[side], table.high[side]
                size += SIDE
    halves[2 * at], halves[2 * at + 1] = box, size - 1
    halves[2 * slab + 2] = used + size


@kernel
def drop_record(groups: Groups, at: int, depth: int, box: int) -> None:
    """Remove the record of a box from the group of a slot, and the group if it was the last."""
    halves, slab = groups.words.view(np.int32), number_of(groups.slot[at])
    record = slab + groups.place[box]
    groups.place[box] = 0
    halves[2 * record] = -1
    halves[2 * slab + 3] += 1 + halves[2 * record + 1]
    used, dead = halves[2 * slab + 2], halves[2 * slab + 3]
    if used - dead == HEADER + depth:
        free_slab(groups, slab, halves[2 * slab + 1])
        delete_slot(groups.slot, at)
        groups.state[GROUPS] -= 1
    elif 2 * dead > used:
        close_gaps(groups, slab, depth)


@kernel
def close_gaps(groups: Groups, slab: int, depth: int) -> None:
    """Move the records of a slab together."""
    words, halves = groups.words, groups.words.view(np.int32)
    to = at = slab + HEADER + depth
    end = slab + halves[2 * slab + 2]
    while at < end:
        box, size = halves[2 * at], 1 + halves[2 * at + 1]
        if box >= 0:
            for i in range(size):
                words[to + i] = words[at + i]
            groups.place[box] = to - slab
            to += size
        at += size
    halves[2 * slab + 2], halves[2 * slab + 3] = to - slab, 0


@kernel
def records_of(groups: Groups, slab: int, depth: int) -> tuple[int, int]:
    """Where the records of a slab begin and end."""
    used: int = groups.words.view(np.int32)[2 * slab + 2]
    return slab + HEADER + depth, slab + used
