"""Streams: what a micro-batch sees of subscriptions that change, and how a stream is followed."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from rich.console import Console

import tamis
from tamis.spark import Index, Snapshots, match, watch
from tests.spark.oracle import drained, events_frame, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Stream:
    """A stream of files of events, put there one by one."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.source = folder / "events"
        self.source.mkdir()
        self.count = 0

    def put(self, *values: int) -> None:
        """A file of events, whose ids count on."""
        rows = [{"id": self.count + place, "x": x} for place, x in enumerate(values)]
        self.count += len(rows)
        temporary = self.source / "_next"
        parquet.write_table(pa.Table.from_pylist(rows), temporary)
        temporary.rename(self.source / f"{self.count:06d}.parquet")

    def events(self) -> DataFrame:
        reader = self.spark.readStream.schema("id long, x long")
        return reader.option("maxFilesPerTrigger", 1).parquet(str(self.source))

    def start(self, matches: DataFrame) -> Any:
        writer = matches.writeStream.format("parquet").option("path", str(self.folder / "found"))
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def found(self) -> list[tuple[Any, ...]]:
        frame = self.spark.read.parquet(str(self.folder / "found"))
        return sorted(
            (row["event_id"], row["subscription_id"], row["version"]) for row in frame.collect()
        )


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


@pytest.fixture
def table() -> dict[str, tuple[str, int]]:
    return {"a": ("x = 1", 1), "b": ("x > 5", 1)}


@pytest.fixture
def snapshots(table: dict[str, tuple[str, int]], tmp_path: Path) -> Snapshots:
    def source() -> list[dict[str, Any]]:
        return [
            {"id": id, "subscription": text, "version": version}
            for id, (text, version) in table.items()
        ]

    return Snapshots(tmp_path / "snapshots", source)


def test_a_change_is_seen_from_the_next_batch_on(
    stream: Stream, snapshots: Snapshots, table: dict[str, tuple[str, int]]
) -> None:
    query = stream.start(match(stream.events(), snapshots))
    try:
        stream.put(1, 6, 2)
        query.processAllAvailable()
        table |= {"a": ("x = 2", 2), "c": ("x is present", 1)}
        del table["b"]
        stream.put(1, 6, 2)  # nobody has looked yet
        query.processAllAvailable()
        assert snapshots.refresh() == 2
        stream.put(1, 6, 2)
        query.processAllAvailable()
    finally:
        query.stop()
    assert stream.found() == [
        *((0, "a", 1), (1, "b", 1)),
        *((3, "a", 1), (4, "b", 1)),
        *((6, "c", 1), (7, "c", 1), (8, "a", 2), (8, "c", 1)),
    ]
    seen = [snapshots.seen_by(str(query.id), batch) for batch in range(4)]
    assert seen == [1, 1, 2, None]
    assert snapshots.seen_by("another", 0) is None


def test_a_replay_sees_what_the_batch_saw(
    stream: Stream, snapshots: Snapshots, table: dict[str, tuple[str, int]]
) -> None:
    """As after a crash: the commit of the last batch is lost, and it runs again."""
    query = stream.start(match(stream.events(), snapshots))
    stream.put(1, 6)
    query.processAllAvailable()
    query.stop()
    for lost in ("checkpoint/commits", "found"):
        shutil.rmtree(stream.folder / lost)
    table["a"] = ("x = 6", 2)
    for _ in range(6):  # so many that the first would be deleted if nobody had claimed it
        table["b"] = ("x > 5", table["b"][1] + 1)
        snapshots.refresh()
    stream.put(1, 6)
    query = stream.start(match(stream.events(), snapshots))
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert stream.found() == [(0, "a", 1), (1, "b", 1), (3, "a", 2), (3, "b", 7)]


def test_a_folder_that_is_made_anew(stream: Stream, tmp_path: Path) -> None:
    """Workers live on, and must not take the new files for the old ones."""
    for number in range(2):
        folder = tmp_path / "snapshots"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(tmp_path / "found", ignore_errors=True)
        shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
        rows = {f"s{number}": "x is present"}
        snapshots = Snapshots(folder, lambda rows=rows: rows)  # type: ignore[misc]
        stream.put(1)
        found = drained(match(stream.events(), snapshots), tmp_path)
        assert {id for _, id in pairs(found)} == {f"s{number}"}


