"""How many requests a key may send: a bucket of tokens for each, which fills at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from tamis.server.requests import RateError

MOST = 100_000
"""Buckets that are kept. The one that was used longest ago goes first; it is full by then."""


class Rates:
    """The buckets of all callers. It has no lock: only the loop of the server uses it."""

    def __init__(
        self, rate: float, burst: float = 2.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``rate`` is in requests a second, and 0 is no limit; ``burst`` is in seconds of it."""
        self.rate, self.burst = rate, burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, rate: float | None = None) -> None:
        """Take a token of a caller's bucket, or raise a RateError that says when to come back.
        ``rate`` is that of this caller, if it has one of its own."""
        rate = self.rate if rate is None else rate
        if rate <= 0:
            return
        burst = max(1.0, rate * self.burst)
        now = self._clock()
        left, since = self._buckets.pop(caller, (burst, now))
        left = min(burst, left + (now - since) * rate)
        if left < 1:
            self._buckets[caller] = left, now
            raise RateError(
                f"more than {rate:g} requests a second of one caller", (1 - left) / rate
            )
        self._buckets[caller] = left - 1, now
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
