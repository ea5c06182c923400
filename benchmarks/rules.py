"""Rule bases: W7 against what people use today, and small figures of what such rules do.

    python -m benchmarks.rules [--quick] [--only w7] [--size 38000] [--output FILE.json]

One thread, one core, best of three. Before a time is taken, the matches of some events are held
against a loop in Python, SQLite, a compiled scan and Tamis's own scan. What fails, or takes longer
than its time, is listed with the reason.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import rule_cases
from benchmarks.detections import Detections, w7
from benchmarks.harness import Timing, best_of, in_turns, use_one_core
from benchmarks.report import Row, Run, begin_run, complain, end_run, markdown_table, rich_table
from benchmarks.rule_peers import Pairs, PythonLoop, SqlRules
from benchmarks.rule_scan import TestScan
from benchmarks.sieve import WIDTH
from tamis import Engine
from tamis.errors import TamisError

REPEATS = 3
CHECKED = 20
"""Events whose matches are compared with Tamis's own scan, which takes long."""
SCANNED = 3_800
"""Rules up to which that scan is asked."""
SELECTED = 38_000
"""Rules up to which SQLite is asked: beyond, its statements fill the memory."""
LOOP, SQL, SCAN, OURS = "Python loop", "SQLite", "compiled scan", "match_batch"


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    rules: tuple[int, ...] = (3_800,)
    events: int = 5_000
    """Events of W7."""
    peers: int = 2_000
    """Of these, for peers, with the least number of rules; in proportion with more."""
    attributes: int = 2_000
    keys: int = 20_000
    lists: int = 2_000
    patterns: int = 3_000
    wide: int = 100_000
    """Subscriptions of W5 and W1."""
    few: int = 2_000
    """Events of the small figures."""
    seconds: int = 600
    """How long one figure may take."""


FULL = Sizes()
QUICK = replace(FULL, events=1_000, peers=200, wide=10_000, few=500, seconds=120)


class TimeIsUpError(Exception):
    """A figure took longer than it may."""


