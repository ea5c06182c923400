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


def test_a_missing_operator_is_named_before_the_job_starts(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 2.0)], "id int, x double")
    engine = tamis.Engine(operators={"only_here": lambda event: True})
    engine.subscribe("x > 1 and only_here()", id="x")
    with pytest.raises(StorageError, match="needs the operators only_here"):
        tamis.spark.match(events, engine)
    with pytest.raises(TamisError, match=r"the module 'no.such.module'.*spark.submit.pyFiles"):
        tamis.spark.match(events, engine, operators=["no.such.module"])
