"""``tamis.spark.compact``: the same as without Spark, over any partitions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import tamis
import tamis.spark
from tamis.engine.relations import covers
from tamis.routing.merging import MergeRules
from tests.spark.oracle import subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = tamis.Schema(
    attributes={"a": "integer", "b": "integer", "c": "integer"},
    types={"point": dict.fromkeys("abc", "optional unique")},
)


def random_table(count: int, seed: int) -> dict[int, str]:
    rng = random.Random(seed)
    table = {}
    for n in range(count):
        tests = [
            f"{name} {rng.choice(['=', '<', '<=', '>', '>='])} {rng.randrange(9)}"
            for name in rng.sample("abc", rng.randint(2, 3))
        ]
        table[n] = " and ".join(tests)
    return table


@pytest.mark.parametrize("partitions", [1, 5])
def test_every_subscription_is_in_one_part_and_nothing_else_matches(
    spark: SparkSession, partitions: int
) -> None:
    table = random_table(400, partitions)
    frame = subscriptions_frame(spark, {**table, 900: "a = = 1"}).repartition(partitions)
    found = tamis.spark.compact(frame, schema=SCHEMA, rules=MergeRules(sets=True))
    covered = {row["id"]: row["covered_by"] for row in found.covered.collect()}
    mergers = {row["subscription"]: row["members"] for row in found.mergers.collect()}
    remaining = {row["id"]: row["subscription"] for row in found.remaining.collect()}
    (rejected,) = found.rejected.collect()
    assert rejected["id"] == 900
    merged = [member for members in mergers.values() for member in members]
    assert sorted([*covered, *merged, *remaining]) == sorted(table)
    assert len(covered) > 100
    assert len(merged) > 10
    assert all(remaining[id] == table[id] for id in remaining)
    for id, by in covered.items():
        assert by not in covered
        assert covers(table[by], table[id], schema=SCHEMA)
    kept = tamis.Engine(schema=SCHEMA)
    kept.subscribe_many({str(n): text for n, text in enumerate([*mergers, *remaining.values()])})
    every = tamis.Engine(schema=SCHEMA)
    every.subscribe_many({str(id): text for id, text in table.items()})
    rng = random.Random(9)
    for _ in range(200):
        event = {"event_type": "point", **{name: rng.randrange(9) for name in "abc"}}
        assert bool(kept.match(event)) == bool(every.match(event)), event


def test_operators_cover_nothing(spark: SparkSession) -> None:
    table = {"x": "a < 9 and near('Bronx', ?d)", "y": "a < 5", "z": "a < 3 and near('x', ?d)"}
    found = tamis.spark.compact(subscriptions_frame(spark, table))
    assert [tuple(row) for row in found.covered.collect()] == [("z", "y")]
    assert sorted(row["id"] for row in found.remaining.collect()) == ["x", "y"]


def test_rows_that_cannot_be_taken_are_told(spark: SparkSession) -> None:
    rows = [("x", "a < 9"), ("x", "b = 1"), ("y", None), (None, "a = 1")]
    frame = spark.createDataFrame(rows, "id string, subscription string")
    found = tamis.spark.compact(frame.repartition(1))
    reasons = {row["id"]: row["reason"] for row in found.rejected.collect()}
    assert reasons.keys() == {"x", "y", None}
    assert "twice" in reasons["x"]
    assert "null" in reasons["y"]
    (left,) = found.remaining.collect()
    assert left["id"] == "x"


def test_mistakes_are_refused(spark: SparkSession) -> None:
    with pytest.raises(tamis.TamisError, match="must be a Spark DataFrame, not dict"):
        tamis.spark.compact({})  # type: ignore[arg-type]
    frame = spark.createDataFrame([("x", "a < 9")], "id string, subscripton string")
    with pytest.raises(tamis.TamisError, match="no column 'subscription'; did you mean"):
        tamis.spark.compact(frame)
    good = spark.createDataFrame([("x", "a < 9")], "id string, subscription string")
    with pytest.raises(tamis.TamisError, match=r"schema must be a tamis\.Schema"):
        tamis.spark.compact(good, schema={})  # type: ignore[arg-type]
