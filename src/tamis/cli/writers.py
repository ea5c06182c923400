"""The results of ``tamis match``: lines of JSON, a table to look at, or Parquet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from tamis.console import UsageError, console
from tamis.engine.engine import Engine

_BATCH = 100_000
SHOWN = 1_000
"""Rows of a table, which is there to be looked at."""


class OutputFormat(StrEnum):
    """How matches are written."""

    NDJSON = "ndjson"
    TABLE = "table"
    PARQUET = "parquet"


class Writer(Protocol):
    """Takes matches one by one."""

    def write(self, event: int, subscription: str) -> None:
        """Take one match."""

    def end_event(self) -> None:
        """The matches of one event are complete."""

    def finish(self) -> None:
        """There are no more matches."""


class LineWriter:
    """Writes each match as it comes."""

    def __init__(self, file: BinaryIO, *, at_once: bool) -> None:
        self._file = file
        self._at_once = at_once

    def write(self, event: int, subscription: str) -> None:
        """Write one line."""
        line = json.dumps({"event": event, "subscription": subscription}, ensure_ascii=False)
        self._file.write(line.encode() + b"\n")

    def end_event(self) -> None:
        """Hand the line over now to a reader that waits for it."""
        if self._at_once:
            self._file.flush()

    def finish(self) -> None:
        """Write what is still held back."""
        self._file.flush()


class TableWriter:
    """Shows the first matches, with the texts of the subscriptions, and counts the others."""

    def __init__(self, engine: Engine, file: BinaryIO | None) -> None:
        self._engine = engine
        self._file = file
        self._rows: list[tuple[int, str]] = []
        self._more = 0

    def write(self, event: int, subscription: str) -> None:
        """Keep one row, or count it."""
        if len(self._rows) < SHOWN:
            self._rows.append((event, subscription))
        else:
            self._more += 1

    def end_event(self) -> None:
        """Nothing to do: the table is shown at the end."""

    def finish(self) -> None:
        """Show the table."""
        from rich.table import Table
        from rich.text import Text

        table = Table("event", "subscription", "text")
        table.columns[0].justify = "right"
        for event, id in self._rows:
            table.add_row(str(event), Text(id), Text(self._engine[id].text))
        if self._more:
            table.caption = f"and {self._more:,} matches more"
        out = console()
        if self._file is None:
            out.print(table)
            return
        with out.capture() as capture:
            out.print(table)
        self._file.write(Text.from_ansi(capture.get()).plain.encode() + b"\n")


class ParquetWriter:
    """Writes the columns ``event`` and ``subscription``, some rows at a time."""

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        columns: dict[str, pa.DataType] = {"event": pa.int64(), "subscription": pa.string()}
        self._schema = pa.schema(columns)
        self._writer = parquet.ParquetWriter(file, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, event: int, subscription: str) -> None:
        """Keep one row, and write if there are many."""
        self._rows.append({"event": event, "subscription": subscription})
        if len(self._rows) >= _BATCH:
            self._flush()

    def end_event(self) -> None:
        """Nothing to do: rows are written by the batch."""

    def finish(self) -> None:
        """Write the last rows."""
        self._flush()

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows.clear()


@contextmanager
def open_writer(
    format: OutputFormat, output: str, engine: Engine, *, at_once: bool
) -> Iterator[Writer]:
    """A writer to a file, or to standard output for ``-``."""
    if output == "-":
        if format is OutputFormat.TABLE:
            yield TableWriter(engine, None)
        else:
            yield LineWriter(sys.stdout.buffer, at_once=at_once)
        return
    with opened(Path(output), whole=format is not OutputFormat.NDJSON) as file:
        if format is OutputFormat.NDJSON:
            yield LineWriter(file, at_once=at_once)
        elif format is OutputFormat.TABLE:
            yield TableWriter(engine, file)
        else:
            with closing(ParquetWriter(file)) as writer:
                yield writer


@contextmanager
def opened(path: Path, *, whole: bool = True) -> Iterator[BinaryIO]:
    """A file to write; if it must be whole, it is written beside its place and renamed.

    A symbolic link stays one: its target is written.
    """
    beside = whole and (path.is_file() or not path.exists())
    path = Path(os.path.realpath(path)) if beside else path
    written = path.with_name(path.name + ".part") if beside else path
    try:
        file = written.open("wb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or '').lower()}") from error
    try:
        with file:
            yield file
        if beside:
            os.replace(written, path)
    except BaseException:
        if beside:
            written.unlink(missing_ok=True)
        raise
