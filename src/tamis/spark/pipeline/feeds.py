"""Where subscriptions come from, and how their changes are found.

A feed is a source of snapshots (snapshots/sources.py): it is given the index and what it remembers,
and returns the next index if anything has changed. What it remembers is saved with the index.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.errors import TamisError
from tamis.spark.columns import ID, SUBSCRIPTION, quoted
from tamis.spark.index.index import Index
from tamis.spark.pipeline.change_feeds import ChangeFeed, DeltaTable, IcebergTable
from tamis.spark.pipeline.libraries import (
    SERVERS,
    kafka_partitions,
    missing_extension,
    missing_file_system,
    missing_format,
    unavailable_kafka,
)
from tamis.spark.pipeline.settings import Duration, FunctionName, Location, Options, local_path
from tamis.spark.pipeline.sinks.broker import broker_subscriptions
from tamis.spark.pipeline.storage import Storage
from tamis.spark.snapshots.sources import (
    READERS,
    Source,
    State,
    Tables,
    first_index,
    read_changes,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BROKER = "broker"
_EARLIEST = -2
"""The first record of a partition, as an offset for Spark's connector."""
_FEEDING: dict[str, type[DeltaTable] | type[IcebergTable]] = {
    "delta": DeltaTable,
    "iceberg": IcebergTable,
}
"""Formats of tables that tell what has changed."""


@dataclass(frozen=True, slots=True)
class SubscriptionSource:
    """A table of subscriptions, change files, a compacted topic, or a function.

    A table and a function are read again if they have changed. With ``change_feed``, only what has
    changed is read. With ``changes``, the table is only what the pipeline starts with.
    """

    format: str | None = None
    """csv, json, parquet, delta, iceberg, kafka, broker, or any other that Spark can read"""
    path: Location | None = None
    """the file or folder of the table"""
    table: str | None = None
    """the name of a table in the catalog, instead of a path"""
    function: FunctionName | None = None
    """"module:name" of a Python function that returns all subscriptions"""
    change_feed: bool = False
    """whether a Delta or Iceberg table tells what has changed in it"""
    changes: Location | None = None
    """a folder of change files, NDJSON or Parquet: id, subscription (null removes it), version"""
    options: Options = field(default_factory=dict)
    """options for Spark's reader; for Kafka, the servers and the topic to subscribe to; for a
    broker, its address and the key of an administrator"""
    columns: tuple[str, ...] = ()
    """more columns of the table, for the matches"""
    taxonomy: Location | None = None
    """JSON file that maps each term to its parents"""
    operators: tuple[str, ...] = ()
    """modules that declare operators"""
    every: Duration = 0.0
    """look for changes at most so often; 0 means before every batch"""

    def problems(self) -> Iterator[str]:
        """What is wrong with it, as far as one can tell without Spark."""
        places = [self.path, self.table, self.function, self.changes]
        if not any(places) and self.format not in ("kafka", _BROKER):
            yield "needs a path, a table, a function, changes, or the format 'kafka' or 'broker'"
        if sum(each is not None for each in places[:3]) > 1:
            yield "takes only one of path, table and function"
        if self.path is not None:
            if self.format is None:
                yield "a path needs a format, such as 'csv' or 'parquet'"
            local = local_path(self.path)
            if local is not None and not local.exists():
                yield f"there is no {self.path}: correct the path"
        if self.change_feed:
            yield from self._change_feed_problems()
        if self.changes is not None:
            local = local_path(self.changes)
            if local is not None and not local.is_dir():
                yield f"there is no directory {self.changes}: create it, or correct the path"
        if self.format == "kafka" and not {SERVERS, "subscribe"} <= set(self.options):
            yield f"Kafka needs the options {SERVERS!r} and 'subscribe'"
        if self.format == _BROKER and not {"address", "key"} <= set(self.options):
            yield "a broker needs the options 'address' and 'key'"
        if self.taxonomy is not None:
            local = local_path(self.taxonomy)
            if local is None or not local.is_file():
                yield f"there is no taxonomy {self.taxonomy} on this machine: correct the path"
        if self.function is not None:
            yield from _function_problems(self.function)

    def _change_feed_problems(self) -> Iterator[str]:
        if self.format not in _FEEDING:
            yield f"change_feed needs the format 'delta' or 'iceberg', not {self.format!r}"
        if self.changes is not None:
            yield "takes only one of changes and change_feed"
        if self.format == "iceberg" and self.table is None:
            yield "the change feed of Iceberg needs a table of the catalog, not a path"

    def check(self, session: SparkSession) -> Iterator[str]:
        """What is wrong with it on this Spark."""
        missing = [] if self.format in (None, _BROKER) else [*missing_format(session, self.format)]
        yield from missing
        for place in (self.path, self.changes):
            if place is not None:
                yield from missing_file_system(session, place)
        if self.format == "kafka" and not missing:
            yield from unavailable_kafka(session, self.options, self.options["subscribe"])
        if self.change_feed and self.format == "delta":
            yield from missing_extension(session)

    def feed(self, session: SparkSession, settings: Mapping[str, Any]) -> Source:
        """The source of snapshots."""
        found: Source
        settings = {**settings, "columns": self.columns}
        if self.format == "kafka":
            found = CompactedTopic(session, self.options, settings)
        elif self.change_feed:
            name = self.table or f"{self.format}.{quoted(str(self.path))}"
            found = ChangeFeed(_FEEDING[str(self.format)](session, name), settings)
        elif self.changes is not None:
            found = ChangeFolder(Storage(session, self.changes), self._read(session), settings)
        else:
            read = self._read(session)
            assert read is not None
            found = Tables(read, settings)
            if self.path is not None:
                found = ChangedFiles(Storage(session, self.path), found)
        return IntervalFeed(found, self.every) if self.every else found

    def _read(self, session: SparkSession) -> Callable[[], Any] | None:
        if self.function is not None:
            return load_function(self.function)
        if self.format == _BROKER:
            return broker_subscriptions(self.options["address"], self.options["key"])
        if self.path is None and self.table is None:
            return None

        def read() -> DataFrame:
            if self.table is not None:
                session.catalog.refreshTable(self.table)
                return session.table(self.table)
            options = {"header": "true", "multiLine": "true"} if self.format == "csv" else {}
            reader = session.read.options(**{**options, **self.options})
            return reader.load(self.path, format=self.format)

        return read


