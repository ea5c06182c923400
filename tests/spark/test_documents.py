"""Events as JSON and as variants, which Spark made, against the oracle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.spark import divided, match
from tests.spark.oracle import oracle, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS = {
    "cheap": "price < 5",
    "red": "items.color = 'red' and items.size > 2",
    "any": "items is present",
    "none": "price is missing",
    "text": "price = 'x' or tags contains 'a\nb'",
    "not": "(tags = 'old') is not true",
    "large": "n = 18446744073709551615 or n = 9007199254740993 or n = 0.30000000000000004",
    "deep": "a.b.c.d = true",
}
EVENTS: list[dict[str, Any]] = [
    {"price": 3},
    {"price": 4.5, "tags": ["old", "new"]},
    {"price": "x", "items": [{"color": "red", "size": 3}, {"color": "blue"}]},
    {"price": None, "items": [{"color": "red", "size": 1}, {"color": "blue", "size": 9}]},
    {"items": [], "tags": "a\nb"},
    {"items": {"color": "red", "size": [1, 2, 3]}, "tags": [["a\nb"], ["c", "é"]]},
    {"n": 18446744073709551615},
    {"n": 9007199254740993, "tags": []},
    {"n": 0.30000000000000004, "a": {"b": [{"c": {"d": True}}, {"c": 5}]}},
    {"tags": [[], ["old"]], "price": [1, "x", 7.5]},
]


@pytest.fixture
def documents(spark: SparkSession) -> DataFrame:
    rows = [(id, json.dumps(event)) for id, event in enumerate(EVENTS)]
    return spark.createDataFrame(rows, "id long, raw string").repartition(2).cache()


def test_json_and_variants(documents: DataFrame) -> None:
    table = subscriptions_frame(documents.sparkSession, SUBSCRIPTIONS)
    expected = oracle([{**event, "id": id} for id, event in enumerate(EVENTS)], SUBSCRIPTIONS)
    assert pairs(match(documents, table, column="raw")) == expected
    parsed = documents.selectExpr("id", "parse_json(raw) AS raw")
    assert pairs(match(parsed, table, column="raw")) == expected
    assert pairs(match(parsed.limit(3), table, column="raw", limit=1)) <= expected


def test_variants_that_are_more_than_json(spark: SparkSession) -> None:
    frame = spark.sql("""
        SELECT 1 AS id, to_variant_object(named_struct(
            'at', timestamp'2020-05-01 12:00:00', 'day', date'2020-05-01', 'local',
            timestamp_ntz'2020-05-01 12:00:00', 'amount', 12.50BD, 'ratio', 0.5F, 'raw', X'00ff',
            'list', array(named_struct('x', 1), named_struct('x', 2)))) AS event
        UNION ALL SELECT 2, NULL
    """)
    subscriptions = {
        "at": "at = timestamp '2020-05-01T16:00:00Z'",  # the session is in New York
        "day": "day = timestamp '2020-05-01' and local = timestamp '2020-05-01T12:00:00Z'",
        "amount": "amount = 12.5 and ratio = 0.5",
        "list": "list.x = 2",
        "none": "at is missing",
    }
    table = subscriptions_frame(spark, subscriptions)
    found = pairs(match(frame, table, column="event"))
    assert found == {(1, "at"), (1, "day"), (1, "amount"), (1, "list"), (2, "none")}


def test_variants_that_cannot_be_events(spark: SparkSession) -> None:
    frame = spark.sql("""
        SELECT 1 AS id, parse_json('[1, 2]') AS event
        UNION ALL SELECT 2, parse_json('{"price": 1}')
    """)
    table = subscriptions_frame(spark, SUBSCRIPTIONS)
    matches, rejected = divided(match(frame, table, column="event", on_error="collect"))
    assert {row["event_id"] for row in matches.collect()} == {2}
    (row,) = rejected.collect()
    assert (row["event_id"], row["text"]) == (1, "[1,2]")
    assert row["reason"] == "an event is an object, but the variant has a list"
    with pytest.raises(tamis.TamisError, match="column 'event' is a variant: if it holds whole"):
        match(frame, subscriptions_frame(spark, {"s": "event = 1"}))
