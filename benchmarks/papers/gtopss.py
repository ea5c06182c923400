"""G-ToPSS: figures 9a to 9h, joins and constraints shared and stars mapped better; and aims of our
own, for the index by itself and in an engine.

Times are for one publication, best of several runs, on one core. Unless a name says otherwise the
publication is encoded already. Matches are compared before anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.graph_workloads import (
    GraphWorkload,
    Parameters,
    large_table,
    pattern_of,
    sparql_of,
)
from benchmarks.papers.experiment import Figure, Paper, Step
from benchmarks.papers.gtopss_verdicts import (
    ALONE,
    ENGINE,
    GTOPSS,
    JOINS,
    NAIVE,
    OPS,
    OURS,
    OXIGRAPH,
    PARSED,
    SHARED,
    SPARSE,
    STRUCTURE,
    TRIPLES,
    verdicts,
)
from benchmarks.papers.results import ADDITION, TIME, Measurement
from benchmarks.report import short
from tamis import Engine, Event, parse, read_graph
from tamis.bindings.evaluation import World
from tamis.graphs.documents import DocumentColumn
from tamis.graphs.door import PatternDoor
from tamis.graphs.general_search import NaiveSearch, Ops
from tamis.graphs.gtopss import GToPSS
from tamis.graphs.index import PatternIndex, table_of
from tamis.graphs.publications import EncodedPublications
from tamis.matching.batch import Batch
from tamis.matching.fallbacks import Fallbacks

BYTES, EDGES, SECONDS = "bytes a subscription", "edges of GM", "s"


@dataclass(frozen=True)
class Sizes:
    """How far the figures go."""

    counts: tuple[int, ...]
    default: int
    large: tuple[int, ...]
    documents: int
    added: int
    seconds: float = 0.3
    """For which a run is repeated."""


FULL = Sizes((10_000, 30_000, 100_000), 30_000, (100_000, 1_000_000), 10_000, 3_000)
QUICK = Sizes((1_000, 2_000), 1_000, (2_000, 4_000), 200, 200, 0.05)

FIGURES = (
    Figure("9a", "Figure 9a: memory", up=BYTES),
    Figure("9b", "Figure 9b: time, by stages"),
    Figure("9c", "Figure 9c: edges of GM", "overlap", EDGES, is_share=True),
    Figure("9d", "Figure 9d: memory by edges, 5 nodes", "edges", BYTES),
    Figure("9d-nodes", "Figure 9d: memory by nodes, 16 edges", "nodes", BYTES),
    Figure("9e", "Figure 9e: time by edges, 5 nodes", "edges"),
    Figure("9e-nodes", "Figure 9e: time by nodes, 16 edges", "nodes"),
    Figure("9f", "Figure 9f: time by the share that matches", "matching", is_share=True),
    Figure("9g", "Figures 9g and 9h: against OPS and naive search"),
    Figure("alike", "Subscriptions that differ in their limits", "offers in the publication"),
    Figure("large", "With 30 matches, whatever the size"),
    Figure("large-memory", "Memory of the index", up=BYTES),
    Figure("addition", "One live addition", up=ADDITION, is_bars=True),
    Figure("documents", "N-Triples, read and matched", "documents", SECONDS, is_bars=True),
)


class Subject:
    """A workload in the index; other algorithms are built when they are asked for."""

    def __init__(self, parameters: Parameters, sizes: Sizes, count: int = 0) -> None:
        """With a ``count``, so many subscriptions made of those of the workload."""
        self.sizes = sizes
        self.workload = GraphWorkload(parameters)
        self.patterns = self.workload.patterns
        self.index = PatternIndex()
        self.index.numbers.update(self.workload.numbers())
        numbers = np.arange(len(self.patterns), dtype=np.int32)
        table = large_table(self.workload, count) if count else table_of(self.patterns, numbers)
        self.subscriptions = len(table.number)
        self.index.install(table)
        self.view = self.index.view()
        self.graph = self.workload.graph()
        encoder = self.view.encoder()
        encoder.add(self.graph)
        self.publication: EncodedPublications = encoder.finish()
        self.expected = sorted(self.view.match(self.publication).number.tolist())
        assert len(self.expected) >= self.workload.matches

    def measured(self, figure: str, x: float, name: str, run: Any, **counts: Any) -> Measurement:
        """The microseconds of a run, the best and the worst of several."""
        times = repeated(run, self.sizes.seconds)
        return Measurement(
            figure, name, self.subscriptions, x, TIME, 1e6 * min(times), 1e6 * max(times),
            len(times), len(self.expected), **counts,
        )  # fmt: skip

    def value(self, figure: str, x: float, name: str, value: float, unit: str) -> Measurement:
        """Something that is not a time."""
        return Measurement(figure, name, self.subscriptions, x, unit, value, value)

    def merged(self, **options: bool) -> GToPSS:
        """GM with all subscriptions; what it finds is compared."""
        made = GToPSS(**options)
        for number, pattern in enumerate(self.patterns):
            made.insert(number, pattern)
        assert sorted(made.match(self.publication.arrays)[0]) == self.expected
        return made

    def ours(self, figure: str, x: float) -> Measurement:
        """The index on an encoded publication."""
        return self.measured(figure, x, OURS, lambda: self.view.match(self.publication))

    def gtopss(self, figure: str, x: float, name: str, **options: bool) -> Measurement:
        """Both stages; counted are rows of binding tables and candidates."""
        merged, data = self.merged(**options), self.publication.arrays
        counted = merged.counted(data, 0)
        return self.measured(
            figure, x, name, lambda: merged.match(data),
            sums=counted.rows, comparisons=counted.candidates,
        )  # fmt: skip

    def general(self, figure: str, x: float, name: str, kind: type[NaiveSearch]) -> Measurement:
        """OPS or naive search."""
        made, data = kind(self.patterns), self.publication.arrays
        assert sorted(made.match(data)[0]) == self.expected
        return self.measured(figure, x, name, lambda: made.match(data))

    def engine(self) -> Engine:
        """An engine with the same subscriptions."""
        engine = Engine()
        engine.subscribe_many({str(n): pattern_of(each) for n, each in enumerate(self.patterns)})
        event = Event({}, graph=self.graph)
        assert sorted(map(int, engine.match(event))) == self.expected
        return engine


def repeated(run: Any, seconds: float) -> list[float]:
    """The seconds of several runs, after one that is not counted; at least three."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1_000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def by_count(count: int, sizes: Sizes) -> list[Measurement]:
    """Figures 9a, 9b, 9g and 9h at one number of subscriptions."""
    subject = Subject(Parameters(subscriptions=count), sizes)
    merged, data = subject.merged(), subject.publication.arrays
    first, second = merged.stages(data, 0)
    structure, joins = [], []
    for _ in range(10):
        start = time.perf_counter()
        first()
        middle = time.perf_counter()
        second()
        structure.append(middle - start)
        joins.append(time.perf_counter() - middle)
    engine, event = subject.engine(), Event({}, graph=subject.graph)
    stages = [
        Measurement("9b", name, count, count, TIME, 1e6 * min(each), 1e6 * max(each), len(each))
        for name, each in ((STRUCTURE, structure), (JOINS, joins))
    ]
    return [
        subject.value("9a", count, GTOPSS, merged.nbytes / count, BYTES),
        subject.value("9a", count, OURS, subject.index.nbytes / count, BYTES),
        *stages,
        subject.ours("9b", count),
        subject.measured("9b", count, TRIPLES, lambda: subject.view.match_graphs([subject.graph])),
        subject.measured("9b", count, ENGINE, lambda: engine.match(event)),
        subject.gtopss("9g", count, GTOPSS),
        subject.general("9g", count, OPS, Ops),
        subject.general("9g", count, NAIVE, NaiveSearch),
        subject.ours("9g", count),
        *([asked(subject, count)] if count == sizes.default else []),
    ]


