"""Graphs on Spark: documents and quads give what the index gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tamis import SubscriptionError
from tamis.spark.graphs import documents_of_quads, match_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERNS = {
    "jazz": "{ ?item <x:subject> 'jazz' . ?item <x:price> ?p }",
    "cheap": "{ ?item <x:price> ?p FILTER (?p < 5) }",
}
QUADS = [
    ("g1", "<x:a>", "<x:subject>", '"jazz"'),
    ("g1", "<x:a>", "<x:price>", '"9"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("g2", "<x:b>", "<x:price>", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    (None, "<x:c>", "<x:subject>", '"jazz"'),
]


def test_quads_and_documents(spark: SparkSession) -> None:
    quads = spark.createDataFrame(
        QUADS, "graph string, subject string, property string, object string"
    )
    documents = documents_of_quads(quads)
    found = match_graphs(documents, PATTERNS).collect()
    assert {tuple(row) for row in found} == {("g1", "jazz"), ("g2", "cheap")}
    (row,) = match_graphs(documents, {"cheap": PATTERNS["cheap"]}, bindings=True).collect()
    assert row.bindings == [{"item": "x:b", "p": "3"}]
    turtle = spark.createDataFrame([(7, "<x:a> <x:price> 1, 2 .")], "id long, rdf string")
    (row,) = match_graphs(turtle, PATTERNS, format="turtle", bindings=True).collect()
    assert (row.event_id, row.subscription_id, len(row.bindings)) == ("7", "cheap", 2)
    with pytest.raises(SubscriptionError, match="more than a pattern"):
        match_graphs(documents, {"a": "a = 1"})
