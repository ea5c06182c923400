"""Graphs on Spark: a column of RDF text, or a table of quads, against patterns.

documents = documents_of_quads(quads)                       # one row for each graph
match_graphs(documents, {"jazz": "{ ?item dc:subject 'jazz' }"}, bindings=True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tamis.bindings.evaluation import BLANK
from tamis.errors import LimitError, SubscriptionError
from tamis.graphs.index import PatternIndex
from tamis.graphs.reader import COLUMNS
from tamis.language.parser import parse
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import value_of_term
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import Pattern
from tamis.spark.columns import BINDINGS, EVENT_ID, SUBSCRIPTION_ID, check_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = f"{EVENT_ID} string, {SUBSCRIPTION_ID} string"
_BINDINGS_TYPE = f"{BINDINGS} array<map<string,string>>"


def documents_of_quads(quads: DataFrame, *, id: str = "graph") -> DataFrame:
    """A DataFrame of quads, with terms as N-Triples writes them, as one document for each graph.

    The result has the columns ``id`` and ``rdf``; triples without a graph have the id ``""``.
    """
    from pyspark.sql import functions as f

    check_events(quads, [id, *COLUMNS[1:]])
    line = f.concat_ws(" ", *COLUMNS[1:], f.lit("."))
    named = quads.select(f.coalesce(f.col(id), f.lit("")).alias("id"), line.alias("line"))
    return named.groupBy("id").agg(f.array_join(f.collect_list("line"), "\n").alias("rdf"))


def match_graphs(
    publications: DataFrame,
    patterns: Mapping[str, str],
    *,
    event_id: str = "id",
    column: str = "rdf",
    format: str = "n-triples",
    bindings: bool = False,
    prefixes: Mapping[str, str] | None = None,
    taxonomy: Taxonomy | None = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """Match a column of RDF documents, one publication each, against patterns by their ids.

    Returns the columns ``event_id`` and ``subscription_id`` and, with ``bindings``, all solutions
    as maps from variables to strings. A document that cannot be read fails the job, and so does
    a pair that is beyond the limit of bindings.
    """
    check_events(publications, [event_id, column])
    for id, text in patterns.items():
        if not isinstance(parse(text, prefixes=prefixes, limits=limits), Pattern):
            raise SubscriptionError(
                f"{id!r} is more than a pattern: on Spark, patterns stand alone so far"
            )
    task = GraphTask(
        tuple(patterns.items()), dict(prefixes or {}), format, bindings, taxonomy, limits
    )
    types = f"{_TYPES}, {_BINDINGS_TYPE}" if bindings else _TYPES
    chosen = publications.selectExpr(f"cast(`{event_id}` as string) as id", f"`{column}` as rdf")
    return chosen.mapInArrow(task, types)  # type: ignore[arg-type]  # it is callable


class GraphTask(NamedTuple):
    """What a worker does: build the index once, and match batch by batch."""

    patterns: tuple[tuple[str, str], ...]
    prefixes: dict[str, str]
    format: str
    with_bindings: bool
    taxonomy: Taxonomy | None
    limits: Limits

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches of some batches of documents."""
        index = PatternIndex(self.limits)
        ids = [id for id, _ in self.patterns]
        names: list[list[str]] = []
        known: dict[int, Pattern] = {}
        for number, (_, text) in enumerate(self.patterns):
            pattern = parse(text, prefixes=self.prefixes, limits=self.limits)
            assert isinstance(pattern, Pattern)
            names.append([variable.name for variable in pattern.variables()])
            known[number] = pattern
        index.add_many(known)
        view = index.view(self.taxonomy)
        for batch in batches:
            encoder = view.encoder()
            for document in batch.column("rdf").to_pylist():
                encoder.add_document(str(document or ""), self.format)
            found = view.match(encoder.finish(), every=self.with_bindings)
            if found.exceeded.any():
                pair = int(found.exceeded.argmax())
                event, pattern = batch.column("id")[int(found.row[pair])], found.number[pair]
                raise LimitError(
                    f"the pattern {ids[pattern]!r} tries more than {self.limits.bindings:,} triples"
                    f" of the publication {event}: make it more selective, or raise limits.bindings"
                )
            numbers = found.number.tolist()
            columns: dict[str, Any] = {
                EVENT_ID: batch.column("id").take(found.row).cast(pa.string()),
                SUBSCRIPTION_ID: pa.array([ids[number] for number in numbers], pa.string()),
            }
            if self.with_bindings:
                lists = [
                    [
                        [
                            (name, str(value_of_term(term)))
                            for name, term in zip(names[number], line)
                            if not BLANK.match(name)
                        ]
                        for line in found.solutions(pair)
                    ]
                    for pair, number in enumerate(numbers)
                ]
                kind = pa.list_(pa.map_(pa.string(), pa.string()))
                columns[BINDINGS] = pa.array(lists, kind)
            yield pa.RecordBatch.from_pydict(columns)
