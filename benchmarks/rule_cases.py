"""Small figures, each of one thing that rule bases do: many attributes, lists, ``in``, ``like``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks import workloads
from benchmarks.harness import Timing, best_of
from benchmarks.sieve import LEARNED, Subject
from tamis import Engine

if TYPE_CHECKING:
    from benchmarks.rules import Bench

LISTS = 12
"""Lists of two values in the event with many bindings."""
REPEATED = 100
"""How often one event is matched at a time."""
MATCHES = 800
"""Matches that the event of W1 has, about."""


def engine_of(texts: list[str]) -> Engine:
    """An engine with these subscriptions, each under its number."""
    engine = Engine()
    engine.subscribe_many({str(number): text for number, text in enumerate(texts)})
    engine.settle()
    return engine


def attributes(bench: Bench) -> None:
    """As many attributes as subscriptions, and an event with twelve lists of two values."""
    count = bench.sizes.attributes
    texts = [f"a{n} = 1 and a{(n + 1) % count} = 2" for n in range(count)]
    event = {f"a{n}": [1, 2] for n in range(LISTS)}
    with bench.row("many attributes, one event with lists", count) as row:
        engine = engine_of(texts)
        assert sorted(map(int, engine.match(event))) == list(range(LISTS - 1))
        row.time("match", "µs an event", best_of(lambda: engine.match(event)), 1e6)


def tags(bench: Bench) -> None:
    """Equalities with a number, some with a tag, and one event that has thousands of tags."""
    keys, marks = bench.sizes.keys, bench.sizes.keys // 20
    texts = [f"k = {n}" for n in range(keys)] + [f"tags = 't{n}'" for n in range(marks)]
    for count in (4 * marks, 8 * marks):
        event = {"k": 5, "tags": [f"t{n}" for n in range(count)]}
        with bench.row(f"one event with {count:,} tags", len(texts)) as row:
            engine = engine_of(texts)
            assert len(engine.match(event)) == 1 + marks
            row.time("match", "µs an event", best_of(partial(engine.match, event)), 1e6)


def lists(bench: Bench) -> None:
    """Four ``in`` of ten values each, which multiply to ten thousand boxes."""
    count, rng = bench.sizes.lists, np.random.default_rng(1)
    values = rng.integers(0, 100, (count, 4, 10))
    texts = [
        " and ".join(f"b{at} in ({', '.join(map(str, one))})" for at, one in enumerate(four))
        for four in values.tolist()
    ]
    points = rng.integers(0, 100, (200, 4))
    expected = sum(int((values == p[:, None]).any(axis=2).all(axis=1).sum()) for p in points)
    with bench.row("four in of ten values", count) as row:
        timing = best_of(lambda: engine_of(texts), repeats=3)
        engine = engine_of(texts)
        events = pa.table({f"b{at}": pa.array(points[:, at]) for at in range(4)})
        assert len(engine.match_batch(events)) == expected
        row.time("subscribe_many", "ms", timing, 1e3)
        row.figure("stats", "bytes each", sum(engine.stats().bytes.values()) / count)


def patterns(bench: Bench) -> None:
    """Patterns with a wildcard in the middle; each event matches one of them."""
    side = bench.sizes.patterns // 50
    ends = [f"{n}-{m}" for n in range(side) for m in range(50)]
    texts = [f"x like 'order-%-{end}'" for end in ends]
    picked = np.random.default_rng(2).integers(0, len(ends), bench.sizes.few).tolist()
    events = [{"x": f"order-{number:x}q-{ends[number]}"} for number in picked]
    table = pa.Table.from_pylist(events)
    with bench.row("like with a wildcard inside", len(texts)) as row:
        engine, each = engine_of(texts), 1e6 / len(events)
        assert engine.match_batch(table).slot.tolist() == picked
        assert [engine.match(event) for event in events] == [[str(number)] for number in picked]
        timing = best_of(lambda: engine.match_batch(table))
        row.time("match_batch", "µs an event", timing, each)
        timing = best_of(lambda: [engine.match(event) for event in events])
        row.time("match", "µs an event", timing, each)


def wide(bench: Bench) -> None:
    """W5 from its texts, and what it takes to learn from some events."""
    count = bench.sizes.wide
    with bench.row("W5, load and learn", count) as row:
        subject = Subject(workloads.w5(count, bench.sizes.few + LEARNED))
        subject.keep_aside(LEARNED)
        assert subject.matches
        row.time("subscribe_many", "s", best_of(subject.load, repeats=2, warm_up=False))
        begin = time.perf_counter()
        subject.engine.learn(subject.aside)
        subject.engine.settle()
        taken = time.perf_counter() - begin
        assert len(subject.engine.match_batch(subject.events)) == subject.matches
        row.time("learn", "s", Timing(taken, taken))


def many_matches(bench: Bench) -> None:
    """One event of W1 with some hundreds of matches."""
    count = bench.sizes.wide
    with bench.row("W1, one event with many matches", count) as row:
        subject = Subject(workloads.w1(count, bench.sizes.few))
        assert subject.matches
        counts = subject.engine.count_batch(subject.events)
        at = int(np.argmin(np.abs(np.array(counts) - MATCHES)))
        given = subject.events[at : at + 1].to_pylist()[0]
        event: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        engine = subject.engine
        assert len(engine.match(event)) == engine.count(event) == counts[at]
        row.figure("matches", "an event", counts[at])
        calls: dict[str, Callable[[Any], Any]] = {"match": engine.match, "count": engine.count}
        for name, call in calls.items():
            row.time(name, "µs an event", best_of(partial(again, call, event)), 1e6 / REPEATED)


def again(call: Callable[[Any], Any], event: Any) -> None:
    """Match one event many times: once alone would be timed with cold caches."""
    for _ in range(REPEATED):
        call(event)
