"""Subscriptions in shards: building them, how many an event visits, and events a second beside one
index of the same subscriptions, with the same matches.

W2 of more than a million subscriptions is put together of parts of a million.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

import tamis.spark
from benchmarks import workloads
from benchmarks.spark import ATTRIBUTES, CHECKED, Bench
from tamis.spark import Shards

SHARDS = 8
PART = 1_000_000
LARGE, QUICK = 10_000_000, 300_000
"""Subscriptions that are divided only."""
MOST_SECONDS = 300.0


@cache
def rules(bench: Bench, size: int) -> DataFrame:
    """A table of subscriptions of W2, in Parquet."""
    return bench.session.read.parquet(str(rule_files(bench.folder, size)))


def rule_files(parent: Path, size: int) -> Path:
    """The folder of so many subscriptions of W2, which is made if it is not there."""
    folder = parent / f"rules-{size}"
    if folder.exists():
        return folder
    hidden = parent / f".rules-{size}"
    hidden.mkdir()
    for first in range(0, size, PART):
        count = min(PART, size - first)
        texts = pa.array(workloads.w2(count, 1, 1 + first // PART).texts(), pa.string())
        ids = pa.array(np.arange(first, first + count))
        table = pa.table({"id": ids, "subscription": texts})
        parquet.write_table(table, hidden / f"{first}.parquet", row_group_size=PART // SHARDS)
    return hidden.rename(folder)


def built(bench: Bench, size: int, must: float | None) -> Shards:
    """Shards of so many subscriptions, with the figures of building and of visits."""
    table = rules(bench, size)
    start = time.perf_counter()
    shards = Shards.build(table, bench.folder / f"shards-{size}", count=SHARDS)
    seconds = time.perf_counter() - start
    bench.add(f"W2 in {SHARDS} shards, build", size, "build", "s", seconds, must, more=False)
    sample = bench.generated("w2", CHECKED).select(*ATTRIBUTES).toArrow()
    visits = shards.visits(sample)
    bench.add("W2, shards that an event visits", size, "match", "", visits, 2.0, more=False)
    assert sum(shards.sizes) == size
    largest = 100 * max(shards.nbytes) / sum(shards.nbytes)
    bench.add("W2, largest shard", size, "build", "% of all", largest, more=False)
    each = sum(shards.nbytes) / size
    bench.add("W2, shards", size, "build", "bytes each", each, more=False)
    return shards


def beside_broadcast(bench: Bench) -> None:
    """The same subscriptions in shards and in one index."""
    size = bench.largest
    shards = built(bench, size, None)
    start = time.perf_counter()
    path = bench.folder / f"one-{size}.index"
    tamis.spark.Index.of(rules(bench, size)).save(path)
    bench.add("W2, one index, build", size, "build", "s", time.perf_counter() - start, more=False)

    def one(events: DataFrame) -> DataFrame:
        return tamis.spark.match(events, path)

    def sharded(events: DataFrame) -> DataFrame:
        return tamis.spark.match(events, shards)

    assert bench.pairs("w2", sharded, CHECKED) == bench.pairs("w2", one, CHECKED)
    most = bench.events // 4
    whole, _, _ = bench.rate("w2", one, most, most // 5)
    rate, _, _ = bench.rate("w2", sharded, most, most // 5)
    bench.add("W2, events", size, "one index", "a second", whole)
    bench.add("W2, events", size, "shards", "a second", rate)
    bench.add("W2, one index, times shards", size, "match", "x", whole / rate, 2.0, more=False)


def large(bench: Bench) -> None:
    """More subscriptions than one would broadcast."""
    size = QUICK if bench.run.quick else LARGE
    shards = built(bench, size, MOST_SECONDS)
    most = bench.events // 4
    rate, _, _ = bench.rate("w2", lambda events: tamis.spark.match(events, shards), most, most // 5)
    bench.add("W2, events", size, "shards", "a second", rate)
