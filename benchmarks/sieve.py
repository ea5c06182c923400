"""The sieve through the engine and through its core, against the reference scan.

    python -m benchmarks.sieve [--quick] [--only w2] [--output FILE.json] [--markdown]

One thread, one core, best of five; live changes and threads have all cores. Before a time is taken,
the matches of some events are held against the reference scan, and the number of all matches is the
same on every path that is timed.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import tempfile
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from benchmarks import sieve_live, sieve_texts, workloads
from benchmarks.harness import Timing, best_of, in_turns, use_one_core
from benchmarks.reference import dense_boxes, scan, scan_sparse
from benchmarks.report import Row, Run, begin_run, complain, end_run, markdown_table, rich_table
from benchmarks.workloads import Workload
from tamis import Engine
from tamis.matching.boxes.layout import Boxes
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.kernels import EVENT, Matches

CHECKED = 50
"""Events whose matches are compared with those of the scan, and on which the scan is timed."""
DENSE = 16
"""Attributes up to which the scan has dense rows."""
BUFFER = 1 << 17
"""Matches that the core hands over at a time."""
EVENTS = {"W1": 2_000, "W2": 100_000, "W3": 100_000, "W5": 6_000}
LEARNED = 1_000
"""Events of W5 that are learned from, and not matched."""
WIDTH = 120
BATCH, CHUNKS, CORE, SCAN = "match_batch", "match_chunks", "core", "scan"


class Floor(NamedTuple):
    """What a release must reach, and what it aims at."""

    must: float
    aim: float | None = None


FLOORS = {
    "W1, time": Floor(5, 3),
    "W1, times the scan": Floor(200),
    "W2, time": Floor(0.5, 0.2),
    "W2, times the scan": Floor(8_000),
    "W2 at 10M, time": Floor(1.5, 1.0),
    "W3, time": Floor(1.5, 1.0),
    "W2, strings to integers": Floor(2),
    "W2, index": Floor(40),
    "W1, index": Floor(60),
    "W2, index, ids, texts": Floor(150),
    "W2, build from arrays": Floor(2),
    "W2, build from text": Floor(40, 20),
    "W2, open": Floor(50, 5),
    "W5, times the scan": Floor(300, 1_000),
    "W6, addition, with merging": Floor(50, 10),
    "W6, removal": Floor(20),
    "W6, p99.9 to the median": Floor(10),
    "W6, slowest event": Floor(20),
    "W2, one event": Floor(10, 5),
    "W2, two threads": Floor(1.7),
    "100k substrings": Floor(5),
    "10k patterns, times RE2": Floor(100),
}
SCALING = (
    "W1, times the scan",
    "W2, times the scan",
    "W5, times the scan",
    "W2, build from text",
)
"""Floors for a million subscriptions that are a tenth for a tenth of them."""


class Ranked(NamedTuple):
    """A workload in rank space, as the core and the scan take it."""

    boxes: Boxes
    points: NDArray[np.int32]

    def scanner(self) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        """The reference scan: from a point to the slots of the boxes that contain it."""
        out = np.empty(len(self.boxes.owner), np.int32)
        if len(self.boxes.size) > DENSE:
            boxes = self.boxes
            return lambda point: boxes.owner[out[: scan_sparse(boxes, point, out)]]
        low, high = dense_boxes(self.boxes)
        return lambda point: self.boxes.owner[out[: scan(low, high, point, out)]]


class Subject:
    """A workload with all that is measured on it; what is dear is made once."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.subscriptions = int(workload.slot.max()) + 1
        self.events = workload.event_table()

    def keep_aside(self, count: int) -> None:
        """Keep some events to learn from; they are not matched."""
        self.aside, self.events = self.events[-count:], self.events[:-count]

    @cached_property
    def ranked(self) -> Ranked:
        """The workload in rank space; no statistics, as the engine has none at first either."""
        boxes, points, _ = self.workload.to_ranks()
        return Ranked(boxes, points[: len(self.events)])

    @cached_property
    def table(self) -> pa.Table:
        """The subscriptions as text; a slot's number is its id."""
        ids = pa.array(np.arange(self.subscriptions)).cast(pa.string())
        return pa.table({"id": ids, "subscription": pa.array(self.workload.texts(), pa.string())})

    def load(self) -> Engine:
        """A new engine with all subscriptions, from their texts."""
        engine = Engine()
        engine.subscribe_many(self.table)
        return engine

    @cached_property
    def engine(self) -> Engine:
        """The engine, loaded from texts."""
        return self.load()

    @cached_property
    def core(self) -> BoxSieve:
        """The compiled core, built from rank arrays."""
        return BoxSieve(self.ranked.boxes)

    @cached_property
    def matches(self) -> int:
        """All matches of all events, after the comparison with the reference scan."""
        expect_equal_to_scan(self.ranked, lambda: self.engine.match_batch(self.events[:CHECKED]))
        expect_equal_to_scan(self.ranked, lambda: self.core.match(self.ranked.points[:CHECKED]))
        totals = {name: int(run()) for name, run in self.paths().items() if name != SCAN}
        assert len(set(totals.values())) == 1, f"paths differ: {totals}"
        return totals[CORE]

    def paths(self) -> dict[str, Callable[[], int]]:
        """Every way to match all events (the scan: some of them); each returns the matches."""
        scanner, points = self.ranked.scanner(), self.ranked.points
        return {
            BATCH: lambda: len(self.engine.match_batch(self.events)),
            CHUNKS: lambda: sum(len(chunk) for chunk in self.engine.match_chunks(self.events)),
            CORE: partial(match_with_core, self.core, points),
            SCAN: lambda: sum(len(scanner(point)) for point in points[:CHECKED]),
        }

    @cached_property
    def seconds(self) -> dict[str, Timing]:
        """Seconds an event on each path, all measured in turns."""
        assert self.matches
        count = {SCAN: min(CHECKED, len(self.events))}
        return {
            name: Timing(*(each / count.get(name, len(self.events)) for each in timing))
            for name, timing in in_turns(self.paths()).items()
        }


