"""Kernels that find strings among sorted constants, straight from Arrow's offsets and bytes.

Strings are read eight bytes at a time, as big-endian numbers padded with zeros, so that numbers
compare as the bytes do; of two strings equal in all these numbers the shorter comes first (they
differ in zeros at the end). Hashing, probing and searching are passes of their own over the whole
batch: short loops without branches on the data, whose cache misses overlap.

The loops take arrays, not the tuple that holds them: handing a tuple to an inner function counts
the references to all its arrays, which took most of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.matching.arrow_buffers import UNRANKED, Bytes, Offsets, Ranks, frozen
from tamis.matching.jit import kernel, prefetch
from tamis.matching.thresholds import search_sorted

Words = NDArray[np.uint64]
Slots = NDArray[np.int64]

WORD = 8
EMPTY = -1
LOAD = 0.5
AHEAD = 16
HALF = np.uint64(32)
TAG = np.uint64(2**31 - 1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Strings(NamedTuple):
    """String i is bytes offsets[i] to offsets[i + 1] of the data."""

    offsets: Offsets
    data: Bytes


class Constants(NamedTuple):
    """The distinct constants of a line, sorted, and their ranks; see ``string_line``."""

    offsets: Offsets
    data: Bytes
    heads: Words
    table: Slots
    at: Ranks
    below: Ranks


def build_constants(strings: Strings, at: Ranks, below: Ranks) -> Constants:
    """Constants from distinct strings in their order, with their ranks."""
    offsets = frozen(strings.offsets, np.int64)
    data = frozen(np.append(strings.data, np.zeros(2 * WORD, np.uint8)), np.uint8)
    heads = np.empty(len(at), np.uint64)
    _read_heads(Strings(offsets, data), frozen(np.arange(len(at)), np.int64), heads)
    hashes = hash_strings(Strings(offsets, data))
    table = np.full(int(len(at) / LOAD) + 2, EMPTY, np.int64)
    _insert(hashes, table)
    return Constants(offsets, data, frozen(heads, np.uint64), frozen(table, np.int64), at, below)


def find_ranks(strings: Strings, constants: Constants, *, gaps_alike: bool) -> Ranks:
    """The ranks of strings; if gaps are alike, 0 for all that are no constants."""
    ranks = np.empty(len(strings.offsets) - 1, np.int32)
    _find(strings, hash_strings(strings), constants, ranks)
    if gaps_alike:
        return np.maximum(ranks, 0, out=ranks)
    rows = frozen(np.flatnonzero(ranks == UNRANKED), np.int64)
    if len(rows):
        heads = np.empty(len(rows), np.uint64)
        _read_heads(strings, rows, heads)
        counts = np.empty(len(rows), np.int32)
        search_sorted(constants.heads, frozen(heads, np.uint64), counts)
        _settle(strings, rows, counts, constants, ranks)
    return ranks


def hash_strings(strings: Strings) -> Words:
    """The hash of each string."""
    hashes = np.empty(len(strings.offsets) - 1, np.uint64)
    with np.errstate(over="ignore"):  # products wrap around; without the JIT NumPy would warn
        _hash(strings, hashes)
    return frozen(hashes, np.uint64)


@kernel
def _word(data: Bytes, start: int, stop: int) -> np.uint64:
    """Up to eight bytes from ``start`` on as a big-endian number, padded with zeros."""
    word = np.uint64(0)
    count = max(min(stop - start, WORD), 0)
    if start + WORD <= len(data):
        for i in range(WORD):  # becomes one load
            word |= np.uint64(data[np.uint64(start) + np.uint64(i)]) << np.uint64(56 - 8 * i)
        half = np.uint64(4 * (WORD - count))  # twice, since a shift by 64 is undefined
        return word >> half >> half << half << half
    for i in range(count):
        word |= np.uint64(data[start + i]) << np.uint64(56 - 8 * i)
    return word


@kernel
def _read_heads(strings: Strings, rows: Offsets, heads: Words) -> None:
    offsets, data = strings.offsets, strings.data
    for i in range(len(rows)):
        heads[i] = _word(data, offsets[rows[i]], offsets[rows[i] + 1])


@kernel
def _hash(strings: Strings, hashes: Words) -> None:
    """Multiply and fold, a word at a time; the first two without asking whether they exist."""
    offsets, data = strings.offsets, strings.data
    for i in range(len(hashes)):
        start, stop = offsets[i], offsets[i + 1]
        mixed = (np.uint64(stop - start) * GOLDEN ^ _word(data, start, stop)) * GOLDEN
        mixed = (mixed ^ mixed >> HALF ^ _word(data, start + WORD, stop)) * GOLDEN
        for at in range(start + 2 * WORD, stop, WORD):
            mixed = (mixed ^ mixed >> HALF ^ _word(data, at, stop)) * GOLDEN
        hashes[i] = mixed ^ mixed >> HALF


@kernel
def _home(mixed: np.uint64, capacity: int) -> int:
    """The slot where the search for a hash begins: its upper half, scaled to the capacity."""
    return int(np.int64((mixed >> HALF) * np.uint64(capacity) >> HALF))


@kernel
def _insert(hashes: Words, table: Slots) -> None:
    capacity = len(table)
    for i in range(len(hashes)):
        slot = _home(hashes[i], capacity)
        while table[slot] != EMPTY:
            slot = slot + 1 if slot + 1 < capacity else 0
        table[slot] = np.int64(hashes[i] & TAG) << 32 | i


@kernel
def _find(strings: Strings, hashes: Words, constants: Constants, ranks: Ranks) -> None:
    """The ranks of the strings that are constants; the others are left unranked."""
    offsets, data = strings.offsets, strings.data
    their_offsets, their_data, at = constants.offsets, constants.data, constants.at
    table = constants.table
    capacity = len(table)
    for i in range(len(ranks)):
        prefetch(table, _home(hashes[min(i + AHEAD, len(ranks) - 1)], capacity))
        tag = np.int64(hashes[i] & TAG)
        slot = _home(hashes[i], capacity)
        rank = UNRANKED
        while table[slot] != EMPTY:
            if table[slot] >> 32 == tag:
                k = table[slot] & 0xFFFFFFFF
                start, stop = their_offsets[k], their_offsets[k + 1]
                if _equal(data, offsets[i], offsets[i + 1], their_data, start, stop):
                    rank = at[k]
                    break
            slot = slot + 1 if slot + 1 < capacity else 0
        ranks[i] = rank


@kernel
def _equal(data: Bytes, start: int, stop: int, others: Bytes, first: int, last: int) -> bool:
    if stop - start != last - first:
        return False
    apart = _word(data, start, stop) ^ _word(others, first, last)
    apart |= _word(data, start + WORD, stop) ^ _word(others, first + WORD, last)
    for at in range(2 * WORD, stop - start, WORD):
        apart |= _word(data, start + at, stop) ^ _word(others, first + at, last)
    return bool(apart == 0)


@kernel
def _is_less(data: Bytes, start: int, stop: int, others: Bytes, first: int, last: int) -> bool:
    for at in range(0, min(stop - start, last - first), WORD):
        ours = _word(data, start + at, stop)
        theirs = _word(others, first + at, last)
        if ours != theirs:
            return bool(ours < theirs)
    return bool(stop - start < last - first)


@kernel
def _settle(
    strings: Strings, rows: Offsets, counts: Ranks, constants: Constants, ranks: Ranks
) -> None:
    """The ranks of strings that are no constants, given how many heads are at or below theirs."""
    offsets, data = strings.offsets, strings.data
    their_offsets, their_data = constants.offsets, constants.data
    heads, below = constants.heads, constants.below
    for i in range(len(rows)):
        start, stop = offsets[rows[i]], offsets[rows[i] + 1]
        high = counts[i]
        if high and heads[high - 1] == _word(data, start, stop):
            head = heads[high - 1]
            step = 1
            while step <= high and heads[high - step] == head:
                step *= 2
            low = max(high - step, 0)
            while low < high:
                middle = (low + high) >> 1
                first, last = their_offsets[middle], their_offsets[middle + 1]
                if _is_less(data, start, stop, their_data, first, last):
                    high = middle
                else:
                    low = middle + 1
        ranks[rows[i]] = below[high]
