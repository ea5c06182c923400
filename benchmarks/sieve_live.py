"""Figures of one event at a time, of live changes, and of threads."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks import workloads
from benchmarks.harness import Timing, best_of, in_turns
from benchmarks.report import Row
from tamis import Engine

if TYPE_CHECKING:
    from benchmarks.sieve import Bench

SINGLE = 5_000
"""Events that are matched one by one."""
CHANGES = 100_000
WARMING = 20_000
"""Changes of a small engine before: the code that merges is loaded when it is first used."""
TIMES = 4
"""How often the events are there for threads: with so many more, starting them weighs little."""


def one(bench: Bench) -> None:
    """W2, one event after the other, from dicts."""
    subject = bench.subject("W2")
    events = mappings(subject.events[:SINGLE])
    match = subject.engine.match
    expected = subject.engine.count_batch(subject.events[:SINGLE])
    assert [len(match(event)) for event in events] == expected

    def run() -> None:
        for event in events:
            match(event)

    bench.add("W2, one event", "match", "µs an event", best_of(run), 1e6 / len(events))


def threads(bench: Bench) -> None:
    """W2 on one thread and on two, on two cores."""
    subject = bench.subject("W2")
    matches = subject.matches
    events = pa.concat_tables([subject.events] * TIMES)
    with all_cores():

        def run(count: int) -> int:
            return len(subject.engine.match_batch(events, threads=count))

        runs = {"one": partial(run, 1), "two": partial(run, 2)}
        assert {each() for each in runs.values()} == {TIMES * matches}
        timing = in_turns(runs)
    alone, both = timing["one"], timing["two"]
    value, low, high = alone.best / both.best, alone.best / both.worst, alone.worst / both.best
    must, aim = bench.floor("W2, two threads")
    row = Row(
        "W2, two threads", bench.size, "match_batch", "x", value, low, high, must, aim, more=True
    )
    bench.run.rows.append(row)


def changes(bench: Bench) -> None:
    """W6: W2, then changes, half of them additions, each followed by an event that sees it."""
    subject = bench.subject("W2")
    engine = subject.load()
    count = CHANGES if not bench.run.quick else CHANGES // 10
    new = list(workloads.w2(count // 2, 1, seed=2).texts())
    events = mappings(subject.events[:20_000])
    engine.settle()
    for event in events[:1_000]:
        engine.match(event)
    gone = np.random.default_rng(3).permutation(bench.size)[: count // 2]
    small = Engine()
    small.subscribe_many({f"old-{number}": text for number, text in enumerate(new[:WARMING])})
    few = len(small) // 2
    with all_cores():
        _run_changes(small, events, new[:few], [f"old-{number}" for number in range(few)])
        taken = _run_changes(engine, events, new, [str(slot) for slot in gone])
    for name, seconds in taken.items():
        timing = Timing(seconds, seconds)
        unit = "ms" if name == "slowest event" else "x" if name.startswith("p99.9") else "µs"
        scale = {"ms": 1e3, "µs": 1e6, "x": 1.0}[unit]
        bench.add(f"W6, {name}", "engine", unit, timing, scale)


def _run_changes(
    engine: Any, events: list[dict[str, Any]], new: list[str], gone: list[str]
) -> dict[str, float]:
    """Seconds of each change and each event.

    Work of an addition is its own thread's time and its share of merging in the other thread; who
    adds may also have to wait for that one, which is in the time that has passed.
    """
    added, removed, matched, worked = [], [], [], 0.0
    clock, work = time.perf_counter, time.thread_time
    ids = [f"new-{number}" for number in range(len(new))]
    other = time.process_time() - work()
    for number in range(2 * len(new)):
        if number % 2:
            begin = clock()
            engine.unsubscribe(gone[number // 2])
            removed.append(clock() - begin)
        else:
            begin, before = clock(), work()
            engine.subscribe(new[number // 2], id=ids[number // 2])
            worked += work() - before
            added.append(clock() - begin)
        event = events[number % len(events)]
        begin = clock()
        engine.match(event)
        matched.append(clock() - begin)
    engine.settle()
    merging = time.process_time() - work() - other
    assert len(engine) == len(engine.slot_ids()) - engine.subscriptions.index.store.waste
    median, late = np.quantile(matched, [0.5, 0.999])
    return {
        "addition, with merging": (worked + merging) / len(new),
        "addition, passed": float(np.mean(added)),
        "removal": float(np.mean(removed)),
        "median event": float(median),
        "p99.9 to the median": float(late / median),
        "slowest event": max(matched),
    }


def mappings(events: Any) -> list[dict[str, Any]]:
    """The rows of a table as events."""
    rows = events.to_pylist()
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


@contextmanager
def all_cores() -> Iterator[None]:
    """Use all cores of the machine for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
