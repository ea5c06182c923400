"""Compiles the kernels before the tests, once and for all workers: ``python -m tests.warm``.

Each worker would compile them for itself otherwise, and slowly, since coverage looks on. Beside the
kernels a stamp says of which sources they are: as long as these do not change, nothing is imported
or done.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, wait
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks import workloads

SUBSCRIPTIONS, EVENTS = 1_500, 100
TESTS = (
    "tests/graphs/test_gtopss.py",
    "tests/graphs/test_door.py tests/graphs/test_storage.py",
    "tests/operators/test_decider.py tests/operators/test_schedules.py",
    "tests/published/mbd/test_covering.py tests/routing",
    "tests/matching/sieve/test_sieve.py",
)
"""Tests of kernels that workloads of matchers do not reach: here a few of their examples run."""


def state_of(files: Iterable[Path]) -> str:
    """What compiled kernels depend on: sources, as Numba tells them apart, and versions."""
    said = [sys.version, version("numba"), os.environ.get("NUMBA_CACHE_DIR", "")]
    for file in sorted(files):
        stat = file.stat()
        said.append(f"{file} {stat.st_mtime_ns} {stat.st_size}")
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def use(matcher: str, workload: workloads.Workload) -> None:
    """Do with an engine what tests do with it."""
    import pyarrow as pa

    import tamis

    engine = tamis.Engine(matcher=matcher)
    texts = list(workload.texts())[: 12 if matcher == "gough" else None]
    events = workload.event_table()
    engine.subscribe_many({str(number): text for number, text in enumerate(texts)})
    for number, text in enumerate(texts[:50]):
        engine.subscribe(text, id=f"new {number}")
    for row in events.slice(0, 20).to_pylist():
        engine.match(row)
    engine.match_batch(events)
    engine.match_batch("\n".join(map(json.dumps, events.slice(0, 20).to_pylist())))
    for number in range(len(texts) // 2):
        engine.unsubscribe(str(number))
    engine.learn(events)
    engine.settle()
    engine.match_batch(pa.Table.from_pylist([{"a0": ["v000", "v001"], "a3": 7}]))


def use_rules() -> None:
    """Do with rules and lists what tests do with them."""
    import tamis

    engine = tamis.Engine()
    rules = [f"t contains text 'w{n}' ignoring case unless k in ({n}, 7)" for n in range(1_200)]
    rules += ["t matches 'w[0-9]+x' and k > 3", "tags contains 'a' and l = 3", "a < b or l = 2"]
    engine.subscribe_many({str(number): text for number, text in enumerate(rules)})
    long = list(range(30))
    events = [{"t": "ein W7x", "k": 9, "a": 1, "b": 2}, {"l": long, "m": long, "tags": ["a"]}]
    engine.subscribe("l = 3 and m = 4 and tags = 'a'", id="live")
    for _ in range(2):
        for event in events:
            engine.match(event)
        engine.match_batch(events)
        engine.settle()


def warm(matcher: str) -> None:
    """Use a matcher on a few workloads."""
    from benchmarks import workloads

    warnings.simplefilter("ignore")
    use(matcher, workloads.w1(SUBSCRIPTIONS, EVENTS))
    use(matcher, workloads.w2(SUBSCRIPTIONS, EVENTS))


def run_tests(paths: str) -> None:
    """Run some tests for what they compile; whether they pass the suite tells."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not slow", *paths.split()],
        env={**os.environ, "HYPOTHESIS_PROFILE": "plain"},
        stdout=subprocess.DEVNULL,
        check=False,
    )


def compile_kernels() -> None:
    """Use the sieve, then all others side by side."""
    from benchmarks import workloads
    from tamis.engine.subscriptions import MATCHERS

    warm("sieve")
    use("sieve", workloads.w5(SUBSCRIPTIONS, EVENTS))
    use_rules()
    with ProcessPoolExecutor(2) as pool:
        tested = [pool.submit(run_tests, paths) for paths in TESTS]
        others = [name for name in MATCHERS if name not in ("sieve", "gtopss", "scan")]
        list(pool.map(warm, others))
        wait(tested)


def main() -> None:
    """Compile the kernels if there may be new ones."""
    start = time.perf_counter()
    spec = find_spec("tamis")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    stamp = package / "__pycache__" / "kernels.sha256"
    state = state_of([Path(__file__), *package.rglob("*.py")])
    if stamp.exists() and stamp.read_text() == state:
        return
    compile_kernels()
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(state)
    print(f"kernels are compiled ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
