"""Columns that had to be read row by row, counted by reason: such a batch is slow, never wrong."""

from __future__ import annotations

from collections import Counter

from tamis.arrays.sharing import Lockable

_MOST, _LONG = 100, 200
"""Reasons that are told apart, and characters of one: types of columns come from outside."""


class Fallbacks(Lockable):
    """How many rows were read as events because their columns could not be, by reason."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Counter[str] = Counter()

    def count(self, reason: str, rows: int) -> None:
        """Note that so many rows were read one by one."""
        reason = reason if len(reason) <= _LONG else reason[: _LONG - 1] + "…"
        with self._lock:
            known = reason in self._rows or len(self._rows) < _MOST
            self._rows[reason if known else "other reasons"] += rows

    def rows(self) -> dict[str, int]:
        """The rows by reason."""
        with self._lock:
            return dict(self._rows)
