"""What a pipeline does with a micro-batch.

    events ──(validate)──> match ──> found, cached ─┬─ matches ───────> each sink
                 │                                  └─ unreadable ┐
                 └─ rejected by the schema ───────────────────────┴──> sink of rejected events

Results are cached and counted before the first sink sees them, so that a sink that must be tried
again does not match again, and so that one can tell the time of matching from that of a sink.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError
from tamis.model.schema.schema import Schema
from tamis.spark.columns import EVENT_ID, ID, REASON, SUBSCRIPTION_ID, TEXT, quoted
from tamis.spark.match import divided, match
from tamis.spark.pipeline.events import ShapedEvents
from tamis.spark.pipeline.settings import PipelineError
from tamis.spark.pipeline.sinks.sink import BatchRows, Sink
from tamis.spark.pipeline.throttle import TIME, QuietSubscriptions
from tamis.spark.pipeline.versions import Expensive, Version
from tamis.spark.validate import RULE, validate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("tamis")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
"""Seconds between attempts at a sink: doubled each time, up to the second figure."""


@dataclass(slots=True)
class BatchReport:
    """What came of a micro-batch."""

    number: int
    version: int = 0
    subscriptions: int = 0
    matches: int = 0
    throttled: int = 0
    """Matches that throttling held back."""
    rejected: int = 0
    events: int = 0
    """Set when Spark reports it, after the batch."""
    seconds: float = 0.0
    """Of the whole micro-batch, set when Spark reports it."""
    times: dict[str, float] = field(default_factory=dict)
    """Seconds of its steps: ``subscriptions``, ``match``, and one for each sink."""
    expensive: Expensive = field(default_factory=Expensive)
    """The subscriptions that an event is expected to cost most."""
    behind: int | None = None
    """Records of Kafka that were there but not yet read, if the source is Kafka."""
    at: float = field(default_factory=time.time)
    """When it began."""

    def __str__(self) -> str:
        rate = self.events / max(self.seconds, 1e-9)
        throttled = f" ({self.throttled:,} held back)" if self.throttled else ""
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        return (
            f"batch {self.number}: {self.events:,} events ({rate:,.0f}/s), {self.matches:,} matches"
            f"{throttled}{rejected}, {self.seconds:.2f} s, subscriptions version {self.version}"
        )


@dataclass(frozen=True, slots=True)
class Outlets:
    """The sinks of a pipeline, by what they take."""

    matches: dict[str, Sink]
    rejected_events: Sink | None
    rejected_subscriptions: Sink | None


@dataclass(frozen=True, slots=True)
class Work:
    """Matches the events of a micro-batch and writes what was found."""

    identity: str
    """What tells this pipeline from others, in sinks."""
    events: ShapedEvents
    outlets: Outlets
    schema: Schema | None
    types: tuple[str, ...]
    options: dict[str, Any]
    """More arguments of ``match``."""
    quiet: QuietSubscriptions | None
    """What throttling remembers."""
    patience: float
    """How long a sink may be unavailable, in seconds."""
    ended: Callable[[], bool]
    """Whether somebody wants the pipeline to end."""

    def run(self, frame: DataFrame, version: Version, report: BatchReport) -> None:
        """Do the whole batch."""
        report.version, report.subscriptions = version.number, len(version.shipment.index)
        report.times["subscriptions"] = version.seconds
        report.expensive = version.expensive
        with _cached(frame) as cached:
            with _timed(report, "match"):
                found, invalid = self._found(frame, version, cached)
                report.matches, report.rejected = _counts(found, invalid)
            matches, rejected = self._parts(found, invalid)
            throttled = self._throttled(matches, version.at, cached, report)
            for name, sink in self.outlets.matches.items():
                quiet = self.quiet is not None and self.quiet.throttle.affects(name)
                rows = throttled if quiet else matches.drop(TIME)
                with _timed(report, name):
                    self._write(name, sink, rows, report.number, (EVENT_ID, SUBSCRIPTION_ID))
            if self.outlets.rejected_events is not None and report.rejected:
                with _timed(report, "rejected events"):
                    sink = self.outlets.rejected_events
                    self._write("rejected events", sink, rejected, report.number, (EVENT_ID,))
        if version.rejected is not None and self.outlets.rejected_subscriptions is not None:
            sink = self.outlets.rejected_subscriptions
            table = frame.sparkSession.createDataFrame(version.rejected)
            with _timed(report, "rejected subscriptions"):
                self._write("rejected subscriptions", sink, table, report.number, (ID,))

    def _found(
        self, frame: DataFrame, version: Version, cached: list[DataFrame]
    ) -> tuple[DataFrame, DataFrame | None]:
        """What matching found, and the events that break the schema, if there is one."""
        invalid = None
        if self.schema is not None:
            frame, invalid = self._validated(frame, cached)
        found = match(
            frame,
            version.shipment,
            event_id=self.events.event_id,
            column=self.events.column,
            keep=self.events.keep,
            on_error="collect",
            **self.options,
        ).persist()
        cached.append(found)
        return found, invalid

    def _parts(self, found: DataFrame, invalid: DataFrame | None) -> tuple[DataFrame, DataFrame]:
        """Matches and rejected events."""
        matches, rejected = divided(found, self.events.keep)
        rejected = rejected if invalid is None else rejected.unionByName(invalid)
        return matches, rejected.drop(TIME)

    def _throttled(
        self, matches: DataFrame, now: int, cached: list[DataFrame], report: BatchReport
    ) -> DataFrame:
        """The matches that are not held back."""
        if self.quiet is None:
            return matches
        with _timed(report, "throttle"):
            passed = self.quiet.selection(matches, report.number, now)
            cached.append(passed.cached)
            report.throttled = report.matches - passed.kept
        return passed.matches

    def _validated(self, frame: DataFrame, cached: list[DataFrame]) -> tuple[DataFrame, DataFrame]:
        """Events that conform to the schema, and the others as rejected ones."""
        assert self.schema is not None
        cached.append(frame.persist())  # validate reads it twice
        column, id = self.events.column, self.events.event_id
        own = [each for each in (id, TIME) if each in frame.columns]
        ignored = [each for each in own if not column and (each,) not in self.schema.attributes]
        parts = validate(frame, self.schema, column=column, ignore=ignored, types=self.types)
        names = ", ".join(quoted(name) for name in frame.columns if name != TIME)
        text = quoted(column) if column else f"to_json(struct({names}))"
        invalid = parts.rejected.selectExpr(
            f"{quoted(id)} AS {EVENT_ID}",
            *map(quoted, self.events.keep),
            f"CAST({text} AS STRING) AS {TEXT}",
            f"concat({RULE}, ': ', {REASON}) AS {REASON}",
        )
        return parts.valid, invalid

    def _write(
        self, name: str, sink: Sink, frame: DataFrame, batch: int, key: Sequence[str]
    ) -> None:
        """Write to a sink, again and again for a while if it is unavailable."""
        deadline, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        rows = BatchRows(frame, batch, self.identity, tuple(key))
        while True:
            try:
                sink.write(rows)
                return
            except PipelineError:  # time does not mend it
                raise
            except Exception as error:  # whatever a sink raises: it is tried again, or it stops all
                said = _reason(error)
                if time.monotonic() + pause > deadline or self.ended():
                    raise TamisError(
                        f"the sink {name!r} cannot take batch {batch}: {said}; nothing is lost: "
                        "start the pipeline again when it can"
                    ) from error
                _LOG.warning(
                    "the sink %r cannot take batch %d: %s; trying again", name, batch, said
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _reason(error: Exception) -> str:
    """The first line of an error; of one that comes from Java, Java's own."""
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java.toString()).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _counts(found: DataFrame, invalid: DataFrame | None) -> tuple[int, int]:
    """How many matches and rejected events there are; this computes them, in one job."""
    from pyspark.sql import functions

    reason = found[REASON]
    matches = functions.count_if(reason.isNull())
    rejected = functions.count_if(reason.isNotNull())
    (row,) = found.agg(matches, rejected).collect()
    return row[0], row[1] + (0 if invalid is None else invalid.count())


@contextmanager
def _cached(frame: DataFrame) -> Iterator[list[DataFrame]]:
    """A list of cached frames, which are let go in the end."""
    cached: list[DataFrame] = []
    try:
        yield cached
    finally:
        for each in cached:
            each.unpersist()


@contextmanager
def _timed(report: BatchReport, step: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        report.times[step] = time.monotonic() - started
