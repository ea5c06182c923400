"""DataFrames and streams held against a schema, and schemas of DataFrames."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tests.schemas import E1, E2, PAPER, paper_schema
from tests.spark.oracle import drained, events_frame, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS: dict[str, Any] = {
    "event_type": pa.list_(pa.string()),
    "price": pa.float64(),
    "period": pa.string(),
    "quantity": pa.int32(),
    "furniture_category": pa.string(),
}
ROWS: list[dict[str, Any]] = [
    {"id": n, **event}
    for n, event in enumerate(
        [
            E1,
            E2,
            {**E1, "event_type": None},
            {**E1, "event_type": ["antiques"]},
            {**E1, "period": "XIX"},
            {**E1, "price": float("nan")},
            {**E1, "price": 5},
        ]
    )
]
RULES = {1: "R2", 2: "R1", 3: "R3", 4: "R2", 5: "R2"}


def rules(rejected: DataFrame) -> dict[int, str]:
    rows = rejected.select("id", "rule").collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["rule"] for row in rows}


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def test_columns(spark: SparkSession) -> None:
    events = events_frame(spark, ROWS, FIELDS)
    valid, rejected = tamis.spark.validate(events, paper_schema(), ignore=["id"])
    assert valid.schema == events.schema
    assert rejected.columns == [*events.columns, "rule", "reason"]
    assert ids(valid) == [0, 6]
    assert rules(rejected) == RULES
    reasons = {row["id"]: row["reason"] for row in rejected.collect()}
    assert reasons[1] == "'furniture_category' is missing; it is mandatory in furniture"
    kept = {row["id"]: row.asDict() for row in valid.collect()}
    assert kept[0]["event_type"] == ["antiques", "furniture"]
    assert kept[0]["price"] == 200.0


@pytest.mark.parametrize("form", ["json", "map", "struct"])
def test_one_column(spark: SparkSession, form: str) -> None:
    from pyspark.sql import functions

    if form == "struct":
        frame = events_frame(spark, ROWS, FIELDS)
        packed = frame.select("id", functions.struct(*FIELDS).alias("event"))
        found = tamis.spark.validate(packed, paper_schema(), column="event")
        assert (ids(found.valid), rules(found.rejected)) == ([0, 6], RULES)
    elif form == "json":
        documents = [
            (row["id"], json.dumps({k: v for k, v in row.items() if k != "id"})) for row in ROWS[:5]
        ]
        packed = spark.createDataFrame([*documents, (5, "{"), (6, None)], "id long, event string")
        found = tamis.spark.validate(packed, paper_schema(), column="event")
        assert ids(found.valid) == [0]
        assert rules(found.rejected) == {
            1: "R2",
            2: "R1",
            3: "R3",
            4: "R2",
            5: "unreadable",
            6: "R1",
        }
    else:
        texts = {"price": "200", "quantity": "2", "furniture_category": "table"}
        packed = spark.createDataFrame(
            [(0, texts), (1, {**texts, "price": "dear"}), (2, {"price": "1"})],
            "id long, event map<string,string>",
        )
        found = tamis.spark.validate(packed, paper_schema(), column="event", types=["furniture"])
        assert (ids(found.valid), rules(found.rejected)) == ([0], {1: "R2", 2: "R2"})


def test_columns_of_every_type_stay_as_they_were(spark: SparkSession) -> None:
    frame = spark.sql("""
        SELECT 1 AS id, 'a' AS `odd.name`, CAST(1.50 AS decimal(10,2)) AS d, true AS b,
               timestamp '2026-01-01 10:00:00' AS at, timestamp_ntz '2026-01-01 10:00:00' AS ntz,
               date '2026-01-01' AS day, X'00ff' AS raw, array(1, null) AS l, map('k', 1) AS m,
               named_struct('x', array(named_struct('y', 'z'))) AS s, CAST(null AS string) AS n
    """)
    schema = tamis.Schema(
        attributes={
            "`odd.name`": "string",
            "d": "number",
            "b": "boolean",
            "at": "timestamp",
            "ntz": "timestamp",
            "day": "timestamp",
            "raw": "bytes",
            "l": "integer",
            "m.k": "integer",
            "s.x.y": "string",
        }
    )
    every = dict.fromkeys(schema.to_json()["attributes"], "mandatory multiple")
    schema = schema.extend({"types": {"t": every}})
    valid, rejected = tamis.spark.validate(frame, schema, ignore=["id"], types=["t"])
    assert valid.schema == frame.schema
    assert valid.collect() == frame.collect()
    assert rejected.count() == 0


def test_timestamps_in_strings(spark: SparkSession) -> None:
    schema = tamis.Schema(attributes={"at": "timestamp"}, types={"t": {"at": "mandatory unique"}})
    frame = spark.createDataFrame([(1, "2026-01-01"), (2, "soon")], "id long, at string")
    found = tamis.spark.validate(frame, schema, ignore=["id"], types=["t"])
    assert [tuple(row) for row in found.valid.collect()] == [(1, "2026-01-01")]
    assert rules(found.rejected) == {2: "R2"}


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    events_frame(spark, ROWS, FIELDS).write.parquet(str(tmp_path / "events"))
    schema = spark.read.parquet(str(tmp_path / "events")).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "events"))
    found = tamis.spark.validate(stream, paper_schema(), ignore=["id"])
    assert found.valid.isStreaming
    assert ids(drained(found.valid, tmp_path / "valid")) == [0, 6]
    assert rules(drained(found.rejected, tmp_path / "rejected")) == RULES


def test_what_cannot_be_validated(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2)], "id long, price long")
    schema = paper_schema()
    for problem, arguments in {
        "no column 'ident'": {"ignore": ["ident"]},
        "is of type bigint: a column of whole events": {"column": "price"},
        "unknown event type 'sofa'": {"types": ["sofa"]},
    }.items():
        with pytest.raises(tamis.TamisError, match=problem):
            tamis.spark.validate(frame, schema, **arguments)
    with pytest.raises(tamis.TamisError, match="rejected events get a column 'rule'"):
        tamis.spark.validate(frame.withColumnRenamed("id", "rule"), schema)
    with pytest.raises(tamis.TamisError, match=r"schema must be a tamis\.Schema, not dict"):
        tamis.spark.validate(frame, PAPER)
    with pytest.raises(tamis.TamisError, match="events must be a Spark DataFrame, not list"):
        tamis.spark.validate([E1], schema)


def test_matching_by_a_schema(spark: SparkSession) -> None:
    schema = paper_schema().extend({"attributes": {"sold": "timestamp"}})
    subscriptions = {
        1: "event_type contains 'antiques' and furniture_category <= 'table'",
        2: "sold < '2026-01-01' and period >= 'XVI'",
        3: "period > 'XVI'",
    }
    rows = [{**row, "sold": "2025-05-05"} for row in ROWS[:2]]
    events = events_frame(spark, rows, {**FIELDS, "sold": pa.string()})
    table = subscriptions_frame(spark, subscriptions)
    expected = {(0, 1), (0, 2), (1, 2), (1, 3)}
    engine = tamis.Engine(schema=schema)
    engine.subscribe_many({str(id): text for id, text in subscriptions.items()})
    for given, settings in ((table, {"schema": schema}), (engine, {})):
        found = tamis.spark.match(events, given, **settings).collect()
        assert {(row["event_id"], int(row["subscription_id"])) for row in found} == expected
    faulty = subscriptions_frame(spark, {1: "prise < 5"})
    assert tamis.spark.Index.of(faulty, schema=schema).rejected.num_rows == 1


# Schemas of DataFrames.


def test_schemas_there_and_back() -> None:
    schema = paper_schema()
    columns = tamis.spark.to_spark(schema)
    assert columns.simpleString() == (
        "struct<event_type:array<string>,price:double,period:string,quantity:bigint,"
        "furniture_category:string,material:string>"
    )
    assert not columns["price"].nullable
    assert tamis.spark.from_spark(columns) == schema


def test_schemas_of_other_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [(1, datetime(2026, 1, 1, tzinfo=UTC), ["x"])],
        "id long not null, at timestamp, tags array<string>",
    )
    schema = tamis.spark.from_spark(frame.schema, type="row")
    assert schema.attributes == {("id",): "integer", ("at",): "timestamp", ("tags",): "string"}
    assert tamis.spark.validate(frame, schema, types=["row"]).valid.count() == 1
    for value in ("interval '1' day", "map('k', 1)", "make_interval(1)"):
        columns = spark.sql(f"SELECT {value} AS x").schema
        with pytest.raises(tamis.SchemaError, match="cast or drop it"):
            tamis.spark.from_spark(columns)
