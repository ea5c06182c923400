"""Timing that a noisy machine cannot spoil much: warm up, repeat, take the best."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

REPEATS = 5


class Timing(NamedTuple):
    """The best and the worst of several runs, in seconds."""

    best: float
    worst: float

    def __str__(self) -> str:
        return f"{self.best:.3f} s (worst {self.worst:.3f})"


def best_of(run: Callable[[], object], repeats: int = REPEATS, warm_up: bool = True) -> Timing:
    """Run once to warm up, then several times."""
    if warm_up:
        run()
    return in_turns({"": run}, repeats)[""]


def in_turns(runs: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, Timing]:
    """Time several runs in turns, so that a slow minute of the machine meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            gc.collect()
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: Timing(min(taken), max(taken)) for name, taken in seconds.items()}


def use_one_core(core: int | None = None) -> int | None:
    """Stay on one core (the last if none is given) with one thread; return the core."""
    import numba
    import pyarrow as pa

    numba.set_num_threads(1)
    pa.set_cpu_count(1)
    if not hasattr(os, "sched_setaffinity"):
        return None
    chosen = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen
