"""The events of a record batch, apart from those that cannot be read.

batch ─┬─ readable ────> what the engine matches, and the row of each event
       └─ unreadable ──> row, text, reason
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays.documents.documents import Documents, JsonDocuments, VariantDocuments
from tamis.arrays.types import Rows
from tamis.engine.engine import Engine
from tamis.errors import EventError, LimitError
from tamis.graphs.documents import DocumentColumn
from tamis.model.events.event import Event
from tamis.model.events.readers import read_arrow
from tamis.model.limits import Limits
from tamis.spark.columns import Form

Unreadable = (EventError, LimitError)
"""The errors that an event causes, and not what is done with it."""


class BatchEvents(NamedTuple):
    """The events of a batch that can be read, and why the others cannot."""

    events: Any
    """As ``match_chunks`` takes them."""
    rows: Rows | None
    """The row of each event; None if every row is an event."""
    rejected: dict[int, str]
    """The reasons, by row."""
    graphs: DocumentColumn | None = None
    """Those of the events."""

    def with_graphs(self, column: Any, format: str, limits: Limits) -> BatchEvents:
        """The events with the graphs of a column of the batch."""
        kept = column if self.rows is None else column.take(self.rows)
        return self._replace(graphs=DocumentColumn(kept, format, limits))

    def within(self, other: BatchEvents) -> BatchEvents:
        """A reading of the other one's events, by the rows of the batch."""
        if other.rows is None:
            return self
        rows = other.rows if self.rows is None else other.rows[self.rows]
        rejected = {int(other.rows[row]): reason for row, reason in self.rejected.items()}
        return self._replace(rows=rows, rejected={**other.rejected, **rejected})


def read_batch(batch: pa.RecordBatch, form: Form, engine: Engine) -> BatchEvents:
    """The events of a batch of attributes, or of one column of whole events."""
    if form == "columns":
        return BatchEvents(batch, None, {})
    column: Any = batch.column(0)
    if form == "struct":
        names = [field.name for field in column.type]
        return BatchEvents(pa.record_batch(column.flatten(), names=names), None, {})
    limits = engine.limits
    documents = documents_of(batch, form)
    if documents is not None:
        return _read_each(len(column), lambda row: documents.event(row, limits))
    asked = engine.attributes()
    if asked is not None:
        return BatchEvents(_looked_up(column, sorted(asked)), None, {})
    return _read_each(len(column), lambda row: Event(dict(column[row].as_py() or ()), limits))


def documents_of(batch: pa.RecordBatch, form: Form) -> Documents | None:
    """The documents of a batch with one column of them."""
    if form == "json":
        return JsonDocuments(batch.column(0))
    return VariantDocuments(batch.column(0)) if form == "variant" else None


def _looked_up(column: Any, names: Sequence[str]) -> pa.RecordBatch:
    """The attributes of a column of maps, as columns."""
    arrays = [pc.map_lookup(column, name, "last") for name in names]
    if not names:  # a batch has as many rows as a column of it
        names, arrays = [""], [pa.nulls(len(column))]
    return pa.record_batch(arrays, names=list(names))


def _read_each(count: int, read: Callable[[int], Event]) -> BatchEvents:
    """Events that are read one by one."""
    events: list[Event] = []
    rejected: dict[int, str] = {}
    for row in range(count):
        try:
            events.append(read(row))
        except Unreadable as error:
            rejected[row] = str(error)
    return BatchEvents(events, _others(count, rejected), rejected)


def without_unreadable(reading: BatchEvents, limits: Limits) -> BatchEvents:
    """The events of a batch that has failed, of which each is now read by itself."""
    events, graphs = reading.events, reading.graphs
    rejected = {} if graphs is None else graphs.problems()
    if isinstance(events, pa.RecordBatch):
        for row in range(events.num_rows):
            try:
                next(read_arrow(events.slice(row, 1), limits))
            except Unreadable as error:
                rejected[row] = str(error).removeprefix("row 0: ")
    rows = _others(len(events), rejected)
    if rows is None:
        return BatchEvents(events, None, rejected, graphs)
    if isinstance(events, list):
        events = [events[row] for row in rows.tolist()]
    else:
        events = events.take(rows)
    return BatchEvents(events, rows, rejected, None if graphs is None else graphs.take(rows))


def _others(count: int, rejected: dict[int, str]) -> Rows | None:
    """The rows that are not rejected; None if none is."""
    if not rejected:
        return None
    kept = np.ones(count, bool)
    kept[list(rejected)] = False
    return np.flatnonzero(kept)


def text_of(batch: pa.RecordBatch, row: int, form: Form) -> str:
    """An event as a text that people can read: the document itself, or what there is as JSON."""
    if form == "json":
        return JsonDocuments(batch.column(0)).text(row)
    if form == "variant":
        return _variant_text(batch.column(0)[row].as_py())
    (event,) = batch.slice(row, 1).to_pylist()
    return json.dumps(event, default=str, ensure_ascii=False)


def _variant_text(variant: Mapping[str, bytes]) -> str:
    """A variant as JSON; if it is broken, its bytes in hexadecimal digits."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import VariantVal

    try:
        return VariantVal(variant["value"], variant["metadata"]).toJson()
    except (PySparkException, IndexError, ValueError, RecursionError):
        return variant["value"].hex()
