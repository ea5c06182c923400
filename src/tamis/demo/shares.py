"""Where the time of the demo's pipeline goes.

A micro-batch tells how long its steps took. Matching, which Spark does in one pass with reading, is
divided by two jobs over the documents of a micro-batch: one that only reads them, and one that only
counts them in Python.

    read ─────────┤
    read, count ──────────────┤
    read, match ──────────────────────────┤
     source         Spark         Tamis
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.demo import stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from tamis.spark.pipeline import BatchReport

_REPEATS = 3


class Passes(NamedTuple):
    """What a document costs on its way to Tamis, in seconds."""

    read: float
    """To read it."""
    handed: float
    """To read it and hand it to Python."""


def passes(plan: stream.DemoPlan, spark: SparkSession) -> Passes:
    """Read the documents of a micro-batch, and count them in Python."""
    files = sorted(str(path) for path in plan.documents.glob("*.parquet"))[: stream.FILES]
    documents = spark.read.parquet(*files)
    count = max(1, documents.count())

    def only_read() -> None:
        documents.write.format("noop").mode("overwrite").save()

    def counted() -> None:
        documents.mapInArrow(_counted, "rows long").write.format("noop").mode("overwrite").save()

    return Passes(_best(only_read) / count, _best(counted) / count)


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow

    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def _best(job: Callable[[], Any]) -> float:
    found = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        job()
        found.append(time.perf_counter() - started)
    return min(found)


def shares(reports: Sequence[BatchReport], each: Passes) -> dict[str, float]:
    """The seconds of all micro-batches by what they were spent on; they add up to all."""
    events = sum(report.events for report in reports)
    match = _total(reports, "match")
    read = min(match, each.read * events)
    handed = min(match, max(read, each.handed * events))
    changes = _total(reports, "subscriptions")
    sinks = sum(sum(report.times.values()) for report in reports) - match - changes
    whole = sum(report.seconds for report in reports)
    return {
        "source: reading the documents": read,
        "Spark: handing them to Python": handed - read,
        "Tamis: matching, and keeping the matches": match - handed,
        "Tamis: changes of the subscriptions": changes,
        "sinks: matches and what was rejected": sinks,
        "Spark: planning and committing": max(0.0, whole - match - changes - sinks),
    }


def _total(reports: Sequence[BatchReport], step: str) -> float:
    return sum(report.times.get(step, 0.0) for report in reports)
