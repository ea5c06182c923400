"""Some strings of an Arrow array as Python's, all at once.

Arrow takes microseconds to begin with, and makes one object after the other. Here their bytes are
written one behind the other, and Python cuts the text apart.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from tamis.arrays.jit import brief
from tamis.arrays.types import Bytes, Numbers, Offsets

SEPARATOR = 0
"""Stands behind each string."""
_USUAL = 24
"""Bytes of a string that there is room for at first."""
_NOT_SO = -1


def gathered(
    offsets: Offsets, data: Bytes, rows: Sequence[int], first: int = 0
) -> list[str] | None:
    """The strings of some rows, given the offsets and the data of an array whose first row has a
    number; None if a row lies outside of it, or a string holds what separates them."""
    places = np.frombuffer(array("i", rows), np.int32)
    room = np.empty(_USUAL * len(rows), np.uint8)
    length = gather(offsets, data, places, first, room)
    if length > len(room):
        room = np.empty(length, np.uint8)
        length = gather(offsets, data, places, first, room)
    if length == _NOT_SO:
        return None
    return str(room[: length - 1].data, "utf-8").split("\0")


@brief
def gather(offsets: Offsets, data: Bytes, rows: Numbers, first: int, out: Bytes) -> int:
    """Write strings, each with a separator behind it, as long as there is room; return how much
    room all of them take."""
    length = 0
    for row in rows:
        if row < first or row - first > len(offsets) - 2:
            return _NOT_SO
        begin, stop = offsets[row - first], offsets[row - first + 1]
        end = length + stop - begin + 1
        if end <= len(out):
            for at in range(begin, stop):
                if data[at] == SEPARATOR:
                    return _NOT_SO
                out[length + at - begin] = data[at]
            out[end - 1] = SEPARATOR
        length = end
    return length