def match_with_core(core: BoxSieve, points: NDArray[np.int32]) -> int:
    """Match a batch into the same buffers again and again; return the number of matches."""
    matches = Matches(np.empty(BUFFER, np.int32), np.empty(BUFFER, np.int32))
    cursor, probes, total = core.cursor(), core.probes(), 0
    while cursor[EVENT] < len(points):
        total += core.fill(points, probes, cursor, matches)
    return total


def expect_equal_to_scan(ranked: Ranked, match: Callable[[], Any]) -> None:
    """Raise unless the first events match what the reference scan says."""
    found, scanner = match(), ranked.scanner()
    for event, point in enumerate(ranked.points[:CHECKED]):
        expected = np.unique(scanner(point))
        np.testing.assert_array_equal(np.sort(found.slot[found.event == event]), expected)


class Bench:
    """The figures of one run, each a method that adds its rows."""

    def __init__(self, quick: bool, core: int | None = None) -> None:
        self.size = 100_000 if quick else 1_000_000
        self.run: Run = begin_run(quick, core)
        self._subjects: dict[tuple[str, int], Subject] = {}

    def subject(self, name: str, size: int | None = None) -> Subject:
        """A workload of some size, made once."""
        key = name, size or self.size
        if key not in self._subjects:
            made = getattr(workloads, name.lower())(key[1], EVENTS[name])
            self._subjects[key] = Subject(made)
        return self._subjects[key]

    def add(
        self,
        figure: str,
        through: str,
        unit: str,
        timing: Timing,
        scale: float = 1.0,
        size: int | None = None,
        floor: bool = True,
    ) -> None:
        """Add a row of times, with the figure's floor."""
        best, worst = timing.best * scale, timing.worst * scale
        must, aim = self.floor(figure) if floor else (None, None)
        row = Row(figure, size or self.size, through, unit, best, best, worst, must, aim)
        self.run.rows.append(row)

    def floor(self, figure: str) -> tuple[float | None, float | None]:
        """What a figure must reach, and what it aims at."""
        must, aim = FLOORS.get(figure, (None, None))
        part = self.size / 1_000_000 if figure in SCALING else 1.0
        return must and must * part, aim and aim * part

    def _matching(self, name: str, path: str, scale: float, unit: str) -> None:
        """The time through the engine and the core, and the ratio to the scan."""
        seconds = self.subject(name).seconds
        self.add(f"{name}, time", path, unit, seconds[path], scale)
        for other in (BATCH, CHUNKS, CORE):
            if other != path:
                self.add(f"{name}, time", other, unit, seconds[other], scale, floor=False)
        ours, scanned = seconds[path], seconds[SCAN]
        figure = f"{name}, times the scan"
        value, low = scanned.best / ours.best, scanned.best / ours.worst
        high = scanned.worst / ours.best
        must, aim = self.floor(figure)
        row = Row(figure, self.size, path, "x", value, low, high, must, aim, more=True)
        self.run.rows.append(row)

    def w1(self) -> None:
        """W1: nanoseconds for each match."""
        subject = self.subject("W1")
        each = len(subject.events) / subject.matches
        self._matching("W1", CHUNKS, each * 1e9, "ns a match")

    def w2(self) -> None:
        """W2: microseconds an event."""
        self._matching("W2", BATCH, 1e6, "µs an event")

    def w3(self) -> None:
        """W3: microseconds an event."""
        self._matching("W3", BATCH, 1e6, "µs an event")

    def w5(self) -> None:
        """W5: microseconds an event, before and after learning from other events."""
        subject = self.subject("W5")
        subject.keep_aside(LEARNED)
        assert subject.matches
        before = best_of(lambda: len(subject.engine.match_batch(subject.events)))
        each = 1e6 / len(subject.events)
        self.add("W5, before learning", BATCH, "µs an event", before, each)
        subject.engine.learn(subject.aside)
        subject.engine.settle()
        self._matching("W5", BATCH, 1e6, "µs an event")

    def growth(self) -> None:
        """W2 at a hundredth, a tenth and all of the subscriptions."""
        for size in (self.size // 100, self.size // 10, self.size):
            seconds = self.subject("W2", size).seconds
            for path in (BATCH, CORE, SCAN):
                self.add("W2, growth", path, "µs an event", seconds[path], 1e6, size)

    def strings(self) -> None:
        """W2 with strings against W2 with integers in a0-a2; the same events in both."""
        ours = self.subject("W2")
        universes = [range(200)] * workloads.STRINGS + ours.workload.universes[workloads.STRINGS :]
        theirs = Subject(dataclasses.replace(ours.workload, universes=universes))
        runs: dict[str, Callable[[], int]] = {
            "strings": lambda: len(ours.engine.match_batch(ours.events)),
            "integers": lambda: len(theirs.engine.match_batch(theirs.events)),
        }
        assert {run() for run in runs.values()} == {ours.matches}
        timing = in_turns(runs)
        for name, taken in timing.items():
            figure = f"W2, {name} in a0–a2"
            self.add(figure, BATCH, "µs an event", taken, 1e6 / len(ours.events))
        left, right = timing["strings"], timing["integers"]
        value = left.best / right.best
        low, high = left.best / right.worst, left.worst / right.best
        figure = "W2, strings to integers"
        must, aim = self.floor(figure)
        self.run.rows.append(Row(figure, self.size, BATCH, "x", value, low, high, must, aim))

    def memory(self) -> None:
        """Bytes a subscription: the index, and with ids and texts."""
        for name in ("W2", "W1"):
            subject = self.subject(name)
            assert subject.matches
            index = sum(segment.nbytes for segment in sieve_of(subject.engine).segments())
            self._bytes(f"{name}, index", index)
            store = subject.engine.subscriptions.index.store
            tables = sum(table.table.nbytes for _, table in store.tables())
            kept = store.ids.nbytes + store.texts.nbytes + tables
            self._bytes(f"{name}, index, ids, texts", index + kept)

    def _bytes(self, figure: str, count: int) -> None:
        each = count / self.size
        must, aim = self.floor(figure)
        row = Row(figure, self.size, "engine", "bytes each", each, each, each, must, aim)
        self.run.rows.append(row)

    def build(self) -> None:
        """Microseconds a subscription to build the core from rank arrays."""
        for name in ("W2", "W1"):
            boxes = self.subject(name).ranked.boxes
            timing = best_of(partial(BoxSieve, boxes))
            figure = f"{name}, build from arrays"
            self.add(figure, CORE, "µs each", timing, 1e6 / self.size)

    def text(self) -> None:
        """Seconds to load all subscriptions from their texts; two runs, for they are long."""
        subject = self.subject("W2")
        assert subject.matches
        timing = best_of(subject.load, repeats=2, warm_up=False)
        self.add("W2, build from text", "subscribe_many", "s", timing)

    def open(self) -> None:
        """Milliseconds to open a saved engine; what it matches is compared first."""
        if "verify" not in inspect.signature(Engine.load).parameters:
            self.run.skipped["W2, open"] = "Engine.load has no parameter verify"
            complain("W2, open: skipped, Engine.load has no parameter verify")
            return
        subject = self.subject("W2")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "engine.tamis"
            subject.engine.save(path)
            load: Callable[..., Engine] = Engine.load
            opened = load(path, verify=False)
            assert len(opened.match_batch(subject.events)) == subject.matches
            del opened
            timing = best_of(partial(load, path, verify=False))
        self.add("W2, open", "Engine.load", "ms", timing, 1e3)

    def large(self) -> None:
        """W2 at ten million, through the core from rank arrays: texts would take minutes."""
        if self.run.quick:
            self.run.skipped["W2 at 10M, time"] = "only in a full run"
            return
        size = 10 * self.size
        boxes, points, _ = workloads.w2(size, EVENTS["W2"]).to_ranks()
        ranked, core = Ranked(boxes, points), BoxSieve(boxes)
        expect_equal_to_scan(ranked, lambda: core.match(points[:CHECKED]))
        assert match_with_core(core, points) == core.count(points).sum()
        timing = best_of(partial(match_with_core, core, points))
        self.add("W2 at 10M, time", CORE, "µs an event", timing, 1e6 / len(points), size)


def sieve_of(engine: Engine) -> Any:
    """The matcher of an engine, which is a sieve."""
    return engine.subscriptions.index.matcher


FIGURES: dict[str, Callable[[Bench], None]] = {
    "w1": Bench.w1,
    "w2": Bench.w2,
    "w2-10m": Bench.large,
    "w3": Bench.w3,
    "strings": Bench.strings,
    "memory": Bench.memory,
    "build": Bench.build,
    "text": Bench.text,
    "open": Bench.open,
    "growth": Bench.growth,
    "w5": Bench.w5,
    "w6": sieve_live.changes,
    "one": sieve_live.one,
    "threads": sieve_live.threads,
    "substrings": sieve_texts.substrings,
    "patterns": sieve_texts.patterns,
}


def measure(quick: bool, only: list[str] | None = None, core: int | None = None) -> Run:
    """Measure all figures, or some of them."""
    bench = Bench(quick, use_one_core(core))
    for name, figure in FIGURES.items():
        if not only or name in only:
            complain(f"{name} …")
            figure(bench)
    end_run(bench.run)
    return bench.run


def main(arguments: list[str] | None = None) -> Path:
    """Measure, keep the results and print the table; return where the results are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sieve")
    parser.add_argument("--quick", action="store_true", help="100k subscriptions, a minute")
    parser.add_argument("--only", action="append", choices=FIGURES, help="one figure (repeatable)")
    parser.add_argument("--core", type=int, help="the core to stay on; the last by default")
    parser.add_argument("--output", type=Path, help="JSON; by default into benchmarks/results")
    parser.add_argument("--markdown", action="store_true", help="a table to paste")
    parser.add_argument("--show", type=Path, metavar="FILE.json", help="print a former run")
    options = parser.parse_args(arguments)
    run = Run.load(options.show) if options.show else None
    path: Path = options.show or options.output
    if run is None:
        run = measure(options.quick, options.only, options.core)
        path = options.output or run.default_path()
        run.save(path)
        complain(f"results in {path}")
    if options.markdown:
        print(markdown_table(run))
    else:
        console = Console()
        Console(width=max(console.width, WIDTH)).print(rich_table(run))
    return path


if __name__ == "__main__":
    main()