def asked(subject: Subject, count: int) -> Measurement:
    """One ASK for each subscription in pyoxigraph; a sample, scaled up."""
    import pyoxigraph

    store = pyoxigraph.Store()
    for triple in subject.graph:
        store.add(pyoxigraph.Quad(*(pyoxigraph.NamedNode(term.value) for term in triple)))  # type: ignore[union-attr]
    sample = range(0, count, max(1, count // 1_000))
    queries = [sparql_of(subject.patterns[number]) for number in sample]
    start = time.perf_counter()
    found = [number for number, query in zip(sample, queries) if bool(store.query(query))]
    spent = 1e6 * (time.perf_counter() - start) * count / len(queries)
    assert found == [number for number in sample if number in set(subject.expected)]
    note = "one ASK for each subscription: a sample, scaled up"
    return Measurement("9g", OXIGRAPH, count, count, TIME, spent, spent, note=note)


def by_overlap(overlap: float, sizes: Sizes) -> list[Measurement]:
    """Figure 9c, with stars as published and mapped by structure."""
    parameters = Parameters(subscriptions=sizes.default, overlap=overlap, matching=0.0)
    subject = Subject(parameters, sizes)
    return [
        subject.value("9c", overlap, name, subject.merged(sparse=sparse).edges, EDGES)
        for name, sparse in ((GTOPSS, False), (SPARSE, True))
    ]


def by_size(figure: str, nodes: int, edges: int, sizes: Sizes) -> list[Measurement]:
    """Figures 9d and 9e at one size of the subscriptions."""
    subject = Subject(Parameters(subscriptions=sizes.default, nodes=nodes, edges=edges), sizes)
    x = nodes if figure else edges
    memory = subject.merged().nbytes / sizes.default
    return [
        subject.value(f"9d{figure}", x, GTOPSS, memory, BYTES),
        subject.value(f"9d{figure}", x, OURS, subject.index.nbytes / sizes.default, BYTES),
        subject.gtopss(f"9e{figure}", x, GTOPSS),
        subject.gtopss(f"9e{figure}", x, SHARED, shared=True),
        subject.ours(f"9e{figure}", x),
    ]


def by_matching(share: float, sizes: Sizes) -> list[Measurement]:
    """Figure 9f at one share of subscriptions that match."""
    subject = Subject(Parameters(subscriptions=sizes.default, matching=share), sizes)
    return [
        subject.gtopss("9f", share, GTOPSS),
        subject.gtopss("9f", share, SHARED, shared=True),
        subject.ours("9f", share),
    ]


def by_offers(offers: int, sizes: Sizes) -> list[Measurement]:
    """Subscriptions with the same edges and other limits, joined once and one by one."""
    count = min(5_000, sizes.default)
    index = PatternIndex()
    text = "{{ ?x a <x:Offer> ; <x:price> ?p ; <x:maker> ?m FILTER (?p < {}) }}"
    index.add_many({n: parse(text.format(n)) for n in range(count)})  # type: ignore[misc]
    index.settle()
    view = index.view()
    line = "<x:o{0}> a <x:Offer> ; <x:price> {1} ; <x:maker> <x:m{0}> ."
    texts = (line.format(number, count - 10 + number % 5) for number in range(offers))
    encoder = view.encoder()
    encoder.add(read_graph("\n".join(texts)))
    publication = encoder.finish()
    (part,) = view.parts
    marks, found = part.table.alike.copy(), []
    for name, shared in ((OURS, marks), (ALONE, 0 * marks)):
        part.table.alike[:] = shared
        matches = len(view.match(publication).row)
        assert matches == 9
        times = repeated(lambda: view.match(publication), sizes.seconds)
        best, worst = 1e6 * min(times), 1e6 * max(times)
        row = Measurement("alike", name, count, offers, TIME, best, worst, len(times), matches)
        found.append(row)
    return found


def by_large_count(count: int, sizes: Sizes) -> list[Measurement]:
    """Very many subscriptions, of which 30 match; the engine's door with the same index."""
    own = min(10_000, sizes.default)
    subject = Subject(Parameters(subscriptions=own, matches=30, overlap=0.99), sizes, count)
    door = door_with(subject)
    batch = Batch([Event({}, graph=subject.graph)])
    assert sorted(door.view().match(batch).pairs.slot.tolist()) == subject.expected
    memory = subject.index.nbytes / count
    return [
        subject.ours("large", count),
        subject.measured("large", count, ENGINE, lambda: door.view().match(batch)),
        subject.value("large-memory", count, OURS, memory, BYTES),
    ]


def door_with(subject: Subject) -> PatternDoor:
    """What an engine finds subscriptions by, with the table of the subject: to make a million texts
    and parse them would take minutes."""
    patterns = [pattern_of(each) for each in subject.patterns if len(each.edges) == 8]
    door = PatternDoor(World(), lambda slot: patterns[slot % len(patterns)], Fallbacks())
    door.restore({**_arrays(subject), "kind": np.full(subject.subscriptions, 2, np.int8)})
    return door


def _arrays(subject: Subject) -> dict[str, Any]:
    from tamis.graphs.storage import arrays_of_index

    slots = np.arange(subject.subscriptions, dtype=np.int32)
    return {**arrays_of_index(subject.index), "slot": slots}


def additions(sizes: Sizes) -> list[Measurement]:
    """Live additions: to the index, and to an engine as expressions and as texts. It is processor
    time, so that merging in the background counts, and what else the machine does does not."""
    subject = Subject(Parameters(subscriptions=sizes.default), sizes)
    engine = subject.engine()
    new = GraphWorkload(Parameters(subscriptions=sizes.added, seed=9)).patterns
    patterns = [pattern_of(each) for each in new]
    texts = [str(pattern) for pattern in patterns]
    index = PatternIndex()
    ways: dict[str, Callable[[int], object]] = {
        OURS: lambda n: index.add(n, patterns[n]),
        f"{ENGINE}, an expression": lambda n: engine.subscribe(patterns[n], id=f"p{n}"),
        f"{ENGINE}, a text": lambda n: engine.subscribe(texts[n], id=f"t{n}"),
    }
    found = []
    for name, add in ways.items():
        start = time.process_time()
        for number in range(sizes.added):
            add(number)
        each = 1e6 * (time.process_time() - start) / sizes.added
        found.append(
            Measurement("addition", name, sizes.default, sizes.default, ADDITION, each, each)
        )
    return found


def documents(sizes: Sizes) -> list[Measurement]:
    """Small publications from N-Triples, against what only parsing them takes."""
    import pyarrow as pa
    import pyoxigraph

    own, count = min(10_000, sizes.default), min(sizes.large)
    subject = Subject(Parameters(subscriptions=own, matches=30, overlap=0.99), sizes, count)
    door = door_with(subject)
    chosen = np.random.default_rng(1)
    place = "http://example.org/"
    texts = []
    for _ in range(sizes.documents):
        ends, labels = chosen.integers(0, 10_000, (20, 2)), chosen.integers(10_000, 10_050, 20)
        lines = (f"<{place}{s}> <{place}{p}> <{place}{o}> .\n" for (s, o), p in zip(ends, labels))
        texts.append("".join(lines))
    engine = Engine()
    engine.subscribe("{ ?never <x:never> ?never }", id="never")
    matcher: Any = engine.subscriptions.index.matcher
    matcher._snapshot = matcher._snapshot._replace(door=door.view())
    view, rows, column = matcher.view(), pa.table({"n": range(len(texts))}), pa.array(texts)

    def by_index() -> int:
        _, publications = DocumentColumn(column).encode(subject.view.encoder())
        return len(subject.view.match(publications).row)

    def by_engine() -> int:
        batches = engine._batches(rows, column)
        return sum(len(pairs.row) for batch in batches for pairs in view._pairs(batch, None))

    def parsed() -> int:
        form = pyoxigraph.RdfFormat.N_TRIPLES
        return sum(sum(1 for _ in pyoxigraph.parse(text, format=form)) for text in texts)

    n, many = sizes.documents, subject.subscriptions
    assert by_index() == by_engine()
    assert parsed() == 20 * n
    found = []
    for name, way in ((PARSED, parsed), (OURS, by_index), (ENGINE, by_engine)):
        spent = repeated(way, sizes.seconds)
        found.append(
            Measurement("documents", name, many, n, SECONDS, min(spent), max(spent), len(spent))
        )
    return found


def steps(sizes: Sizes) -> list[Step]:
    """All steps."""
    counts = ("9a", "9b", "9g")
    found = [Step(counts, f"{short(n)} subscriptions", partial(by_count, n, sizes))
             for n in sizes.counts]  # fmt: skip
    for overlap in (0.0, 0.5, 0.9):
        found.append(Step(("9c",), f"overlap {overlap:.0%}", partial(by_overlap, overlap, sizes)))
    for edges in (4, 8, 16):
        run = partial(by_size, "", 5, edges, sizes)
        found.append(Step(("9d", "9e"), f"{edges} edges", run))
    for nodes in (5, 10, 15):
        run = partial(by_size, "-nodes", nodes, 16, sizes)
        found.append(Step(("9d-nodes", "9e-nodes"), f"{nodes} nodes", run))
    for share in (0.001, 0.01, 0.1):
        found.append(Step(("9f",), f"{share:.1%} match", partial(by_matching, share, sizes)))
    for offers in (3, 30, 200):
        found.append(Step(("alike",), f"{offers} offers", partial(by_offers, offers, sizes)))
    large = ("large", "large-memory")
    found += [Step(large, f"{short(n)} subscriptions", partial(by_large_count, n, sizes))
              for n in sizes.large]  # fmt: skip
    found.append(Step(("addition",), "additions", partial(additions, sizes)))
    found.append(Step(("documents",), "documents", partial(documents, sizes)))
    return found


PAPER = Paper(
    name="gtopss",
    title="G-ToPSS: graph-based metadata",
    figures=FIGURES,
    steps=steps,
    full=FULL,
    quick=QUICK,
    verdicts=verdicts,
)
