"""The union of sorted arrays of strings, in one pass over all of them.

'kiwi' 'lime'            'kiwi' 'lime' 'plum'        number of each    0 1
'lime' 'plum'                                                          1 2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays.arrow_buffers import string_buffers
from tamis.arrays.jit import kernel
from tamis.arrays.string_search import are_equal, is_less
from tamis.arrays.types import Bytes, Flags, Int64s, Offsets


def merge_strings(arrays: Sequence[Any], used: Sequence[Flags]) -> tuple[Any, list[Int64s]]:
    """The distinct used strings of sorted arrays without repetition, and for each array the number
    that each of its strings has there; those of unused ones mean nothing."""
    joined = pa.concat_arrays(arrays)
    rows = np.flatnonzero(np.concatenate(used))
    ends = np.cumsum([0, *(kept.sum() for kept in used)])
    chosen, number = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    count = _merge(*string_buffers(joined), rows, ends, chosen, number)
    numbers = [np.zeros(len(kept), np.int64) for kept in used]
    for found, kept, start, stop in zip(numbers, used, ends, ends[1:]):
        found[kept] = number[start:stop]
    return joined.take(pa.array(chosen[:count])), numbers


@kernel
def _merge(
    offsets: Offsets, data: Bytes, rows: Int64s, ends: Int64s, chosen: Int64s, number: Int64s
) -> int:
    """Number the strings of some rows, which ascend from each of the ends to the next; write the
    row of one string of each number, and return how many there are."""
    heads = ends[:-1].copy()
    count = 0
    while True:
        least = np.int64(-1)
        for i in range(len(heads)):
            if heads[i] < ends[i + 1]:
                row = rows[heads[i]]
                if least < 0 or is_less(
                    data, offsets[row], offsets[row + 1], data, offsets[least], offsets[least + 1]
                ):
                    least = row
        if least < 0:
            return count
        start, stop = offsets[least], offsets[least + 1]
        for i in range(len(heads)):
            if heads[i] < ends[i + 1]:
                row = rows[heads[i]]
                if are_equal(data, start, stop, data, offsets[row], offsets[row + 1]):
                    number[heads[i]] = count
                    heads[i] += 1
        chosen[count] = least
        count += 1
