"""A hash table that changes: open addressing, linear probing, deletion without a trace.

    slot      0       1                2                3
              EMPTY   hash | number    hash | number    EMPTY ...

A slot has the hash of a key, 31 bits, and a number that says where the key itself is: who looks a
key up walks from its home to the first empty slot and compares keys wherever the hashes agree.

    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash and ...:  # the key of number_of(slots[at]) is the one sought
        at = at + 1 & len(slots) - 1

Invariant: no empty slot lies between the home of a key and its slot. A deletion therefore moves up
those behind it that may; marks in the place of deleted keys would pile up as keys come and go. The
size is a power of two, at most LOAD of it is used; everything takes constant time.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets

EMPTY = -1
LOAD = 0.6
SEED = 0x2545F491
_FACTOR = 0x5851F42D
_LOW = (1 << 31) - 1


def empty_slots(keys: int) -> Buckets:
    """A table with room for so many keys."""
    return np.full(1 << max(4, int(keys / LOAD).bit_length()), EMPTY, np.int64)


@kernel
def have_room(slots: Buckets, keys: int) -> bool:
    """Whether a table may have so many keys."""
    return keys <= LOAD * len(slots)


@kernel
def mixed(hash: int, value: int) -> int:
    """The hash of what has been hashed and a value behind it, at least 0; products of 31 bits each
    never overflow."""
    whole = int(value)
    for part in (whole & _LOW, whole >> 31):
        product = (hash ^ part) * _FACTOR
        hash = product >> 31 ^ product & _LOW
    return hash


@kernel
def number_of(slot: int) -> int:
    """The number in a slot."""
    return slot & 0xFFFFFFFF


@kernel
def put_slot(slots: Buckets, hash: int, number: int) -> None:
    """Insert a key that is not there."""
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        at = at + 1 & len(slots) - 1
    slots[at] = hash << 32 | number


@kernel
def delete_slot(slots: Buckets, at: int) -> None:
    """Delete the key of a slot."""
    mask = len(slots) - 1
    gap, at = at, at + 1 & mask
    while slots[at] != EMPTY:
        home = (slots[at] >> 32) & mask
        if (at - home & mask) >= (at - gap & mask):
            slots[gap] = slots[at]
            gap = at
        at = at + 1 & mask
    slots[gap] = EMPTY


@kernel
def move_slots(slots: Buckets, larger: Buckets) -> None:
    """Insert all keys of a table into an empty one."""
    for slot in slots:
        if slot != EMPTY:
            put_slot(larger, slot >> 32, slot & 0xFFFFFFFF)


def roomy_slots(slots: Buckets, keys: int) -> Buckets:
    """A table with the same keys and room for so many."""
    if have_room(slots, keys):
        return slots
    larger = empty_slots(2 * keys)
    move_slots(slots, larger)
    return larger
