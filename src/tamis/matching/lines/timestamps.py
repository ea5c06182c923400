"""The line of timestamps, from year 1 to year 9999, in nanoseconds: wider than 64 bits.

All instants are whole nanoseconds, so the cut after one is the threshold one nanosecond later. A
threshold is kept as a second and nanoseconds within it, and becomes, on first use, the least
count of a column's unit that reaches it:

    threshold                   seconds          s     ms      days
    1970-01-01T00:00:01.5Z      1, 500,000,000   2     1,500   1
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyarrow import types

from tamis.arrays.arrow_buffers import fixed_width, frozen
from tamis.arrays.arrow_types import NANOSECONDS
from tamis.arrays.sharing import lazy
from tamis.arrays.thresholds import LISTED, Thresholds
from tamis.arrays.types import Arrays, Flags, Int32s, Int64s, Positions, Ranks, Uses
from tamis.matching.lines.line import StoredLine, merged_cuts, number_in_order, positions_of
from tamis.model.timestamp import Timestamp

_SECOND = NANOSECONDS["s"]
_DAY = 86_400
_LEAST = -(2**63)


def timestamp_line(
    values: list[Timestamp] | Int64s, after: Flags
) -> tuple[TimestampLine, Positions]:
    """The line of the cuts before or after the given instants, and each one's position in it."""
    if isinstance(values, list):
        pairs = [divmod(value.nanoseconds, _SECOND) for value in values]
        seconds, nanoseconds = np.array(pairs, np.int64).reshape(len(values), 2).T
        order = np.lexsort((nanoseconds, seconds))
    else:
        seconds, nanoseconds = np.divmod(values, _SECOND)
        order = np.argsort(values)
    first, number = number_in_order(order, seconds, nanoseconds)
    cuts, positions = positions_of(number, after)
    constant = first[cuts >> 1]
    reached = nanoseconds[constant] + (cuts & 1)
    line = TimestampLine(seconds[constant] + reached // _SECOND, reached % _SECOND)
    return line, positions


class TimestampLine(StoredLine):
    """The line of timestamps."""

    def __init__(self, seconds: Int64s, nanoseconds: NDArray[np.integer]) -> None:
        self.size = len(seconds) + 1
        self._seconds: Int64s = frozen(seconds, np.int64)
        self._nanoseconds: Int32s = frozen(nanoseconds, np.int32)
        self._thresholds: dict[str, Thresholds] = {}

    def rank(self, value: Timestamp) -> int:
        """The rank of an instant."""
        listed = self._listed
        if listed is not None:
            return bisect_right(listed, value.nanoseconds)
        seconds, nanoseconds = self._views
        second, nanosecond = divmod(value.nanoseconds, _SECOND)
        stop = bisect_right(seconds, second)
        if not stop or seconds[stop - 1] != second:
            return stop
        start = bisect_left(seconds, second, 0, stop)
        return bisect_right(nanoseconds, nanosecond, start, stop)

    def arrays(self) -> Arrays:
        """The seconds of the thresholds, and the nanoseconds within these."""
        return {"seconds": self._seconds, "nanoseconds": self._nanoseconds}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``."""
        return cls(arrays["seconds"], arrays["nanoseconds"])

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """One line of the used cuts of several."""
        pairs = [(line._seconds, line._nanoseconds) for line in lines]
        (seconds, nanoseconds), positions = merged_cuts(pairs, uses)
        return cls(seconds, nanoseconds), positions

    def _ranks(self, array: Any) -> Ranks | None:
        if types.is_timestamp(array.type):
            unit, dtype = array.type.unit, "i8"
        elif types.is_date64(array.type):
            unit, dtype = "ms", "i8"
        elif types.is_date32(array.type):
            unit, dtype = "day", "i4"
        else:
            return None
        return self._in(unit).ranks(frozen(fixed_width(array, dtype), np.int64))

    @lazy
    def _listed(self) -> list[int] | None:
        if len(self._seconds) > LISTED:
            return None
        pairs = zip(self._seconds.tolist(), self._nanoseconds.tolist(), strict=True)
        return [second * _SECOND + nanosecond for second, nanosecond in pairs]

    @lazy
    def _views(self) -> tuple[Any, Any]:
        arrays: tuple[Any, Any] = self._seconds, self._nanoseconds
        return memoryview(arrays[0]), memoryview(arrays[1])

    def _in(self, unit: str) -> Thresholds:
        if unit not in self._thresholds:
            counts = self._days() if unit == "day" else self._counts(NANOSECONDS[unit])
            self._thresholds[unit] = Thresholds(frozen(counts, np.int64))
        return self._thresholds[unit]

    def _days(self) -> Int64s:
        return -(-(self._seconds + (self._nanoseconds > 0)) // _DAY)

    def _counts(self, unit: int) -> Int64s:
        """The thresholds in a unit; those beyond 64 bits are its least or, above, left out."""
        low = self._count_below(*divmod(_LEAST * unit, _SECOND))
        stop = self._count_below(*divmod((-_LEAST - 1) * unit + 1, _SECOND))
        within = self._seconds[low:stop], self._nanoseconds[low:stop]
        # The first product may wrap around where the sum, which is within, comes back.
        counts = within[0] * (_SECOND // unit) - (-within[1].astype(np.int64) // unit)
        return np.concatenate([np.full(low, _LEAST), counts])

    def _count_below(self, second: int, nanosecond: int) -> int:
        """How many thresholds are below an instant."""
        earlier = self._nanoseconds < nanosecond
        return int(((self._seconds < second) | ((self._seconds == second) & earlier)).sum())
