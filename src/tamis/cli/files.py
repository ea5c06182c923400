"""Events from files, by the suffix of their names, and from standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tamis.cli.json_files import documents
from tamis.console import UsageError, located
from tamis.errors import EventError, TamisError, suggestion
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_line
from tamis.model.events.readers import read_arrow, read_json
from tamis.model.limits import LIMITS

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.model.schema.schema import Schema

STANDARD_INPUT = "-"

Skip = Callable[[TamisError], None]
"""What becomes of an event that cannot be read."""


class Format(StrEnum):
    """How the rows of a file are written."""

    NDJSON = "ndjson"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


SUFFIXES = {
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}


@dataclass
class Source:
    """An open file of rows; ``position`` moves from 0 to ``total``, where that is known."""

    name: str
    format: Format
    file: BinaryIO
    total: int | None = None
    position: int = field(default=0)


def open_source(name: str, given: Format | None = None) -> Source:
    """Open a file, or standard input for ``-``, in a given format or that of its suffix."""
    if name == STANDARD_INPUT:
        return Source("standard input", given or Format.NDJSON, sys.stdin.buffer)
    known = given or _format_of(name)
    try:
        path = Path(name)
        file = path.open("rb")
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {name}: {str(reason).lower()}") from error
    return Source(name, known, file, size if known is Format.NDJSON and size else None)


def _format_of(name: str) -> Format:
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        said = f"the suffix {suffix!r}" if suffix else "no suffix"
        hint = suggestion(suffix, SUFFIXES) or f"known are {', '.join(SUFFIXES)}"
        raise UsageError(f"{name} has {said}, which is not that of a format; {hint}")
    return SUFFIXES[suffix]


def read_source(
    source: Source, schema: Schema | None = None, skip: Skip | None = None
) -> Iterator[Event]:
    """The events of a source, one at a time; a schema types the strings in it.

    ``skip`` is called with the error of each line of NDJSON, or element of a JSON array, that is
    not an event; without it, the error is raised.
    """
    texts = source.format is Format.CSV
    with located(source.name), source.file:
        for event in _READERS[source.format](source, skip):
            yield event if schema is None else schema.typed(event, texts=texts)


def lines(source: Source) -> Iterator[bytes]:
    """The lines of a source; one that exceeds every limit is cut, not swallowed whole."""
    longest = LIMITS.document + 2
    while line := source.file.readline(longest):
        source.position += len(line)
        yield line


def arrow_batches(source: Source) -> pa.RecordBatchReader:
    """The batches of a CSV or Parquet source."""
    seekable = source.file if source.file.seekable() else io.BytesIO(source.file.read())
    return _open_csv(seekable) if source.format is Format.CSV else _open_parquet(seekable, source)


def _open_csv(file: BinaryIO) -> pa.RecordBatchReader:
    """All columns as strings; an empty cell is missing unless it is quoted."""
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(use_threads=False)
    parsing = csv.ParseOptions(newlines_in_values=True)
    names = csv.open_csv(_borrowed(file), reading, parsing).schema.names
    file.seek(0)
    converting = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return csv.open_csv(_borrowed(file), reading, parsing, converting)


def _open_parquet(file: BinaryIO, source: Source) -> pa.RecordBatchReader:
    import pyarrow as pa
    from pyarrow import parquet

    opened = parquet.ParquetFile(file)
    source.total = opened.metadata.num_rows

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in opened.iter_batches(batch_size=10_000):
            yield batch
            source.position += batch.num_rows

    return pa.RecordBatchReader.from_batches(opened.schema_arrow, batches())


def _borrowed(file: Any) -> Any:
    """The file for a reader of Arrow's."""
    import pyarrow as pa

    return pa.PythonFile(file, mode="r")


def _read_ndjson(source: Source, skip: Skip | None) -> Iterator[Event]:
    for number, line in enumerate(lines(source), 1):
        try:
            event = read_line(line, number)
        except TamisError as error:
            if skip is None:
                raise
            skip(error)
        else:
            if event is not None:
                yield event


def _read_json(source: Source, skip: Skip | None) -> Iterator[Event]:
    for document in documents(source.file.read()):
        try:
            with located(f"row {document.row}"):
                event = read_json(document.text)
        except TamisError as error:
            if skip is None:
                raise
            skip(error)
        else:
            yield event


def _read_arrow(source: Source, skip: Skip | None) -> Iterator[Event]:
    import pyarrow as pa

    try:
        yield from read_arrow(arrow_batches(source))
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"no {source.format.name}: {error}") from error


_READERS: dict[Format, Callable[[Source, Skip | None], Iterator[Event]]] = {
    Format.NDJSON: _read_ndjson,
    Format.JSON: _read_json,
    Format.CSV: _read_arrow,
    Format.PARQUET: _read_arrow,
}
