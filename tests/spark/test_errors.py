"""What cannot work is said before a job starts, and says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tests.spark.oracle import events_frame, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS = {"s": "price < 5"}


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return events_frame(spark, [{"id": 1, "price": 3.0}], {"price": pa.float64()})


@pytest.fixture
def table(spark: SparkSession) -> DataFrame:
    return subscriptions_frame(spark, SUBSCRIPTIONS)


# The table of events.


@pytest.mark.parametrize(
    "options, message",
    [
        ({"event_id": "ident"}, "events has no column 'ident'; it has id, price"),
        ({"column": "prize"}, "no column 'prize'; did you mean 'price'"),
        ({"keep": ["prices"]}, "no column 'prices'; did you mean 'price'"),
        ({"keep": ["price", "price"]}, "matches already have a column 'price'"),
        ({"column": "price"}, "column 'price' is of type double: a column of whole events must"),
        ({"subscription_columns": ["owner"]}, "subscriptions has no column 'owner'"),
        ({"subscription_columns": ["id"]}, "the name 'id' is reserved in matches: rename"),
        ({"subscription_columns": ["version"]}, "matches already have a column 'version'"),
        ({"deduplicate": "at"}, "deduplicate must be a column of timestamps and a delay"),
        ({"deduplicate": ("at", "1 minute")}, "no column 'at'"),
        ({"limit": -1}, "limit must be a number of matches, not -1"),
        ({"limit": "3"}, "limit must be a number of matches, not '3'"),
        ({"errors": "ignore"}, "errors must be 'raise' or 'collect', not 'ignore'"),
    ],
    ids=str,
)
def test_arguments(
    events: DataFrame, table: DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(tamis.TamisError, match=message):
        tamis.spark.match(events, table, **options)


def test_a_column_of_both_tables(spark: SparkSession, events: DataFrame) -> None:
    table = spark.sql("SELECT 's' AS id, 'price < 5' AS subscription, 1 AS price")
    with pytest.raises(tamis.TamisError, match="matches already have a column 'price': rename"):
        tamis.spark.match(events, table, keep=["price"], subscription_columns=["price"])


@pytest.mark.parametrize("name", ["event_id", "subscription_id", "version"])
def test_kept_columns_must_not_hide_those_of_a_match(
    spark: SparkSession, table: DataFrame, name: str
) -> None:
    events = spark.sql(f"SELECT 1 AS id, 2 AS {name}")
    with pytest.raises(tamis.TamisError, match=f"already have a column '{name}': rename"):
        tamis.spark.match(events, table, keep=[name])


def test_two_columns_of_one_name(spark: SparkSession, events: DataFrame, table: DataFrame) -> None:
    with pytest.raises(tamis.TamisError, match="events has two columns 'a'; rename or drop one"):
        tamis.spark.match(spark.sql("SELECT 1 AS id, 2 AS a, 3 AS a"), table)
    twice = spark.sql("SELECT 1 AS id, 'a = 1' AS subscription, 2 AS id")
    with pytest.raises(tamis.TamisError, match="subscriptions has two columns 'id'"):
        tamis.spark.match(events, twice)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("INTERVAL '1' DAY", "column 'price' is of type duration.*: no value of an event has"),
        ("INTERVAL '1' YEAR", "column 'price' .* is of type interval year, which Spark cannot"),
        ("TIME'12:00:00'", "column 'price' is of type time"),
        ("map(1, 2)", "the keys of a map must be strings; cast or drop it"),
        ("named_struct('a', array(INTERVAL '1' DAY))", r"column 'price\.a' is of type duration"),
        ("named_struct('a', 1, 'a', 2)", r"two columns are named 'price\.a'"),
    ],
)
def test_types_that_no_event_can_hold(
    spark: SparkSession, table: DataFrame, expression: str, message: str
) -> None:
    frame = spark.sql(f"SELECT 1 AS id, {expression} AS price")
    with pytest.raises(tamis.TamisError, match=message):
        tamis.spark.match(frame, table)
    others = subscriptions_frame(table.sparkSession, {"s": "id = 1"})
    assert tamis.spark.match(frame, others).count() == 1  # nobody asks for it


def test_events_that_are_no_frame(table: DataFrame) -> None:
    with pytest.raises(tamis.TamisError, match=r"not list; .* use Engine.match_batch"):
        tamis.spark.match([{"id": 1}], table)


# The table of subscriptions.


@pytest.mark.parametrize(
    "query, message",
    [
        ("SELECT 1 AS key, 'a' AS subscription", "subscriptions has no column 'id'; it has key"),
        ("SELECT 1 AS id, 'a' AS subscriptions", "did you mean 'subscriptions'"),
        (
            "SELECT 1.5D AS id, 'a' AS subscription",
            "'id' .* must be a string or an integer, not double",
        ),
        ("SELECT 1 AS id, 2 AS subscription", "'subscription' .* must be text, not int32: cast it"),
    ],
)
def test_tables_of_subscriptions(
    spark: SparkSession, events: DataFrame, query: str, message: str
) -> None:
    with pytest.raises(tamis.TamisError, match=message):
        tamis.spark.match(events, spark.sql(query))
    with pytest.raises(tamis.TamisError, match=message):
        tamis.spark.Index.of(spark.sql(query).toArrow())


def test_things_that_are_no_subscriptions(spark: SparkSession, events: DataFrame) -> None:
    for given in (["a = 1"], {"s": "a = 1"}, None, pa.table({"id": [1]})):
        with pytest.raises(tamis.TamisError, match="subscriptions must be a Spark DataFrame, an"):
            tamis.spark.match(events, given)


def test_a_stream_of_subscriptions(spark: SparkSession, events: DataFrame) -> None:
    stream = spark.readStream.format("rate").load()
    table = stream.selectExpr("value AS id", "'true' AS subscription")
    with pytest.raises(tamis.TamisError, match=r"a stream cannot hold subscriptions: .* Snapshots"):
        tamis.spark.match(events, table)


# Files.


def test_a_missing_index(events: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(tamis.StorageError, match=r"cannot read .*nowhere: No such file"):
        tamis.spark.match(events, tmp_path / "nowhere")


def test_a_file_that_is_no_index(events: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("price < 5")
    with pytest.raises(tamis.StorageError, match="is not a file of arrays"):
        tamis.spark.match(events, path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "columns"])
def test_a_damaged_index(events: DataFrame, table: DataFrame, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "saved"
    index = tamis.spark.Index.of(table)
    index.save(path)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[-70:]
    elif damage == "flipped":
        content[-70] ^= 4
    path.write_bytes(content)
    if damage == "columns":
        index.engine.attachments["columns"] = b"ARROW1 or not"
        index.engine.save(path)
    with pytest.raises(tamis.StorageError, match="damaged"):
        tamis.spark.match(events, str(path))
