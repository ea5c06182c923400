"""The class over the arrays: batches of points in, chunks of matches out."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.rooms import Rooms
from tamis.arrays.sharing import lazy
from tamis.arrays.types import Addresses, Cursor, Int64s, Ranks, Slots
from tamis.matching.boxes.layout import Boxes, Statistics
from tamis.matching.points.of_lists import Choices
from tamis.matching.sieve.build import Sieve, build_sieve
from tamis.matching.sieve.kernels import (
    CURSOR,
    EVENT,
    Matches,
    Probes,
    begin_batch,
    count_matches,
    fill_matches,
    flatten_points,
    make_probes,
)
from tamis.matching.sieve.listed import owners_of
from tamis.matching.sieve.single import ROOM, TOO_MANY, match_each, match_point, places_of

UNLIMITED = np.iinfo(np.int32).max  # no segment has more boxes
FIRST_CHUNK, CHUNK = 1 << 12, 1 << 18  # matches
ROOMS = Rooms("i", ROOM)


class BoxSieve:
    """Finds the boxes that contain a point; immutable, shared by any number of threads.

    Points are int32 ranks [events, attributes], rows or columns contiguous, -1 where an event
    lacks the attribute; a rank must be below the attribute's size. Matches come by ascending
    event, each (event, slot) once, the slots of an event in no order.
    """

    def __init__(self, boxes: Boxes, statistics: Statistics | None = None) -> None:
        self.size = np.asarray(boxes.size, np.int64)
        self.arrays: Sieve = _frozen(build_sieve(boxes, statistics))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The sieve as named flat arrays."""
        return {
            "size": self.size,
            **{name: np.asarray(each) for name, each in _fields(self.arrays)},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> BoxSieve:
        """The sieve of ``to_arrays``, which may lie in a file that is mapped into memory."""
        sieve = cls.__new__(cls)
        sieve.size = arrays["size"]
        found: dict[str, Any] = {
            "is_seldom": np.zeros(len(arrays["base"]), bool),  # older files have none
            "first": np.empty(0, np.uint16),
        }
        found |= {name: arrays[name] for name in Sieve._fields[:-1] if name in arrays}
        sieve.arrays = _frozen(Sieve(**found, repeated=bool(arrays["repeated"])))
        return sieve

    @property
    def nbytes(self) -> int:
        """Memory of the index."""
        return sum(array.nbytes for array in self.arrays if isinstance(array, np.ndarray))

    def slots(self) -> Slots:
        """Return the slot of each box."""
        slot = self.arrays.slot
        return np.where(slot < 0, ~slot, slot)

    @lazy
    def _places(self) -> Addresses:
        return places_of(self.arrays)

    @lazy
    def _address(self) -> int:
        """Of the table of places."""
        return self._places.ctypes.data

    def match_one(self, point: array[int]) -> array[int]:
        """Return the slots of one point, which has a 0 behind its ranks."""
        address, length = point.buffer_info()
        room = ROOMS.lend()
        n = match_point(self._address, address, length, room.address, room.size)
        while n == TOO_MANY:
            room = ROOMS.larger(room)
            n = match_point(self._address, address, length, room.address, room.size)
        found = room.cells[:n]
        ROOMS.give_back(room)
        return self._each_once(found) if self.arrays.repeated else found

    def match_each(self, point: Ranks, ranks: Ranks) -> array[int]:
        """The same of several points, which differ in their last rank alone."""
        room = ROOMS.lend()
        n = match_each(self._places, point, ranks, room.address, room.size)
        while n == TOO_MANY:
            room = ROOMS.larger(room)
            n = match_each(self._places, point, ranks, room.address, room.size)
        found = room.cells[:n]
        ROOMS.give_back(room)
        return self._each_once(found) if self.arrays.repeated else found

    @staticmethod
    def _each_once(slots: array[int]) -> array[int]:
        return array("i", dict.fromkeys(~slot if slot < 0 else slot for slot in slots))

    def match_choices(self, choices: Choices) -> Slots:
        """Return the slots that some choice from the lists of one event stabs."""
        return owners_of(self.arrays, choices)

    def match(self, points: Ranks, limit: int | None = None) -> Matches:
        """Return all matches of a batch, at most `limit` for each event (1: the first found)."""
        chunks = list(self.chunks(points, limit))
        if len(chunks) == 1:
            return chunks[0]
        nothing = np.empty(0, np.int32)
        return Matches(
            np.concatenate([nothing, *(chunk.event for chunk in chunks)]),
            np.concatenate([nothing, *(chunk.slot for chunk in chunks)]),
        )

    def chunks(
        self, points: Ranks, limit: int | None = None, size: int | None = None
    ) -> Iterator[Matches]:
        """Yield the matches of a batch in arrays of at most `size`; if that is not given, arrays
        grow, so that few are made for many matches, and none is large for few."""
        self._check(points)
        if not len(self.arrays.slot):
            return
        room = size or min(max(FIRST_CHUNK, 4 * len(points)), CHUNK)
        cursor, probes = self.cursor(), self.probes()
        while cursor[EVENT] < len(points):
            matches = Matches(np.empty(room, np.int32), np.empty(room, np.int32))
            n = self._fill(points, probes, cursor, matches, limit)
            if n:
                yield Matches(matches.event[:n], matches.slot[:n])
            room = size or min(8 * room, CHUNK)

    def cursor(self) -> Cursor:
        """Return a cursor at the start of a batch; it is at the end when cursor[0] == events."""
        return np.zeros(CURSOR, np.int64)

    def probes(self) -> Probes:
        """Return the scratch of one thread, for one batch after the other."""
        return make_probes(self.arrays, len(self.size))

    def fill(
        self,
        points: Ranks,
        probes: Probes,
        cursor: Cursor,
        matches: Matches,
        limit: int | None = None,
    ) -> int:
        """Fill the caller's buffers once from the cursor on; return the number of matches."""
        self._check(points)
        if not len(matches.slot):
            raise ValueError("buffers without room: the cursor would never move")
        return self._fill(points, probes, cursor, matches, limit)

    def _fill(
        self, points: Ranks, probes: Probes, cursor: Cursor, matches: Matches, limit: int | None
    ) -> int:
        if not cursor.any():
            begin_batch(probes, len(points))
        most = UNLIMITED if limit is None else min(limit, UNLIMITED)
        return int(fill_matches(self.arrays, flatten_points(points), probes, cursor, most, matches))

    def count(self, points: Ranks) -> Int64s:
        """Return the number of matches of each event."""
        self._check(points)
        counts = np.zeros(len(points), np.int64)
        if not self.arrays.repeated:
            count_matches(self.arrays, flatten_points(points), self.probes(), counts)
            return counts
        for chunk in self.chunks(points):
            counts += np.bincount(chunk.event, minlength=len(points))
        return counts

    def _check(self, points: Ranks) -> None:
        if points.ndim != 2 or points.shape[1] != len(self.size) or points.dtype != np.int32:
            raise ValueError(
                f"points must be int32 of shape [events, {len(self.size)}],"
                f" not {points.dtype} of shape {points.shape}"
            )


def _fields(sieve: Sieve) -> Iterator[tuple[str, Any]]:
    return zip(Sieve._fields, sieve, strict=True)


def _frozen(sieve: Sieve) -> Sieve:
    """The same with read-only arrays: what is mapped from a file is, and is of another type to
    Numba than a writable one, for which every kernel would be compiled again."""
    views: dict[str, Any] = {}
    for name, each in _fields(sieve):
        if isinstance(each, np.ndarray):
            views[name] = each.view()
            views[name].flags.writeable = False
    return sieve._replace(**views)
