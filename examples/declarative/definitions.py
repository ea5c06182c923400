"""Matching as a dataset of Spark Declarative Pipelines.

    orders/*.json ──match──> found ──┬──> matches
             rules ───────────┘      └──> rejected

Spark finds the order of the datasets, keeps the checkpoints, and reads each file once. It analyses
no DataFrame while it calls a definition, but `match` needs the types of its events. So call `match`
beside the definition, as here, on a source from outside of the pipeline. Subscriptions must lie
where all nodes see them: in a folder of `Snapshots`, which also sees changes at the next run.
"""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from tamis.spark import Snapshots, match

RULES = {
    "large": "amount > 1000",
    "red": "items.color = 'red' and items.size >= 40",
    "north": "city in ('Lille', 'Oslo') and amount > 10",
}

spark = SparkSession.active()
lines = spark.readStream.format("text").load("orders")
orders = lines.selectExpr("get_json_object(value, '$.id') AS id", "value AS document")
rules = Snapshots(Path("snapshots").absolute(), lambda: RULES)
checked = match(orders, rules, column="document", on_error="collect")


@dp.table
def found() -> DataFrame:
    """Matches, and orders that cannot be read."""
    return checked


@dp.materialized_view
def matches() -> DataFrame:
    """Which order matches which rule."""
    return spark.read.table("found").where("reason IS NULL").select("event_id", "subscription_id")


@dp.materialized_view
def rejected() -> DataFrame:
    """Orders that cannot be read, and why."""
    some = spark.read.table("found").where("reason IS NOT NULL")
    return some.select("event_id", "text", "reason")
