"""G-ToPSS: figures 9a to 9h, and figures of our own; ``python -m benchmarks.papers.gtopss``.

Every time is the best of several runs over one publication that is encoded already, on one core,
unless a line says otherwise. Match counts are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.graph_workloads import (
    GraphWorkload,
    Parameters,
    large_table,
    pattern_of,
    sparql_of,
)
from tamis.graphs.general_search import NaiveSearch, Ops
from tamis.graphs.gtopss import GToPSS
from tamis.graphs.index import PatternIndex, table_of
from tamis.graphs.publications import EncodedPublications


class Line(NamedTuple):
    """One measurement."""

    figure: str
    about: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"| {self.figure} | {self.about} | {self.value:,.4g} {self.unit} |"


def best(run: Callable[[], Any], seconds: float = 0.3) -> float:
    """Microseconds of the fastest run; at least three, and as many as fit."""
    run()
    gc.collect()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1_000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


class Subject:
    """A workload in all algorithms; those that are not asked for are not built."""

    def __init__(self, parameters: Parameters, count: int = 0) -> None:
        """With a ``count``, so many subscriptions made of those of the workload."""
        self.workload = GraphWorkload(parameters)
        self.patterns = self.workload.patterns
        self.index = PatternIndex()
        self.index.numbers.update(self.workload.numbers())
        numbers = np.arange(len(self.patterns), dtype=np.int32)
        table = large_table(self.workload, count) if count else table_of(self.patterns, numbers)
        self.index.install(table)
        self.view = self.index.view()
        self.graph = self.workload.graph()
        encoder = self.view.encoder()
        encoder.add(self.graph)
        self.publication: EncodedPublications = encoder.finish()
        self.expected = sorted(self.view.match(self.publication).number.tolist())
        assert len(self.expected) >= self.workload.matches

    def ours(self) -> float:
        """The index, on an encoded publication."""
        return best(lambda: self.view.match(self.publication))

    def from_triples(self) -> float:
        """The index, on a set of triples."""
        return best(lambda: self.view.match_graphs([self.graph]))

    def merged(self, *, sparse: bool = False) -> GToPSS:
        """GM with all subscriptions; what it finds is compared."""
        made = GToPSS(sparse=sparse)
        for number, pattern in enumerate(self.patterns):
            made.insert(number, pattern)
        assert sorted(made.match(self.publication.arrays)[0]) == self.expected
        return made

    def general(self, kind: type[NaiveSearch]) -> float:
        """OPS or naive search."""
        made = kind(self.patterns)
        data = self.publication.arrays
        assert sorted(made.match(data)[0]) == self.expected
        return best(lambda: made.match(data))


def stages(merged: GToPSS, data: Any) -> tuple[float, float]:
    """Microseconds of the two stages of G-ToPSS."""
    structure, constraints = [], []
    first, second = merged.stages(data, 0)
    for _ in range(20):
        start = time.perf_counter()
        first()
        middle = time.perf_counter()
        second()
        structure.append(middle - start)
        constraints.append(time.perf_counter() - middle)
    return min(structure) * 1e6, min(constraints) * 1e6


def figures(counts: tuple[int, ...], default: int) -> list[Line]:
    """Figures 9a to 9h."""
    lines: list[Line] = []

    def add(figure: str, about: str, value: float, unit: str) -> None:
        lines.append(Line(figure, about, value, unit))
        print(lines[-1], flush=True)

    base = Parameters(subscriptions=default)
    for count in counts:
        subject = Subject(replace(base, subscriptions=count))
        merged = subject.merged()
        first, second = stages(merged, subject.publication.arrays)
        add("9a", f"GM, bytes a subscription at {count:,}", merged.nbytes / count, "bytes")
        add("9a", f"ours, bytes a subscription at {count:,}", subject.index.nbytes / count, "bytes")
        add("9b", f"gtopss, structure at {count:,}", first, "µs")
        add("9b", f"gtopss, joins and constraints at {count:,}", second, "µs")
        add("9b", f"ours at {count:,}", subject.ours(), "µs")
        add("9g", f"ops at {count:,}", subject.general(Ops), "µs")
        add("9h", f"naive at {count:,}", subject.general(NaiveSearch), "µs")
    for overlap in (0.0, 0.5, 0.9):
        subject = Subject(replace(base, overlap=overlap, matching=0.0))
        merged = subject.merged()
        add("9c", f"edges of GM with overlap {overlap:.0%}", merged.edges, "edges")
        sparse = subject.merged(sparse=True)
        add("9c", f"the same, sparse stars, overlap {overlap:.0%}", sparse.edges, "edges")
    for nodes, edges in ((5, 4), (5, 8), (5, 16), (10, 16), (15, 16)):
        subject = Subject(replace(base, nodes=nodes, edges=edges))
        merged = subject.merged()
        data = subject.publication.arrays
        size = f"{nodes} nodes, {edges} edges"
        add("9d", f"GM, {size}", merged.nbytes / default, "bytes a subscription")
        add("9e", f"gtopss, {size}", best(lambda m=merged, d=data: m.match(d)), "µs")  # type: ignore[misc]
        add("9e", f"ours, {size}", subject.ours(), "µs")
    for ratio in (0.001, 0.01, 0.1):
        subject = Subject(replace(base, matching=ratio))
        merged = subject.merged()
        data = subject.publication.arrays
        add("9f", f"gtopss, {ratio:.1%} match", best(lambda m=merged, d=data: m.match(d)), "µs")  # type: ignore[misc]
        add("9f", f"ours, {ratio:.1%} match", subject.ours(), "µs")
    return lines


def beyond(default: int, large: tuple[int, ...], documents: int) -> list[Line]:
    """What the paper does not measure."""
    lines: list[Line] = []

    def add(about: str, value: float, unit: str) -> None:
        lines.append(Line("beyond", about, value, unit))
        print(lines[-1], flush=True)

    subject = Subject(Parameters(subscriptions=default))
    ours = subject.from_triples()
    add(f"ours from a set of triples at {default:,}", ours, "µs")
    asked = ask_all(subject)
    add(f"pyoxigraph, one ASK for each at {default:,}", asked, "µs")
    add("pyoxigraph / ours", asked / ours, "times")
    add("ops / ours", subject.general(Ops) / subject.ours(), "times")
    live = PatternIndex()
    some = [pattern_of(each) for each in subject.patterns[:4_000]]
    start = time.perf_counter()
    for number, pattern in enumerate(some):
        live.add(number, pattern)
    add("a live addition", (time.perf_counter() - start) / len(some) * 1e6, "µs")
    for count in large:
        many = Subject(Parameters(subscriptions=10_000, matches=30, overlap=0.99), count)
        add(f"ours at {count:,} with 30 matches", many.ours(), "µs")
        add(f"ours at {count:,}, arrays", many.index.nbytes / count, "bytes a subscription")
        if count == 100_000:
            for about, value in batch(many, documents):
                add(about, value, "s" if "/" not in about else "times")
        del many
    return lines


def ask_all(subject: Subject) -> float:
    """Microseconds that pyoxigraph needs to ask every subscription; a sample, scaled up."""
    import pyoxigraph

    store = pyoxigraph.Store()
    for triple in subject.graph:
        store.add(pyoxigraph.Quad(*(pyoxigraph.NamedNode(term.value) for term in triple)))  # type: ignore[union-attr]
    sample = range(0, len(subject.patterns), max(1, len(subject.patterns) // 1_000))
    queries = [sparql_of(subject.patterns[number]) for number in sample]
    start = time.perf_counter()
    found = [number for number, query in zip(sample, queries) if bool(store.query(query))]
    spent = time.perf_counter() - start
    assert found == [number for number in sample if number in set(subject.expected)]
    return spent * 1e6 * len(subject.patterns) / len(queries)


def batch(subject: Subject, documents: int) -> list[tuple[str, float]]:
    """Small publications from N-Triples, against what only parsing them takes."""
    import pyoxigraph

    chosen = np.random.default_rng(1)
    texts = []
    for _ in range(documents):
        triples = np.stack(
            [
                chosen.integers(0, 10_000, 20),
                10_000 + chosen.integers(0, 50, 20),
                chosen.integers(0, 10_000, 20),
            ],
            1,
        ).tolist()
        place = "http://example.org/"
        texts.append("".join(f"<{place}{s}> <{place}{p}> <{place}{o}> .\n" for s, p, o in triples))

    def matched() -> int:
        encoder = subject.view.encoder()
        for text in texts:
            encoder.add_document(text)
        return len(subject.view.match(encoder.finish()).row)

    def parsed() -> int:
        form = pyoxigraph.RdfFormat.N_TRIPLES
        return sum(sum(1 for _ in pyoxigraph.parse(text, format=form)) for text in texts)

    ours, theirs = best(matched) / 1e6, best(parsed) / 1e6
    return [
        (f"{documents:,} documents of 20 triples, parsed and matched", ours),
        ("pyoxigraph, only parsed", theirs),
        ("matched / parsed", ours / theirs),
    ]


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, half a minute")
    quick = parser.parse_args().quick
    print("| figure | what | measured |\n| --- | --- | --- |")
    if quick:
        figures((1_000, 2_000), 1_000)
        beyond(2_000, (), 200)
    else:
        figures((10_000, 30_000, 100_000), 30_000)
        beyond(30_000, (100_000, 1_000_000), 10_000)


if __name__ == "__main__":
    main()
