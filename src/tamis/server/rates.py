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
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst = rate, burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, tokens: float = 1.0) -> None:
        """Take tokens of a caller's bucket, or raise a RateError that says when to come back."""
        if self.rate <= 0:
            return
        now = self._clock()
        left, since = self._buckets.pop(caller, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        if left < min(tokens, self.burst):
            self._buckets[caller] = left, now
            wait = (min(tokens, self.burst) - left) / self.rate
            raise RateError(f"more than {self.rate:g} requests a second of one caller", wait)
        self._buckets[caller] = left - tokens, now
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
