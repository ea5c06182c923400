"""Follow a stream: progress while it runs, a summary at the end, a clean stop on a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.spark.snapshots.snapshots import Snapshots

METRIC = "tamis_matches"
"""The name of the observed metrics of matching; a random suffix follows."""
_POLL = 0.2
_PATIENCE = 10.0
"""Seconds that a stream gets to finish its micro-batch before it is stopped."""


@dataclass(slots=True)
class Summary:
    """What a stream did while you watched it."""

    batches: int = 0
    events: int = 0
    matches: int = 0
    rejected: int = 0
    """Events that could not be read."""
    busy_seconds: float = 0.0
    """Time that micro-batches took, without the pauses between them."""
    snapshot: int | None = None
    """The number of the snapshot that the last batch saw."""
    stopped: bool = False
    """Whether a signal stopped it."""

    def add(self, batch: Batch) -> None:
        """Count a micro-batch."""
        self.batches += 1
        self.events += batch.events
        self.matches += batch.matches
        self.rejected += batch.rejected
        self.busy_seconds += batch.seconds
        self.snapshot = batch.snapshot or self.snapshot

    def __str__(self) -> str:
        seconds = max(self.busy_seconds, 1e-9)
        how = "stopped" if self.stopped else "ended"
        return (
            f"{how} after {self.batches:,} batches in {self.busy_seconds:.1f} s: "
            f"{self.events:,} events ({self.events / seconds:,.0f}/s), "
            f"{self.matches:,} matches ({self.matches / seconds:,.0f}/s){_rejected(self.rejected)}"
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch."""

    number: int
    events: int
    matches: int
    rejected: int
    seconds: float
    snapshot: int | None

    def __str__(self) -> str:
        rate = f"{self.events / max(self.seconds, 1e-9):,.0f} events/s"
        matches = f"{self.matches / max(self.seconds, 1e-9):,.0f} matches/s"
        seen = "" if self.snapshot is None else f", subscriptions version {self.snapshot}"
        seen = _rejected(self.rejected) + seen
        return f"batch {self.number}: {rate}, {matches}, {self.seconds:.2f} s{seen}"


def watch(
    query: StreamingQuery, *, snapshots: Snapshots | None = None, console: Console | None = None
) -> Summary:
    """Follow a stream until it ends, print a line for each micro-batch, and return a summary.

    SIGTERM and SIGINT stop the stream cleanly: the running micro-batch gets ten seconds to finish.
    If it does not, Spark runs it again when you restart the stream with the same checkpoint. If
    the stream fails, ``watch`` raises its error.
    """
    out = Console(stderr=True) if console is None else console
    summary = Summary()
    asked = threading.Event()
    last = -1
    with asked_to_stop(asked):
        while True:
            over = query.awaitTermination(_POLL)  # type: ignore[arg-type]  # fractions are taken
            for batch in _batches(query, last, snapshots):
                last = batch.number
                summary.add(batch)
                out.print(str(batch), highlight=False)
            if over:
                break
            if asked.is_set():
                _stop(query)
                summary.stopped = True
                asked.clear()
    out.print(str(summary), highlight=False)
    return summary


def _batches(query: StreamingQuery, after: int, snapshots: Snapshots | None) -> Iterator[Batch]:
    for progress in list(query.recentProgress):
        found, events = progress["batchId"], events_of(progress)
        if found > after and events:
            seen = None if snapshots is None else snapshots.seen_by(str(query.id), found)
            seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
            matches, rejected = _observed(progress)
            yield Batch(found, events, matches, rejected, seconds, seen)


def events_of(progress: Mapping[str, Any]) -> int:
    """The events of a micro-batch, summed over sources: Spark Connect reports no total."""
    return sum(source["numInputRows"] for source in progress["sources"])


def _observed(progress: Mapping[str, Any]) -> tuple[int, int]:
    """Matches and rejected events; Spark Connect reports them in a JSON form, with values apart
    from the schema."""
    matches = rejected = 0
    for name, row in (progress["observedMetrics"] or {}).items():
        if name.startswith(METRIC):
            fields = row.asDict()
            values = fields.get("values") or (fields["matches"], fields["rejected"])
            matches, rejected = matches + values[0], rejected + values[1]
    return matches, rejected


def _rejected(count: int) -> str:
    return f", {count:,} events rejected" if count else ""


def _stop(query: StreamingQuery) -> None:
    """Stop between two micro-batches, if the running one finishes soon; the next may have begun."""
    deadline = time.monotonic() + _PATIENCE
    done = _last_batch(query)
    while time.monotonic() < deadline and query.status["isTriggerActive"]:
        if _last_batch(query) != done:
            break
        time.sleep(_POLL / 4)
    query.stop()


def _last_batch(query: StreamingQuery) -> int:
    last = query.lastProgress
    return -1 if last is None else int(last["batchId"])


@contextmanager
def asked_to_stop(asked: threading.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT ask for a stop, if this is the main thread, which alone may do so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = (signal.SIGTERM, signal.SIGINT)
    former = {each: signal.signal(each, lambda *_: asked.set()) for each in wanted}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
