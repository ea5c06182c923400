"""What a plan expects an event to cost, beside what it takes: W1 to W5 and W7, with and without
statistics.

    python -m benchmarks.plans [--factor 3]

One thread, one core, best of five. Exits with 1 if a plan is off by more than the factor.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from benchmarks import workloads
from benchmarks.detections import w7
from benchmarks.harness import best_of, use_one_core
from benchmarks.sieve import Subject
from benchmarks.workloads import Workload
from tamis import Engine

LEARNED = 1_000
"""Events that are kept aside, to learn from."""
WORKLOADS: dict[str, tuple[Callable[[int, int], Workload], int, int]] = {
    "W1": (workloads.w1, 100_000, 4_000),
    "W2": (workloads.w2, 100_000, 50_000),
    "W3": (workloads.w3, 100_000, 20_000),
    "W4": (workloads.w4, 100_000, 4_000),
    "W5": (workloads.w5, 20_000, 2_000),
}
"""Each with so many subscriptions and events."""
RULES, RECORDS = 3_800, 4_000
"""Those of W7."""


def subjects() -> Iterator[tuple[str, Engine, pa.Table, pa.Table]]:
    """Engines, the events to match, and those to learn from."""
    for name, (make, subscriptions, events) in WORKLOADS.items():
        subject = Subject(make(subscriptions, events + LEARNED))
        subject.keep_aside(LEARNED)
        yield name, subject.engine, subject.events, subject.aside
    made = w7(RULES, RECORDS + LEARNED)
    engine = Engine()
    engine.subscribe_many(made.subscriptions())
    table = made.table()
    yield "W7", engine, table[:RECORDS], table[RECORDS:]


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans")
    parser.add_argument("--factor", type=float, default=3.0, help="by which a plan may be off")
    parser.add_argument("--core", type=int, help="the core to stay on; the last by default")
    options = parser.parse_args(arguments)
    use_one_core(options.core)
    warnings.simplefilter("ignore")  # rules that cost much
    print(f"{'':14}{'measured, ns':>14}{'plan, ns':>12}{'measured / plan':>18}")
    worst = 1.0
    for name, engine, events, aside in subjects():
        for learned in (False, True):
            if learned:
                engine.learn(aside)
            engine.settle()
            timing = best_of(partial(engine.match_batch, events))
            taken, expected = timing.best * 1e9 / len(events), engine.plan().cost
            ratio = taken / expected
            worst = max(worst, ratio, 1 / ratio)
            what = f"{name}, learned" if learned else name
            print(f"{what:14}{taken:14,.0f}{expected:12,.0f}{ratio:18.2f}", flush=True)
    return int(worst > options.factor)


if __name__ == "__main__":
    sys.exit(main())
