"""Columns of strings that a schema says are timestamps, read as such, a column at a time.

A column that lies in a list, or has a string that is not a timestamp, cannot be read whole. It
stays as it is; what needs its timestamps reads the events one by one.

This module imports pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from tamis.model.events.arrow_events import is_list, is_text
from tamis.model.kinds import Kind
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

_MICROSECOND = 1_000
_SMALLEST, _GREATEST = -(2**63), 2**63 - 1


def typed_columns(batch: pa.RecordBatch, schema: Schema) -> tuple[pa.RecordBatch, bool]:
    """The batch with its columns of timestamps read, and whether none is left to be read."""
    complete = True
    for path in schema.paths(Kind.TIMESTAMP):
        index = batch.schema.get_field_index(path[0])
        if index < 0 or not _may_hold_text(batch.schema.field(index).type, path, 1):
            continue
        column = batch.column(index)
        read = timestamps_of(column) if len(path) == 1 and is_text(column.type) else None
        if read is None:
            complete = False
        else:
            batch = batch.set_column(index, path[0], read)
    return batch, complete


def timestamps_of(texts: Any) -> pa.Array[Any] | None:
    """The timestamps of an array of strings; None if one of them is none, or needs more than 64
    bits."""
    encoded = texts if types.is_dictionary(texts.type) else texts.dictionary_encode()
    try:
        found = [
            None if text is None else Timestamp.parse(text).nanoseconds
            for text in encoded.dictionary.to_pylist()
        ]
    except ValueError:
        return None
    unit = "ns"
    if any(each is not None and not _SMALLEST <= each <= _GREATEST for each in found):
        if any(each is not None and each % _MICROSECOND for each in found):
            return None
        unit, found = "us", [None if each is None else each // _MICROSECOND for each in found]
    moments = pa.array(found, pa.int64()).cast(pa.timestamp(unit, "UTC"))
    taken: pa.Array[Any] = moments.take(encoded.indices)
    return taken


def _may_hold_text(kind: Any, path: Path, depth: int) -> bool:
    """Whether a column of this type can have strings at the path."""
    if isinstance(kind, pa.BaseExtensionType):
        return _may_hold_text(kind.storage_type, path, depth)
    if is_list(kind) or types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _may_hold_text(kind.value_type, path, depth)
    if types.is_map(kind):
        return depth < len(path) and _may_hold_text(kind.item_type, path, depth + 1)
    if types.is_struct(kind):
        below = [field.type for field in kind if depth < len(path) and field.name == path[depth]]
        return any(_may_hold_text(each, path, depth + 1) for each in below)
    return depth == len(path) and is_text(kind)
