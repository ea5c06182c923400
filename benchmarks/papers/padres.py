"""PADRES, section 6: sizes of routing tables with covering and merging, routing and insertion
times, imperfect merging, and messages of an overlay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.papers.experiment import Figure, Paper, Step
from benchmarks.papers.padres_boxes import (
    ATTRIBUTES,
    SET_A,
    SET_B,
    RoutingSet,
    covered_away,
    label_boxes,
    merge,
    publications,
    routing_set,
    texts,
)
from benchmarks.papers.padres_overlay import FACTS, traffic
from benchmarks.papers.padres_verdicts import (
    BOTH_PHASES,
    CACHED,
    COVERING,
    IMPERFECT,
    INSERTED,
    LEARNED,
    MBD_NAME,
    NAIVE,
    ONE_PHASE,
    OURS,
    PERFECT,
    PLAIN,
    RANDOM,
    SIEVE,
    TWO_PHASES,
    verdicts,
)
from benchmarks.papers.points import points_of_labels
from benchmarks.papers.results import TIME, Measurement
from benchmarks.report import short
from tamis.arrays.types import Numbers
from tamis.engine.engine import Engine
from tamis.language.parser import parse
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import BoxTable, Points
from tamis.published.index import Index
from tamis.published.mbd.attribute_order import learned_order
from tamis.published.mbd.covering import BOTH, DiagramCoverer, Sides
from tamis.published.mbd.mbd import MBD
from tamis.published.naive import Naive
from tamis.routing.covering import CoveringTable
from tamis.routing.filters import FilterReader

IMT = 0.1
SETS = {"A": SET_A, "B": SET_B}
ENTRIES, INSERTION, MESSAGES = "entries", "µs an insertion", "messages"
STATES = (PLAIN, COVERING, PERFECT, IMPERFECT)
WAYS = {ONE_PHASE: (1, False), CACHED: (1, True), TWO_PHASES: (2, True), BOTH_PHASES: (BOTH, True)}


@dataclass(frozen=True)
class Sizes:
    """How far the figures go."""

    count: int
    """Subscriptions of table 2 and figure 12."""
    insertions: tuple[int, ...]
    sample: int
    """Insertions that are timed, and publications."""
    merged: int
    """Subscriptions of figures 14 and 15."""
    thresholds: tuple[float, ...]
    few: int
    """Subscriptions of figure 15 once more, so few that many events are wanted by nobody."""
    below: int
    """Subscriptions below a coverer that goes."""
    overlay: tuple[int, int]
    """Brokers and subscriptions."""
    repeats: int = 3


FULL = Sizes(200_000, (50_000, 100_000, 200_000, 1_000_000), 200, 100_000,
             (0.0, 0.02, 0.05, 0.1, 0.15, 0.3, 1.0), 10_000, 10_000, (100, 10_000))  # fmt: skip
QUICK = Sizes(10_000, (5_000, 10_000), 50, 5_000, (0.0, 0.1, 1.0), 1_000, 2_000, (20, 1_000))
FINE = (0.0, 0.0001, 0.001, 0.01, 0.1)
"""Thresholds of figure 15 with few subscriptions."""


def _figures() -> Iterable[Figure]:
    for name in SETS:
        yield Figure(f"12-{name}", f"Figure 12: table size, set {name}", up=ENTRIES,
                     value="evaluated", is_bars=True)  # fmt: skip
        yield Figure(f"2-{name}", f"Table 2: routing time, set {name}", across="entries")
    yield Figure("13", "Figure 13: insertion with covering, set A", up=INSERTION)
    yield Figure("removal", "A coverer goes", across="covered", up="ms", value="evaluated",
                 is_bars=True)  # fmt: skip
    yield Figure("14", "Figure 14: table size against IMT, set A", "IMT", ENTRIES, "evaluated",
                 is_share=True)  # fmt: skip
    yield Figure("15", "Figure 15: events passed on against IMT", "IMT", "events", "evaluated",
                 is_share=True)  # fmt: skip
    yield Figure("15-few", "Figure 15 with few subscriptions: events passed on", "IMT", "events",
                 "evaluated", is_share=True)  # fmt: skip
    yield Figure("15-entries", "Figure 15 by entry: mergers that an event matches", "IMT",
                 "entries", "evaluated", is_share=True)  # fmt: skip
    yield Figure("messages", "Messages of an overlay", up=MESSAGES, value="evaluated", is_bars=True)


def timed(run: Callable[[], Any], repeats: int = 1) -> list[float]:
    """Seconds of processor time of a few runs, which do not wait for anything."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return spent


