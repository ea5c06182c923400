"""The hash table: against a dictionary, with as many collisions as there can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays.hash_table import (
    EMPTY,
    LOAD,
    SEED,
    delete_slot,
    empty_slots,
    have_room,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=120)


def find(slots, hash, number):
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash and number_of(slots[at]) == number:
            return at
        at = at + 1 & len(slots) - 1
    return -1


@given(CHANGES, st.sampled_from([1, 3, 16, 1 << 20]))
def test_it_keeps_what_a_dictionary_keeps(changes, spread):
    """Keys are numbers; their hashes fall together, and around the end of the table."""
    slots, there = empty_slots(8), set()
    for adds, number in changes:
        hash = (1 << 31) - 3 + number % spread & (1 << 31) - 1
        if adds and number not in there:
            slots = roomy_slots(slots, len(there) + 1)
            put_slot(slots, hash, number)
            there.add(number)
        elif not adds and number in there:
            delete_slot(slots, find(slots, hash, number))
            there.remove(number)
        for each in range(41):
            hash = (1 << 31) - 3 + each % spread & (1 << 31) - 1
            assert (find(slots, hash, each) >= 0) == (each in there)
    assert (slots != EMPTY).sum() == len(there)


@pytest.mark.parametrize("shift", [0, 16, 31, 32, 45, 61 - 12])
def test_labels_far_apart_and_side_by_side_spread(shift):
    hashes = [mixed(mixed(SEED, label << shift), 1) for label in range(1 << 12)]
    assert all(0 <= hash < 1 << 31 for hash in hashes)
    assert len(set(hashes)) > 4000
    used = np.bincount(np.array(hashes) & 0xFFF, minlength=1 << 12)
    assert (used > 0).mean() > 0.55  # 0.63 if they were random
    assert used.max() < 12


def test_room():
    slots = empty_slots(100)
    assert have_room(slots, 100)
    assert not have_room(slots, int(LOAD * len(slots)) + 1)
