"""Sources of changing subscriptions: whole tables, or folders of change files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from tamis.errors import LimitError, StorageError, TamisError
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.spark.columns import ID, SUBSCRIPTION, VERSION, quoted
from tamis.spark.index.index import Index

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

State = dict[str, Any]
"""What a source remembers about its last reading; saved with the index."""

MAX_CHANGE_FILE = 1 << 30
"""The most bytes of one change file."""


class Source(Protocol):
    """Returns the next index, if anything has changed."""

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index and state after the changes since ``state``, or None."""


class Tables(NamedTuple):
    """A callable that returns all subscriptions; if they have changed, the index is rebuilt."""

    read: Callable[[], Any]
    settings: Mapping[str, Any]

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index of the table as it is now."""
        table = self._table()
        mark = [*_mark(table, self.settings.get("columns", ())), settings_mark(self.settings)]
        if mark == state.get("mark"):
            return None
        return Index.of(table, **self.settings), {"mark": mark}

    def compiled(self) -> Index:
        """The index of the table, whatever there was before."""
        return Index.of(self._table(), **self.settings)

    def _table(self) -> Any:
        table = self.read()
        return table if hasattr(table, "mapInArrow") else as_table(table)


def first_index(read: Callable[[], Any] | None, settings: Mapping[str, Any]) -> Index:
    """The index that changes start from: that of a table, or an empty one."""
    if read is not None:
        return Tables(read, settings).compiled()
    columns: dict[str, Any]
    columns = {name: pa.array([], pa.large_string()) for name in (ID, SUBSCRIPTION)}
    columns |= {VERSION: pa.array([], pa.int64())}
    columns |= {name: pa.array([], pa.large_string()) for name in settings.get("columns", ())}
    return Index.of(pa.table(columns), **settings)


class Changes(NamedTuple):
    """A folder of change files, read in the order of their names."""

    folder: Path

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index after the new files, up to the first one that cannot be read."""
        taken = [name for name in state.get("taken", ()) if (self.folder / name).exists()]
        rejected: list[pa.Table] = []
        for path in self._new(set(taken)):
            try:
                index.change(read_changes(path))
            except TamisError:
                if not rejected:
                    raise
                break  # it is the first the next time
            rejected.append(index.rejected)
            taken.append(path.name)
        if not rejected:
            return None
        index.rejected = pa.concat_tables(rejected)
        return index, {"taken": taken}

    def _new(self, taken: set[str]) -> list[Path]:
        try:
            found = sorted(self.folder.iterdir())
        except OSError as error:
            raise StorageError(f"cannot list {self.folder}: {error.strerror}") from error
        return [
            path
            for path in found
            if path.suffix in READERS and path.name[0] not in "._" and path.name not in taken
        ]


def read_changes(path: Path) -> pa.Table:
    """The rows of a change file."""
    size = os.stat(path).st_size
    if size > MAX_CHANGE_FILE:
        raise LimitError(f"{path} has {size:,} bytes: the limit is {MAX_CHANGE_FILE:,}; split it")
    try:
        return READERS[path.suffix](path)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        remedy = "fix or remove it; the files after it are waiting"
        raise StorageError(f"cannot read {path}: {error}; {remedy}") from error


def _ndjson(path: Path) -> pa.Table:
    """The rows of NDJSON; Arrow's reader would read a misspelt key as a null, which removes."""
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        row = json.loads(line)
        if not isinstance(row, dict) or ID not in row or SUBSCRIPTION not in row:
            raise ValueError(
                f"line {number} must be an object with the keys {ID!r} and {SUBSCRIPTION!r}"
            )
        rows.append(row)
    names = dict.fromkeys([ID, SUBSCRIPTION, *(name for row in rows for name in row)])
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    table: pa.Table = parquet.read_table(path)
    return table


READERS: dict[str, Callable[[Path], pa.Table]] = {".ndjson": _ndjson, ".parquet": _parquet}


def as_table(source: Any) -> pa.Table:
    """A mapping from id to subscription, an iterable of rows, or Arrow data, as a table."""
    if isinstance(source, pa.Table):
        return source
    try:
        if isinstance(source, Mapping):
            texts = pa.array(source.values(), pa.large_string())
            return pa.table({ID: pa.array(source, pa.large_string()), SUBSCRIPTION: texts})
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
        return pa.Table.from_pylist([dict(row) for row in source])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TamisError(f"cannot read the subscriptions as a table: {error}") from error


def _mark(table: Any, columns: Any) -> list[Any]:
    """A fingerprint of a table; for a DataFrame, the order of rows does not matter."""
    if isinstance(table, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        return [table.num_rows, hashlib.blake2b(sink.getvalue(), digest_size=16).hexdigest()]
    return _frame_mark(table, [ID, SUBSCRIPTION, VERSION, *columns])


def settings_mark(settings: Mapping[str, Any]) -> str:
    """A fingerprint of the settings that an index is compiled with."""
    given = dict(settings)
    given["taxonomy"] = Taxonomies.given(given.get("taxonomy")).to_json()
    if isinstance(given.get("schema"), Schema):
        given["schema"] = given["schema"].to_json()
    text = json.dumps(given, sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _frame_mark(frame: DataFrame, names: list[str]) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    present = [quoted(name) for name in names if name in frame.columns]
    hashed = F.xxhash64(*present).cast("decimal(38,0)")
    (row,) = frame.agg(F.count(F.lit(1)), F.sum(hashed)).collect()
    return [row[0], str(row[1])]