def _counted(figure: str, name: str, n: int, x: float, value: float, unit: str) -> Measurement:
    """A count, which has no spread."""
    shown = max(value, 1e-9)
    return Measurement(figure, name, n, x, unit, shown, shown, evaluated=shown)


def index_of(make: Callable[[BoxTable], Index], own: RoutingSet) -> Index:
    """An index with all subscriptions."""
    table = BoxTable()
    index = make(table)
    index.add(table.add(label_boxes(own)))
    return index


def states(own: RoutingSet) -> dict[str, RoutingSet]:
    """The table without and with covering and merging, in no order: ``merge`` sorts, and sorted
    subscriptions fail at the same place as the one before, which makes a scan twice as fast."""
    covered = own.select(covered_away(own))
    found = {PLAIN: own, COVERING: covered}
    for name, threshold in ((PERFECT, 0.0), (IMPERFECT, IMT)):
        merged = merge(covered, threshold).boxes
        kept = np.flatnonzero(covered_away(merged))
        found[name] = merged.select(np.random.default_rng(4).permutation(kept))
    return found


def sizes_and_times(name: str, sizes: Sizes) -> list[Measurement]:
    """Figure 12 and table 2 of a set."""
    n = sizes.count
    tables = states(routing_set(SETS[name], n))
    covered = tables[COVERING]
    order = learned_order(label_boxes(covered))
    order += [axis for axis in range(ATTRIBUTES) if axis not in order]
    shuffled = np.random.default_rng(3).permutation(ATTRIBUTES).tolist()
    counts = {state: len(own.low) for state, own in tables.items()}
    counts[LEARNED] = len(merge(covered, 0.0, order).boxes.low)
    counts[RANDOM] = len(merge(covered, 0.0, shuffled).boxes.low)
    found = [_counted(f"12-{name}", state, n, n, size, ENTRIES) for state, size in counts.items()]
    labels = publications(SETS[name].values, sizes.sample)
    points = points_of_labels(labels)
    columns = pa.table({f"a{axis}": pa.array(labels[:, axis]) for axis in range(ATTRIBUTES)})
    for state, own in tables.items():
        found += _routing(f"2-{name}", state, own, points, columns, sizes)
    return found


def _routing(figure: str, state: str, own: RoutingSet, points: Points, columns: pa.Table,
             sizes: Sizes) -> list[Measurement]:  # fmt: skip
    """The time of an event in a state of the table, for MBD, naive and a table on the sieve."""
    diagrams, naive = index_of(MBD, own), index_of(Naive, own)
    engine = Engine()
    engine.subscribe_many({str(n): text for n, text in enumerate(texts(own))})
    engine.settle()
    ways: dict[str, Callable[[], int]] = {
        MBD_NAME: partial(_count, diagrams, points),
        NAIVE: partial(_count, naive, points),
        SIEVE: lambda: len(engine.match_batch(columns).slot),
    }
    counts = {way() for way in ways.values()}
    assert len(counts) == 1, f"matchers disagree: {counts}"
    found, micro = [], 1e6 / sizes.sample
    for name, way in ways.items():
        spent = timed(way, sizes.repeats)
        found.append(
            Measurement(figure, f"{name}, {state}", sizes.count, len(own.low), TIME,
                        micro * min(spent), micro * max(spent), sizes.sample,
                        matches=counts.copy().pop() / sizes.sample)
        )  # fmt: skip
    return found