@contextmanager
def time_cap(seconds: int) -> Iterator[None]:
    """Raise TimeIsUpError when the time is over; compiled code is interrupted when it returns."""

    def stop(*_: object) -> None:
        raise TimeIsUpError(f"it took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Figure:
    """What is measured under one name."""

    name: str
    size: int
    rows: list[Row] = field(default_factory=list)

    def time(self, through: str, unit: str, timing: Timing, scale: float = 1.0) -> None:
        """Add a time."""
        best, worst = timing.best * scale, timing.worst * scale
        self.rows.append(Row(self.name, self.size, through, unit, best, best, worst))

    def figure(self, through: str, unit: str, value: float) -> None:
        """Add a number."""
        self.rows.append(Row(self.name, self.size, through, unit, value, value, value))

    def ratio(self, through: str, ours: Timing, theirs: Timing) -> None:
        """Add how many times faster ours is; both were timed in turns."""
        value, low, high = (
            theirs.best / ours.best,
            theirs.best / ours.worst,
            theirs.worst / ours.best,
        )
        self.rows.append(Row(self.name, self.size, through, "x", value, low, high, more=True))


class Bench:
    """The figures of one run."""

    def __init__(self, sizes: Sizes, quick: bool, core: int | None = None) -> None:
        self.sizes = sizes
        self.run: Run = begin_run(quick, core)

    @contextmanager
    def row(self, name: str, size: int) -> Iterator[Figure]:
        """A figure with its own time; what Tamis refuses or takes too long for is listed."""
        figure = Figure(name, size)
        try:
            with time_cap(self.sizes.seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rules that cost much, or contradict themselves
                yield figure
        except (TimeIsUpError, TamisError, MemoryError, RecursionError) as error:
            why = f"{type(error).__name__}: {error}"
            self.run.skipped[f"{name}, {size:,}"] = why
            complain(f"{name}, {size:,}: {why}")
        self.run.rows += figure.rows


class Subject:
    """W7 of one size in an engine, and in its peers."""

    def __init__(self, made: Detections) -> None:
        self.made, self.events = made, made.events
        self.table, self.texts = made.table(), made.subscriptions()
        self.engine, self.refused = Engine(), set[int]()

    def load(self) -> None:
        """Load the rules from their texts into a new engine; those that do not fit are noted."""
        self.engine = Engine()
        found = self.engine.subscribe_many(self.texts, errors="collect")
        self.engine.settle()
        self.refused = {int(each.id) for each in found.rejected if each.id is not None}

    def pairs(self, engine: Engine, events: Any) -> Pairs:
        """What an engine finds, as peers give it."""
        found = engine.match_batch(events)
        return set(zip(found.event.tolist(), map(int, found.ids())))

    def peers(self, count: int) -> dict[str, Callable[[], Pairs]]:
        """Every peer, on the first events."""
        rules, events = self.made.rules, self.events[:count]
        scan = TestScan(rules)
        runs: dict[str, Callable[[], Pairs]] = {
            LOOP: partial(PythonLoop(rules).match_all, events),
            SCAN: partial(scan.match_all, scan.records(events)),
        }
        if len(rules) <= SELECTED:
            runs[SQL] = partial(SqlRules(rules).match_all, events)
        return runs

    def check(self, expected: Pairs, count: int) -> None:
        """Raise unless the engine finds what the peers find, on every path that is timed."""
        accepted = {pair for pair in expected if pair[1] not in self.refused}
        assert accepted, "no event matches"
        assert self.pairs(self.engine, self.table[:count]) == accepted
        assert self.pairs(self.engine, self.events[:count]) == accepted
        single = [self.engine.match(event) for event in self.events[:count]]
        assert {(at, int(id)) for at, ids in enumerate(single) for id in ids} == accepted
        if len(self.made.rules) <= SCANNED:
            plain = Engine(matcher="scan")
            plain.subscribe_many(self.made.subscriptions(), errors="collect")
            few = {pair for pair in accepted if pair[0] < CHECKED}
            assert self.pairs(plain, self.events[: min(count, CHECKED)]) == few


def detections(bench: Bench) -> None:
    """W7 of each size: load, peers, batches, one event at a time."""
    for size in bench.sizes.rules:
        subject = Subject(w7(size, bench.sizes.events))
        count = max(bench.sizes.peers * SCANNED // max(size, SCANNED), CHECKED)
        with bench.row("W7, load", size) as loaded:
            repeats = REPEATS if size <= SCANNED else 1
            loaded.time("subscribe_many", "s", best_of(subject.load, repeats, warm_up=False))
            loaded.figure("rules", "refused", len(subject.refused))
        with bench.row("W7, peers", size) as row:
            peers = subject.peers(count)
            if SQL not in peers:
                bench.run.skipped[f"W7, {SQL}, {size:,}"] = "its statements would fill the memory"
            expected = agreed(peers)
            for name, timing in in_turns(peers, REPEATS).items():
                row.time(name, "µs an event", timing, 1e6 / count)
        if not loaded.rows or not row.rows:
            continue
        with bench.row("W7, times the peers", size) as checked:
            subject.check(expected, count)
            ours = partial(subject.engine.match_batch, subject.table[:count])
            timings = in_turns({OURS: ours, **peers}, REPEATS)
            checked.time(OURS, "µs an event", timings[OURS], 1e6 / count)
            for name in peers:
                checked.ratio(name, timings[OURS], timings[name])
        if checked.rows:
            _batches(bench, subject, size, count)


def agreed(peers: Mapping[str, Callable[[], Pairs]]) -> Pairs:
    """What all peers find."""
    expected = peers[LOOP]()
    for name, run in peers.items():
        assert run() == expected, f"{name} differs from the {LOOP}"
    return expected


def _batches(bench: Bench, subject: Subject, size: int, count: int) -> None:
    """All events from Arrow and from dicts, and the first ones one by one."""
    engine, each = subject.engine, 1e6 / len(subject.events)
    for name, events in (("Arrow", subject.table), ("dicts", subject.events)):
        with bench.row(f"W7, batch from {name}", size) as row:
            matches = len(engine.match_batch(events))
            row.time(
                OURS, "µs an event", best_of(partial(engine.match_batch, events), REPEATS), each
            )
            row.figure("matches", "an event", matches / len(subject.events))
    with bench.row("W7, one event", size) as row:
        few = subject.events[:count]
        timing = best_of(lambda: [engine.match(event) for event in few], REPEATS)
        row.time("match", "µs an event", timing, 1e6 / count)


FIGURES: dict[str, Callable[[Bench], None]] = {
    "w7": detections,
    "attributes": rule_cases.attributes,
    "tags": rule_cases.tags,
    "in": rule_cases.lists,
    "like": rule_cases.patterns,
    "w5": rule_cases.wide,
    "matches": rule_cases.many_matches,
}


def measure(
    sizes: Sizes, quick: bool = False, only: list[str] | None = None, core: int | None = None
) -> Run:
    """Measure all figures, or some of them."""
    bench = Bench(sizes, quick, core)
    for name, figure in FIGURES.items():
        if not only or name in only:
            complain(f"{name} …")
            figure(bench)
    end_run(bench.run)
    return bench.run


def main(arguments: list[str] | None = None) -> Path:
    """Measure, keep the results and print the table; return where the results are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules")
    parser.add_argument("--quick", action="store_true", help="fewer events, and W5 and W1 at 10k")
    parser.add_argument("--only", action="append", choices=FIGURES, help="one figure (repeatable)")
    parser.add_argument(
        "--size", action="append", type=int, help="rules of W7 (repeatable); 3800 by default"
    )
    parser.add_argument("--seconds", type=int, help="how long one figure may take")
    parser.add_argument("--core", type=int, help="the core to stay on; the last by default")
    parser.add_argument("--output", type=Path, help="JSON; by default into benchmarks/results")
    parser.add_argument("--markdown", action="store_true", help="a table to paste")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    sizes = replace(
        sizes,
        rules=tuple(options.size or sizes.rules),
        seconds=options.seconds or sizes.seconds,
    )
    run = measure(sizes, options.quick, options.only, use_one_core(options.core))
    path: Path = options.output or run.default_path("rules")
    run.save(path)
    complain(f"results in {path}")
    if options.markdown:
        print(markdown_table(run))
    else:
        Console(width=max(Console().width, WIDTH)).print(rich_table(run))
    return path


if __name__ == "__main__":
    main()
