"""What the writer must know of all subscriptions at once, as columns.

    numbers        17  18  21  22 …     ascending, since subscriptions are numbered as they come
    expires        …                    when the lease ends; -inf: removed
    acknowledged   …                    the position up to which notifications are done with
    matched        …                    how often it matched since the broker started

Looked up by binary search, for all matches of a batch at a time. A million subscriptions as Python
objects would take hundreds of megabytes.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.types import Flags, Float64s, Int64s

_FIRST = 1_024
_ALL = 2**63 - 1


class Roster:
    """Leases and acknowledgements of all subscriptions, by their numbers."""

    def __init__(self) -> None:
        self._numbers = np.zeros(_FIRST, np.int64)
        self._expires = np.zeros(_FIRST, np.float64)
        self._acknowledged = np.zeros(_FIRST, np.int64)
        self._matched = np.zeros(_FIRST, np.int64)
        self._count = 0
        self._removed = 0

    def __len__(self) -> int:
        return self._count - self._removed

    def load(
        self,
        numbers: Int64s,
        expires: Float64s,
        acknowledged: Int64s,
    ) -> None:
        """Begin with these, which ascend by number."""
        self._numbers, self._expires, self._acknowledged = numbers, expires, acknowledged
        self._matched = np.zeros(len(numbers), np.int64)
        self._count, self._removed = len(numbers), 0

    def set(self, number: int, expires: float, acknowledged: int) -> None:
        """Add a subscription, or change it."""
        row = self._row(number)
        if row is None:
            row = self._place(number)
        elif self._expires[row] == -np.inf:
            self._removed -= 1
        self._numbers[row] = number
        self._expires[row] = expires
        self._acknowledged[row] = acknowledged

    def remove(self, number: int) -> None:
        """Remove a subscription, if it is there."""
        row = self._row(number)
        if row is not None and self._expires[row] != -np.inf:
            self._expires[row] = -np.inf
            self._removed += 1
            if self._removed > max(_FIRST, self._count // 2):
                self._compact()

    def acknowledge(self, number: int, position: int) -> None:
        """Note how far notifications are done with."""
        row = self._row(number)
        if row is not None:
            self._acknowledged[row] = position

    def are_alive(self, numbers: Int64s, now: float) -> Flags:
        """Which of these subscriptions are there, with a lease that has not ended."""
        rows, found = self._rows(numbers)
        alive: Flags = found & (self._expires[rows] > now)
        return alive

    def are_pending(self, numbers: Int64s, positions: Int64s) -> Flags:
        """Which notifications, by subscription and position, are not done with."""
        rows, found = self._rows(numbers)
        there = found & (self._expires[rows] != -np.inf)
        pending: Flags = there & (positions > self._acknowledged[rows])
        return pending

    def acknowledged(self, number: int) -> int:
        """How far the notifications of a subscription are done with: all, if it is gone. Any thread
        may ask."""
        acknowledged, expires, row = self._acknowledged, self._expires, self._row(number)
        if row is None or row >= min(len(acknowledged), len(expires)) or expires[row] == -np.inf:
            return _ALL
        return int(acknowledged[row])

    def count_matches(self, numbers: Int64s) -> None:
        """Count matches of subscriptions, each as often as it is among the numbers."""
        rows, found = self._rows(numbers)
        np.add.at(self._matched, rows[found], 1)

    def matched(self, number: int) -> int:
        """How often a subscription has matched since the broker started. Any thread may ask."""
        matched, row = self._matched, self._row(number)
        return int(matched[row]) if row is not None and row < len(matched) else 0

    def _row(self, number: int) -> int | None:
        if not self._count or number > self._numbers[self._count - 1]:
            return None
        row = int(np.searchsorted(self._numbers[: self._count], number))
        return row if row < self._count and self._numbers[row] == number else None

    def _rows(self, numbers: Int64s) -> tuple[Int64s, Flags]:
        known = self._numbers[: self._count]
        if not len(known):
            return np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.bool_)
        rows = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return rows, known[rows] == numbers

    def _place(self, number: int) -> int:
        """Room for a number, nearly always behind the last one."""
        if self._count == len(self._numbers):
            grown = max(_FIRST, 2 * self._count)
            self._numbers = np.resize(self._numbers, grown)
            self._expires = np.resize(self._expires, grown)
            self._acknowledged = np.resize(self._acknowledged, grown)
            self._matched = np.resize(self._matched, grown)
        row = self._count
        if row and number < self._numbers[row - 1]:
            row = int(np.searchsorted(self._numbers[:row], number))
        for column in (self._numbers, self._expires, self._acknowledged, self._matched):
            column[row + 1 : self._count + 1] = column[row : self._count].copy()
        self._matched[row] = 0
        self._count += 1
        return row

    def _compact(self) -> None:
        kept = self._expires[: self._count] != -np.inf
        self._numbers = self._numbers[: self._count][kept]
        self._expires = self._expires[: self._count][kept]
        self._acknowledged = self._acknowledged[: self._count][kept]
        self._matched = self._matched[: self._count][kept]
        self._count, self._removed = len(self._numbers), 0
