"""Events from Arrow data: a column at a time into Python values, then zipped into rows.

    table ─ slices of a few rows ─┬─ column 'price'  → [3, None, 5]  ─┐
                                  └─ column 'items'  → [[…], […], …] ─┴─ zip → events

Only one slice exists as Python values at a time. Nested columns are taken apart in the same way:
a list column is its flat elements and their counts, a struct column its fields.

This module imports pyarrow; ``tamis.model.events.readers`` imports this module when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.events.rows import Column, events_of, rows_of, slice_length
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits
from tamis.model.paths import Path, format_path
from tamis.model.timestamp import Timestamp

ArrowData = pa.Table | pa.RecordBatch | pa.RecordBatchReader

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_DAY = 86_400_000_000_000


def read_arrow(data: ArrowData, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of a table, a record batch or a stream of batches, one a row."""
    check_columns(data.schema.names, data.schema.types)
    return events_of(_rows(data), limits)


def read_stream(source: Any, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of anything that offers Arrow's stream interface."""
    try:
        reader = pa.RecordBatchReader.from_stream(source)
    except pa.ArrowException as error:
        name = type(source).__name__
        raise EventError(f"a {name} does not give a stream of rows: {error}") from error
    return read_arrow(reader, limits)


def _rows(data: ArrowData) -> Iterator[dict[str, Any]]:
    start = 0
    for batch in _batches(data):
        names = batch.schema.names
        arrays = zip(names, batch.columns, strict=True)
        columns = [named_column(array, name, start) for name, array in arrays]
        yield from rows_of(names, columns, batch.num_rows)
        start += batch.num_rows


def _batches(data: ArrowData) -> Iterator[pa.RecordBatch]:
    """Valid slices of the data, none of them large."""
    batches = [data] if isinstance(data, pa.RecordBatch) else data
    for part in batches.to_batches() if isinstance(batches, pa.Table) else batches:
        try:
            part.validate(full=True)
        except pa.ArrowInvalid as error:
            raise EventError(f"invalid Arrow data: {error}") from error
        length = slice_length(part.num_rows, part.nbytes)
        for start in range(0, part.num_rows, length):
            yield part.slice(start, length)


def check_columns(names: Iterable[str], column_types: Iterable[pa.DataType]) -> None:
    """Raise for two columns of one name, and for a type that no event can hold."""
    _check_fields(list(names), column_types, (), 1)


def _check_fields(
    names: list[str], field_types: Iterable[pa.DataType], path: Path, depth: int
) -> None:
    seen: set[str] = set()
    for name, field_type in zip(names, field_types, strict=True):
        inside = (*path, name)
        if name in seen:
            raise EventError(f"two columns are named {_place(inside)}; rename or drop one")
        seen.add(name)
        _check_type(field_type, inside, depth)


def _check_type(arrow_type: Any, path: Path, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise LimitError(f"an event is at most {MAX_DEPTH} levels deep ({_place(path)})")
    if isinstance(arrow_type, pa.BaseExtensionType):
        _check_type(arrow_type.storage_type, path, depth)
    elif types.is_struct(arrow_type):
        fields = list(arrow_type)
        names = [field.name for field in fields]
        _check_fields(names, (field.type for field in fields), path, depth + 1)
    elif types.is_map(arrow_type):
        if not is_text(arrow_type.key_type):
            raise _refusal(arrow_type, path, "the keys of a map must be strings")
        _check_type(arrow_type.item_type, path, depth + 1)
    elif is_list(arrow_type):
        _check_type(arrow_type.value_type, path, depth + 1)
    elif types.is_dictionary(arrow_type) or types.is_run_end_encoded(arrow_type):
        _check_type(arrow_type.value_type, path, depth)
    elif not any(holds(arrow_type) for holds, _ in _CONVERSIONS):
        raise _refusal(arrow_type, path, "no value of an event has this type")


def _refusal(arrow_type: pa.DataType, path: Path, reason: str) -> EventError:
    name = str(arrow_type)[:100]
    return EventError(f"column {_place(path)} is of type {name}: {reason}; cast or drop it")


def _place(path: Path) -> str:
    return repr(format_path(path)[:100])


def named_column(array: Any, name: str, start: int) -> Column:
    """The values of a slice of a checked column that begins at row ``start``."""
    try:
        return column_of(array, (name,))
    except (EventError, pa.ArrowException) as error:
        place = f"rows {start} to {start + len(array) - 1}, column {_place((name,))}"
        raise EventError(f"{place}: {error}") from error


def column_of(array: Any, path: Path) -> Column:
    """The values of an array (chunked or not) whose type has been checked."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in column_of(chunk, path)]
    if isinstance(array.type, pa.BaseExtensionType):
        return column_of(array.storage, path)
    return next(convert for holds, convert in _CONVERSIONS if holds(array.type))(array, path)


def _plain(array: Any, path: Path) -> Column:
    values: Column = array.to_pylist()
    return values


def _timestamps(array: Any, path: Path) -> Column:
    return _moments(array.cast(pa.int64()), _NANOSECONDS[array.type.unit], path)


def _days(array: Any, path: Path) -> Column:
    return _moments(array.cast(pa.int32()), _DAY, path)


def _milliseconds(array: Any, path: Path) -> Column:
    return _moments(array.cast(pa.int64()), _NANOSECONDS["ms"], path)


def _moments(counts: Any, nanoseconds: int, path: Path) -> Column:
    """Timestamps from whole numbers of a unit: exact, where ``to_pylist`` is not."""
    try:
        return [
            None if count is None else Timestamp(count * nanoseconds)
            for count in counts.to_pylist()
        ]
    except ValueError as error:
        raise EventError(f"{error}, at {_place(path)}") from error


def _lists(array: Any, path: Path) -> Column:
    elements = iter(column_of(array.flatten(), path))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(elements, length)) for length in lengths]


def _structs(array: Any, path: Path) -> Column:
    names = [field.name for field in array.type]
    fields = zip(names, array.flatten(), strict=True)
    columns = [column_of(child, (*path, name)) for name, child in fields]
    rows = rows_of(names, columns, len(array))
    valid = array.is_valid().to_pylist()
    return [row if present else None for row, present in zip(rows, valid, strict=True)]


def _maps(array: Any, path: Path) -> Column:
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    keys = column_of(array.keys[first:last], path)
    items = column_of(array.items[first:last], path)
    valid = array.is_valid().to_pylist()
    column: Column = []
    for (start, stop), present in zip(pairwise(offsets), valid, strict=True):
        inside = slice(start - first, stop - first)
        mapping = dict(zip(keys[inside], items[inside], strict=True)) if present else None
        if mapping is not None and len(mapping) < stop - start:
            raise EventError(f"a map with a key that stands twice, at {_place(path)}")
        column.append(mapping)
    return column


def _dictionary(array: Any, path: Path) -> Column:
    try:
        return column_of(array.dictionary_decode(), path)
    except pa.ArrowNotImplementedError:
        values = column_of(array.dictionary, path)
        indices = array.indices.to_pylist()
        return [None if index is None else values[index] for index in indices]


def _runs(array: Any, path: Path) -> Column:
    return column_of(pc.call_function("run_end_decode", [array]), path)


def is_text(arrow_type: Any) -> bool:
    """Whether a type is one of strings, however encoded."""
    if types.is_dictionary(arrow_type):
        return is_text(arrow_type.value_type)
    return (
        types.is_string(arrow_type)
        or types.is_large_string(arrow_type)
        or types.is_string_view(arrow_type)
    )


def is_list(arrow_type: Any) -> bool:
    """Whether a type is one of lists."""
    return (
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
        or types.is_list_view(arrow_type)
        or types.is_large_list_view(arrow_type)
    )


def _is_plain(arrow_type: Any) -> bool:
    """Whether ``to_pylist`` gives values that an event takes as they are."""
    return (
        types.is_null(arrow_type)
        or types.is_boolean(arrow_type)
        or types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
        or is_text(arrow_type)
        or types.is_binary(arrow_type)
        or types.is_large_binary(arrow_type)
        or types.is_fixed_size_binary(arrow_type)
        or types.is_binary_view(arrow_type)
    )


# What a type is converted by: the first line that holds. No line holds for durations, times,
# intervals and unions, which are refused.
_CONVERSIONS: list[tuple[Callable[[Any], bool], Callable[[Any, Path], Column]]] = [
    (types.is_dictionary, _dictionary),
    (_is_plain, _plain),
    (types.is_timestamp, _timestamps),
    (types.is_date32, _days),
    (types.is_date64, _milliseconds),
    (is_list, _lists),
    (types.is_struct, _structs),
    (types.is_map, _maps),
    (types.is_run_end_encoded, _runs),
]
