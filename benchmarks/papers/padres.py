"""PADRES, section 6: routing tables with covering and merging, at the paper's sizes.

    python -m benchmarks.papers.padres            # 200,000 subscriptions; some minutes
    python -m benchmarks.papers.padres --quick    # 10,000

Match counts of all matchers are compared before a time is taken. Prints Markdown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.papers.padres_boxes import (
    ATTRIBUTES,
    SET_A,
    SET_B,
    RoutingSet,
    box_sides,
    covered_away,
    label_boxes,
    merge,
    publications,
    routing_set,
    texts,
)
from benchmarks.papers.points import points_of_labels
from tamis.engine.engine import Engine
from tamis.published.boxes import BoxTable, Points
from tamis.published.index import Index
from tamis.published.mbd.attribute_order import learned_order
from tamis.published.mbd.covering import DiagramCoverer, Sides
from tamis.published.mbd.mbd import MBD
from tamis.published.naive import Naive
from tamis.routing.box_index import BoxIndex

IMT = 0.1
THEIRS = {
    "A": {"plain": (68.73, 300.71), "covering": (19.16, 73.41), "perfect": (13.31, 49.89),
          "imperfect": (9.96, 43.83)},
    "B": {"plain": (82.28, 300.92), "covering": (38.15, 165.38), "perfect": (33.37, 152.21),
          "imperfect": (29.19, 141.06)},
}  # fmt: skip
"""Table 2: milliseconds of MBD and of naive."""


def best(run: Callable[[], Any], repeats: int = 3) -> float:
    """The least time of a few, in seconds."""
    found = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def index_of(make: Callable[[BoxTable], Index], own: RoutingSet) -> Index:
    """An index with all subscriptions."""
    table = BoxTable()
    index = make(table)
    index.add(table.add(label_boxes(own)))
    return index


def states(own: RoutingSet) -> dict[str, RoutingSet]:
    """The table without and with covering and merging."""
    covered = own.select(covered_away(own))
    found = {"plain": own, "covering": covered}
    for name, threshold in (("perfect", 0.0), ("imperfect", IMT)):
        merged = merge(covered, threshold).boxes
        found[name] = merged.select(covered_away(merged))
    return found


def table_2(name: str, tables: dict[str, RoutingSet], events: int) -> None:
    """Routing time of each state for MBD, naive and the sieve."""
    labels = publications(tables["plain"].values, events)
    points = points_of_labels(labels)
    columns = pa.table({f"a{axis}": pa.array(labels[:, axis]) for axis in range(ATTRIBUTES)})
    print(f"\n### Table 2, set {name}: µs an event, {events} events\n")
    print("| state | entries | MBD | naive | naive / MBD | theirs | sieve | MBD / sieve |")
    print("|---|---|---|---|---|---|---|---|")
    for state, own in tables.items():
        diagrams, naive = index_of(MBD, own), index_of(Naive, own)
        engine = Engine()
        engine.subscribe_many({str(n): text for n, text in enumerate(texts(own))})
        engine.settle()
        counts = {_count(diagrams, points), _count(naive, points)}
        counts.add(len(engine.match_batch(columns).slot))
        assert len(counts) == 1, f"matchers disagree: {counts}"
        micro = 1e6 / events
        m, n = (best(partial(_count, each, points)) * micro for each in (diagrams, naive))
        s = best(partial(engine.match_batch, columns)) * micro
        ours, theirs = n / m, THEIRS[name][state][1] / THEIRS[name][state][0]
        print(
            f"| {state} | {len(own.low):,} | {m:.0f} | {n:.0f} | {ours:.1f} | {theirs:.1f} "
            f"| {s:.0f} | {m / s:.1f} |",
            flush=True,
        )


def _count(index: Index, points: Points) -> int:
    return sum(len(chunk.box) for chunk in index.stab(points))


def figure_12(name: str, tables: dict[str, RoutingSet]) -> None:
    """Table sizes, and what the order of attributes does to merging by diagrams."""
    covered = tables["covering"]
    order = learned_order(label_boxes(covered))
    order += [axis for axis in range(ATTRIBUTES) if axis not in order]
    shuffled = np.random.default_rng(3).permutation(ATTRIBUTES).tolist()
    by_outputs = [len(merge(covered, 0.0, each).boxes.low) for each in (order, shuffled)]
    print(f"\n### Figure 12, set {name}\n")
    print("| " + " | ".join([*tables, "outputs, learned order", "outputs, random order"]) + " |")
    print("|" + "---|" * (len(tables) + 2))
    sizes = [*(len(own.low) for own in tables.values()), *by_outputs]
    print("| " + " | ".join(f"{size:,}" for size in sizes) + " |", flush=True)


def figures_14_and_15(count: int, events: int) -> None:
    """Table size and false positives against the threshold."""
    own = routing_set(SET_A, count)
    covered = own.select(covered_away(own))
    points = points_of_labels(publications(own.values, events))
    print(f"\n### Figures 14 and 15: {count:,} subscriptions of set A, {events} events\n")
    print("| IMT | entries | events matched | false positives |\n|---|---|---|---|")
    for threshold in (0.0, 0.02, 0.05, 0.1, 0.15, 0.3, 1.0):
        merged = merge(covered, threshold).boxes
        merged = merged.select(covered_away(merged))
        pairs = sum(len(chunk.box) for chunk in index_of(MBD, merged).stab(points))
        false = _false_share(covered, merged, points)
        print(
            f"| {threshold} | {len(merged.low):,} | {pairs:,} | {100 * false:.2f} % |", flush=True
        )


def _false_share(own: RoutingSet, merged: RoutingSet, points: Points) -> float:
    """Of the events that a merged table passes on, those that no subscription matches."""
    real = dict.fromkeys(range(len(points.type)), 0)
    for chunk in index_of(MBD, own).stab(points):
        for point in np.unique(chunk.point).tolist():
            real[point] = 1
    reached = set()
    for chunk in index_of(MBD, merged).stab(points):
        reached |= set(np.unique(chunk.point).tolist())
    false = sum(1 for point in reached if not real[point])
    return false / max(1, len(reached))


def figure_13(own: RoutingSet, sample: int) -> None:
    """The time of an insertion into a table with covering, and of a removal."""
    sides = box_sides(own)
    index, kept = BoxIndex(), np.zeros(len(sides), bool)
    start = time.perf_counter()
    for number, each in enumerate(sides):
        if not len(index.covering(each, first=True)):
            for gone in index.covered(each).tolist():
                index.remove(gone)
                kept[gone] = False
            index.add(number, each)
            kept[number] = True
    ours = (time.perf_counter() - start) / len(sides) * 1e6
    table = BoxTable()
    diagrams = MBD(table)
    diagrams.add(table.add(label_boxes(own.select(kept))))
    new = label_boxes(routing_set(SET_A, sample, 77))
    queries = [
        Sides(new.axis[a:b], new.low[a:b], new.high[a:b]) for a, b in pairwise(new.start.tolist())
    ]
    print(f"\n### Figure 13: µs an insertion, {len(sides):,} subscriptions of set A\n")
    print("| way | µs | covered | predicates compared or dependencies followed |")
    print("|---|---|---|---|")
    print(f"| box index (all insertions) | {ours:.0f} | {(~kept).sum():,} | |")
    for phases, cached in ((1, False), (1, True), (2, True)):
        covering = DiagramCoverer(diagrams, phases=phases, cached=cached)
        covering.relate(queries[0])
        covering.compared = 0
        answers = [covering.relate(each) for each in queries]
        steps = covering.compared
        took = best(partial(_relate_all, covering, queries)) / sample * 1e6
        way = f"MBD, {phases} phase{'s' * (phases > 1)}{', cache' if cached else ''}"
        covered = sum(each.is_covered for each in answers)
        print(f"| {way} | {took:.0f} | {covered} of {sample} | {steps / sample:.0f} |", flush=True)


def _relate_all(covering: DiagramCoverer, queries: list[Sides]) -> None:
    for each in queries:
        covering.relate(each)


def main() -> None:
    """Run all of it."""
    quick = "--quick" in sys.argv
    count, events = (10_000, 50) if quick else (200_000, 200)
    for name, shape in (("A", SET_A), ("B", SET_B)):
        own = routing_set(shape, count)
        tables = states(own)
        figure_12(name, tables)
        table_2(name, tables, events)
        if name == "A":
            figure_13(own, 300)
    figures_14_and_15(count // 2, events)


if __name__ == "__main__":
    main()
