"""Buffers that kernels write into, lent and given back.

A kernel that works on one event takes less time than to allocate what it writes into, and to look
up where that lies. So buffers are kept, with their addresses. Each is lent to one caller at a time:
two threads never write into the same one.
"""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

_GROWTH = 4


class Room(NamedTuple):
    """A buffer, where it lies, and how many cells it has."""

    cells: array[Any]
    address: int
    size: int

    @classmethod
    def of(cls, typecode: str, size: int) -> Room:
        """A buffer of so many cells."""
        cells = array(typecode, bytes(size * array(typecode).itemsize))
        return cls(cells, cells.buffer_info()[0], size)


class Rooms:
    """The buffers of one type that nobody is using."""

    def __init__(self, typecode: str, size: int) -> None:
        self._typecode = typecode
        self._size = size
        self._free: list[Room] = []

    def lend(self) -> Room:
        """A buffer for the caller alone, until it is given back."""
        try:
            return self._free.pop()  # which is atomic
        except IndexError:
            return Room.of(self._typecode, self._size)

    def larger(self, room: Room, size: int = 0) -> Room:
        """A buffer of at least so many cells, and many more than one that was lent."""
        return Room.of(self._typecode, max(size, _GROWTH * room.size))

    def give_back(self, room: Room) -> None:
        """Let others use a buffer."""
        self._free.append(room)
