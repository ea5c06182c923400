"""The demo on Spark: a stream of auctions, and subscriptions that change while it runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.console import UsageError
from tamis.demo import auctions, data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.console import Console

    from tamis.spark import Index, Snapshots, Summary

_BATCH = 100_000
"""Most auctions of a micro-batch."""
_LEAST_BATCHES = 4
_LEAST_SECONDS = 15.0
"""What the stream gets, however long the set-up took; and one micro-batch, at least."""
_CHANGE_EVERY = 5.0
"""Seconds between change files."""
_FAULTY = 2
"""The change file with a row that cannot be taken."""
_TYPO = data.Row("typo", "price betwen 10 and 20", 1)


class DemoPlan(NamedTuple):
    """What was asked for, and where it goes."""

    events: int
    subscriptions: int
    until: float
    """When the stream ends at the latest, by the monotonic clock."""
    seed: int
    folder: Path

    @property
    def batch(self) -> int:
        """Auctions of a micro-batch."""
        return max(1, min(_BATCH, self.events // _LEAST_BATCHES))

    @property
    def batches(self) -> int:
        """Micro-batches."""
        return -(-self.events // self.batch)

    @property
    def matches(self) -> Path:
        """The folder of the results."""
        return self.folder / "matches"

    @property
    def changes(self) -> Path:
        """The folder of the change files."""
        return self.folder / "changes"

    @property
    def snapshots(self) -> Path:
        """The folder of the compiled subscriptions."""
        return self.folder / "snapshots"

    @property
    def log(self) -> Path:
        """What Spark says."""
        return self.folder / "spark.log"


def make_folders(plan: DemoPlan) -> None:
    """Make the folders, where there is nothing yet."""
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
        if any(plan.folder.iterdir()):
            raise UsageError(f"{plan.folder} is not empty: name a folder that is, or a new one")
        plan.changes.mkdir()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot write {plan.folder}: {reason}") from error


def compiled(rows: Sequence[data.Row]) -> Index:
    """The subscriptions as an index; the kernels are compiled or loaded, too."""
    from tamis.spark import Index
    from tamis.spark.session.warm import warm_up

    warm_up()
    return Index.of(data.table(rows), taxonomy=auctions.TAXONOMY)


def warm_up(plan: DemoPlan, spark: SparkSession, index: Index) -> None:
    """Start the Python workers by a small job, so that the first micro-batch need not wait."""
    from tamis.spark import match

    some = data.auctions(spark.range(1_000).selectExpr("id AS n"), plan.seed)
    match(some, index, event_id="auction").count()


def run(plan: DemoPlan, spark: SparkSession, changing: Snapshots, out: Console) -> Summary:
    """Match until so many auctions, or seconds, have gone by."""
    from tamis.spark import match, watch

    found = match(stream(plan, spark), changing, event_id="auction")
    query = (
        found.writeStream.format("parquet")
        .option("path", str(plan.matches))
        .option("checkpointLocation", str(plan.folder / "checkpoint"))
        .start()
    )
    with _ended(query, plan):
        return watch(query, snapshots=changing, console=out)


def stream(plan: DemoPlan, spark: SparkSession) -> DataFrame:
    """The auctions, as a stream of so many a micro-batch."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", plan.batch)
    return data.auctions(source.load().selectExpr("value AS n"), plan.seed)


@contextmanager
def _ended(query: StreamingQuery, plan: DemoPlan) -> Iterator[None]:
    """End a query, from a thread, when it has done its part."""
    until = max(plan.until, time.monotonic() + _LEAST_SECONDS)
    over = threading.Event()

    def stop() -> None:
        while not over.wait(0.1):
            last = query.lastProgress
            done = 0 if last is None else last["batchId"] + 1
            if done >= plan.batches or (done and time.monotonic() > until):
                query.stop()
                return

    thread = threading.Thread(target=stop, name="tamis-demo-end", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Changes:
    """Drops a change file every few seconds, from a thread, within a ``with`` block."""

    def __init__(self, subscriptions: data.Subscriptions, folder: Path, out: Console) -> None:
        self._subscriptions = subscriptions
        self._folder = folder
        self._out = out
        self._number = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tamis-demo-changes", daemon=True)

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_CHANGE_EVERY):
            self._drop()

    def _drop(self) -> None:
        """Write a file under a hidden name and rename it, so that it is there as a whole."""
        self._number += 1
        change = self._subscriptions.change()
        faulty = [_TYPO] if self._number == _FAULTY else []
        path = self._folder / f"{self._number:04}.ndjson"
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(map(_line, (*change.rows(), *faulty))), "utf-8")
        hidden.rename(path)
        counts = f"{len(change.new):,} new, {len(change.replaced):,} replaced"
        aside = ", 1 faulty" if faulty else ""
        self._out.print(
            f"changes {path.name}: {counts}, {len(change.removed):,} removed{aside}", style="cyan"
        )


def _line(row: data.Row) -> str:
    shown = {"id": row.id, "subscription": row.text, "version": row.version}
    return json.dumps(shown, ensure_ascii=False) + "\n"
