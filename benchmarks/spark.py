"""Matching on Spark, and what people do there today, on local[2].

    python -m benchmarks.spark [--quick] [--only throughput] [--output FILE.json] [--markdown]

Events are generated within Spark and matches are counted there. All paths are timed after a
warm-up, and before that the pairs that they find among some events must be the same. A path that is
slow gets fewer events: as many as it can do in some seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

import tamis.spark
from benchmarks import spark_peers as peers
from benchmarks import workloads
from benchmarks.report import Row, Run, begin_run, complain, end_run, markdown_table, rich_table
from tamis.spark.index.shipping import ship
from tamis.spark.session.archive import prepare
from tamis.spark.worker import MatchTask, opened

CORES = 2
PARTITIONS = 8
CHECKED = 2_000
"""Events of which all paths must find the same pairs."""
LEAST, PATIENCE = 4.0, 60.0
"""Seconds that a timed run should last, and that a first one may."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
ATTRIBUTES = ("a0", "a1", "a3", "a4", "a5")

Way = Callable[[DataFrame], DataFrame]


class Bench:
    """One session, with the workloads and indices that figures share."""

    def __init__(
        self,
        quick: bool,
        folder: Path,
        sizes: Sequence[int] = SIZES,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        warnings.simplefilter("ignore", FutureWarning)
        self.run = begin_run(quick, None)
        self.folder = folder
        self.events = 2_000_000 if quick else 20_000_000
        self.seconds: float | None = None
        """How long figures of streams last; None for as long as they should."""
        self.largest = SIZES[-2] if quick else SIZES[-1]
        self.sizes = [size for size in sizes if size <= self.largest]
        builder = tamis.spark.session_builder(f"local[{CORES}]")
        for key, value in {
            "spark.driver.memory": "6g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **(settings or {}),
        }.items():
            builder = builder.config(key, value)
        self.session: SparkSession = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    @cache  # noqa: B019  (there is one)
    def workload(self, name: str, size: int) -> Any:
        """A workload without events of its own."""
        return getattr(workloads, name)(size, 1)

    @cache  # noqa: B019
    def index(self, name: str, size: int) -> Path:
        """The saved engine of a workload; a subscription's number is its id."""
        path = self.folder / f"{name}-{size}.index"
        texts = pa.array(self.workload(name, size).texts(), pa.string())
        table = pa.table({"id": pa.array(np.arange(size)), "subscription": texts})
        tamis.spark.Index.of(table).save(path)
        return path

    def generated(self, name: str, count: int) -> DataFrame:
        """Events of a workload."""
        return peers.generated(self.session, count, PARTITIONS, sparse=name == "w1")

    def ours(self, name: str, size: int) -> Way:
        """Matching with Tamis."""
        path = self.index(name, size)
        return lambda events: tamis.spark.match(events, path)

    def theirs(self, join: Callable[..., DataFrame], name: str, size: int) -> Way:
        """A join or a loop over the rules."""
        rules = self.session.createDataFrame(peers.rule_table(self.workload(name, size))).cache()
        rules.count()
        return lambda events: join(events, rules)

    def rate(self, name: str, path: Way, most: int, least: int = 500) -> tuple[float, int, int]:
        """Events a second, of how many events, with how many matches.

        With ``least`` events, or as many more as take some seconds: what a job costs whatever the
        events, the broadcast of a table say, must not count for the rate.
        """
        count, first = least, True
        while True:
            seconds, matches = self._timed(name, path, count)
            if not first and (seconds >= LEAST or count == most):
                break
            first = False
            if seconds >= PATIENCE:
                break
            count = min(most, int(count * min(20.0, max(1.5, 1.3 * LEAST / seconds))))
        again = min(self._timed(name, path, count)[0] for _ in range(2 if seconds < 20 else 1))
        return count / min(seconds, again), count, matches

    def _timed(self, name: str, path: Way, count: int) -> tuple[float, int]:
        frame = path(self.generated(name, count))
        start = time.perf_counter()
        matches = frame.count()
        return time.perf_counter() - start, matches

    def pairs(self, name: str, path: Way, count: int) -> tuple[int, int]:
        """How many pairs there are, and a sum that differs if they do."""
        mark = F.sum(
            F.xxhash64(F.col("event_id").cast("long"), F.col("subscription_id").cast("long"))
            % 2**31
        )
        found = path(self.generated(name, count)).agg(F.count(F.lit(1)), mark).first()
        assert found is not None
        return found[0], found[1]

    def add(
        self,
        figure: str,
        size: int,
        through: str,
        unit: str,
        value: float,
        must: float | None = None,
        aim: float | None = None,
        more: bool = True,
    ) -> None:
        """Note a figure."""
        complain(f"  {figure}, {size:,}, {through}: {value:,.4g} {unit}")
        self.run.rows.append(Row(figure, size, through, unit, value, value, value, must, aim, more))

    # Figures.

    def throughput(self) -> None:
        """W2 with the most subscriptions: events a second, and where the time goes."""
        size = self.largest
        path = self.ours("w2", size)
        path(self.generated("w2", 100_000)).count()
        seconds, matches = min(self._timed("w2", path, self.events) for _ in range(3))
        self.add("W2, events", size, "match", "a second", self.events / seconds, 1e6, 1.5e6)
        self.add("W2, matches", size, "match", "a second", matches / seconds)
        source = ship(self.session, self.index("w2", size))
        inside = self._inside(source)
        start = time.perf_counter()
        spent = inside(self.generated("w2", self.events)).agg(F.sum("seconds")).first()
        wall = time.perf_counter() - start
        assert spent is not None
        self.add(
            "W2, time outside of Tamis", size, "match", "%", 100 - 100 * spent[0] / wall / CORES
        )
        empty = self._counting()
        start = time.perf_counter()
        empty(self.generated("w2", self.events)).agg(F.sum("seconds")).first()
        self.add(
            "W2, events",
            size,
            "mapInArrow that only counts",
            "a second",
            self.events / (time.perf_counter() - start),
        )

    def _inside(self, source: Any) -> Way:
        """A frame of the seconds that each partition spends in matching."""
        kinds: dict[str, pa.DataType] = {
            "event_id": pa.int64(),
            "subscription_id": pa.int64(),
            "version": pa.int64(),
        }
        schema = pa.schema(kinds)
        names = ("id", *ATTRIBUTES)
        task = MatchTask(source, names, "id", ATTRIBUTES, "columns", (), schema, None)

        def timed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            spent = 0.0
            index = opened(source.path())
            for batch in batches:
                start = time.perf_counter()
                for _ in task.matches(batch, index):
                    pass
                spent += time.perf_counter() - start
            yield pa.RecordBatch.from_pydict({"seconds": [spent]})

        return lambda events: events.select("id", *ATTRIBUTES).mapInArrow(timed, "seconds double")

    def _counting(self) -> Way:
        def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows = sum(batch.num_rows for batch in batches)
            yield pa.RecordBatch.from_pydict({"seconds": [float(rows)]})

        return lambda events: events.select("id", *ATTRIBUTES).mapInArrow(counted, "seconds double")

    def joins(self) -> None:
        """W2 against joins and a loop, for as many subscriptions as they can bear."""
        for size in self.sizes:
            others: dict[str, tuple[Callable[..., DataFrame], float | None]] = {
                "nested-loop join": (peers.nested_loop, 1_000 if size == 100_000 else None),
                "expert's equi-join": (peers.equi_join, {100_000: 0.4, 1_000_000: 3.0}.get(size)),
                "pandas loop": (peers.pandas_loop, None),
            }
            if size > 100_000:
                del others["nested-loop join"], others["pandas loop"]
                for left in ("nested-loop join", "pandas loop"):
                    self.run.skipped[f"W2 at {size:,}, {left}"] = "it would take hours"
            elif size > 10_000:
                del others["pandas loop"]
                self.run.skipped[f"W2 at {size:,}, pandas loop"] = "it would take hours"
            self._compare("w2", size, others)

    def w1(self) -> None:
        """W1, where no equality serves all rules, against the nested-loop join."""
        for size in {10_000, 100_000}.intersection(self.sizes):
            others = {"nested-loop join": (peers.nested_loop, 100.0 if size == 100_000 else None)}
            self._compare("w1", size, others)

    def _compare(self, name: str, size: int, others: Any) -> None:
        ours = self.ours(name, size)
        most = self.events // 4 if name == "w2" else self.events // 100
        rate, _, _ = self.rate(name, ours, most, most // 5)
        self.add(f"{name.upper()}, events", size, "match", "a second", rate)
        checked = CHECKED if size < 1_000_000 else 20_000
        expected = self.pairs(name, ours, checked if size <= 10_000 else checked // 10)
        for through, (join, must) in others.items():
            theirs = self.theirs(join, name, size)
            found = self.pairs(name, theirs, checked if size <= 10_000 else checked // 10)
            assert found == expected, f"{through} at {size:,}: {found}, not {expected}"
            steady = most // 5 if join is peers.equi_join else 500
            other, _, _ = self.rate(name, theirs, most, steady)
            self.add(f"{name.upper()}, events", size, through, "a second", other)
            self.add(f"{name.upper()}, times the {through}", size, "match", "x", rate / other, must)

    def start(self) -> None:
        """From the start of a process to the first match with a saved index; and what Spark alone
        takes, without the archive of classes, to count ten rows."""
        prepare()
        path = str(self.index("w2", self.largest))
        command = [sys.executable, "-m", "benchmarks.spark", "--first"]
        ways: dict[str, tuple[str, float | None]] = {"match": (path, 10), "Spark alone": ("", None)}
        for through, (index, must) in ways.items():
            seconds = []
            for _ in range(3):
                start = time.perf_counter()
                subprocess.run([*command, index], check=True, capture_output=True)
                seconds.append(time.perf_counter() - start)
            figure = "W2, start to first match"
            self.add(figure, self.largest, through, "s", min(seconds), must, more=False)


FIGURES = {
    "throughput": Bench.throughput,
    "joins": Bench.joins,
    "w1": Bench.w1,
    "start": Bench.start,
}


def first_match(index: str) -> None:
    """Start a session, match some events against a saved index, and print one match; or start
    one of Spark's own, and count ten rows."""
    warnings.simplefilter("ignore", FutureWarning)
    if not index:
        plain = SparkSession.builder.master(f"local[{CORES}]").getOrCreate()
        print(plain.range(10).count(), flush=True)
        return
    session = tamis.spark.session_builder(f"local[{CORES}]").getOrCreate()
    events = peers.generated(session, 10_000, CORES, sparse=False)
    print(tamis.spark.match(events, index).first(), flush=True)


def measure(quick: bool, only: list[str] | None, sizes: Sequence[int] = SIZES) -> Run:
    """Measure all figures, or some of them."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(quick, Path(folder), sizes)
        for name, figure in FIGURES.items():
            if not only or name in only:
                complain(f"{name} …")
                figure(bench)
        bench.session.stop()
        end_run(bench.run)
    return bench.run


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep the results and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument(
        "--quick", action="store_true", help="at most 100k subscriptions, 2M events"
    )
    parser.add_argument("--only", action="append", choices=FIGURES, help="one figure (repeatable)")
    parser.add_argument("--size", action="append", type=int, choices=SIZES, help="subscriptions")
    parser.add_argument("--output", type=Path, help="JSON; by default into benchmarks/results")
    parser.add_argument("--markdown", action="store_true", help="a table to paste")
    parser.add_argument("--first", metavar="INDEX", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.first is not None:
        first_match(options.first)
        return
    run = measure(options.quick, options.only, options.size or SIZES)
    path = options.output or run.default_path("spark")
    run.save(path)
    complain(f"results in {path}")
    if options.markdown:
        print(markdown_table(run))
    else:
        Console(width=max(Console().width, 120)).print(rich_table(run))


if __name__ == "__main__":
    main()
