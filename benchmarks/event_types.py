"""Event types kept apart by structures or by names (Le Subscribe, section 5), on W1.

    python -m benchmarks.event_types [--matcher naive] [--size 100000] [--events 200]

Each subscription asks for one type by ``event_type = …``, each event has one, all equally likely.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import workloads
from benchmarks.harness import in_turns, use_one_core
from benchmarks.published import count_pairs, loaded
from tamis import Published
from tamis.matching.published.matcher import PublishedMatcher
from tamis.matching.published.typing import NAMES, STRUCTURES

TYPES = (1, 8, 64)


class Figures(NamedTuple):
    """What so many types cost, kept apart in one way."""

    matcher: str
    types: int
    way: str
    microseconds: float
    """An event."""
    load: float
    """Seconds for all subscriptions."""
    bytes: float
    """Of an index, a subscription."""
    evaluated: float
    """Predicates, an event."""
    matches: int


def measure(
    name: str, size: int, events: int, types: Sequence[int] = TYPES, seed: int = 1
) -> Iterator[Figures]:
    """Both ways on the same subscriptions and events, in turns; the pairs are the same."""
    workload = workloads.w1(size, events, seed)
    rng = np.random.default_rng(seed)
    for count in types:
        names = [f"type {number:02}" for number in range(count)]
        own = [names[number] for number in rng.integers(0, count, size)]
        column = pa.array([names[number] for number in rng.integers(0, count, events)])
        table = workload.event_table().append_column("event_type", column)
        matchers, seconds = {}, {}
        for way in (STRUCTURES, NAMES):
            begin = time.perf_counter()
            matchers[way] = loaded(Published(name, types=way), workload, own)
            seconds[way] = time.perf_counter() - begin
        found = {way: count_pairs(matcher, table) for way, matcher in matchers.items()}
        assert len(set(found.values())) == 1, found
        runs = {way: partial(count_pairs, each, table) for way, each in matchers.items()}
        for way, timing in in_turns(runs, 3).items():
            matcher = matchers[way]
            assert isinstance(matcher, PublishedMatcher)
            stats = matcher.stats()
            yield Figures(
                name,
                count,
                way,
                timing.best / events * 1e6,
                seconds[way],
                stats.bytes["index"] / size,
                stats.evaluated / stats.events,
                found[way],
            )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matcher", default="naive")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--core", type=int)
    chosen = parser.parse_args()
    use_one_core(chosen.core)
    table = Table(*Figures._fields)
    for row in measure(chosen.matcher, chosen.size, chosen.events):
        cells = [f"{each:,.2f}" if isinstance(each, float) else str(each) for each in row]
        table.add_row(*cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
