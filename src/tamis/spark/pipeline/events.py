"""Where events come from, and how they become rows that Tamis can match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tamis.spark.columns import EVENT_ID, quoted
from tamis.spark.pipeline.libraries import (
    SERVERS,
    missing_file_system,
    missing_format,
    unavailable_kafka,
)
from tamis.spark.pipeline.settings import Location, Options, local_path
from tamis.spark.pipeline.throttle import TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DOCUMENT = "document"
"""The column of a source that holds whole events as JSON."""
FILES = ("json", "csv", "parquet", "orc", "text", "xml")
"""Formats of directories of files."""
TABLES = ("delta", "iceberg")
_KAFKA = "kafka"
_RECORD = ("key", "topic", "partition", "offset", "timestamp", "headers")


@dataclass(frozen=True, slots=True)
class EventSource:
    """A stream of Spark: files, Kafka, a table, ``rate``, or any other format by its name.

    A directory of JSON files without ``columns``, and a topic of Kafka, give documents: each line,
    or the value of each record, is an event.
    """

    format: str
    """json, csv, parquet, kafka, delta, iceberg, rate, or the name of any streaming source"""
    path: Location | None = None
    """the directory, for files and Delta tables"""
    table: str | None = None
    """the name of a table in the catalog, instead of a path"""
    columns: str | None = None
    """names and types, for files: "id long, price double, tags array<string>" """
    options: Options = field(default_factory=dict)
    """options of the source, as in Spark's documentation"""

    @property
    def documents(self) -> bool:
        """Whether an event is a JSON document in one column."""
        return self.format in (_KAFKA, "text") or (self.format == "json" and self.columns is None)

    def problems(self) -> Iterator[str]:
        """What is wrong with it, as far as one can tell without Spark."""
        if self.format in FILES:
            if self.path is None:
                yield f"the format {self.format!r} needs a path"
            elif (folder := local_path(self.path)) is not None and not folder.is_dir():
                yield f"there is no directory {self.path}: create it, or correct the path"
            if self.format in ("csv", "xml", "orc") and self.columns is None:
                yield f"the format {self.format!r} needs columns, such as 'id long, price double'"
        if self.format == _KAFKA:
            if SERVERS not in self.options:
                yield f"options need {SERVERS!r}, such as 'localhost:9092'"
            chosen = {"subscribe", "subscribePattern", "assign"} & set(self.options)
            if len(chosen) != 1:
                yield "options need one of 'subscribe', 'subscribePattern' and 'assign'"
        if self.format in TABLES and self.path is None and self.table is None:
            yield f"the format {self.format!r} needs a path or a table"

    def check(self, session: SparkSession) -> Iterator[str]:
        """What is wrong with it on this Spark."""
        missing = [*missing_format(session, self.format)]
        yield from missing
        if self.path is not None:
            yield from missing_file_system(session, self.path)
        if self.format == _KAFKA and not missing:
            yield from unavailable_kafka(session, self.options, self.options.get("subscribe", ""))

    def stream(self, session: SparkSession) -> DataFrame:
        """The stream, with whole events in the column ``document`` if it has documents."""
        reader = session.readStream.options(**self._defaults(), **self.options)
        if self.table is not None:
            return reader.table(self.table)
        form = "text" if self.documents and self.format == "json" else self.format
        if self.columns is not None:
            reader = reader.schema(self.columns)
        elif self.format == "parquet":
            reader = reader.schema(session.read.parquet(str(self.path)).schema)
        frame = reader.load(self.path, format=form)
        if not self.documents:
            return frame
        if self.format != _KAFKA:
            return frame.withColumnRenamed("value", DOCUMENT)
        record = [name for name in _RECORD if name in frame.columns]
        return frame.selectExpr(f"CAST(value AS STRING) AS {DOCUMENT}", *record)

    def _defaults(self) -> dict[str, str]:
        """A pipeline that starts for the first time takes everything that is there."""
        given = self.format == _KAFKA and not any("starting" in name for name in self.options)
        return {"startingOffsets": "earliest"} if given else {}

    def default_id(self) -> str:
        """The SQL expression of an event's id, if the user gives none."""
        if self.format == _KAFKA:
            return "concat_ws('-', topic, partition, offset)"
        if self.documents:
            return f"coalesce(get_json_object({DOCUMENT}, '$.id'), md5({DOCUMENT}))"
        return "value" if self.format == "rate" else "id"


@dataclass(frozen=True, slots=True)
class EventForm:
    """How rows of the source are read as events."""

    id: str | None = None
    """the event's id: a column, or an SQL expression over the columns of the source"""
    column: str | None = None
    """the column that holds whole events, if it is not the usual one"""
    where: str | None = None
    """an SQL condition over the columns of the source: other rows are no events"""
    select: tuple[str, ...] = ()
    """SQL expressions that make the events from the columns of the source"""
    keep: tuple[str, ...] = ()
    """columns that matches and rejected events carry along"""
    schema: Location | None = None
    """JSON file of a Tamis schema: events that break it are rejected"""
    types: tuple[str, ...] = ()
    """types of events that do not name their own, for the schema"""

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        if self.schema is not None:
            path = local_path(self.schema)
            if path is None:
                yield f"the schema {self.schema} must be a file on this machine"
            elif not path.is_file():
                yield f"there is no schema {self.schema}: correct the path"
        elif self.types:
            yield "types need a schema"


@dataclass(frozen=True, slots=True)
class ShapedEvents:
    """A stream of events that ``match`` takes."""

    frame: DataFrame
    event_id: str
    column: str | None
    keep: tuple[str, ...]


def shape(
    frame: DataFrame, source: EventSource | None, form: EventForm, time: str | None = None
) -> ShapedEvents:
    """The events of a stream, with an id, and with the time that an expression gives."""
    keep = form.keep
    if form.where is not None:
        frame = frame.where(form.where)
    if form.select:
        frame = frame.selectExpr(*form.select)
    if time is not None:
        frame = frame.selectExpr("*", f"try_cast({time} AS TIMESTAMP) AS {TIME}")
        keep = (*keep, TIME)
    column = form.column
    if column is None and DOCUMENT in frame.columns and (source is None or source.documents):
        column = DOCUMENT
    default = "id" if source is None else source.default_id()
    given = default if form.id is None else form.id
    if given in frame.columns:
        return ShapedEvents(frame, given, column, keep)
    frame = frame.selectExpr("*", f"{given} AS {quoted(EVENT_ID)}")
    return ShapedEvents(frame, EVENT_ID, column, keep)
