"""Settings of all tests.

`HYPOTHESIS_PROFILE=soak pytest --timeout 0` looks for many minutes where the default, the same
examples each time, looks for seconds. `make check` takes the first of these examples (fast), and
`make nojit`, where kernels are plain Python, a few (plain).
"""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SLOW = (
    "arrays/test_array_file.py",
    "matching/points/test_of_columns.py",
    "matching/axes/test_axis.py",
    "matching/lines/test_lines.py",
    "matching/segments/test_merging.py",
    "matching/segments/test_matcher.py",
    "engine/test_bulk.py",
    "engine/test_taxonomy_changes.py",
    "benchmarks/test_papers.py",
    "published/frame/test_matcher.py",
    "published/gryphon/test_gryphon.py",
)
"""Modules that ``make check`` leaves out beside the tests that are marked one by one."""

SPARK = ("tests/spark/", "demo/test_stream.py", "test_examples.py", "test_examples_on_spark_run")
"""What starts a Spark, by parts of the tests' names."""


@pytest.fixture(autouse=True)
def merging_ends() -> Iterator[None]:
    """Let no thread of one test run into the next: loading kernels, Numba changes the filters of
    warnings for the whole process."""
    yield
    for thread in threading.enumerate():
        if thread.name == "tamis-merging":
            thread.join()


@pytest.fixture(autouse=True)
def no_waiting_for_disks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be safe from a power cut only outside of tests, which save thousands of them, and
    databases only in slow tests: one of them cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    sqlite = sys.modules.get("tamis.broker.storage.sqlite")
    if sqlite is not None and not request.node.get_closest_marker("slow"):
        pragmas = sqlite._PRAGMAS.replace("synchronous = full", "synchronous = off")
        assert pragmas != sqlite._PRAGMAS
        monkeypatch.setattr(sqlite, "_PRAGMAS", pragmas)


@pytest.fixture(autouse=True)
def no_waiting_for_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn looks every tenth of a second whether it should stop, and then waits for another one:
    let it do so a hundred times a second, but in slow tests."""
    server = sys.modules.get("uvicorn.server")
    if server is not None and not request.node.get_closest_marker("slow"):
        hasty = SimpleNamespace(**vars(asyncio))
        hasty.sleep = lambda seconds: asyncio.sleep(min(seconds, 0.01))
        monkeypatch.setattr(server, "asyncio", hasty)


EXPECTED = (
    "columns of ",
    "documents ",
    "an event with too many bindings",
    "a graph with more terms",
)
"""Why columns may be read row by row: types that only the reader takes apart, documents
that do not fit together, lists that multiply,
graphs beyond what the index can number."""


@pytest.fixture(autouse=True)
def no_silent_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let columns that are read row by row for any other reason be an error: a fallback hides what
    is wrong with the way of columns."""
    from tamis.matching.fallbacks import Fallbacks

    count = Fallbacks.count

    def strict(self: Fallbacks, reason: str, rows: int) -> None:
        assert reason.startswith(EXPECTED), f"{rows} rows read one by one: {reason}"
        count(self, reason, rows)

    monkeypatch.setattr(Fallbacks, "count", strict)


@pytest.fixture
def run() -> Callable[..., Any]:
    """Runs the command line in this process; an exception that escapes fails the test."""
    from typer.testing import CliRunner

    from tamis.cli.main import app

    def run(*arguments: str, input: str | bytes | None = None) -> Any:
        return CliRunner().invoke(
            app, list(arguments), input=input, prog_name="tamis", catch_exceptions=False
        )

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow modules. Coverage looks only at fast tests and at those on Spark: it makes kernels
    and oracle take twice as long, and what slow tests run at length fast ones run too."""
    for item in items:
        if item.path.as_posix().endswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not _starts_spark(item.nodeid):
            item.add_marker(pytest.mark.no_cover)


def _starts_spark(name: str) -> bool:
    return any(part in name for part in SPARK)


def pytest_collection_finish() -> None:
    """Take what is loaded by now, hundreds of thousands of objects, out of every later garbage
    collection, and collect less often: that took a twelfth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Give all cases of a test to one process, so that what they share is made once, and all of a
    module that makes rules and events for its tests; and all tests that start a Spark, so that no
    two of them share the machine. What has most cases comes first.

    With pytest 9.2 the groups of xdist 3.8 do not do that.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByTest(LoadScopeScheduling):  # type: ignore[misc]  # it is not typed
        def _split_scope(self, nodeid: str) -> str:
            if _starts_spark(nodeid):
                return "spark"
            return nodeid.partition("::" if "tests/benchmarks/" in nodeid else "[")[0]

    return ByTest(config, log)


settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.register_profile(
    "soak",
    max_examples=2_000,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],  # of unlucky seeds
)
settings.register_profile("fast", settings.get_profile("ci"), max_examples=60)
settings.register_profile("plain", settings.get_profile("ci"), max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
