"""A pipeline: a source of events, subscriptions that may change, and sinks.

    source ──> parse ──> validate ──> match ──> sinks
                  │          │          ▲
                  └──────────┴──> rejected events
                                        │
    subscriptions ──> versions ─────────┘   (which one a batch sees is written down before it runs)

All sinks are written in ``foreachBatch``. Each tells a repeated batch by its number
(sinks/sink.py), so after a crash nothing is lost and nothing is there twice.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tamis.engine.engine import Engine
from tamis.errors import TamisError, suggestion
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.spark.columns import check_present, form_of
from tamis.spark.index.index import Index
from tamis.spark.index.shipping import is_remote
from tamis.spark.pipeline.batches import BatchReport, Outlets, Work
from tamis.spark.pipeline.events import EventForm, EventSource, ShapedEvents, shape
from tamis.spark.pipeline.feeds import SubscriptionSource
from tamis.spark.pipeline.libraries import missing_file_system
from tamis.spark.pipeline.run import Run, follow
from tamis.spark.pipeline.settings import PipelineError, local_path
from tamis.spark.pipeline.sinks.sink import Sink, target
from tamis.spark.pipeline.storage import Storage
from tamis.spark.pipeline.throttle import QuietSubscriptions, Throttle
from tamis.spark.pipeline.versions import Versions
from tamis.spark.snapshots.sources import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHECKPOINT, IDENTITY = "checkpoint", "identity"
"""Names in the folder of a pipeline."""
_SHOWN = 20
"""Faulty subscriptions that a check shows."""
PATIENCE = 300.0
"""Seconds for which a sink may be unavailable."""


@dataclass(slots=True)
class Pipeline:
    """Matches a stream of events and writes what it finds to sinks, each match once.

        Pipeline(
            source=EventSource("json", "incoming"),
            subscriptions=SubscriptionSource("csv", "subscriptions.csv"),
            sinks=[Parquet("matches")],
            folder="state",
        ).run(spark)

    ``folder`` keeps what a restart needs, on any file system that Spark can write: when you start
    the pipeline again with the same folder, it continues where it stopped. ``source`` may also be
    a streaming DataFrame, and ``subscriptions`` a function that returns all of them.
    """

    source: EventSource | DataFrame
    subscriptions: SubscriptionSource | Callable[[], Any]
    sinks: Sequence[Sink] | Mapping[str, Sink]
    folder: str
    name: str = "tamis"
    events: EventForm = field(default_factory=EventForm)
    rejected_events: Sink | None = None
    rejected_subscriptions: Sink | None = None
    throttle: Throttle | None = None
    """Holds back matches of a subscription that had one a short while ago."""
    every: float = 0.0
    """Seconds between the starts of micro-batches; 0 means one after the other."""
    patience: float = PATIENCE
    """How many seconds a sink may be unavailable before the pipeline ends."""
    limit: int | None = None
    """The most matches of an event."""
    bindings: bool = False
    """Whether matches have a column with the values of variables."""

    def problems(self) -> Iterator[str]:
        """What is wrong with it, as far as one can tell without Spark."""
        if isinstance(self.source, EventSource):
            yield from _placed("source", self.source.problems())
        if isinstance(self.subscriptions, SubscriptionSource):
            yield from _placed("subscriptions", self.subscriptions.problems())
        yield from _placed("events", self.events.problems())
        if not self.sinks:
            yield "sinks: there is none: add one, such as a folder of Parquet files"
        for place, sink in self._all_sinks():
            yield from _placed(place, sink.problems())
        yield from self._shared_targets()
        if self.throttle is not None:
            yield from _placed("throttle", self._throttle_problems(self.throttle))

    def _shared_targets(self) -> Iterator[str]:
        """Sinks that would replace what others write, or feed the pipeline with its own matches."""
        taken = {self.folder.rstrip("/"): "the pipeline's own folder"}
        if isinstance(self.source, EventSource) and self.source.path is not None:
            taken[self.source.path.rstrip("/")] = "the source"
        for place, sink in self._all_sinks():
            where = target(sink)
            if where is not None and where in taken:
                yield f"{place}: {where} is taken by {taken[where]}: name another place"
            elif where is not None:
                taken[where] = place

    def _throttle_problems(self, throttle: Throttle) -> Iterator[str]:
        yield from throttle.problems()
        for name in throttle.sinks:
            if name not in self._named():
                hint = suggestion(name, self._named()) or f"there are {', '.join(self._named())}"
                yield f"there is no sink {name!r}; {hint}"

    def check(self, session: SparkSession) -> Iterator[str]:
        """What is wrong with it on this Spark: libraries, servers, columns."""
        yield from _placed("folder", missing_file_system(session, self.folder))
        if is_remote(session):
            return
        for place, sink in self._all_sinks():
            yield from _placed(place, sink.check(session))
        source: list[str] = []
        if isinstance(self.source, EventSource):
            source = [*_placed("source", self.source.check(session))]
            yield from source
        if not source:
            yield from self._check_events(session)
        if isinstance(self.subscriptions, SubscriptionSource):
            yield from _placed("subscriptions", self.subscriptions.check(session))

    def _check_events(self, session: SparkSession) -> Iterator[str]:
        from pyspark.errors import PySparkException

        try:
            shaped = self._shaped(session)
            wanted = [*([shaped.column] if shaped.column else []), *shaped.keep]
            check_present(shaped.frame.columns, wanted, "the source")
            if shaped.column:
                form_of(shaped.frame, shaped.column)
            self._schema()
        except (PySparkException, TamisError) as error:
            yield f"events: {str(error).strip().splitlines()[0]}"

    def try_out(self, session: SparkSession) -> Iterator[str]:
        """Compile the subscriptions: those that are faulty, and what else is wrong with them."""
        from pyspark.errors import PySparkException

        try:
            found = self._feed(session).look(Index(Engine()), {})
        except (PySparkException, TamisError) as error:
            yield f"subscriptions: {str(error).strip().splitlines()[0]}"
            return
        rows = [] if found is None else found[0].rejected.to_pylist()
        for row in rows[:_SHOWN]:
            yield f"subscriptions: {row['id']!r}: {row['error'].splitlines()[0]}"
        if len(rows) > _SHOWN:
            yield f"subscriptions: {len(rows) - _SHOWN:,} more are faulty"

    def run(
        self,
        session: SparkSession,
        *,
        once: bool = False,
        told: Callable[[BatchReport], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Run:
        """Run until it is stopped, or ``once``: until all events that are there are done.

        SIGTERM, SIGINT and ``stop``, which any thread may set, finish the running micro-batch.
        ``told`` is called after each of them. Raises ``PipelineError`` with everything that is
        wrong before anything starts.
        """
        problems = [*self.problems()] or [*self.check(session)]
        if problems:
            raise PipelineError(problems)
        storage = Storage(session, self.folder)
        versions = Versions(session, storage, self._feed(session))
        shaped, stop = self._shaped(session), stop or threading.Event()
        work = Work(
            self._identity(storage),
            shaped,
            Outlets(self._named(), self.rejected_events, self.rejected_subscriptions),
            self._schema(),
            self.events.types,
            self._options(),
            None if self.throttle is None else QuietSubscriptions(storage, self.throttle),
            self.patience,
            stop.is_set,
        )
        run = Run(versions, work, stop)
        writer = shaped.frame.writeStream.foreachBatch(run.batch).queryName(self.name)
        writer = writer.option("checkpointLocation", f"{storage.root}/{CHECKPOINT}")
        if once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{max(self.every, 0):g} seconds")
        try:
            follow(writer.start(), run, stop, told)
        finally:
            versions.close()
        return run

    def _identity(self, storage: Storage) -> str:
        """What tells this pipeline from others: its name, and a mark that its folder keeps."""
        kept = storage.read(IDENTITY)
        if kept is None:
            kept = f"{self.name}-{secrets.token_hex(4)}".encode()
            storage.write(IDENTITY, kept)
        return kept.decode()

    def _feed(self, session: SparkSession) -> Any:
        settings: dict[str, Any] = {"schema": self._schema()}
        if not isinstance(self.subscriptions, SubscriptionSource):
            return Tables(self.subscriptions, settings)
        given = self.subscriptions
        if given.taxonomy is not None:
            path = local_path(given.taxonomy)
            assert path is not None
            settings["taxonomy"] = Taxonomy(json.loads(path.read_text("utf-8")))
        return given.feed(session, settings | {"operators": given.operators})

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"limit": self.limit, "bindings": self.bindings}
        if isinstance(self.subscriptions, SubscriptionSource):
            options["subscription_columns"] = self.subscriptions.columns
            options["operators"] = self.subscriptions.operators
        return options

    def _schema(self) -> Schema | None:
        if self.events.schema is None:
            return None
        path = local_path(self.events.schema)
        assert path is not None
        return Schema.from_json(path.read_text("utf-8"))

    def _shaped(self, session: SparkSession) -> ShapedEvents:
        time = None if self.throttle is None else self.throttle.time
        if isinstance(self.source, EventSource):
            return shape(self.source.stream(session), self.source, self.events, time)
        return shape(self.source, None, self.events, time)

    def _named(self) -> dict[str, Sink]:
        if isinstance(self.sinks, Mapping):
            return dict(self.sinks)
        found: dict[str, Sink] = {}
        for sink in self.sinks:
            name = type(sink).__name__.lower()
            found[name if name not in found else f"{name} {len(found) + 1}"] = sink
        return found

    def _all_sinks(self) -> Iterator[tuple[str, Sink]]:
        for name, sink in self._named().items():
            yield f"sinks.{name}", sink
        for name, other in (
            ("rejected.events", self.rejected_events),
            ("rejected.subscriptions", self.rejected_subscriptions),
        ):
            if other is not None:
                yield name, other


def _placed(place: str, problems: Iterator[str]) -> Iterator[str]:
    for problem in problems:
        yield f"{place}: {problem}"