def _function_problems(name: Any) -> Iterator[str]:
    try:
        load_function(name)
    except TamisError as error:
        yield str(error)


def load_function(name: Any) -> Callable[..., Any]:
    """The function that ``"module:name"`` means; a function is taken as it is."""
    if not isinstance(name, str):
        if callable(name):
            given: Callable[..., Any] = name
            return given
        raise TamisError(f"{name!r} is not a function, nor 'module:name'")
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise TamisError(f"{name!r} must be 'module:name'")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise TamisError(f"cannot import {name!r}: {error}") from error
    if not callable(found):
        raise TamisError(f"{name!r} is not a function")
    function: Callable[..., Any] = found
    return function


class ChangedFiles:
    """A table of files, which is only read if a file was added, removed or written."""

    def __init__(self, storage: Storage, table: Tables) -> None:
        self._storage = storage
        self._table = table
        self._seen: list[Any] | None = None

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index of the table as it is now."""
        seen: list[Any] = self._storage.listing()
        if seen and seen == self._seen:
            return None
        found = self._table.look(index, state)
        self._seen = seen
        return found


class IntervalFeed:
    """Looks for changes only every so many seconds."""

    def __init__(self, feed: Source, every: float) -> None:
        self._feed = feed
        self._every = every
        self._next = 0.0

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """What the feed finds, if it is time to look."""
        if time.monotonic() < self._next:
            return None
        found = self._feed.look(index, state)
        self._next = time.monotonic() + self._every
        return found


class ChangeFolder:
    """A folder of change files on any file system, read in the order of their names.

    A file that cannot be read holds up those after it.
    """

    def __init__(
        self, storage: Storage, first: Callable[[], Any] | None, settings: Mapping[str, Any]
    ) -> None:
        self._storage = storage
        self._first = first
        self._settings = settings

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index after the new files, up to the first one that cannot be read."""
        rejected: list[pa.Table] = []
        if "taken" not in state:
            index = first_index(self._first, self._settings)
            rejected.append(index.rejected)
        present = [each.name for each in self._storage.listing() if _suffix(each.name) in READERS]
        before = set(state.get("taken", ()))
        taken = [name for name in present if name in before]
        for name in present:
            if name in before:
                continue
            try:
                index.change(self._rows(name))
            except TamisError:
                if not rejected:
                    raise
                break  # it is the first the next time
            rejected.append(index.rejected)
            taken.append(name)
        if not rejected:
            return None
        index.rejected = pa.concat_tables(rejected)
        return index, {"taken": taken}

    def _rows(self, name: str) -> pa.Table:
        with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
            local = Path(folder) / name
            self._storage.download(name, local)
            return read_changes(local)