def _count(index: Index, points: Points) -> int:
    return sum(len(chunk.box) for chunk in index.stab(points))


def insertions(n: int, sizes: Sizes) -> list[Measurement]:
    """Figure 13: the mean of the last insertions, ours from expressions, and by diagrams."""
    own = routing_set(SET_A, n)
    expressions = [parse(text) for text in texts(own)]
    reader, table = FilterReader(FACTS), CoveringTable[int](FACTS)
    table.add(-1, reader.read(expressions[0]))
    table.remove(-1)
    spent = np.empty(n)
    for number, expression in enumerate(expressions):
        start = time.process_time()
        table.add(number, reader.read(expression))
        spent[number] = time.process_time() - start
    tenths = 1e6 * spent.reshape(10, -1).mean(axis=1)
    found = [Measurement("13", OURS, n, n, INSERTION, tenths[-1], max(tenths), n)]
    kept = np.zeros(n, bool)
    kept[list(table.roots)] = True
    boxes = BoxTable()
    diagrams = MBD(boxes)
    diagrams.add(boxes.add(label_boxes(own.select(kept))))
    new = label_boxes(routing_set(SET_A, sizes.sample, 77))
    queries = [
        Sides(new.axis[a:b], new.low[a:b], new.high[a:b]) for a, b in pairwise(new.start.tolist())
    ]
    answers = set()
    for name, (phases, cached) in WAYS.items():
        coverer = DiagramCoverer(diagrams, phases=phases, cached=cached)
        coverer.relate(queries[0])
        coverer.compared = 0
        related = [coverer.relate(each) for each in queries]
        answers.add(tuple((each.is_covered, *each.boxes.tolist()) for each in related))
        steps = coverer.compared / len(queries)
        times = timed(partial(_relate_all, coverer, queries), sizes.repeats)
        micro = 1e6 / len(queries)
        found.append(Measurement("13", name, n, n, INSERTION, micro * min(times),
                                 micro * max(times), len(queries), comparisons=steps))  # fmt: skip
    assert len(answers) == 1, "ways to find what covers disagree"
    coverer = DiagramCoverer(diagrams)
    coverer.relate(queries[0])
    times = timed(partial(_insert_all, coverer, diagrams, boxes, new))
    found.append(Measurement("13", INSERTED, n, n, INSERTION, 1e6 / len(queries) * times[0],
                             1e6 / len(queries) * times[0], len(queries)))  # fmt: skip
    return found


def _insert_all(coverer: DiagramCoverer, diagrams: MBD, table: BoxTable, new: Boxes) -> None:
    """Ask, remove what is covered, and add what is not, with the cache that follows."""
    start, slot = np.zeros(2, np.int64), np.zeros(1, np.int32)
    for a, b in pairwise(new.start.tolist()):
        sides = Sides(new.axis[a:b], new.low[a:b], new.high[a:b])
        answer = coverer.relate(sides)
        if not answer.is_covered:
            diagrams.remove(answer.boxes)
            table.remove(answer.boxes)
            start[1] = b - a
            diagrams.add(table.add(Boxes(start, *sides, slot)))


def _relate_all(coverer: DiagramCoverer, queries: list[Sides]) -> None:
    for each in queries:
        coverer.relate(each)


def removal(sizes: Sizes) -> list[Measurement]:
    """Milliseconds until a coverer is gone, and all below it have other places."""
    table, reader, below = CoveringTable[int](FACTS), FilterReader(FACTS), 0
    own = routing_set(SET_A, 20 * sizes.below, 5)
    own = own.select(covered_away(own))
    has_first = np.flatnonzero(own.low[:, 0] >= 0)[: sizes.below]
    for number, text in enumerate(texts(own.select(has_first))):
        table.add(number, reader.read(parse(text)))
    everything = reader.read(parse("a0 < 1000"))
    spent = []
    for _ in range(sizes.repeats + 1):
        below = len(table.add(-1, everything).removed)
        start = time.process_time()
        restored = len(table.remove(-1).added)
        spent.append(1e3 * (time.process_time() - start))
        assert restored == below
    return [Measurement("removal", OURS, below, below, "ms", min(spent[1:]), max(spent[1:]),
                        evaluated=min(spent[1:]))]  # fmt: skip


