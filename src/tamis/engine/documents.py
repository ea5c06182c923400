"""Documents, JSON or variants, matched without making events of them.

documents ─┬─ tables of the paths that subscriptions look at ──> matched as columns
           └─ what is odd or broken ──> the plain reader ──> matched as events, or refused
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays.documents.documents import Documents, DocumentTables, JsonDocuments, decoded
from tamis.arrays.documents.path_index import PathIndex
from tamis.arrays.types import Rows
from tamis.engine.threads import pairs_of
from tamis.errors import EventError, LimitError
from tamis.matching.batch import ROWS, batches
from tamis.matching.capabilities import NamesPaths
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.protocol import View
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_line
from tamis.model.limits import Limits
from tamis.model.schema.schema import Schema

if TYPE_CHECKING:
    from tamis.matching.pairs import Pairs


class Lines(JsonDocuments):
    """NDJSON: a document a line."""

    def __init__(self, text: str | bytes | bytearray | memoryview) -> None:
        data = text.encode(errors="surrogatepass") if isinstance(text, str) else bytes(text)
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        offsets = np.concatenate(([0], ends, [len(data)]))
        buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(data)]
        super().__init__(pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers))

    def event(self, row: int, limits: Limits) -> Event:
        """The event of a line; errors name its number."""
        found = read_line(self.bytes(row).removesuffix(b"\n"), row + 1, limits)
        assert found is not None, "blank lines are known before"
        return found


class DocumentMatches(NamedTuple):
    """What was found of some documents."""

    rows: Rows
    """The documents that are events, neither blank nor rejected; they ascend."""
    pairs: list[Pairs]
    """The pairs of a document's row and a slot; rows ascend within each."""
    blank: Rows
    """Documents of white space only."""
    rejected: dict[int, EventError | LimitError]
    """Why documents cannot be read, by row."""


class DocumentMatcher:
    """Matches documents against the subscriptions of one moment."""

    def __init__(
        self, view: View, limits: Limits, schema: Schema | None, fallbacks: Fallbacks
    ) -> None:
        self._view = view
        self._limits = limits
        self._schema = schema
        self._fallbacks = fallbacks
        paths = view.paths() if isinstance(view, NamesPaths) else None
        self._paths = None if paths is None else PathIndex(paths)

    def chunks(
        self, documents: Documents, limit: int | None, threads: int
    ) -> Iterator[DocumentMatches]:
        """What is found, some documents at a time, in their order."""
        count = len(documents.valid)
        for start in range(0, count, ROWS):
            rows = np.arange(start, min(start + ROWS, count))
            yield self._matches(documents, rows, limit, threads)

    def _matches(
        self, documents: Documents, rows: Rows, limit: int | None, threads: int
    ) -> DocumentMatches:
        nothing = np.empty(0, np.int64)
        found = DocumentTables([], nothing, rows)
        if self._paths is not None:
            found = decoded(documents, rows, self._paths, self._limits)
        events, read, rejected = self._read(documents, found.aside)
        pairs: list[Pairs] = []
        for part in found.parts:
            pairs += self._pairs(part.table, part.rows, limit, threads)
        if events:
            reason = "documents that do not fit into columns"
            if self._paths is None:
                reason = "documents of which anything may be asked"
            self._fallbacks.count(reason, int(documents.valid[read].sum()))
            pairs += self._pairs(events, read, limit, threads)
        every = np.concatenate([nothing, read, *(part.rows for part in found.parts)])
        return DocumentMatches(np.sort(every), pairs, found.blank, rejected)

    def _read(
        self, documents: Documents, rows: Rows
    ) -> tuple[list[Event], Rows, dict[int, EventError | LimitError]]:
        """Events of documents that the plain reader can read, and why it cannot read the others."""
        events, read = [], []
        rejected: dict[int, EventError | LimitError] = {}
        for row in rows.tolist():
            try:
                events.append(documents.event(row, self._limits))
                read.append(row)
            except (EventError, LimitError) as error:
                rejected[row] = error
        return events, np.array(read, np.int64), rejected

    def _pairs(self, source: Any, rows: Rows, limit: int | None, threads: int) -> Iterator[Pairs]:
        found = pairs_of(self._view, batches(source, self._limits, self._schema), limit, threads)
        return (pairs._replace(row=rows[pairs.row].astype(np.int32)) for pairs in found)


def line_pairs(
    matcher: DocumentMatcher,
    text: str | bytes | bytearray | memoryview,
    limit: int | None,
    threads: int,
) -> Iterator[Pairs]:
    """The pairs of NDJSON, by the number of the event; blank lines are none."""
    before = 0
    for found in matcher.chunks(Lines(text), limit, threads):
        if found.rejected:
            raise found.rejected[min(found.rejected)]
        for pairs in found.pairs:
            row = np.searchsorted(found.rows, pairs.row) + before
            yield pairs._replace(row=row.astype(np.int32))
        before += len(found.rows)
