"""Matching in Python workers: record batches of events in, record batches of matches out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import EventError, LimitError, TamisError
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_json
from tamis.model.limits import LIMITS, Limits
from tamis.spark.index.index import Index

Batches = Iterator[pa.RecordBatch]

_OPEN: dict[tuple[Any, ...], Index] = {}
_MOST_OPEN = 4


class Source(Protocol):
    """Knows which file holds the index for a worker's task."""

    def path(self) -> str:
        """The path of the file."""


class MatchTask(NamedTuple):
    """Matches the events of a partition; pickled once with the plan."""

    source: Source
    columns: tuple[str, ...]
    """The names of a batch's columns; Spark may use other names."""
    event_id: str
    attributes: tuple[str, ...]
    """The columns that are attributes; only one if ``packed``."""
    packed: bool
    """Whether events are in one column: JSON, a map or a struct."""
    keep: tuple[str, ...]
    schema: pa.Schema
    limit: int | None
    limits: Limits = LIMITS
    """The limits of the engine, which its file does not store."""
    operators: tuple[str, ...] = ()
    """Modules that declare operators."""
    bindings: bool = False
    """Whether the last column is the values of variables, as JSON."""

    def __call__(self, batches: Batches) -> Batches:
        """The matches of the events of a partition."""
        index: Index | None = None
        for batch in batches:
            if index is None:
                index = opened(self.source.path(), self.limits, self.operators)
            yield from self.matches(batch, index)

    def matches(self, batch: pa.RecordBatch, index: Index) -> Batches:
        """The matches of a batch, in chunks."""
        batch = batch.rename_columns(list(self.columns))
        events: Any = batch.select(list(self.attributes))
        if self.packed:
            events = unpacked(events.column(0), batch[self.event_id], index)
        names = self.schema.names[1 + len(self.keep) :]
        if self.bindings:
            names = names[:-1]
        for chunk in index.engine.match_chunks(events, limit=self.limit):
            columns: list[Any] = [
                *(batch[name].take(chunk.event) for name in (self.event_id, *self.keep)),
                *(index.columns[name].chunk(0).take(chunk.slot) for name in names),
            ]
            if self.bindings:
                values = [json.dumps(each, default=str) for each in chunk.bindings]
                columns.append(pa.array(values, pa.string()))
            fields = zip(columns, self.schema.types, strict=True)
            arrays = [column.cast(kind) for column, kind in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def opened(path: str, limits: Limits = LIMITS, operators: tuple[str, ...] = ()) -> Index:
    """The index of a file, opened once per process; if the file is replaced, it is opened again."""
    declare(operators)
    file = os.stat(path)
    key = (path, file.st_dev, file.st_ino, file.st_mtime_ns, limits)
    index = _OPEN.pop(key, None)
    if index is None:
        index = Index.open(path, verify=False, limits=limits)
    _OPEN[key] = index  # the last one is the one used last
    while len(_OPEN) > _MOST_OPEN:
        del _OPEN[next(iter(_OPEN))]
    return index


def declare(modules: Iterable[str]) -> None:
    """Import modules that declare operators."""
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise TamisError(
                f"the module {module!r}, which declares operators, cannot be imported: {error}; "
                "ship it to the executors, as with spark.submit.pyFiles"
            ) from error


def unpacked(column: Any, ids: Any, index: Index) -> Any:
    """The events of a column of structs, maps or JSON documents."""
    if pa.types.is_struct(column.type):
        return pa.record_batch(column.flatten(), names=[field.name for field in column.type])
    if not pa.types.is_map(column.type):
        return _documents(column.to_pylist(), ids, index.engine.limits)
    attributes = index.engine.attributes()
    if attributes is None:
        limits = index.engine.limits
        return [Event(dict(event or {}), limits) for event in column.to_pylist()]
    names = sorted(attributes)
    arrays = [pc.map_lookup(column, name, "last") for name in names]
    if not names:  # a batch has as many rows as a column of it
        names, arrays = [""], [pa.nulls(len(column))]
    return pa.record_batch(arrays, names=names)


def _documents(documents: Iterable[Any], ids: Any, limits: Limits) -> list[Event]:
    events = []
    for row, document in enumerate(documents):
        try:
            events.append(Event({}) if document is None else read_json(document, limits))
        except (EventError, LimitError) as error:
            raise type(error)(f"the event {ids[row].as_py()!r}: {error}") from error
    return events
