"""Matching in Python workers: record batches of events in, record batches of matches out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol

import pyarrow as pa

from tamis.arrays.documents.documents import Documents
from tamis.arrays.types import Rows
from tamis.engine.matches import Matches
from tamis.errors import EventError, TamisError
from tamis.model.limits import LIMITS, Limits
from tamis.spark.columns import BINDINGS, REASON, TEXT, Form
from tamis.spark.index.index import Index
from tamis.spark.reading import (
    BatchEvents,
    Unreadable,
    documents_of,
    read_batch,
    text_of,
    without_unreadable,
)

Batches = Iterator[pa.RecordBatch]

OnError = Literal["fail", "skip", "collect"]
"""What becomes of events that cannot be read."""

NO_GRAPHS = "some subscriptions have graph patterns: name the column of RDF documents in graph="
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
    """The columns that are attributes; only one if it holds whole events."""
    form: Form
    keep: tuple[str, ...]
    schema: pa.Schema
    limit: int | None
    limits: Limits = LIMITS
    """The limits of the engine, which its file does not store."""
    operators: tuple[str, ...] = ()
    """Modules that declare operators."""
    bindings: bool = False
    """Whether there is a column with the values of variables, as JSON."""
    on_error: OnError = "fail"
    """Unless it is ``fail``, the last two columns are text and reason of rejected events."""
    graph: tuple[str, str] | None = None
    """The column of RDF documents, and their format."""

    def __call__(self, batches: Batches) -> Batches:
        """The matches of the events of a partition."""
        index: Index | None = None
        for batch in batches:
            if index is None:
                index = opened(self.source.path(), self.limits, self.operators)
                if self.graph is None and index.reads_graphs:
                    raise TamisError(NO_GRAPHS)
            yield from self.matches(batch, index)

    def fresh(self) -> Index:
        """The index, opened for one task alone."""
        declare(self.operators)
        return Index.open(self.source.path(), verify=False, limits=self.limits)

    def matches(self, batch: pa.RecordBatch, index: Index) -> Batches:
        """The matches of a batch, in chunks, and the events that cannot be read."""
        batch = batch.rename_columns(list(self.columns))
        attributes = batch.select(list(self.attributes))
        documents = documents_of(attributes, self.form)
        if documents is not None and self.graph is None:
            yield from self._of_documents(batch, documents, index)
            return
        reading = read_batch(attributes, self.form, index.engine)
        if self.graph is not None:
            name, format = self.graph
            reading = reading.with_graphs(batch[name], format, index.engine.limits)
        if self.on_error == "fail":
            self.check(batch, reading.rejected)
            try:
                for chunk in self._chunks(reading, index):
                    yield from self._found(batch, chunk, None, index)
            except Unreadable:
                if reading.graphs is not None:
                    self.check(batch, reading.graphs.problems())
                raise
            return
        reading, chunks = self._readable(reading, index)
        for chunk in chunks:
            yield from self._found(batch, chunk, reading.rows, index)
        yield from self.rejections(batch, sorted(reading.rejected.items()))

    def _of_documents(self, batch: pa.RecordBatch, documents: Documents, index: Index) -> Batches:
        for found in index.documents.chunks(documents, self.limit, 1):
            rejected = {row: str(error) for row, error in found.rejected.items()}
            for row in found.blank.tolist():
                rejected[row] = "not valid JSON: an empty document"
            if self.on_error == "fail":
                self.check(batch, rejected)
            for chunk in index.engine.chunks(found.pairs):
                yield from self._found(batch, chunk, None, index)
            yield from self.rejections(batch, sorted(rejected.items()))

    def check(self, batch: pa.RecordBatch, rejected: Mapping[int, str]) -> None:
        """Raise if there is an event that cannot be read, or not be decided."""
        for row, reason in rejected.items():
            raise EventError(f"the event {batch[self.event_id][row].as_py()!r}: {reason}")

    def _chunks(self, reading: BatchEvents, index: Index) -> Iterator[Matches]:
        return index.engine.match_chunks(reading.events, limit=self.limit, graphs=reading.graphs)

    def _readable(self, reading: BatchEvents, index: Index) -> tuple[BatchEvents, list[Matches]]:
        """All matches of the events that can be read; an error might come after the first of them,
        so none is given away before the last is there."""
        try:
            return reading, list(self._chunks(reading, index))
        except Unreadable:
            rest = without_unreadable(reading, index.engine.limits)
            if not rest.rejected:
                raise
        was = reading.rows
        rejected = {
            int(row if was is None else was[row]): why for row, why in rest.rejected.items()
        }
        rows = rest.rows if was is None or rest.rows is None else was[rest.rows]
        again = BatchEvents(rest.events, rows, {**reading.rejected, **rejected}, rest.graphs)
        return again, list(self._chunks(again, index))

    def _found(
        self, batch: pa.RecordBatch, chunk: Matches, rows: Rows | None, index: Index
    ) -> Batches:
        """The matches of a chunk, and the pairs that nobody can decide."""
        yield self._matched(batch, chunk, rows, index)
        undecided = [
            (pair.event if rows is None else int(rows[pair.event]), str(pair))
            for pair in chunk.incomplete
        ]
        if self.on_error == "fail":
            self.check(batch, dict(undecided))
        yield from self.rejections(batch, undecided)

    def _matched(
        self, batch: pa.RecordBatch, chunk: Matches, rows: Rows | None, index: Index
    ) -> pa.RecordBatch:
        """The rows of a chunk of matches."""
        event = chunk.event if rows is None else rows[chunk.event]
        columns: list[Any] = [batch[name].take(event) for name in (self.event_id, *self.keep)]
        for name in self.schema.names[len(columns) :]:
            if name in (TEXT, REASON) and self.on_error != "fail":
                columns.append(pa.nulls(len(event), pa.string()))
            elif name == BINDINGS and self.bindings:
                values = [json.dumps(each, default=str) for each in chunk.bindings]
                columns.append(pa.array(values, pa.string()))
            else:
                columns.append(index.columns[name].chunk(0).take(chunk.slot))
        fields = zip(columns, self.schema.types, strict=True)
        arrays = [column.cast(kind) for column, kind in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def rejections(self, batch: pa.RecordBatch, rejected: Sequence[tuple[int, str]]) -> Batches:
        """The rows of rejected events, which have nothing of a subscription."""
        if not rejected:
            return
        rows = [row for row, _ in rejected]
        attributes = batch.select(list(self.attributes))
        said = {
            TEXT: [text_of(attributes, row, self.form) for row in rows],
            REASON: [reason for _, reason in rejected],
        }
        given = [batch[name].take(rows) for name in (self.event_id, *self.keep)]
        rest = list(self.schema)[len(given) :]
        absent = [None] * len(rows)
        others = [pa.array(said.get(field.name, absent), field.type) for field in rest]
        yield pa.RecordBatch.from_arrays([*given, *others], schema=self.schema)


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
