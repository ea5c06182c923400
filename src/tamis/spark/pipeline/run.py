"""A pipeline that runs: its micro-batches, what came of them, and how it ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError
from tamis.spark.pipeline.batches import BatchReport, Work
from tamis.spark.pipeline.versions import Versions
from tamis.spark.progress import Summary, asked_to_stop, events_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_POLL = 0.1
_PATIENCE = 10.0
"""Seconds that Spark gets to commit a micro-batch, or to learn that its source has no more."""


class StopError(TamisError):
    """Raised where the next micro-batch would begin, if the pipeline is to end."""


class Run:
    """The micro-batches of a pipeline, from its start to its end."""

    def __init__(self, versions: Versions, work: Work, stop: threading.Event) -> None:
        self._versions = versions
        self._work = work
        self._stop = stop
        self._reports: dict[int, BatchReport] = {}
        self.summary = Summary()
        """What all batches did together."""
        self.rejected = 0
        """Events that were rejected."""
        self.error: Exception | None = None
        """The error that ended it."""
        self.busy = False
        """Whether a micro-batch is being done."""

    def batch(self, frame: DataFrame, number: int) -> None:
        """Do a micro-batch; Spark calls this."""
        self.busy = True
        try:
            if self._stop.is_set():
                raise StopError("the pipeline was asked to stop")
            report = BatchReport(number)
            version = self._versions.decide(number)
            self._work.run(frame, version, report)
            self._reports[number] = report
        except Exception as error:
            self.error = error
            raise
        finally:
            self.busy = False

    def waits_for(self, batch: int) -> bool:
        """Whether there is a report of this micro-batch, or of one before it, yet to be told."""
        return any(number <= batch for number in list(self._reports))

    def finished(self, progress: dict[str, Any]) -> BatchReport | None:
        """The report of a micro-batch that Spark has committed."""
        report = self._reports.pop(progress["batchId"], None)
        if report is None:
            return None
        report.events = events_of(progress)
        report.behind = _behind(progress)
        report.seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        self.summary.batches += 1
        self.summary.events += report.events
        self.summary.matches += report.matches
        self.summary.busy_seconds += report.seconds
        self.summary.snapshot = report.version
        self.rejected += report.rejected
        return report


def follow(
    query: StreamingQuery,
    run: Run,
    stop: threading.Event,
    told: Callable[[BatchReport], None] | None,
) -> None:
    """Wait for the end of a pipeline; a signal lets it finish its micro-batch first."""
    from pyspark.errors import StreamingQueryException

    with asked_to_stop(stop):
        over = False
        while not over:
            try:
                over = bool(query.awaitTermination(_POLL))  # type: ignore[arg-type]
                if stop.is_set() and not over:
                    over = _finish(query, run)
            except StreamingQueryException as error:
                if not isinstance(run.error, StopError):
                    _tell(query, run, told)
                    if isinstance(run.error, TamisError):
                        raise run.error from error
                    raise TamisError(f"the pipeline failed: {_first_line(error)}") from error
                over = True
            _tell(query, run, told)
    run.summary.stopped = stop.is_set()


def _finish(query: StreamingQuery, run: Run) -> bool:
    """Stop a query between two micro-batches; the next one ends it by itself (``StopError``)."""
    deadline = time.monotonic() + _PATIENCE
    while query.isActive:
        if run.busy:
            deadline = time.monotonic() + _PATIENCE
        elif not query.status["isTriggerActive"] or time.monotonic() > deadline:
            break
        time.sleep(_POLL / 2)
    query.stop()
    return True


def _tell(query: StreamingQuery, run: Run, told: Callable[[BatchReport], None] | None) -> None:
    last = query.lastProgress
    if last is None or not run.waits_for(last["batchId"]):
        return  # Spark's list of the last ones is long, and takes some tenths of a second
    for progress in list(query.recentProgress):
        report = run.finished(progress)
        if report is not None and told is not None:
            told(report)


def _behind(progress: Mapping[str, Any]) -> int | None:
    """How many records of Kafka were there but not read, over all partitions."""
    found = None
    for source in progress["sources"]:
        latest, end = source.get("latestOffset"), source.get("endOffset")
        if isinstance(latest, str) and isinstance(end, str):
            latest, end = _offsets(latest), _offsets(end)
        if isinstance(latest, Mapping) and isinstance(end, Mapping):
            known, done = _total(latest), _total(end)
            if known is not None and done is not None:
                found = (found or 0) + max(0, known - done)
    return found


def _offsets(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _total(offsets: Mapping[str, Any]) -> int | None:
    """The sum of offsets by topic and partition; None if they are those of another source."""
    if not all(isinstance(places, Mapping) for places in offsets.values()):
        return None
    return sum(int(place) for places in offsets.values() for place in places.values())


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
