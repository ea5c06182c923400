"""What Spark must find, by the oracle, and what it found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import tamis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pairs = set[tuple[Any, Any]]


def oracle(
    events: Iterable[Mapping[str, Any]],
    subscriptions: Mapping[Any, str],
    taxonomy: Mapping[str, Any] | None = None,
) -> Pairs:
    """The pairs of an event's ``id`` and a subscription's id that the plain scan finds."""
    engine = tamis.Engine(matcher="scan", taxonomy=taxonomy)
    keys = {str(key): key for key in subscriptions}
    engine.subscribe_many({str(key): text for key, text in subscriptions.items()})
    return {(event["id"], keys[id]) for event in events for id in engine.match(event)}


def pairs(matches: DataFrame) -> Pairs:
    """The pairs of a result, which must have none twice."""
    rows = [(row["event_id"], row["subscription_id"]) for row in matches.collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


def subscriptions_frame(spark: SparkSession, subscriptions: Mapping[Any, str]) -> DataFrame:
    """A table of subscriptions, whose ids keep their type."""
    return spark.createDataFrame(
        pa.table({"id": list(subscriptions), "subscription": list(subscriptions.values())})
    )


def events_frame(
    spark: SparkSession, rows: list[dict[str, Any]], fields: Mapping[str, Any]
) -> DataFrame:
    """Events as a DataFrame of the Arrow types given and a long ``id``, over two partitions."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = pa.schema({"id": pa.int64(), **fields})
    types = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema), types).repartition(2)


def drained(matches: DataFrame, folder: Path) -> DataFrame:
    """What a stream gives until there is nothing more to read."""
    writer = matches.writeStream.format("parquet").option("path", str(folder / "found"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return matches.sparkSession.read.schema(matches.schema).parquet(str(folder / "found"))
