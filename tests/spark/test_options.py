"""What a match carries, and how many an event gets."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import PySparkException

import tamis
import tamis.spark
from tamis.errors import RejectedWarning
from tamis.model.taxonomy.taxonomies import Taxonomies
from tests.spark.oracle import drained, events_frame, oracle, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


# Types.


@pytest.mark.parametrize(
    "event_type, subscription_type",
    [("string", "bigint"), ("smallint", "string"), ("date", "int"), ("binary", "tinyint")],
)
def test_ids_keep_their_types(spark: SparkSession, event_type: str, subscription_type: str) -> None:
    given = {"string": "'x'", "smallint": "7", "date": "date '2026-01-01'", "binary": "X'00ff'"}
    events = spark.sql(f"SELECT CAST({given[event_type]} AS {event_type}) AS key, 1 AS a")
    table = spark.sql(
        f"SELECT CAST(5 AS {subscription_type}) AS id, 'a = 1' AS subscription, 1.5D AS version"
    )
    matches = tamis.spark.match(events, table, event_id="key")
    assert matches.dtypes == [
        ("event_id", event_type),
        ("subscription_id", subscription_type),
        ("version", "double"),
    ]
    (row,) = matches.collect()
    (event,), (subscription,) = events.collect(), table.collect()
    assert tuple(row) == (event["key"], subscription["id"], 1.5)


def test_without_versions_there_are_none(spark: SparkSession) -> None:
    events = events_frame(spark, [{"id": 1}], {})
    matches = tamis.spark.match(events, subscriptions_frame(spark, {"s": "true"}))
    assert matches.dtypes[-1] == ("version", "bigint")
    assert [tuple(row) for row in matches.collect()] == [(1, "s", None)]


def test_taxonomies_of_attributes(spark: SparkSession) -> None:
    taxonomies = Taxonomies({"orange": ["fruit"]}, {"color": {"orange": ["warm"]}})
    rows = [{"id": 1, "kind": "orange"}, {"id": 2, "color": "orange"}]
    events = events_frame(spark, rows, {"kind": "string", "color": "string"})
    table = subscriptions_frame(spark, {"f": "kind is a 'fruit'", "w": "color is a 'warm'"})
    assert pairs(tamis.spark.match(events, table, taxonomy=taxonomies)) == {(1, "f"), (2, "w")}


# Columns.


def test_kept_columns_of_every_type(spark: SparkSession) -> None:
    fields = {
        "byte": pa.int8(),
        "float": pa.float32(),
        "flag": pa.bool_(),
        "text": pa.string(),
        "bytes": pa.binary(),
        "day": pa.date32(),
        "moment": pa.timestamp("us", "UTC"),
        "naive": pa.timestamp("us"),
        "price": pa.decimal128(12, 3),
        "items": pa.list_(pa.struct({"a": pa.int64(), "at": pa.timestamp("us", "UTC")})),
        "facts": pa.map_(pa.string(), pa.list_(pa.int32())),
        "nothing": pa.null(),
    }
    full = {
        "id": 1,
        "byte": -1,
        "float": 0.1,
        "flag": True,
        "text": "é",
        "bytes": b"\0\xff",
        "day": date(2026, 1, 1),
        "moment": NOON,
        "naive": NOON.replace(tzinfo=None),
        "price": Decimal("1.250"),
        "items": [{"a": 1, "at": NOON}, None, {"a": None, "at": None}],
        "facts": {"x": [1, None], "y": None, "z": []},
    }
    events = events_frame(spark, [full, {"id": 2}], fields)
    matches = tamis.spark.match(
        events, subscriptions_frame(spark, {"s": "true", "b": "byte < 0"}), keep=list(fields)
    )
    assert matches.schema.fields[3:] == events.schema.fields[1:]
    kept = {row["id"]: tuple(row)[1:] for row in events.collect()}
    found = matches.collect()
    assert Counter(row["event_id"] for row in found) == {1: 2, 2: 1}
    assert all(tuple(row)[3:] == kept[row["event_id"]] for row in found)


def test_columns_of_the_subscriptions(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [(1, "a = 1", 7, "ada", [1, 2]), (2, "a = 2", 8, None, None), (3, "a =", 9, "eve", [])],
        "id long, subscription string, version int, owner string, tags array<int>",
    )
    events = events_frame(spark, [{"id": 1, "a": 1}, {"id": 2, "a": 2}], {"a": pa.int64()})
    with pytest.warns(RejectedWarning):
        matches = tamis.spark.match(
            events, table, keep=["a", "id"], subscription_columns=["tags", "owner"]
        )
    assert matches.columns == [
        *("event_id", "subscription_id", "version"),
        *("a", "id", "tags", "owner"),
    ]
    assert dict(matches.dtypes)["tags"] == "array<int>"
    found = sorted(tuple(row) for row in matches.collect())
    assert found == [(1, 1, 7, 1, 1, [1, 2], "ada"), (2, 2, 8, 2, 2, None, None)]


# Limits.


def test_a_limit_is_for_each_event(spark: SparkSession) -> None:
    subscriptions = {str(number): f"a < {number}" for number in range(10)}
    rows = [{"id": number, "a": number} for number in range(12)]
    events = events_frame(spark, rows, {"a": pa.int64()})
    table = subscriptions_frame(spark, subscriptions)
    expected = oracle(rows, subscriptions)
    found = pairs(tamis.spark.match(events, table, limit=3))
    assert found <= expected
    every = Counter(event for event, _ in expected)
    assert Counter(event for event, _ in found) == {id: min(3, n) for id, n in every.items()}
    assert pairs(tamis.spark.match(events, table, limit=0)) == set()
    assert pairs(tamis.spark.match(events, table, limit=100)) == expected


def test_limits_of_the_engine_hold_in_executors(spark: SparkSession) -> None:
    fields = {name: pa.list_(pa.int64()) for name in "ab"}
    events = events_frame(spark, [{"id": 1, "a": [1, 2, 3], "b": [1, 2, 3]}], fields)
    text = f"a + b < {2**64 - 1}"  # beyond what columns calculate with: the oracle decides
    table = subscriptions_frame(spark, {"s": text})
    small = tamis.Limits(bindings=4)
    engine = tamis.Engine(limits=small)
    with pytest.warns(tamis.CostlyWarning):
        engine.subscribe(text, id="s")
    with pytest.warns(tamis.IncompleteWarning):
        assert engine.match({"a": [1, 2, 3], "b": [1, 2, 3]}) == []
    assert pairs(tamis.spark.match(events, table)) == {(1, "s")}
    for subscriptions, limits in ((table, {"limits": small}), (engine, {})):
        found = tamis.spark.match(events, subscriptions, on_error="collect", **limits)
        matches, rejected = tamis.spark.divided(found)
        assert pairs(matches) == set()
        (row,) = rejected.collect()
        assert (row.event_id, json.loads(row.text)) == (1, {"a": [1, 2, 3], "b": [1, 2, 3]})
        assert row.reason.startswith("the subscription 's' cannot be decided: ")
        assert pairs(tamis.spark.match(events, subscriptions, on_error="skip", **limits)) == set()
        with pytest.raises(PySparkException, match="the event 1: the subscription 's' cannot be"):
            tamis.spark.match(events, subscriptions, **limits).collect()


# Repeated events.


def test_repeated_events_in_a_batch(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [
        {"id": number % 3, "at": NOON + timedelta(hours=number), "a": 1} for number in range(9)
    ]
    events = events_frame(spark, rows, {"at": pa.timestamp("us", "UTC"), "a": pa.int64()})
    table = subscriptions_frame(spark, {"s": "a = 1", "t": "true"})
    matches = tamis.spark.match(events, table, deduplicate=("at", "10 minutes"))
    assert pairs(matches) == {(id, s) for id in range(3) for s in "st"}
    assert tamis.spark.match(events, table).count() == 18


def test_repeated_events_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "events"
    source.mkdir()
    files: list[list[tuple[int, int]]] = [  # id and minutes after noon
        [(1, 0), (1, 0)],
        [(1, 5), (2, 60)],
        [(2, 61), (3, 60)],
        [(1, 120)],
    ]
    for number, file in enumerate(files):
        rows = [
            {"id": id, "at": NOON + timedelta(minutes=late), "minute": late} for id, late in file
        ]
        path = source / f"{number}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    stream = spark.readStream.schema("id long, at timestamp, minute long")
    events = stream.option("maxFilesPerTrigger", 1).parquet(str(source))
    table = subscriptions_frame(spark, {"s": "true"})
    matches = tamis.spark.match(events, table, keep=["minute"], deduplicate=("at", "10 minutes"))
    assert matches.isStreaming
    found = sorted((row["event_id"], row["minute"]) for row in drained(matches, tmp_path).collect())
    assert found == [(1, 0), (1, 120), (2, 60), (3, 60)]
