"""The time that leases go by: the wall clock, unless it jumps.

A clock that is set wrongly for a moment must not end a million leases. So time goes on as the
monotonic clock says while the wall clock differs from it by more than a minute, and the wall clock
is believed again when it has gone on steadily for five minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

JUMP = 60.0
"""Seconds by which the two clocks may differ."""
STEADY = 300.0
"""Seconds after which a wall clock that has jumped is believed."""


class SteadyClock:
    """Seconds since 1970 that do not jump; safe for threads."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._lock = threading.Lock()
        self._offset = wall() - monotonic()
        self._other: tuple[float, float] | None = None
        """The offset that the wall clock has had since a jump, and since when."""
        self.jumps = 0

    def __call__(self) -> float:
        """The time now."""
        with self._lock:
            ticks = self._monotonic()
            offset = self._wall() - ticks
            if abs(offset - self._offset) <= JUMP:
                self._offset, self._other = offset, None
            elif self._other is None or abs(offset - self._other[0]) > JUMP:
                self._other = offset, ticks
                self.jumps += 1
            elif ticks - self._other[1] >= STEADY:
                self._offset, self._other = offset, None
            return ticks + self._offset
