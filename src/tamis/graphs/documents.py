"""Columns of RDF documents: the graphs of many events, read when somebody looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.errors import EventError, LimitError, suggestion
from tamis.graphs.reader import FORMATS, read_graph
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import RdfTriple

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.arrays.types import Int32s, Int64s, Offsets, Rows
    from tamis.graphs.line_scan import ScannedDocuments
    from tamis.graphs.publications import EncodedPublications, Encoder


class DocumentColumn:
    """RDF documents of one format, one for each event; a null is an event without a graph."""

    def __init__(
        self, column: Any, format: str = "n-triples", limits: Limits = LIMITS, start: int = 0
    ) -> None:
        self._column: pa.Array[Any] = _texts(column)
        self._format = format
        self._limits = limits
        self._start = start
        """The row of the first document, for errors."""
        if format not in FORMATS:
            hint = suggestion(str(format), FORMATS) or "known are " + ", ".join(FORMATS)
            raise EventError(f"unknown format {format!r:.50} of graphs; {hint}")

    def __len__(self) -> int:
        return len(self._column)

    def slice(self, start: int, stop: int) -> DocumentColumn:
        """Some of the documents."""
        part = self._column.slice(start, stop - start)
        return DocumentColumn(part, self._format, self._limits, self._start + start)

    def take(self, rows: Rows) -> DocumentColumn:
        """Copies of some of the documents."""
        return DocumentColumn(self._column.take(rows), self._format, self._limits)

    def graph(self, row: int) -> frozenset[RdfTriple] | None:
        """The graph of an event."""
        text = self._column[row].as_py()
        if text is None:
            return None
        try:
            return read_graph(text, self._format, limits=self._limits)
        except (EventError, LimitError) as error:
            raise self._placed(error, row) from error

    def encode(self, encoder: Encoder) -> tuple[Int32s, EncodedPublications]:
        """All documents as an encoder, which has nothing yet, makes them, and their rows."""
        import numpy as np

        rows: Int32s = np.flatnonzero(np.asarray(self._column.is_valid())).astype(np.int32)
        scanned = self._scanned(rows) if self._format == "n-triples" else None
        if scanned is not None:
            return rows, encoder.finish_numbered(*self._completed(scanned, rows, encoder))
        for row in rows.tolist():
            try:
                encoder.add_document(self._column[row].as_py(), self._format)
            except (EventError, LimitError) as error:
                raise self._placed(error, row) from error
        return rows, encoder.finish()

    def _scanned(self, rows: Int32s) -> ScannedDocuments | None:
        """The documents as a kernel reads them; None if it cannot."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from tamis.graphs.line_scan import scan_documents

        kind = self._column.type
        if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
            return None
        texts: Any = self._column.take(rows).cast(pa.large_string())
        sizes = pc.binary_length(texts)
        if (pc.max(sizes).as_py() or 0) > self._limits.document:
            return None  # the reader says what is wrong
        return scan_documents(texts, self._limits.triples)

    def _completed(
        self, scanned: ScannedDocuments, rows: Int32s, encoder: Encoder
    ) -> tuple[Int64s, Offsets, list[str]]:
        """Numbers of terms, where those of each document end, and keys, with what was left to
        pyoxigraph."""
        import numpy as np

        left = np.flatnonzero(~scanned.is_read).tolist()
        if not left:
            return scanned.ids, scanned.ends, scanned.keys
        numbers = {key: number for number, key in enumerate(scanned.keys)}
        parts, lengths, done = [], np.diff(scanned.ends, prepend=0), 0
        for document in left:
            row = int(rows[document])
            try:
                keys = encoder.keys_of(self._column[row].as_py(), self._format)
            except (EventError, LimitError) as error:
                raise self._placed(error, row) from error
            found = [numbers.setdefault(key, len(numbers)) for key in keys]
            at = int(scanned.ends[document])
            parts += [scanned.ids[done:at], np.array(found, np.int64)]
            lengths[document], done = len(found), at
        ids = np.concatenate([*parts, scanned.ids[done:]])
        return ids, np.cumsum(lengths), list(numbers)

    def problems(self) -> dict[int, str]:
        """Why documents cannot be read, by row."""
        found = {}
        for row, text in enumerate(self._column.to_pylist()):
            try:
                if text is not None:
                    read_graph(text, self._format, limits=self._limits)
            except (EventError, LimitError) as error:
                found[row] = str(error)
        return found

    def _placed(self, error: EventError | LimitError, row: int) -> Exception:
        return type(error)(f"row {self._start + row}: {error}")


def _texts(column: Any) -> pa.Array[Any]:
    """Documents as an array of texts or bytes."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = pa.array(column)
    kinds = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_null,
    )
    if not any(is_kind(column.type) for is_kind in kinds):
        raise EventError(f"graphs are texts or bytes, not a column of {column.type}")
    found: pa.Array[Any] = column
    return found
