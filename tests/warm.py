"""Compiles the kernels before the tests, once and for all workers: ``python -m tests.warm``.

Each worker would compile them for itself otherwise, and slowly, since coverage looks on.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa

import tamis
from benchmarks import workloads
from tamis.engine.subscriptions import MATCHERS

SUBSCRIPTIONS, EVENTS = 1_500, 100


def use(matcher: str, workload: workloads.Workload) -> None:
    """Do with an engine what tests do with it."""
    engine = tamis.Engine(matcher=matcher)
    texts = list(workload.texts())[: 12 if matcher == "gough" else None]
    events = workload.event_table()
    engine.subscribe_many({str(number): text for number, text in enumerate(texts)})
    for number, text in enumerate(texts[:50]):
        engine.subscribe(text, id=f"new {number}")
    for row in events.slice(0, 20).to_pylist():
        engine.match(row)
    engine.match_batch(events)
    for number in range(len(texts) // 2):
        engine.unsubscribe(str(number))
    engine.learn(events)
    engine.settle()
    engine.match_batch(pa.Table.from_pylist([{"a0": ["v000", "v001"], "a3": 7}]))


def warm(matcher: str) -> None:
    """Use a matcher on a few workloads."""
    warnings.simplefilter("ignore")
    use(matcher, workloads.w1(SUBSCRIPTIONS, EVENTS))
    use(matcher, workloads.w2(SUBSCRIPTIONS, EVENTS))


def main() -> None:
    """Use the sieve, then all others side by side."""
    start = time.perf_counter()
    warm("sieve")
    use("sieve", workloads.w5(SUBSCRIPTIONS, EVENTS))
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(warm, [name for name in MATCHERS if name not in ("sieve", "scan")]))
    print(f"kernels are compiled ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
