"""Matching from SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tamis.errors import RejectedWarning
from tests.spark.oracle import events_frame, oracle, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS = {7: "category = 'Toy' and price < 5", 8: "price > 10 or tags = 'new'", 9: "true"}
ROWS: list[dict[str, Any]] = [
    {"id": 1, "category": "Toy", "price": 3.0, "tags": ["old", "new"]},
    {"id": 2, "category": "Toy", "price": 30.0},
    {"id": 3, "price": 1.0, "tags": []},
]
FIELDS = {"category": pa.string(), "price": pa.float64(), "tags": pa.list_(pa.string())}


@pytest.mark.parametrize("form", ["frame", "index", "path"])
def test_a_table_function(spark: SparkSession, form: str, tmp_path: Path) -> None:
    events_frame(spark, ROWS, FIELDS).createOrReplaceTempView("auctions")
    given: Any = subscriptions_frame(spark, SUBSCRIPTIONS)
    if form != "frame":
        given = tamis.spark.Index.of(given)
    if form == "path":
        given.save(tmp_path / "saved")
        given = tmp_path / "saved"
    tamis.spark.register(spark, "alerts", given, event_id_type="bigint")
    matches = spark.sql("SELECT * FROM alerts(TABLE(auctions))")
    assert matches.dtypes == [
        ("event_id", "bigint"),
        ("subscription_id", "bigint"),
        ("version", "bigint"),
    ]
    assert pairs(matches) == oracle(ROWS, SUBSCRIPTIONS)


def test_in_a_query(spark: SparkSession) -> None:
    events_frame(spark, ROWS, FIELDS).createOrReplaceTempView("auctions")
    engine = tamis.Engine()
    engine.subscribe_many({str(id): text for id, text in SUBSCRIPTIONS.items()})
    tamis.spark.register(spark, "alerts_of", engine, event_id="key")
    found = spark.sql(
        """SELECT subscription_id, count(*) AS n, max(event_id) AS last
           FROM alerts_of(TABLE(SELECT concat('e', id) AS key, price, tags FROM auctions))
           WHERE subscription_id != '7' GROUP BY subscription_id ORDER BY subscription_id"""
    )
    assert [tuple(row) for row in found.collect()] == [("8", 2, "e2"), ("9", 3, "e3")]


def test_faulty_subscriptions(spark: SparkSession) -> None:
    table = subscriptions_frame(spark, {"a": "price <", "b": "price < 2"})
    with pytest.warns(RejectedWarning, match="id 'a'") as caught:
        tamis.spark.register(spark, "few", table, event_id_type="bigint")
    assert caught.pop(RejectedWarning).filename == __file__
    events_frame(spark, ROWS, FIELDS).createOrReplaceTempView("auctions")
    assert pairs(spark.sql("SELECT * FROM few(TABLE(auctions))")) == {(3, "b")}
    with pytest.raises(tamis.SubscriptionError):
        tamis.spark.register(spark, "few", table, errors="raise")


def test_a_table_without_the_id(spark: SparkSession) -> None:
    tamis.spark.register(spark, "by_key", subscriptions_frame(spark, {1: "true"}), event_id="key")
    with pytest.raises(Exception, match="the table has no column 'key'; it has id"):
        spark.sql("SELECT * FROM by_key(TABLE(SELECT 1 AS id))").collect()


def test_what_cannot_be_registered(spark: SparkSession, tmp_path: Path) -> None:
    changing = tamis.spark.Snapshots(tmp_path / "snapshots", lambda: {"s": "true"})
    with pytest.raises(tamis.TamisError, match="cannot follow Snapshots"):
        tamis.spark.register(spark, "f", changing)
    with pytest.raises(tamis.TamisError, match="subscriptions must be a Spark DataFrame"):
        tamis.spark.register(spark, "f", {"s": "true"})
