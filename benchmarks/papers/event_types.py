"""Several event types (Le Subscribe, section 5): structures for each type, or qualified names.

W1, where each subscription and each event is of one of the types, through an engine: subscriptions
as texts, events as an Arrow table. Neon has a column for types, and no choice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.harness import in_turns
from benchmarks.papers.contenders import FAIR, NEON, PREFERRED, QUARANTINING, SIEVE
from benchmarks.papers.experiment import Step
from benchmarks.papers.measuring import Effort
from benchmarks.papers.results import Measurement
from benchmarks.papers.subject import CHECKED
from benchmarks.report import short
from benchmarks.sieve import Ranked
from benchmarks.workloads import w1
from tamis import Algorithm, Engine
from tamis.published.frame.stats import AlgorithmStats

ALGORITHMS = (FAIR, PREFERRED, QUARANTINING)
WAYS = ("structures", "names")
FIGURE = "types"


class TypedWorkload:
    """W1 with a type for each subscription and each event."""

    def __init__(self, subscriptions: int, events: int, types: int) -> None:
        workload, rng = w1(subscriptions, events), default_rng(types)
        self._type = rng.integers(0, types, subscriptions)
        self._of_events = rng.integers(0, types, events)
        boxes, points, _ = workload.to_ranks()
        self._ranked = Ranked(boxes, points)
        names = pa.array([f"t{type}" for type in self._of_events.tolist()])
        self.events = workload.event_table().append_column("event_type", names)
        texts = (
            f"event_type = 't{type}' and {text}"
            for type, text in zip(self._type.tolist(), workload.texts(), strict=True)
        )
        ids = pa.array(np.arange(subscriptions)).cast(pa.string())
        self.table = pa.table({"id": ids, "subscription": pa.array(texts, pa.string())})

    def expected(self) -> Iterator[NDArray[np.int32]]:
        """What the reference scan says of the first events."""
        scanner, points = self._ranked.scanner(), self._ranked.points
        for point, type in zip(points[:CHECKED], self._of_events):
            slots = scanner(point)
            yield np.sort(slots[self._type[slots] == type])


@lru_cache(maxsize=1)
def workload_of(subscriptions: int, events: int, types: int) -> TypedWorkload:
    """A workload, kept for the steps that follow on the same one."""
    return TypedWorkload(subscriptions, events, types)


def type_steps(counts: tuple[int, ...], n: int, events: int, effort: Effort) -> list[Step]:
    """All ways of all algorithms, against the number of types."""
    matchers = [Algorithm(each, types=way) for each in ALGORITHMS for way in WAYS]
    contenders: list[Algorithm | str] = [*matchers, Algorithm(NEON), SIEVE]
    return [
        Step(
            (FIGURE,),
            f"{types} types, {short(n)}, {name_of(matcher)}",
            partial(run_types, n, events, types, matcher, effort),
        )
        for types in counts
        for matcher in contenders
    ]


def name_of(matcher: Algorithm | str) -> str:
    """An algorithm, and how it keeps types apart."""
    if isinstance(matcher, str):
        return matcher
    way = matcher.options.get("types")
    return f"{matcher.name}, {way}" if way else matcher.name


def run_types(
    n: int, events: int, types: int, matcher: Algorithm | str, effort: Effort
) -> list[Measurement]:
    """One way of one algorithm, with some number of types."""
    workload = workload_of(n, events, types)
    engine = Engine(matcher=matcher)
    start = time.perf_counter()
    engine.subscribe_many(workload.table)
    engine.settle()
    built = time.perf_counter() - start
    check(engine, workload)
    before, matches = engine.stats(), count(engine, workload.events)
    about = Measurement(FIGURE, name_of(matcher), n, types, events=events, build_seconds=built)
    timing = in_turns({"": partial(count, engine, workload.events)}, effort.repeats)[""]
    about = replace(
        about,
        best=timing.best * 1e6 / events,
        worst=timing.worst * 1e6 / events,
        matches=matches / events,
        bytes=engine.stats().bytes.get("index", 0),
    )
    after = engine.stats()
    if not (isinstance(after, AlgorithmStats) and isinstance(before, AlgorithmStats)):
        return [about]
    done = after.events - before.events
    return [
        replace(
            about,
            evaluated=(after.evaluated - before.evaluated) / done,
            sums=(after.sums - before.sums) / done,
            comparisons=(after.comparisons - before.comparisons) / done,
            visited=(after.visited - before.visited) / done,
            predicates=after.predicates,
        )
    ]


def check(engine: Engine, workload: TypedWorkload) -> None:
    """Raise unless the first events match what the reference scan says."""
    found = engine.match_batch(workload.events[:CHECKED])
    for event, expected in enumerate(workload.expected()):
        np.testing.assert_array_equal(np.sort(found.slot[found.event == event]), expected)


def count(engine: Engine, events: pa.Table) -> int:
    """All matches, in chunks."""
    return sum(len(chunk) for chunk in engine.match_chunks(events))
