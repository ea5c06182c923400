"""Graphs on Spark: what ``match`` finds in columns of documents is what an engine finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tamis import TamisError, read_graph
from tamis.graphs.rdfs import Vocabulary
from tamis.spark import match
from tamis.spark.graphs import documents_of_quads, entailed, items_of_feeds
from tests.graphs.test_documents import EXPECTED, ROWS, SUBSCRIPTIONS, TEXTS, engine_with

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATTERNS = [
    ("jazz", "{ ?item <x:subject> 'jazz' . ?item <x:price> ?p }"),
    ("cheap", "{ ?item <x:price> ?p FILTER (?p < 5) }"),
]
QUADS = [
    ("g1", "<x:a>", "<x:subject>", '"jazz"'),
    ("g1", "<x:a>", "<x:price>", '"9"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("g2", "<x:b>", "<x:price>", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    (None, "<x:c>", "<x:subject>", '"jazz"'),
]


def table(spark: SparkSession, rows: list[tuple[str, str]]) -> DataFrame:
    return spark.createDataFrame(rows, "id string, subscription string")


def pairs(found: DataFrame) -> set[tuple[object, str]]:
    return {(row.event_id, row.subscription_id) for row in found.collect()}


def test_quads(spark: SparkSession) -> None:
    quads = spark.createDataFrame(
        QUADS, "graph string, subject string, property string, object string"
    )
    documents = documents_of_quads(quads)
    found = match(documents, table(spark, PATTERNS), graph="rdf", bindings=True).collect()
    assert {(row.event_id, row.subscription_id) for row in found} == {
        ("g1", "jazz"),
        ("g2", "cheap"),
    }
    values = {row.subscription_id: json.loads(row.bindings) for row in found}
    assert values["cheap"] == {"item": "x:b", "p": 3}


def test_attributes_and_patterns_together(spark: SparkSession) -> None:
    """The subscriptions and documents of the tests of an engine, some with attributes too."""
    rows = [(n, row["a"], row["b"], text) for n, (row, text) in enumerate(zip(ROWS, TEXTS))]
    events = spark.createDataFrame(rows, "id long, a long, b string, rdf string")
    subscriptions = table(spark, list(SUBSCRIPTIONS.items()))
    found = match(events, subscriptions, graph="rdf")
    assert pairs(found) == set(EXPECTED)
    packed = events.selectExpr("id", "rdf", "to_json(struct(a, b)) as event")
    assert pairs(match(packed, subscriptions, column="event", graph="rdf")) == set(EXPECTED)
    assert pairs(match(events, engine_with("sieve"), graph="rdf")) == set(EXPECTED)


def test_a_pattern_that_attributes_lead_to(spark: SparkSession) -> None:
    """No pattern finds it, so the column of graphs must be read for another reason."""
    events = spark.createDataFrame(
        [(1, 1, "<x:a> <x:price> 1 ."), (2, 1, "<x:a> <x:sold> 1 .")], "id long, a long, rdf string"
    )
    subscriptions = table(spark, [("unsold", "a = 1 and not { ?x <x:sold> ?y }")])
    found = match(events, subscriptions, graph="rdf", graph_format="turtle")
    assert pairs(found) == {(1, "unsold")}
    with pytest.raises(TamisError, match="name the column of RDF documents"):
        match(events, subscriptions)


def test_entailment(spark: SparkSession) -> None:
    ontology = "<x:throne> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <x:chair> ."
    events = spark.createDataFrame(
        [(1, "<x:a> a <x:throne> .", 5), (2, None, 6)], "id long, rdf string, other long"
    )
    chairs = table(spark, [("chairs", "{ ?x a <x:chair> }")])
    assert pairs(match(events, chairs, graph="rdf", graph_format="turtle")) == set()
    more = entailed(events, Vocabulary(read_graph(ontology)), graph_format="turtle")
    assert [row.other for row in more.orderBy("id").collect()] == [5, 6]
    assert pairs(match(more, chairs, graph="rdf")) == {(1, "chairs")}


def test_what_is_wrong_with_a_document(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(7, "<x:a> <x:price> 1 ."), (8, "<x:a> <x:price> .")], "id long, rdf string"
    )
    subscriptions = table(spark, PATTERNS)
    with pytest.raises(Exception, match="the event 8: the graph is not valid turtle"):
        match(events, subscriptions, graph="rdf", graph_format="turtle").collect()
    found = match(
        events, subscriptions, graph="rdf", graph_format="turtle", on_error="collect"
    ).collect()
    assert {(row.event_id, row.subscription_id, row.reason is None) for row in found} == {
        (7, "cheap", True),
        (8, None, False),
    }
    with pytest.raises(TamisError, match="name the column of RDF documents in graph="):
        match(events, subscriptions)
    with pytest.raises(TamisError, match="unknown format 'turtel' of graphs"):
        match(events, subscriptions, graph="rdf", graph_format="turtel")
    with pytest.raises(TamisError, match="'id' is of type bigint: RDF documents are texts"):
        match(events, subscriptions, graph="id")


RSS_2 = """<rss version="2.0"><channel><title>t</title>
<item><title>Jazz tonight</title><link>http://x/1</link><category>jazz</category></item>
<item><title>Blues</title><link>http://x/2</link><category>blues</category></item>
</channel></rss>"""


def test_feeds(spark: SparkSession) -> None:
    pytest.importorskip("feedparser", reason="the extra 'rss' is not installed")
    feeds = spark.createDataFrame([(1, RSS_2)], "id long, document string")
    items = items_of_feeds(feeds)
    jazz = [("jazz", "{ ?item dc:subject 'jazz' ; rss:title ?title }")]
    found = match(items, table(spark, jazz), event_id="item", graph="rdf", bindings=True).collect()
    (row,) = found
    assert row.event_id == "http://x/1"
    assert json.loads(row.bindings)["title"] == "Jazz tonight"
