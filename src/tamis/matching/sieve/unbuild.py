"""From a sieve back to its boxes: what ``build`` does, undone. Nothing is lost in a sieve:

    key        digits in mixed radix      equalities of the hashed attributes
    constant   of AT_LEAST or AT_MOST     the one-sided range of the sorted attribute
    tests      attribute, low, span       all other constraints: those of required attributes, and
                                          two-sided ranges of the sorted one; attribute k only
                                          fills a row

Boxes come in the order of the sieve. Complexity: linear.
"""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.key_table import EMPTY
from tamis.arrays.types import Buckets, Int64s
from tamis.matching.boxes.layout import AT_LEAST, AT_MOST, Boxes, sort_constraints
from tamis.matching.sieve.build import Sieve
from tamis.matching.sieve.signatures import HASHED


def boxes_of(sieve: Sieve, size: Int64s) -> Boxes:
    """Return the boxes that a sieve was built from; ``size`` is the ranks of each attribute."""
    key = np.empty(len(sieve.slot), np.int64)
    spread_keys(sieve.table, key)
    start = np.zeros(len(key) + 1, np.int64)
    count_constraints(sieve, key, len(size), start)
    attribute, low, high = (np.empty(int(start[-1]), np.int32) for _ in range(3))
    slot = np.where(sieve.slot < 0, ~sieve.slot, sieve.slot)
    boxes = Boxes(start, attribute, low, high, slot, np.array(size, np.int64))
    write_constraints(sieve, key, boxes)
    return boxes


@kernel
def spread_keys(table: Buckets, key: Int64s) -> None:
    """Write the key of each box, from the slices of the table."""
    for at in range(0, len(table), 2):
        if table[at] != EMPTY:
            for i in range(table[at + 1] >> 32, table[at + 1] & 0xFFFFFFFF):
                key[i] = table[at]


@kernel
def next_signature(s: int, key: int, base: Int64s) -> int:
    """Return the signature of a key, which is s or one behind it."""
    while s + 1 < len(base) and base[s + 1] <= key:
        s += 1
    return s


@kernel
def count_constraints(sieve: Sieve, key: Int64s, k: int, start: Int64s) -> None:
    """Write where the constraints of each box begin when all of them stand side by side."""
    s = 0
    for i in range(len(key)):
        s = next_signature(s, key[i], sieve.base)
        count = np.int64(sieve.kind[s] == AT_LEAST or sieve.kind[s] == AT_MOST)
        for j in range(HASHED):
            count += sieve.stride[s, j] > 0
        at = sieve.row[s] + 3 * sieve.width[s] * i
        for _ in range(sieve.width[s]):
            count += sieve.tests[at] < k
            at += 3
        start[i + 1] = start[i] + count


@kernel
def write_constraints(sieve: Sieve, key: Int64s, boxes: Boxes) -> None:
    """Write the constraints of all boxes: hashed, sorted, and tested ones, then by attribute."""
    k, s = len(boxes.size), 0
    attribute, low, high = boxes.axis, boxes.low, boxes.high
    for i in range(len(key)):
        s = next_signature(s, key[i], sieve.base)
        c = boxes.start[i]
        for j in range(HASHED):
            if sieve.stride[s, j]:
                a = np.int64(sieve.attribute[s, j])
                digit = (key[i] - sieve.base[s]) // sieve.stride[s, j] % boxes.size[a]
                attribute[c], low[c], high[c] = a, digit, digit
                c += 1
        if sieve.kind[s] == AT_LEAST or sieve.kind[s] == AT_MOST:
            a, constant = np.int64(sieve.attribute[s, HASHED]), np.int64(sieve.constant[i])
            is_least = sieve.kind[s] == AT_LEAST
            attribute[c] = a
            low[c] = constant if is_least else 0
            high[c] = boxes.size[a] - 1 if is_least else constant
            c += 1
        at = sieve.row[s] + 3 * sieve.width[s] * i
        for _ in range(sieve.width[s]):
            if sieve.tests[at] < k:
                attribute[c], low[c] = sieve.tests[at], sieve.tests[at + 1]
                high[c] = np.int64(sieve.tests[at + 1]) + np.int64(sieve.tests[at + 2])
                c += 1
            at += 3
        sort_constraints(attribute, low, high, boxes.start[i], c)
