"""Some strings of a column as Python's, all at once.

Arrow takes microseconds to begin with, and makes one object after the other. Here their bytes are
written one behind the other, and Python cuts the text apart.

    parts    first row | rows | address of the offsets | of the data     parts lie in their order
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from tamis.arrays.jit import array_from, brief
from tamis.arrays.rooms import Rooms
from tamis.arrays.types import Addresses

SEPARATOR = 0
"""Stands behind each string."""
_USUAL = 1 << 14
"""Bytes that there is room for at first."""
_NOT_SO = -1
_FIRST, _ROWS, _OFFSETS, _DATA, _FIELDS = range(5)
_ROOMS = Rooms("B", _USUAL)


class StringParts:
    """Arrays of strings, one behind the other, as kernels see them; somebody else keeps them."""

    def __init__(self, parts: Addresses) -> None:
        self._parts = parts
        self._address, self._count = parts.ctypes.data, len(parts)

    @classmethod
    def none(cls) -> StringParts:
        """No strings."""
        return cls(np.empty((0, _FIELDS), np.int64))

    def followed_by(self, first: int, rows: int, offsets: int, data: int) -> StringParts:
        """These and one part more, given by its first row and its addresses."""
        return StringParts(np.concatenate((self._parts, [[first, rows, offsets, data]])))

    def strings(self, rows: Sequence[int]) -> list[str] | None:
        """The strings of some rows; None if a row is in no part, or if a string holds what
        separates them."""
        if not isinstance(rows, array):
            rows = array("i", rows)
        place, count = rows.buffer_info()
        if not count:
            return []
        room = _ROOMS.lend()
        length = gather(self._address, self._count, place, count, room.address, room.size)
        if length > room.size:
            room = _ROOMS.larger(room, length)
            length = gather(self._address, self._count, place, count, room.address, room.size)
        text = None if length == _NOT_SO else str(memoryview(room.cells)[: length - 1], "utf-8")
        _ROOMS.give_back(room)
        return None if text is None else text.split("\0")


@brief
def gather(parts: int, count: int, rows: int, number: int, out: int, room: int) -> int:
    """Write the strings of so many rows, each with a separator behind it, as long as there is room;
    return how much room all of them take. All arrays are given by their addresses."""
    part = array_from(parts, count * _FIELDS, np.int64)
    wanted, written = array_from(rows, number, np.int32), array_from(out, room, np.uint8)
    length = 0
    for row in wanted:
        low, high = 0, count  # the part is the last one that begins at or before the row
        while high - low > 1:
            middle = (low + high) >> 1
            low, high = (low, middle) if part[middle * _FIELDS] > row else (middle, high)
        at = low * _FIELDS
        place = row - part[at + _FIRST] if count else np.int64(-1)
        if place < 0 or place >= part[at + _ROWS]:
            return _NOT_SO
        offsets = array_from(part[at + _OFFSETS], part[at + _ROWS] + 1, np.int64)
        begin, stop = offsets[place], offsets[place + 1]
        data = array_from(part[at + _DATA], stop, np.uint8)
        end = length + stop - begin + 1
        if end <= room:
            for i in range(begin, stop):
                if data[i] == SEPARATOR:
                    return _NOT_SO
                written[length + i - begin] = data[i]
            written[end - 1] = SEPARATOR
        length = end
    return length
