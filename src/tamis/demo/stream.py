"""The demo on Spark: a pipeline of auctions, and subscriptions that change while it runs.

    events/*.parquet: JSON documents ──> match ──> matches/batch=N
    changes/*.ndjson ──> versions ─────────┘  └──> rejected/events/batch=N

The auctions are made once, before the pipeline starts, and then replayed, so that the figures are
about matching and not about inventing auctions.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.console import UsageError
from tamis.demo import auctions, data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from tamis.spark import Index
    from tamis.spark.pipeline import BatchReport, Pipeline, Run

_BATCH = 200_000
"""Most auctions of a micro-batch."""
FILES = 4
"""Files of a micro-batch, so that all cores have something to read."""
_LEAST_BATCHES = 4
_LEAST_SECONDS = 15.0
"""What the stream gets, however long the set-up took; and one micro-batch, at least."""
_CHANGE_EVERY = 3.0
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
    def documents(self) -> Path:
        """The folder of the auctions."""
        return self.folder / "events"

    @property
    def matches(self) -> Path:
        """The folder of the results."""
        return self.folder / "matches"

    @property
    def rejected(self) -> Path:
        """The folder of the events that could not be read."""
        return self.folder / "rejected" / "events"

    @property
    def changes(self) -> Path:
        """The folder of the change files."""
        return self.folder / "changes"

    @property
    def state(self) -> Path:
        """The folder of what a restart of the pipeline needs."""
        return self.folder / "state"

    @property
    def picture(self) -> Path:
        """Throughput and latency over time."""
        return self.folder / "throughput.svg"

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


def write_subscriptions(plan: DemoPlan, rows: Sequence[data.Row]) -> None:
    """Write the table of subscriptions, and their taxonomy."""
    from pyarrow import parquet

    parquet.write_table(data.table(rows), plan.folder / "subscriptions.parquet")
    (plan.folder / "taxonomy.json").write_text(json.dumps(auctions.TAXONOMY, indent=1), "utf-8")


def write_documents(plan: DemoPlan, spark: SparkSession) -> None:
    """Make the auctions, as JSON documents in files of Parquet."""
    numbers = spark.range(0, plan.events, 1, plan.batches * FILES).selectExpr("id AS n")
    data.documents(numbers, plan.seed).write.parquet(str(plan.documents))


def warm_up(plan: DemoPlan, spark: SparkSession, index: Index) -> None:
    """Start the Python workers by a small job, so that the first micro-batch need not wait."""
    from tamis.spark import match

    some = spark.read.parquet(str(plan.documents)).limit(1_000)
    match(some, index, event_id="auction", column="document", on_error="skip").count()


def pipeline(plan: DemoPlan) -> Pipeline:
    """The pipeline, as you would write it."""
    from tamis.spark.pipeline import (
        EventForm,
        EventSource,
        Json,
        Parquet,
        Pipeline,
        SubscriptionSource,
    )

    return Pipeline(
        EventSource(
            "parquet",
            str(plan.documents),
            columns="auction long, document string",
            options={"maxFilesPerTrigger": str(FILES)},
        ),
        SubscriptionSource(
            "parquet",
            str(plan.folder / "subscriptions.parquet"),
            changes=str(plan.changes),
            taxonomy=str(plan.folder / "taxonomy.json"),
        ),
        {"matches": Parquet(str(plan.matches))},
        str(plan.state),
        name="demo",
        events=EventForm(id="auction", column="document"),
        rejected_events=Json(str(plan.rejected)),
        rejected_subscriptions=Json(str(plan.rejected.with_name("subscriptions"))),
    )


class Ended(NamedTuple):
    """A pipeline that has ended."""

    run: Run
    reports: list[BatchReport]
    late: bool
    """Whether it was stopped because its time was over."""


def run(plan: DemoPlan, spark: SparkSession, out: Console) -> Ended:
    """Match all auctions, or as many as there is time for."""
    until = max(plan.until, time.monotonic() + _LEAST_SECONDS)
    reports: list[BatchReport] = []
    stop, late = threading.Event(), threading.Event()

    def tell(report: BatchReport) -> None:
        reports.append(report)
        out.print(str(report), highlight=False, markup=False)
        if time.monotonic() > until and not stop.is_set():
            late.set()
            stop.set()

    done = pipeline(plan).run(spark, once=True, told=tell, stop=stop)
    out.print(str(done.summary), highlight=False)
    return Ended(done, reports, late.is_set())


def latest_index(plan: DemoPlan) -> Index:
    """The subscriptions that the last micro-batch saw."""
    from tamis.spark import Index

    return Index.open(max((plan.state / "snapshots").glob("*.index")))


def documents_of(plan: DemoPlan, spark: SparkSession, first: int, last: int) -> DataFrame:
    """Some of the documents, made again from their numbers."""
    return data.documents(spark.range(first, last).selectExpr("id AS n"), plan.seed)


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
