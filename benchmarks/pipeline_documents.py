"""W2 as documents and as columns: matching against merely counting, and against row by row.

Events lie in Parquet in three forms: JSON strings, variants, columns. All ways take turns in one
run, each the best of some after a warm-up, and must find as many matches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

import tamis.spark
from benchmarks.spark import ATTRIBUTES, Bench
from tamis.model.events.json_events import read_json
from tamis.spark.index.shipping import ship
from tamis.spark.worker import opened

EVENTS, QUICK, SLOW = 4_000_000, 400_000, 10
"""Events; of them one in ``SLOW`` is read row by row."""
TURNS = 3
FIELDS = "named_struct(" + ", ".join(f"'a{a}', a{a}" for a in range(6)) + ")"
"""A generated event in SQL, without its id."""
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


def documents(bench: Bench, count: int) -> DataFrame:
    """Events of W2 as JSON, with their numbers."""
    return bench.generated("w2", count).selectExpr("id", f"to_json({FIELDS}) AS event")


class Stored(NamedTuple):
    """The same events in three forms."""

    columns: DataFrame
    json: DataFrame
    variant: DataFrame


@cache
def stored(bench: Bench) -> Stored:
    """The events, written to Parquet once."""
    count = QUICK if bench.run.quick else EVENTS
    folder, read = bench.folder, bench.session.read.parquet
    bench.generated("w2", count).write.parquet(f"{folder}/columns")
    documents(bench, count).write.parquet(f"{folder}/json")
    json = read(f"{folder}/json")
    json.selectExpr("id", "parse_json(event) AS event").write.parquet(f"{folder}/variant")
    return Stored(read(f"{folder}/columns"), json, read(f"{folder}/variant"))


def timed(bench: Bench, frames: Mapping[str, DataFrame]) -> dict[str, float]:
    """Events a second of each way, the best of some turns; ways that match must find the same."""
    rates: dict[str, float] = {}
    found = {}
    count = QUICK if bench.run.quick else EVENTS
    for turn in range(TURNS + 1):
        for way, frame in frames.items():
            start = time.perf_counter()
            rows = frame.count()
            seconds = time.perf_counter() - start
            events = count // SLOW if way == SLOWEST else count
            if turn:  # the first warms up
                rates[way] = max(rates.get(way, 0.0), events / seconds)
            elif "count" not in way and way != SLOWEST:
                found[way] = rows
    assert len({*found.values()}) == 1, found
    for way, rate in rates.items():
        bench.add("W2, events", bench.largest, way, "a second", rate)
    return rates


SLOWEST = "JSON, row by row"


def columns(bench: Bench) -> None:
    """W2 in columns, against a mapInArrow that only counts."""
    events = stored(bench).columns
    rates = timed(
        bench,
        {
            "columns, only counted": counting(events.select("id", *ATTRIBUTES)),
            "columns": tamis.spark.match(events, bench.index("w2", bench.largest)),
        },
    )
    ratio = rates["columns"] / rates["columns, only counted"]
    bench.add("W2, columns", bench.largest, "against counting", "x", ratio, 0.85)


def json(bench: Bench) -> None:
    """W2 as JSON and as variants, against counting variants, and against row by row."""
    size, events = bench.largest, stored(bench)
    index = bench.index("w2", size)
    parsed = events.json.selectExpr("id", "try_parse_json(event) AS event")
    slow = row_by_row(bench, size)(events.json.where(f"id % {SLOW} = 0"))
    rates = timed(
        bench,
        {
            "variants stored, only counted": counting(events.variant),
            "variants parsed by Spark, only counted": counting(parsed),
            SLOWEST: slow,
            "JSON": tamis.spark.match(events.json, index, column="event"),
            "variants": tamis.spark.match(events.variant, index, column="event"),
        },
    )
    fresh, kept = (
        rates[f"variants {each}, only counted"] for each in ("parsed by Spark", "stored")
    )

    def against(what: str, other: str, ratio: float, must: float | None) -> None:
        bench.add(what, size, f"against {other}", "x", ratio, must)

    against("W2, JSON", "counting variants parsed", rates["JSON"] / fresh, 0.6)
    against("W2, JSON", "counting variants stored", rates["JSON"] / kept, None)
    against("W2, variants", "counting them", rates["variants"] / kept, 0.6)
    against("W2, JSON", "row by row", rates["JSON"] / rates[SLOWEST], 5)
