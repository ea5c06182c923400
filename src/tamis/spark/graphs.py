"""Columns of RDF documents for ``match(…, graph=…)``: from tables of quads, and from feeds.

documents = documents_of_quads(quads)                       # one row for each graph
match(documents, subscriptions, graph="rdf")

items = items_of_feeds(feeds)                               # one row for each item
match(items, subscriptions, event_id="item", graph="rdf")

more = entailed(documents, Vocabulary(ontology))            # with the triples that follow by RDFS
match(more, subscriptions, graph="rdf")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tamis.errors import EventError, LimitError
from tamis.graphs.rdfs import Vocabulary
from tamis.graphs.reader import COLUMNS
from tamis.graphs.rss import items_of
from tamis.graphs.term_syntax import document_of
from tamis.model.limits import LIMITS, Limits
from tamis.spark.columns import check_events, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEED, ITEM, RDF = "feed", "item", "rdf"
"""Columns of the items of feeds."""


def documents_of_quads(quads: DataFrame, *, id: str = "graph") -> DataFrame:
    """A DataFrame of quads, with terms as N-Triples writes them, as one document for each graph.

    The result has the columns ``id`` and ``rdf``; triples without a graph have the id ``""``. Join
    it with the attributes of the events, if they have any.
    """
    from pyspark.sql import functions as f

    check_events(quads, [id, *COLUMNS[1:]])
    line = f.concat_ws(" ", *COLUMNS[1:], f.lit("."))
    named = quads.select(
        f.coalesce(f.col(quoted(id)).cast("string"), f.lit("")).alias("id"), line.alias("line")
    )
    return named.groupBy("id").agg(f.array_join(f.collect_list("line"), "\n").alias(RDF))


def items_of_feeds(
    feeds: DataFrame, *, id: str = "id", column: str = "document", limits: Limits = LIMITS
) -> DataFrame:
    """The items of RSS 1.0, RSS 2.0 and Atom documents, each with the terms of RSS 1.0.

    The result has the columns ``feed`` (the id of the document), ``item`` (the id of the item) and
    ``rdf`` (its graph as N-Triples). An item that several documents have comes once for each:
    ``deduplicate`` in ``match``, or ``dropDuplicates``, keeps one. A document that is no feed
    fails the job.
    """
    check_events(feeds, [id, column])
    chosen = feeds.selectExpr(
        f"cast({quoted(id)} as string) as id", f"cast({quoted(column)} as binary) as document"
    )
    kinds = f"{FEED} string, {ITEM} string, {RDF} string"
    return chosen.mapInArrow(FeedTask(limits), kinds)  # type: ignore[arg-type]  # it is callable


def entailed(
    events: DataFrame,
    vocabulary: Vocabulary,
    *,
    graph: str = RDF,
    graph_format: str = "n-triples",
) -> DataFrame:
    """The events with the triples that follow from their graphs by RDFS, all as N-Triples."""
    from pyspark.sql.types import StringType, StructField, StructType

    check_events(events, [graph])
    kinds = [
        StructField(graph, StringType()) if field.name == graph else field
        for field in events.schema.fields
    ]
    task = EntailmentTask(vocabulary, graph, graph_format)
    return events.mapInArrow(task, StructType(kinds))  # type: ignore[arg-type]  # it is callable


class EntailmentTask(NamedTuple):
    """What a worker does with graphs and a vocabulary."""

    vocabulary: Vocabulary
    graph: str
    format: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Some batches of events with larger graphs."""
        for batch in batches:
            documents = self.vocabulary.entailed_documents(batch[self.graph], self.format)
            place = batch.schema.get_field_index(self.graph)
            yield batch.set_column(place, self.graph, documents)


class FeedTask(NamedTuple):
    """What a worker does with feeds."""

    limits: Limits

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The items of some batches of documents."""
        for batch in batches:
            rows: list[tuple[Any, str, str]] = []
            for id, document in zip(batch["id"].to_pylist(), batch["document"].to_pylist()):
                if document is None:
                    continue
                try:
                    items = items_of(document, limits=self.limits)
                except (EventError, LimitError) as error:
                    raise type(error)(f"the feed {id!r}: {error}") from error
                rows += ((id, item.id, document_of(item.graph)) for item in items)
            columns = [list(column) for column in zip(*rows)] or [[], [], []]
            arrays = [pa.array(column, pa.string()) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[FEED, ITEM, RDF])
