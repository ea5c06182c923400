"""A hash table from keys to slices: open addressing, linear probing, two words an entry.

    key | start << 32 | stop | key | start << 32 | stop | EMPTY | ...

Key and slice share a cache line: a probe that succeeds costs one miss, as does one that fails.
The capacity is any number (no rounding up to a power of two): 27 bytes a key at this load. The
table never changes once it is built; ``hash_table`` is the one that does.
"""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Int64s

EMPTY = -1
LOAD = 0.6
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: products with it have well mixed upper bits (Knuth, The Art of
Computer Programming, volume 3, section 6.4)."""
HALF = np.uint64(32)


def hash_keys(key: Int64s, start: Int64s, stop: Int64s) -> Buckets:
    """Return the table of distinct keys, not negative, and their slices."""
    table = np.full(2 * (int(len(key) / LOAD) + 2), EMPTY, np.int64)
    insert_keys(key, start, stop, table)
    return table


@kernel(allocates=False)
def insert_keys(key: Int64s, start: Int64s, stop: Int64s, table: Buckets) -> None:
    """Insert distinct keys and their slices."""
    for i in range(len(key)):
        at = find_entry(key[i], table)
        table[at] = key[i]
        table[at + 1] = start[i] << 32 | stop[i]


@kernel(allocates=False)
def home_entry(key: int, table: Buckets) -> np.int64:
    """Return where the search for a key begins (Fibonacci hashing, scaled to the capacity)."""
    scrambled = np.uint64(key) * GOLDEN >> HALF
    return np.int64(scrambled * np.uint64(len(table) >> 1) >> HALF) << 1


@kernel(allocates=False)
def find_entry(key: int, table: Buckets) -> np.int64:
    """Return the entry of a key, or the empty one where it would be inserted."""
    at = home_entry(key, table)
    while table[at] != key and table[at] != EMPTY:
        at += 2
        if at == len(table):
            at = np.int64(0)
    return at
