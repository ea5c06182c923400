"""Kernels that find strings among sorted constants, straight from Arrow's offsets and bytes.

Strings are read eight bytes at a time, as big-endian numbers padded with zeros, so that numbers
compare as the bytes do; of two strings equal in all these numbers the shorter comes first (they
differ in zeros at the end). Hashing, probing and searching are passes of their own over the whole
batch: short loops without branches on the data, whose cache misses overlap.

The hash table has bits of a hash and the number of a constant in each bucket, and no key: a string
does not fit one of ``key_table``. Its size is any number, and it is read in a pass that fetches
buckets ahead, so it is no ``hash_table`` either.

Kernels take the arrays, not the tuple that holds them: Numba looks long at the type of a tuple,
and counts references to all of its arrays wherever it is handed on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.arrow_buffers import UNRANKED, frozen
from tamis.arrays.jit import array_at, brief, kernel, prefetch
from tamis.arrays.key_table import GOLDEN, HALF
from tamis.arrays.thresholds import search_sorted
from tamis.arrays.types import Buckets, Bytes, Int64s, Offsets, Ranks, UInt64s

WORD = 8
EMPTY = -1
LOAD = 0.5
AHEAD = 8
NEAR = 8_192
"""Buckets up to which a table stays in the caches, so that nothing is fetched ahead."""
TAG = np.uint64(2**31 - 1)


class Strings(NamedTuple):
    """String i is bytes offsets[i] to offsets[i + 1] of the data."""

    offsets: Offsets
    data: Bytes


class Constants(NamedTuple):
    """The distinct constants of a line, sorted, and their ranks; see ``string_line``."""

    offsets: Offsets
    data: Bytes
    heads: UInt64s
    table: Buckets
    at: Ranks
    below: Ranks


def build_constants(strings: Strings, at: Ranks, below: Ranks) -> Constants:
    """Constants from distinct strings in their order, with their ranks."""
    offsets = frozen(strings.offsets, np.int64)
    data = frozen(np.append(strings.data, np.zeros(2 * WORD, np.uint8)), np.uint8)
    heads = np.empty(len(at), np.uint64)
    _read_heads(offsets, data, np.arange(len(at)), heads)
    table = make_table(hash_strings(Strings(offsets, data)))
    return Constants(offsets, data, frozen(heads, np.uint64), frozen(table, np.int64), at, below)


def find_ranks(strings: Strings, constants: Constants, *, gaps_alike: bool) -> Ranks:
    """The ranks of strings; if gaps are alike, 0 for all that are no constants."""
    ranks = find_constants(strings, constants)
    ends, others, heads, _, _, below = constants
    if gaps_alike:
        return np.maximum(ranks, 0, out=ranks)
    rows = np.flatnonzero(ranks == UNRANKED)
    if len(rows):
        own = np.empty(len(rows), np.uint64)
        _read_heads(*strings, rows, own)
        counts = np.empty(len(rows), np.int32)
        search_sorted(heads, own, counts)
        _settle(*strings, rows, ends, others, heads, counts)
        ranks[rows] = below[counts]
    return ranks


def find_constants(strings: Strings, constants: Constants) -> Ranks:
    """The ranks of those strings that are constants; the others are left unranked."""
    ranks = np.empty(len(strings.offsets) - 1, np.int32)
    ends, others, _, table, at, _ = constants
    if len(table) <= NEAR:
        with np.errstate(over="ignore"):  # as in hash_strings
            _find_near(*strings, ends, others, table, at, ranks)
    else:
        _find(*strings, hash_strings(strings), ends, others, table, at, ranks)
    return ranks


def make_table(hashes: UInt64s) -> Buckets:
    """The hash table of strings with these hashes."""
    table = np.full(int(len(hashes) / LOAD) + 2, EMPTY, np.int64)
    _insert(hashes, table)
    return table


def find_rank(text: str, constants: Constants, *, gaps_alike: bool) -> int:
    """The rank of one string: the same steps in one kernel."""
    data = frozen(np.frombuffer(text.encode(), np.uint8), np.uint8)
    offsets = frozen((0, len(data)), np.int64)
    with np.errstate(over="ignore"):
        rank = int(_find_one(offsets, data, *constants))
    return rank if rank >= 0 else 0 if gaps_alike else ~rank


def hash_strings(strings: Strings) -> UInt64s:
    """The hash of each string."""
    hashes = np.empty(len(strings.offsets) - 1, np.uint64)
    with np.errstate(over="ignore"):  # products wrap around; without the JIT NumPy would warn
        _hash(*strings, hashes)
    return hashes


@kernel(allocates=False)
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


@kernel(allocates=False)
def _read_heads(offsets: Offsets, data: Bytes, rows: Offsets, heads: UInt64s) -> None:
    for i in range(len(rows)):
        heads[i] = _word(data, offsets[rows[i]], offsets[rows[i] + 1])


@kernel(allocates=False)
def _hash(offsets: Offsets, data: Bytes, hashes: UInt64s) -> None:
    """Multiply and fold, a word at a time; the first two without asking whether they exist."""
    for i in range(len(hashes)):
        head = _word(data, offsets[i], offsets[i + 1])
        hashes[i] = _hash_of(data, offsets[i], offsets[i + 1], head)


@kernel(allocates=False)
def _hash_of(data: Bytes, start: int, stop: int, head: np.uint64) -> np.uint64:
    """The hash of one string, whose first word is known."""
    mixed = (np.uint64(stop - start) * GOLDEN ^ head) * GOLDEN
    mixed = (mixed ^ mixed >> HALF ^ _word(data, start + WORD, stop)) * GOLDEN
    for at in range(start + 2 * WORD, stop, WORD):
        mixed = (mixed ^ mixed >> HALF ^ _word(data, at, stop)) * GOLDEN
    return mixed ^ mixed >> HALF


@kernel(allocates=False)
def _home(mixed: np.uint64, capacity: int) -> int:
    """The slot where the search for a hash begins: its upper half, scaled to the capacity."""
    return int(np.int64((mixed >> HALF) * np.uint64(capacity) >> HALF))


@kernel(allocates=False)
def _insert(hashes: UInt64s, table: Buckets) -> None:
    capacity = len(table)
    for i in range(len(hashes)):
        slot = _home(hashes[i], capacity)
        while table[slot] != EMPTY:
            slot = slot + 1 if slot + 1 < capacity else 0
        table[slot] = np.int64(hashes[i] & TAG) << 32 | i


# In the rest string i is bytes ``offsets[i]`` to ``offsets[i + 1]`` of ``data``, and constant k is
# bytes ``ends[k]`` to ``ends[k + 1]`` of ``others``.


@kernel(allocates=False)
def _find(
    offsets: Offsets,
    data: Bytes,
    hashes: UInt64s,
    ends: Offsets,
    others: Bytes,
    table: Buckets,
    at: Ranks,
    ranks: Ranks,
) -> None:
    """The ranks of the strings that are constants; the others are left unranked.

    What a string will need is fetched in turn while earlier ones are compared: its slot, then the
    place and the rank of the constant there, then its bytes.
    """
    capacity, last = len(table), len(ranks) - 1
    for i in range(len(ranks)):
        prefetch(table, _home(hashes[min(i + 4 * AHEAD, last)], capacity))
        k = max(table[_home(hashes[min(i + 2 * AHEAD, last)], capacity)], 0) & 0xFFFFFFFF
        prefetch(ends, k)
        prefetch(at, k)
        k = max(table[_home(hashes[min(i + AHEAD, last)], capacity)], 0) & 0xFFFFFFFF
        prefetch(others, ends[k])
        tag = np.int64(hashes[i] & TAG)
        slot = _home(hashes[i], capacity)
        rank = UNRANKED
        while table[slot] != EMPTY:
            if table[slot] >> 32 == tag:
                k = table[slot] & 0xFFFFFFFF
                if are_equal(data, offsets[i], offsets[i + 1], others, ends[k], ends[k + 1]):
                    rank = at[k]
                    break
            slot = slot + 1 if slot + 1 < capacity else 0
        ranks[i] = rank


@kernel(allocates=False)
def _find_near(
    offsets: Offsets,
    data: Bytes,
    ends: Offsets,
    others: Bytes,
    table: Buckets,
    at: Ranks,
    ranks: Ranks,
) -> None:
    """The same among few constants, in one pass."""
    capacity = len(table)
    for i in range(len(ranks)):
        start, stop = offsets[i], offsets[i + 1]
        head = _word(data, start, stop)
        hash = _hash_of(data, start, stop, head)
        tag, slot, rank = np.int64(hash & TAG), _home(hash, capacity), UNRANKED
        while table[slot] != EMPTY:
            k = np.uint64(table[slot] & 0xFFFFFFFF)
            if table[slot] >> 32 == tag:
                first, last = ends[k], ends[k + np.uint64(1)]
                is_short = stop - start <= WORD and stop - start == last - first
                if is_short:
                    is_found = head == _word(others, first, last)
                else:
                    is_found = are_equal(data, start, stop, others, first, last)
                if is_found:
                    rank = at[k]
                    break
            slot = slot + 1 if slot + 1 < capacity else 0
        ranks[i] = rank


@kernel(allocates=False)
def are_equal(data: Bytes, start: int, stop: int, others: Bytes, first: int, last: int) -> bool:
    if stop - start != last - first:
        return False
    apart = _word(data, start, stop) ^ _word(others, first, last)
    apart |= _word(data, start + WORD, stop) ^ _word(others, first + WORD, last)
    for at in range(2 * WORD, stop - start, WORD):
        apart |= _word(data, start + at, stop) ^ _word(others, first + at, last)
    return bool(apart == 0)


@kernel(allocates=False)
def is_less(data: Bytes, start: int, stop: int, others: Bytes, first: int, last: int) -> bool:
    for at in range(0, min(stop - start, last - first), WORD):
        ours = _word(data, start + at, stop)
        theirs = _word(others, first + at, last)
        if ours != theirs:
            return bool(ours < theirs)
    return bool(stop - start < last - first)


@kernel(allocates=False)
def _settle(
    offsets: Offsets,
    data: Bytes,
    rows: Offsets,
    ends: Offsets,
    others: Bytes,
    heads: UInt64s,
    counts: Ranks,
) -> None:
    """Turn the number of heads at or below a string's own into that of the constants below it:
    gallop back over heads that are equal, then bisect."""
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
                if is_less(data, start, stop, others, ends[middle], ends[middle + 1]):
                    high = middle
                else:
                    low = middle + 1
            counts[i] = high


@kernel
def _find_one(
    offsets: Offsets,
    data: Bytes,
    ends: Offsets,
    others: Bytes,
    heads: UInt64s,
    table: Buckets,
    at: Ranks,
    below: Ranks,
) -> int:
    """The rank of a string that is a constant; else that of its gap, inverted."""
    own, ranks, rows = np.empty(1, np.uint64), np.empty(1, np.int32), np.zeros(1, np.int64)
    _hash(offsets, data, own)
    _find(offsets, data, own, ends, others, table, at, ranks)
    if ranks[0] != UNRANKED:
        return int(ranks[0])
    _read_heads(offsets, data, rows, own)
    search_sorted(heads, own, ranks)
    _settle(offsets, data, rows, ends, others, heads, ranks)
    return ~int(below[ranks[0]])


@brief
def find_row(places: Int64s, data: Bytes) -> int:
    """The number of the constant that a string is, or UNRANKED; of the constants the addresses of
    offsets, bytes and table are given."""
    ends, others = array_at(places[0], np.int64), array_at(places[1], np.uint8)
    table = array_at(places[2], np.int64)
    offsets, own = np.array([0, len(data)]), np.empty(1, np.uint64)
    _hash(offsets, data, own)
    slot, tag = _home(own[0], len(table)), np.int64(own[0] & TAG)
    while table[slot] != EMPTY:
        if table[slot] >> 32 == tag:
            k = table[slot] & 0xFFFFFFFF
            if are_equal(data, 0, len(data), others, ends[k], ends[k + 1]):
                return int(k)
        slot = slot + 1 if slot + 1 < len(table) else 0
    return UNRANKED
