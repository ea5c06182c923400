"""W2 as documents on Spark, local[2]: matching against merely counting, and against row by row.

    python -m benchmarks.pipeline_json [--quick] [--output FILE.json] [--markdown]

Events lie in Parquet in three forms: JSON strings, variants, columns. All ways are timed in one
run, each the best of three after a warm-up, and must find as many matches.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from rich.console import Console

import tamis.spark
from benchmarks.report import Run, complain, end_run, markdown_table, rich_table
from benchmarks.spark import ATTRIBUTES, Bench
from tamis.model.events.json_events import read_json
from tamis.spark.index.shipping import ship
from tamis.spark.worker import opened

EVENTS, QUICK, SLOW = 4_000_000, 400_000, 10
"""Events; of them one in ``SLOW`` is read row by row."""
Batches = Iterator[pa.RecordBatch]


def counting(events: DataFrame) -> DataFrame:
    """A mapInArrow that only counts rows."""

    def counted(batches: Batches) -> Batches:
        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pydict({"rows": [rows]})

    return events.mapInArrow(counted, "rows long")


def row_by_row(bench: Bench, size: int) -> Callable[[DataFrame], DataFrame]:
    """Each document read in Python, as an event."""
    source = ship(bench.session, bench.index("w2", size))

    def matched(batches: Batches) -> Batches:
        engine = opened(source.path()).engine
        for batch in batches:
            texts = batch.column("event").to_pylist()
            events = [read_json(str(text)) for text in texts]
            for chunk in engine.match_chunks(events):
                yield pa.RecordBatch.from_arrays(
                    [batch.column("id").take(chunk.event)], names=["id"]
                )

    return lambda events: events.mapInArrow(matched, "id long")


def best(frame: DataFrame, times: int = 3) -> tuple[float, int]:
    """The seconds of the fastest run after a first one, and the rows that came out."""
    frame.count()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        rows = frame.count()
        found.append((time.perf_counter() - start, rows))
    return min(found)


def measure(quick: bool) -> Run:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(quick, Path(folder))
        size, count = bench.largest, QUICK if quick else EVENTS
        index = bench.index("w2", size)
        made = bench.generated("w2", count)
        made.write.parquet(f"{folder}/columns")
        fields = "named_struct(" + ", ".join(f"'a{a}', a{a}" for a in range(6)) + ")"
        made.selectExpr("id", f"to_json({fields}) AS event").write.parquet(f"{folder}/json")
        read = bench.session.read.parquet
        columns, json = read(f"{folder}/columns"), read(f"{folder}/json")
        json.selectExpr("id", "parse_json(event) AS event").write.parquet(f"{folder}/variant")
        variant = read(f"{folder}/variant")
        parsed = json.selectExpr("id", "try_parse_json(event) AS event")

        def note(way: str, frame: DataFrame, events: int = count) -> tuple[float, int]:
            seconds, rows = best(frame)
            bench.add("W2, events", size, way, "a second", events / seconds)
            return events / seconds, rows

        narrow = columns.select("id", *ATTRIBUTES)
        counted, _ = note("columns, only counted", counting(narrow))
        ours, expected = note("columns", tamis.spark.match(columns, index))
        bench.add("W2, columns", size, "against counting", "x", ours / counted, 0.85)
        stored, _ = note("variants, only counted", counting(variant))
        fresh, _ = note("JSON parsed by Spark, only counted", counting(parsed))
        slow = json.where(f"id % {SLOW} = 0")
        plain, _ = note("JSON, row by row", row_by_row(bench, size)(slow), count // SLOW)
        texts, found = note("JSON", tamis.spark.match(json, index, column="event"))
        assert found == expected, (found, expected)
        variants, found = note("variants", tamis.spark.match(variant, index, column="event"))
        assert found == expected, (found, expected)
        bench.add("W2, JSON", size, "against counting variants parsed", "x", texts / fresh, 0.6)
        bench.add("W2, JSON", size, "against counting variants stored", "x", texts / stored)
        bench.add("W2, variants", size, "against counting them", "x", variants / stored, 0.6)
        bench.add("W2, JSON", size, "against row by row", "x", texts / plain, 5)
        bench.session.stop()
        end_run(bench.run)
    return bench.run


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep the results and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline_json")
    parser.add_argument("--quick", action="store_true", help="100k subscriptions, 400k events")
    parser.add_argument("--output", type=Path, help="JSON; by default into benchmarks/results")
    parser.add_argument("--markdown", action="store_true", help="a table to paste")
    options = parser.parse_args(arguments)
    run = measure(options.quick)
    path = options.output or run.default_path("pipeline_json")
    run.save(path)
    complain(f"results in {path}")
    if options.markdown:
        print(markdown_table(run))
    else:
        Console(width=max(Console().width, 120)).print(rich_table(run))


if __name__ == "__main__":
    main()
