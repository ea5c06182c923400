"""Stable sorting of row numbers by integers, by digits of eleven bits from the lowest.

np.argsort(kind="stable") sorts 64-bit integers by comparison: 0.1 us a row at 1M, and growing;
this is 8 ns a row and digit, and needs only the digits that the largest value has.
"""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int32s, Int64s

DIGIT = 11


def sort_rows(order: Int32s, value: Int64s | Int32s) -> Int32s:
    """Return the rows of `order` stably sorted by `value[row]`, which must not be negative."""
    other = np.empty_like(order)
    largest = int(value.max()) if len(value) else 0
    shift = 0
    while largest >> shift:
        place_by_digit(order, value, shift, other)
        order, other = other, order
        shift += DIGIT
    return order


@kernel
def place_by_digit(
    order: Int32s,
    value: Int64s | Int32s,
    shift: int,
    placed: Int32s,
) -> None:
    """Write `order` into `placed`, sorted by one digit of the values."""
    mask = (1 << DIGIT) - 1
    begin = np.zeros((1 << DIGIT) + 1, np.int64)
    for row in order:
        begin[(value[row] >> shift & mask) + 1] += 1
    for digit in range(1 << DIGIT):
        begin[digit + 1] += begin[digit]
    for row in order:
        digit = value[row] >> shift & mask
        placed[begin[digit]] = row
        begin[digit] += 1
