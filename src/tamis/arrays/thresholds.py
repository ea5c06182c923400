"""How many of some sorted numbers are at or below a value: the rank, for integers and doubles.

In one numeric type a cut is a threshold, the least value of the type that lies above it:

    cut            integers     doubles
    before 2.5     3            2.5
    after 2.5      3            2.5000000000000004
    before 3       3            3.0
    after 3        4            3.0000000000000004

Then the rank of a value is the number of thresholds at or below it, a search in a plain sorted
array of the value's own type: no comparison of an integer with a double, no flag for the side.
Equal thresholds stand as often as there are cuts. A cut above all values of the type has none; it
would be last, so leaving it out changes no rank.

The search is branch-free (Khuong and Morin, Array Layouts for Comparison-Based Searching, 2017,
section 3): log2(n) steps, the same for each value. It goes in step for a block of values, so that
the processor works on several of them at once and waits for memory once for all. Where integers
span little, a table from each to its rank replaces the search:

    thresholds 3 3 6      value   ..2  3  4  5  6..
                          rank      0  2  2  2  3
                          table        2  2  2  3

A bisection of one value after the other, which mispredicts every second branch, takes four times
as long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.arrays.arrow_buffers import UNRANKED, frozen
from tamis.arrays.jit import kernel
from tamis.arrays.sharing import lazy
from tamis.arrays.types import Numerics, Ranks

DENSE_SPAN = 65_536
DENSE_RATIO = 8
BLOCK = 32
LISTED = 65_536
"""Up to how many a list is made for Python, which ``bisect`` reads faster than an array."""
NEAR = 8_192
"""Up to how many integers a dict has the ranks, which takes 100 bytes of memory for each."""


class Thresholds:
    """Sorted thresholds of one numeric type, and what is derived from them on first use."""

    def __init__(self, numbers: Numerics) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def ranks(self, values: Numerics) -> Ranks:
        """How many are at or below each of the values, which are of the thresholds' type."""
        ranks = np.empty(len(values), np.int32)
        if self._table is None:
            search_sorted(self.numbers, values, ranks)
        else:
            _look_up(int(self.numbers[0]), self._table, values, ranks)
        return ranks

    def rank(self, value: Any) -> int:
        """How many are at or below one value of the thresholds' type."""
        return bisect_right(self.sequence, value)

    def near(self) -> dict[int, int]:
        """The ranks of all integers from the first to the last threshold; none if they are many."""
        table = self._table
        if table is None or len(table) > NEAR:
            return {}
        first = int(self.numbers[0])
        return dict(zip(range(first, first + len(table)), table.tolist(), strict=True))

    @lazy
    def sequence(self) -> Sequence[Any]:
        """The thresholds for ``bisect``, which gives the rank of one value."""
        if len(self.numbers) > LISTED:
            return memoryview(self.numbers)  # type: ignore[arg-type]  # arrays are buffers
        listed: list[Any] = self.numbers.tolist()
        return listed

    @lazy
    def _table(self) -> Ranks | None:
        """The rank of every integer from the first to the last threshold, if they are close."""
        count = len(self.numbers)
        if not count or self.numbers.dtype != np.int64:
            return None
        first, last = int(self.numbers[0]), int(self.numbers[-1])
        if last - first >= max(DENSE_SPAN, DENSE_RATIO * count):
            return None
        ranks = np.arange(1, count + 1, dtype=np.int32)
        return frozen(np.repeat(ranks, np.append(np.diff(self.numbers), 1)), np.int32)


@kernel
def search_sorted(thresholds: Numerics, values: Numerics, ranks: Ranks) -> None:
    """How many of the sorted thresholds are at or below each value; -1 for NaN."""
    for start in range(0, len(values), BLOCK):
        stop = min(start + BLOCK, len(values))
        ranks[start:stop] = 0
        length = len(thresholds)
        while length > 1:
            half = length >> 1
            for i in range(start, stop):
                middle = np.uint32(ranks[i] + half - 1)
                ranks[i] += half if thresholds[middle] <= values[i] else 0
            length -= half
        if length:
            for i in range(start, stop):
                ranks[i] += 1 if thresholds[np.uint32(ranks[i])] <= values[i] else 0
        for i in range(start, stop):
            if values[i] != values[i]:
                ranks[i] = UNRANKED


@kernel
def _look_up(first: int, table: Ranks, values: Numerics, ranks: Ranks) -> None:
    last = first + len(table) - 1
    for i in range(len(values)):
        value = values[i]
        inside = min(max(value, first), last)
        ranks[i] = table[inside - first] if value >= first else 0
