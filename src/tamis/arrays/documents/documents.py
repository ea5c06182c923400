"""Columns of documents, JSON or variants, as columns of what is asked for in them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from tamis.arrays.arrow_buffers import are_within, frozen, string_buffers
from tamis.arrays.arrow_types import valid_rows
from tamis.arrays.documents.columns import TokenColumns
from tamis.arrays.documents.json_scan import scan_json
from tamis.arrays.documents.path_index import PathIndex
from tamis.arrays.documents.tokens import ASIDE, BLANK, READ, Tokens
from tamis.arrays.documents.variant_scan import scan_variants
from tamis.arrays.types import Bytes, Flags, Int8s, Int64s, Rows
from tamis.errors import EventError
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_json
from tamis.model.events.variant_events import read_variant
from tamis.model.limits import Limits

_ROUNDS = 8
"""Tables that documents of different kinds are divided into before the rest is read one by one."""


class Part(NamedTuple):
    """Some of the documents, as one table."""

    table: pa.RecordBatch
    rows: Rows
    """The document of each row of the table; they ascend."""


class Documents(Protocol):
    """A column of documents."""

    valid: Flags
    """Which of them are not null."""
    data: Bytes
    """The bytes that strings of tokens are in."""

    def scan(
        self, rows: Rows, paths: PathIndex, limits: Int64s, counts: Int64s, status: Int8s
    ) -> Tokens:
        """The tokens of some of them."""

    def event(self, row: int, limits: Limits) -> Event:
        """One of them as the plain reader reads it; raises if it cannot be read."""


class JsonDocuments:
    """Documents that are JSON, in a column of strings or bytes; a null is an empty object."""

    def __init__(self, column: Any) -> None:
        self.valid = valid_rows(column)
        self._offsets, self.data = string_buffers(column)
        if not are_within(self._offsets, self.data):
            raise EventError("invalid Arrow data: offsets outside of the buffer")

    def scan(
        self, rows: Rows, paths: PathIndex, limits: Int64s, counts: Int64s, status: Int8s
    ) -> Tokens:
        """The tokens of some of them."""
        tokens = _room(rows, paths)
        found, used = scan_json(
            self.data, self._offsets, rows, paths.tables, limits, tokens, counts, status
        )
        return found[:used]

    def bytes(self, row: int) -> bytes:
        """A document as it came."""
        return self.data[self._offsets[row] : self._offsets[row + 1]].tobytes()

    def event(self, row: int, limits: Limits) -> Event:
        """One of them as the plain reader reads it; raises if it cannot be read."""
        return read_json(self.bytes(row), limits) if self.valid[row] else Event({})

    def text(self, row: int) -> str:
        """One of them; what is not UTF-8 is replaced."""
        return self.bytes(row).decode(errors="replace")


class VariantDocuments:
    """Documents that are variants, in a column of structs of value and metadata; a null is an empty
    object."""

    def __init__(self, column: Any) -> None:
        self.valid = valid_rows(column)
        value, metadata = (column.field(name) for name in ("value", "metadata"))
        self._offsets, self.data = string_buffers(value)
        self._key_places, self._keys = string_buffers(metadata)
        whole = are_within(self._offsets, self.data) and are_within(self._key_places, self._keys)
        if not whole:
            raise EventError("invalid Arrow data: offsets outside of the buffer")

    def scan(
        self, rows: Rows, paths: PathIndex, limits: Int64s, counts: Int64s, status: Int8s
    ) -> Tokens:
        """The tokens of some of them."""
        tokens = _room(rows, paths)
        found, used = scan_variants(
            self.data,
            self._offsets,
            self._keys,
            self._key_places,
            rows,
            paths.tables,
            limits,
            tokens,
            counts,
            status,
        )
        return found[:used]

    def event(self, row: int, limits: Limits) -> Event:
        """One of them as the plain reader reads it; raises if it cannot be read."""
        if not self.valid[row]:
            return Event({})
        value = self.data[self._offsets[row] : self._offsets[row + 1]].tobytes()
        metadata = self._keys[self._key_places[row] : self._key_places[row + 1]].tobytes()
        return read_variant(value, metadata, limits)


def _room(rows: Rows, paths: PathIndex) -> Tokens:
    return np.empty((len(rows) * min(len(paths), 16) + 64, 4), np.int64)


class DocumentTables(NamedTuple):
    """Documents as tables of the paths that are asked for, and those that are left."""

    parts: list[Part]
    """The tables; documents in which a path has values of another kind are in another one."""
    blank: Rows
    """Documents of white space only."""
    aside: Rows
    """Documents that the plain reader must read: what is odd or broken, and nulls."""


def decoded(documents: Documents, rows: Rows, paths: PathIndex, limits: Limits) -> DocumentTables:
    """Some of the documents, decoded."""
    most = frozen((limits.document, limits.values, limits.string), np.int64)
    null = ~documents.valid[rows]
    aside, rows = [rows[null]], rows[~null]
    blank = np.empty(0, np.int64)
    parts: list[Part] = []
    for _ in range(_ROUNDS):
        if not len(rows):
            break
        columns, status = _scanned(documents, rows, paths, most)
        aside.append(rows[status == ASIDE])
        blank = np.concatenate((blank, rows[status == BLANK]))
        rows = rows[status == READ]
        odd = columns.odd()
        rows, rest = rows[~odd], rows[odd]
        if len(rest) and len(rows):
            columns, _ = _scanned(documents, rows, paths, most)
        if len(rows):
            parts.append(Part(columns.table(), rows))
        elif len(rest):
            aside.append(rest)
            break
        rows = rest
    else:
        aside.append(rows)
    return DocumentTables(parts, blank, np.sort(np.concatenate(aside)))


def _scanned(
    documents: Documents, rows: Rows, paths: PathIndex, limits: Int64s
) -> tuple[TokenColumns, Int8s]:
    status = np.empty(len(rows), np.int8)
    counts = np.zeros(len(paths), np.int64)
    tokens = documents.scan(rows, paths, limits, counts, status)
    read = int((status == READ).sum())
    return TokenColumns(tokens, paths, documents.data, read), status
