"""Events that cannot be read: they fail the job, are skipped, or become rows with a reason."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from rich.console import Console

import tamis
from tamis.spark import divided, match, watch
from tests.spark.oracle import events_frame, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS = {"cheap": "price < 5", "any": "price is present or note is present"}

DOCUMENTS = {
    1: ('{"price": 3}', None),
    2: ('{"price": 3', "not valid JSON: expecting ',' delimiter at line 1, column 12"),
    3: (None, None),
    4: ("[1, 2]", "a JSON event is an object, not an array"),
    5: ('{"price": 30}', None),
    6: ('{"price": 1, "price": 2}', "the key 'price' stands twice in one object"),
    7: (json.dumps({"note": "x" * 200}), "a string of 200 at 'note': the limit is 100"),
    8: ("", "not valid JSON: an empty document"),
    9: ('{"price": 4}', None),
}
MATCHES = {(1, "cheap"), (1, "any"), (5, "any"), (9, "cheap"), (9, "any")}


@pytest.fixture
def documents(spark: SparkSession) -> DataFrame:
    rows = [(id, text, f"offset {id}") for id, (text, _) in DOCUMENTS.items()]
    return spark.createDataFrame(rows, "id long, raw string, place string").repartition(2)


def found(events: DataFrame, on_error: Any, **options: Any) -> DataFrame:
    table = subscriptions_frame(events.sparkSession, SUBSCRIPTIONS)
    return match(events, table, on_error=on_error, limits=tamis.Limits(string=100), **options)


def check_rejected(rejected: DataFrame) -> None:
    said = {row["event_id"]: row for row in rejected.collect()}
    assert said.keys() == {id for id, (_, reason) in DOCUMENTS.items() if reason}
    for id, row in said.items():
        assert (row["text"], row["reason"]) == DOCUMENTS[id]
        assert row["place"] == f"offset {id}"


def test_collect(documents: DataFrame) -> None:
    every = found(documents, "collect", column="raw", keep=["place"])
    assert every.columns[-3:] == ["place", "text", "reason"]
    matches, rejected = divided(every, keep=["place"])
    assert pairs(matches) == MATCHES
    assert matches.columns == ["event_id", "subscription_id", "version", "place"]
    check_rejected(rejected)
    assert every.count() == len(MATCHES) + rejected.count()


def test_skip(documents: DataFrame) -> None:
    matches = found(documents, "skip", column="raw")
    assert matches.columns == ["event_id", "subscription_id", "version"]
    assert pairs(matches) == MATCHES


def test_fail(documents: DataFrame) -> None:
    with pytest.raises(Exception, match="the event 2: not valid JSON: expecting"):
        found(documents.where("id = 2"), "fail", column="raw").count()
    assert pairs(found(documents.where("id in (1, 3)"), "fail", column="raw")) == {
        (1, "cheap"),
        (1, "any"),
    }


def test_columns_beyond_a_limit(spark: SparkSession) -> None:
    """The rows of a batch that are too large are found when something has to read them."""
    rows: list[dict[str, Any]] = [{"id": id, "note": "a" * id, "price": 3} for id in range(150)]
    events = events_frame(spark, rows, {"note": pa.string(), "price": pa.int64()})
    huge = 2**64 - 1  # beyond what columns calculate with: the oracle decides
    text = f"note matches '^(a|b)+$' and (price * 2 < {huge}) is true"
    table = subscriptions_frame(spark, {"s": text})
    limits = tamis.Limits(string=100)
    matches, rejected = divided(match(events, table, limits=limits, on_error="collect"))
    seen = {row["event_id"]: row for row in rejected.collect()}
    assert seen.keys() == set(range(101, 150))
    assert pairs(matches) == {(id, "s") for id in range(1, 101)}
    for id, row in seen.items():
        assert row["reason"] == f"a string of {id} at 'note': the limit is 100"
        assert json.loads(row["text"]) == {"note": "a" * id, "price": 3}


def test_a_stream_counts_them(documents: DataFrame, tmp_path: Path) -> None:
    spark = documents.sparkSession
    documents.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(documents.schema).parquet(str(tmp_path / "in"))
    expected = sum(reason is not None for _, reason in DOCUMENTS.values())
    for on_error in ("collect", "skip"):
        out = tmp_path / on_error
        writer = found(stream, on_error, column="raw", keep=["place"]).writeStream
        writer = writer.format("parquet").option("path", str(out / "found"))
        writer = writer.option("checkpointLocation", str(out / "checkpoint"))
        printed = io.StringIO()
        summary = watch(
            writer.trigger(availableNow=True).start(), console=Console(file=printed, width=200)
        )
        assert (summary.events, summary.matches) == (len(DOCUMENTS), len(MATCHES))
        assert summary.rejected == expected
        assert f"{expected} events rejected" in printed.getvalue()
        every = spark.read.parquet(str(out / "found"))
        if on_error == "collect":
            check_rejected(divided(every, keep=["place"]).rejected)
            every = divided(every).matches
        assert pairs(every) == MATCHES


def test_what_is_refused(documents: DataFrame) -> None:
    with pytest.raises(tamis.TamisError, match="on_error must be 'fail', 'skip' or 'collect'"):
        found(documents, "ignore", column="raw")
    table = documents.withColumnRenamed("place", "reason")
    with pytest.raises(tamis.TamisError, match="already have a column 'reason': rename"):
        found(table, "collect", column="raw", keep=["reason"])
    with pytest.raises(tamis.TamisError, match="the result has no column 'text'"):
        divided(found(documents, "skip", column="raw"))
