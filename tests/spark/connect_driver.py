"""Matching through Spark Connect, in a process of its own, since it can have one kind of session.

    python connect_driver.py FOLDER

Prints a line for each part that went well.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

import tamis
from tamis.spark import Index, Snapshots, match, register, watch
from tamis.spark.pipeline import EventSource, Parquet, Pipeline
from tests.spark.oracle import oracle, pairs

SUBSCRIPTIONS = {1: "category = 'Toy' and price < 5", 2: "price >= 100 or tags = 'new'", 3: "true"}
EVENTS: list[dict[str, Any]] = [
    {"id": "a", "category": "Toy", "price": 3.5, "tags": ["old"]},
    {"id": "b", "category": None, "price": 100.0, "tags": None},
    {"id": "c", "category": "Toy", "price": 5.0, "tags": ["old", "new"]},
]


def main(folder: Path) -> None:
    builder = SparkSession.builder.remote("local[2]")  # a plain one, without our settings
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", 2)
    session = builder.getOrCreate()
    assert type(session).__module__.startswith("pyspark.sql.connect")
    expected = oracle(EVENTS, SUBSCRIPTIONS)
    rows = [(row["id"], row["category"], row["price"], row["tags"]) for row in EVENTS]
    types = "id string, category string, price double, tags array<string>"
    events = session.createDataFrame(rows, types).repartition(2)
    table = session.createDataFrame(list(SUBSCRIPTIONS.items()), "id long, subscription string")

    matches = match(events, table, keep=["price"])
    assert matches.dtypes[1] == ("subscription_id", "bigint")
    assert pairs(matches) == expected
    print("frame", flush=True)

    index = Index.of(table)
    assert pairs(match(events, index)) == expected
    assert pairs(match(events, index, limit=1)) < expected
    index.save(folder / "saved")
    assert pairs(match(events, folder / "saved")) == expected
    print("index", flush=True)

    documents = session.createDataFrame(
        [(row["id"], json.dumps(row)) for row in EVENTS], "id string, j string"
    )
    assert pairs(match(documents, index, column="j")) == expected
    try:
        match(events, table, event_id="ident")
    except tamis.TamisError as error:
        assert "no column 'ident'" in str(error)
    source = EventSource("json", str(folder))
    pipeline = Pipeline(source, dict, [Parquet(str(folder / "out"))], str(folder / "state"))
    (problem,) = pipeline.check(session)
    assert "Spark Connect gives no access" in problem
    print("errors", flush=True)

    stream(session, folder)
    print("stream", flush=True)

    events.createOrReplaceTempView("auctions")
    register(session, "alerts", index)
    found = session.sql("SELECT * FROM alerts(TABLE(auctions))")
    assert pairs(found) == expected
    print("register", flush=True)
    session.stop()


def stream(session: Any, folder: Path) -> None:
    (folder / "events").mkdir()
    for file in range(2):
        lines = [json.dumps({"id": file * 10 + x, "x": x}) for x in range(10)]
        (folder / "events" / f"{file}.json").write_text("\n".join(lines))
    rules = {"s": "x < 5"}
    snapshots = Snapshots(folder / "snapshots", lambda: rules)
    reader = session.readStream.schema("id long, x long").option("maxFilesPerTrigger", 1)
    events = reader.json(str(folder / "events")).repartition(2)
    writer = match(events, snapshots).writeStream.format("parquet")
    writer = writer.option("path", str(folder / "found"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    for turn in range(2):
        query = writer.trigger(availableNow=True).start()
        summary = watch(query, snapshots=snapshots, console=Console(file=io.StringIO()))
        counts = (summary.events, summary.matches, summary.snapshot)
        assert counts == ((20, 10, 1), (10, 1, 2))[turn], summary
        rules["s"] = "x = 9"
        snapshots.refresh()
        lines = [json.dumps({"id": 20 + x, "x": x}) for x in range(10)]
        (folder / "events" / "2.json").write_text("\n".join(lines))
    expected = {(file * 10 + x, "s") for file in range(2) for x in range(5)} | {(29, "s")}
    assert pairs(session.read.parquet(str(folder / "found"))) == expected


if __name__ == "__main__":
    main(Path(sys.argv[1]))