def _suffix(name: str) -> str:
    return Path(name).suffix


class CompactedTopic:
    """A topic of Kafka with the latest subscription of each key; no value removes it.

    A value is the JSON object ``{"subscription": …}``, with a ``version`` and the other columns if
    there are such. Only what was appended since the last look is read.
    """

    def __init__(
        self, session: SparkSession, options: Options, settings: Mapping[str, Any]
    ) -> None:
        self._session = session
        self._options = options
        self._settings = settings

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index after the records that were appended."""
        started = "offsets" in state
        if not started:
            index = first_index(None, self._settings)
        records = self._appended(state.get("offsets"))
        if not records and started:
            return None
        offsets = _after(records, state.get("offsets") or {})
        if records:
            index.change(_changes(records, index.columns.column_names))
        return index, {"offsets": offsets}

    def _appended(self, offsets: Mapping[str, Any] | None) -> list[Any]:
        reader = self._session.read.format("kafka").options(**self._options)
        reader = reader.option("startingOffsets", self._start(offsets) if offsets else "earliest")
        frame = reader.load().selectExpr(
            "topic", "partition", "offset", "CAST(key AS STRING) key", "CAST(value AS STRING) value"
        )
        return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))

    def _start(self, offsets: Mapping[str, Any]) -> str:
        """Where to go on: Spark wants to know it of all partitions, also of empty ones."""
        there = kafka_partitions(self._session, self._options, self._options["subscribe"])
        found: dict[str, dict[str, int]] = {}
        for topic, count in there.items():
            known = offsets.get(topic, {})
            found[topic] = {str(part): known.get(str(part), _EARLIEST) for part in range(count)}
        return json.dumps(found)


def _after(records: list[Any], offsets: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The offsets after these records, as Spark's connector writes them."""
    found = {topic: dict(places) for topic, places in offsets.items()}
    for row in records:
        found.setdefault(row.topic, {})[str(row.partition)] = row.offset + 1
    return found


def _changes(records: list[Any], columns: list[str]) -> pa.Table:
    """The rows of records; what is not a subscription is one that cannot be parsed, and named."""
    rows = []
    others = [name for name in columns[1:] if name != SUBSCRIPTION]
    for record in records:
        value: Any = {SUBSCRIPTION: None}
        if record.value is not None:
            try:
                value = json.loads(record.value)
            except ValueError:
                value = record.value
            if not isinstance(value, dict) or not isinstance(value.get(SUBSCRIPTION), str):
                value = {SUBSCRIPTION: str(record.value)}
        rows.append((record.key or "", value))
    table = {
        ID: pa.array([key for key, _ in rows], pa.string()),
        SUBSCRIPTION: pa.array([value[SUBSCRIPTION] for _, value in rows], pa.string()),
    }
    for name in others:
        given = [value.get(name) for _, value in rows]
        if any(each is not None for each in given):
            table[name] = pa.array(given)
    return pa.table(table)