def test_columns_that_no_subscription_asks_for_yet(
    stream: Stream, tmp_path: Path, spark: SparkSession
) -> None:
    table: dict[str, str] = {}
    snapshots = Snapshots(tmp_path / "snapshots", lambda: table)
    query = stream.start(match(stream.events(), snapshots))
    try:
        stream.put(1)
        query.processAllAvailable()
        table["late"] = "x = 1"
        snapshots.refresh()
        stream.put(1)
        query.processAllAvailable()
    finally:
        query.stop()
    assert stream.found() == [(1, "late", None)]


def test_a_stream_against_a_table(stream: Stream, spark: SparkSession, tmp_path: Path) -> None:
    stream.put(1, 2)
    stream.put(2, 1)
    matches = match(stream.events(), subscriptions_frame(spark, {7: "x = 1"}), keep=["x"])
    assert matches.isStreaming
    found = drained(matches, tmp_path)
    assert sorted(tuple(row) for row in found.collect()) == [(0, 7, None, 1), (3, 7, None, 1)]


def test_a_folder_that_is_gone(stream: Stream, snapshots: Snapshots, tmp_path: Path) -> None:
    matches = match(stream.events(), snapshots)
    shutil.rmtree(tmp_path / "snapshots")
    stream.put(1)
    query = stream.start(matches)
    with pytest.raises(Exception, match=r"no snapshots in .*: all nodes must see"):
        query.awaitTermination(60)


def test_a_snapshot_that_is_gone(stream: Stream, snapshots: Snapshots, tmp_path: Path) -> None:
    matches = match(stream.events(), snapshots)
    stream.put(1)
    query = stream.start(matches)
    query.processAllAvailable()
    query.stop()
    for lost in ("checkpoint/commits", "found"):
        shutil.rmtree(tmp_path / lost)
    snapshots.file.unlink()
    query = stream.start(matches)
    with pytest.raises(Exception, match=r"executor finds no snapshot .*000001\.index"):
        query.awaitTermination(60)


def test_snapshots_are_not_for_other_jobs(spark: SparkSession, snapshots: Snapshots) -> None:
    def asked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source.path()
        yield from batches

    source = snapshots.source()
    with pytest.raises(Exception, match="Snapshots work only in the micro-batches"):
        spark.range(1).mapInArrow(asked, "id long").collect()
    assert pairs(match(events_frame(spark, [{"id": 1, "x": 1}], {"x": pa.int64()}), snapshots)) == {
        (1, "a")
    }


# Following.


def test_following_a_stream(
    stream: Stream, snapshots: Snapshots, table: dict[str, tuple[str, int]]
) -> None:
    for values in ((1, 6), (2,), (7, 8, 1)):
        stream.put(*values)
    writer = match(stream.events(), snapshots).writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(stream.folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    out = io.StringIO()
    summary = watch(query, snapshots=snapshots, console=Console(file=out, width=200))
    assert (summary.batches, summary.events, summary.matches) == (3, 6, 5)
    assert (summary.snapshot, summary.stopped) == (1, False)
    assert summary.busy_seconds > 0
    first, *_, last = out.getvalue().splitlines()
    assert first.startswith("batch 0: ")
    assert first.endswith(", subscriptions version 1")
    assert last == str(summary)
    assert last.startswith("ended after 3 batches in ")
    assert "6 events (" in last
    assert "5 matches (" in last


def test_the_error_of_a_stream_is_raised(stream: Stream, spark: SparkSession) -> None:
    stream.put(1)
    events = stream.events().selectExpr("id", "'{' AS document")
    engine = tamis.Engine()
    engine.subscribe("x = 1", id="s")
    query = match(events, Index(engine), column="document").writeStream.format("noop").start()
    with pytest.raises(Exception, match="the event 0: not valid JSON"):
        watch(query, console=Console(file=io.StringIO()))
