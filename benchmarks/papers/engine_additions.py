"""One addition through an engine: a text is read, its id looked up, its boxes go to the index.

W1, loaded from texts; then others come one by one, by ``Engine.subscribe``.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from benchmarks.papers.contenders import FAIR, QUARANTINING, SIEVE
from benchmarks.papers.experiment import Step
from benchmarks.papers.measuring import Effort, of_rounds
from benchmarks.papers.results import ADDITION, Measurement
from benchmarks.papers.subject import CHECKED
from benchmarks.report import short
from benchmarks.sieve import Ranked
from benchmarks.workloads import w1
from tamis import Engine

ALGORITHMS = (FAIR, QUARANTINING, SIEVE)
FIGURE = "subscribe"


class Texts:
    """W1 as texts, of which the last are kept aside."""

    def __init__(self, subscriptions: int, aside: int) -> None:
        workload = w1(subscriptions + aside, CHECKED)
        boxes, points, _ = workload.to_ranks()
        self.ranked = Ranked(boxes, points)
        self.events = workload.event_table()
        texts = pa.array(workload.texts(), pa.string())
        ids = pa.array(np.arange(subscriptions)).cast(pa.string())
        self.table = pa.table({"id": ids, "subscription": texts[:subscriptions]})
        self.aside = [str(text) for text in texts[subscriptions:].to_pylist()]

    def check(self, engine: Engine) -> None:
        """Raise unless the events match what the reference scan says of all subscriptions."""
        found, scanner = engine.match_batch(self.events), self.ranked.scanner()
        for event, point in enumerate(self.ranked.points):
            ours = np.sort(found.slot[found.event == event])
            np.testing.assert_array_equal(ours, np.sort(scanner(point)))


@lru_cache(maxsize=1)
def texts_of(subscriptions: int, aside: int) -> Texts:
    """Texts, kept for the steps that follow on the same ones."""
    return Texts(subscriptions, aside)


def subscribe_steps(n: int, added: int, effort: Effort) -> list[Step]:
    """Some algorithms with n subscriptions."""
    return [
        Step(
            (FIGURE,),
            f"{FIGURE}, {short(n)}, {algorithm}",
            partial(run_subscribe, n, added, algorithm, effort),
        )
        for algorithm in ALGORITHMS
    ]


def run_subscribe(n: int, added: int, algorithm: str, effort: Effort) -> list[Measurement]:
    """What one addition takes after n subscriptions."""
    texts = texts_of(n, added)
    engine = Engine(matcher=algorithm)
    start = time.perf_counter()
    engine.subscribe_many(texts.table)
    engine.settle()
    held = sum(engine.stats().bytes.values())
    about = Measurement(FIGURE, algorithm, n, n, ADDITION, bytes=held)
    about = replace(about, build_seconds=time.perf_counter() - start)
    seconds = []
    for number, text in enumerate(texts.aside, n):
        start = time.perf_counter()
        engine.subscribe(text, id=str(number))
        seconds.append(time.perf_counter() - start)
    texts.check(engine)
    return [of_rounds(seconds, effort, about)]
