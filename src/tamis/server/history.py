"""The numbers of the last minutes, for the plots of the console."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tamis.server.service import Service

EVERY = 1.0
"""Seconds between samples."""
MOST = 300
"""Samples that are kept."""


class Sample(NamedTuple):
    """What the broker counted at one moment."""

    time: float
    numbers: dict[str, float]


class History:
    """A sample a second, for some minutes."""

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=MOST)

    async def keep(self, service: Service) -> None:
        """Take samples until cancelled."""
        while True:
            self.take(service)
            await asyncio.sleep(EVERY)

    def take(self, service: Service) -> None:
        """Take one sample."""
        numbers = {**service.broker.stats(), "streams": float(service.streams.open)}
        self.samples.append(Sample(time.monotonic(), numbers))

    def values(self, name: str) -> list[float]:
        """A number as it was, oldest first."""
        return [sample.numbers.get(name, 0.0) for sample in self.samples]

    def rates(self, name: str) -> list[float]:
        """How fast a number grew in each second."""
        samples = list(self.samples)
        return [
            max(0.0, (later.numbers.get(name, 0.0) - earlier.numbers.get(name, 0.0)))
            / max(0.001, later.time - earlier.time)
            for earlier, later in pairwise(samples)
        ]
