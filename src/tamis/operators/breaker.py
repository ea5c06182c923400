"""A breaker: after repeated failures an operator is left alone for a while.

    closed ──FAILURES in a row──> open ──PAUSE seconds──> one call is tried ──success──> closed
                                   ^                              └──failure──┐
                                   └──────────────────────────────────────────┘

Only failures of the operator as a whole count: it raised, timed out, or a batch of it did.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from tamis.arrays.sharing import Lockable
from tamis.errors import OperatorWarning

FAILURES = 10
"""Failures in a row after which an operator is switched off."""
PAUSE = 30.0
"""Seconds for which it stays so."""


class Breaker(Lockable):
    """Counts the failures of one operator."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._name = name
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    def refusal(self) -> str:
        """Why the operator must not be called now; empty if it may be."""
        with self._lock:
            if self._failures < FAILURES:
                return ""
            left = self._until - self._clock()
            if left <= 0:
                self._until = self._clock() + PAUSE  # this caller tries it; others wait
                return ""
            return f"is switched off after {self._failures} failures, for {left:.0f} s more"

    @property
    def is_open(self) -> bool:
        """Whether the operator is switched off."""
        with self._lock:
            return self._failures >= FAILURES and self._clock() < self._until

    def succeeded(self) -> None:
        """Note a success."""
        with self._lock:
            self._failures = 0

    def failed(self, problem: str) -> None:
        """Note a failure; the one that switches the operator off warns."""
        with self._lock:
            self._failures += 1
            if self._failures < FAILURES:
                return
            self._until = self._clock() + PAUSE
            if self._failures > FAILURES:
                return
        warnings.warn(
            f"the operator {self._name!r} is switched off for {PAUSE:.0f} s after {FAILURES} "
            f"failures in a row; the last one: {problem}",
            OperatorWarning,
            stacklevel=2,
        )