def thresholds(sizes: Sizes) -> list[Measurement]:
    """Figures 14 and 15; the advertisement bounds all attributes to the lower half of values."""
    n, found = sizes.merged, []
    own = routing_set(SET_A, n)
    covered = own.select(covered_away(own))
    points = points_of_labels(publications(own.values, 20 * sizes.sample))
    point, box = _hits(covered, points)
    for threshold in sizes.thresholds:
        made = merge(covered, threshold)
        merged = made.boxes.select(covered_away(made.boxes))
        promised = merge(covered, threshold, promised=own.values // 2).boxes
        promised = promised.select(covered_away(promised))
        entries = set(zip(*(each.tolist() for each in _hits(made.boxes, points)), strict=True))
        wanted = set(zip(point.tolist(), made.group[box].tolist(), strict=True))
        assert entries >= wanted
        values = {
            ("14", "without advertisements"): len(merged.low),
            ("14", "with an advertisement"): len(promised.low),
            ("15", "wanted"): len({event for event, _ in wanted}),
            ("15", "passed on"): len({event for event, _ in entries}),
            ("15-entries", "wanted"): len(wanted) / len(points.type),
            ("15-entries", "matched"): len(entries) / len(points.type),
        }
        found += [_counted(figure, name, n, threshold, value, ENTRIES)
                  for (figure, name), value in values.items()]  # fmt: skip
    return found


def few_subscriptions(sizes: Sizes) -> list[Measurement]:
    """Figure 15 where many events are wanted by nobody."""
    own = routing_set(SET_A, sizes.few)
    covered = own.select(covered_away(own))
    points = points_of_labels(publications(own.values, 20 * sizes.sample))
    found = []
    for threshold in FINE:
        for name, boxes in (("wanted", covered), ("passed on", merge(covered, threshold).boxes)):
            events = len(np.unique(_hits(boxes, points)[0]))
            found.append(_counted("15-few", name, sizes.few, threshold, events, ENTRIES))
    return found


def _hits(own: RoutingSet, points: Points) -> tuple[Numbers, Numbers]:
    """Events and the subscriptions of a table that they match."""
    chunks = list(index_of(MBD, own).stab(points))
    return (
        np.concatenate([chunk.point for chunk in chunks]),
        np.concatenate([chunk.box for chunk in chunks]),
    )


def messages(sizes: Sizes) -> list[Measurement]:
    """What subscriptions cost an overlay, by mode."""
    found = []
    for mode, counts in traffic(*sizes.overlay).items():
        for what, value in counts._asdict().items():
            n = sizes.overlay[1]
            found.append(_counted("messages", f"{mode}, {what}", n, n, value, MESSAGES))
    return found


def steps(sizes: Sizes) -> list[Step]:
    """All steps."""
    found = [
        Step((f"12-{name}", f"2-{name}"), f"set {name}", partial(sizes_and_times, name, sizes))
        for name in SETS
    ]
    found += [Step(("13",), f"insertion, {short(n)}", partial(insertions, n, sizes))
              for n in sizes.insertions]  # fmt: skip
    found.append(Step(("removal",), "removal of a coverer", partial(removal, sizes)))
    found.append(Step(("14", "15", "15-entries"), "thresholds", partial(thresholds, sizes)))
    found.append(Step(("15-few",), "few subscriptions", partial(few_subscriptions, sizes)))
    found.append(Step(("messages",), "overlay", partial(messages, sizes)))
    return found


PAPER = Paper(
    name="padres",
    title="PADRES: routing, covering and merging by decision diagrams",
    figures=tuple(_figures()),
    steps=steps,
    full=FULL,
    quick=QUICK,
    verdicts=verdicts,
)
