"""Subscriptions with operators on Spark: executors import what declares them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import tamis
import tamis.spark
from tamis import StorageError, TamisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning")

MODULE = "tests.spark.declared_operators"
TABLE = [
    ("above", "kind = 'a' and spark_test_above(5)"),
    ("double", "spark_test_double(?d) and ?d > 16 and not spark_test_above(9)"),
    ("unknown", "no_such_operator(1)"),
]


def test_operators_go_by_module(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(n, "ab"[n % 2], float(n)) for n in range(12)], "id int, kind string, x double"
    )
    table = spark.createDataFrame(TABLE, "id string, subscription string")
    with pytest.warns(tamis.RejectedWarning, match="no_such_operator"):
        found = tamis.spark.match(events, table, operators=[MODULE], bindings=True)
    assert found.columns == ["event_id", "subscription_id", "version", "bindings"]
    rows = {
        (row.event_id, row.subscription_id): json.loads(row.bindings) for row in found.collect()
    }
    assert rows == {
        (6, "above"): {}, (8, "above"): {}, (10, "above"): {}, (9, "double"): {"d": 18.0},
    }  # fmt: skip


def test_statistics_of_calls_feed_the_next_run(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(n, "ab"[n % 2], float(n)) for n in range(40)], "id int, kind string, x double"
    )
    table = spark.createDataFrame(TABLE[:2], "id string, subscription string")
    index = tamis.spark.Index.of(table, operators=[MODULE])
    found = tamis.spark.call_statistics(events.repartition(3), index, operators=[MODULE])
    rows = {row.call: row for row in found.collect()}
    above = rows["spark_test_above(5)@2"]
    assert (above.true_results, above.results) == (17, 20)
    assert above.seconds > 0
    assert index.engine.learned_calls() == {}
    matches = tamis.spark.match(events, index, operators=[MODULE], statistics=found)
    assert matches.count() == 18
    known = index.engine.learned_calls()
    assert known["spark_test_above(5)@2"] == [17, 20]
    assert known["spark_test_above@2"][0] > 0
    with pytest.raises(TamisError, match="statistics go with a DataFrame"):
        tamis.spark.match(events, "some/file", statistics=found)
    with pytest.raises(TamisError, match="has no column 'call'"):
        tamis.spark.match(events, index, statistics=events)
    stream = spark.readStream.format("rate").load().selectExpr("value AS id")
    with pytest.raises(TamisError, match="not of a stream"):
        tamis.spark.call_statistics(stream, index)


def test_a_missing_operator_is_named_before_the_job_starts(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 2.0)], "id int, x double")
    engine = tamis.Engine(operators={"only_here": lambda event: True})
    engine.subscribe("x > 1 and only_here()", id="x")
    with pytest.raises(StorageError, match="needs the operators only_here"):
        tamis.spark.match(events, engine)
    with pytest.raises(TamisError, match=r"the module 'no.such.module'.*spark.submit.pyFiles"):
        tamis.spark.match(events, engine, operators=["no.such.module"])
