"""Timing that a noisy machine cannot spoil much: warm up, repeat, take the best."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import NamedTuple


class Timing(NamedTuple):
    """The best and the worst of several runs, in seconds."""

    best: float
    worst: float

    def __str__(self) -> str:
        return f"{self.best:.3f} s (worst {self.worst:.3f})"


def best_of(run: Callable[[], object], repeats: int = 5) -> Timing:
    """Run once to warm up, then several times."""
    run()
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return Timing(min(seconds), max(seconds))
