"""Events as Arrow tables, where that changes nothing of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tamis.model.timestamp import Timestamp

LEAST, GREATEST = -(2**63), 2**63 - 1


class _InexpressibleError(Exception):
    """A column of Arrow has one type; an event may hold what has none."""


def table_of(event: Mapping[str, Any]) -> pa.Table | None:
    """A table of an empty row, the event and an empty row; None if Arrow cannot say the event."""
    try:
        types = {key: _type_of([value]) for key, value in event.items()}
    except _InexpressibleError:
        return None
    columns = {
        key: pa.array([None, _prepared(event[key], types[key]), None], types[key]) for key in event
    }
    return pa.table(columns) if columns else None


def repeated(table: pa.Table, rows: int) -> pa.Table:
    """A table of the event in the middle of another, row by row."""
    return table.take(pa.array([1] * rows))


def _type_of(values: Iterable[Any]) -> Any:
    """The one type that holds all values as they are."""
    found = [value for value in values if value is not None]
    if not found:
        return pa.null()
    if all(isinstance(value, Mapping) for value in found):
        keys = dict.fromkeys(key for value in found for key in value)
        fields = {key: _type_of(value.get(key) for value in found) for key in keys}
        return pa.struct(list(fields.items()))
    if all(isinstance(value, list) for value in found):
        return pa.list_(_type_of(element for value in found for element in value))
    if len({type(value) for value in found}) > 1:
        raise _InexpressibleError
    return _scalar_type(found)


def _scalar_type(found: list[Any]) -> Any:
    first = found[0]
    if isinstance(first, bool):
        return pa.bool_()
    if isinstance(first, int):
        if min(found) >= LEAST and max(found) <= GREATEST:
            return pa.int64()
        if min(found) < 0:
            raise _InexpressibleError
        return pa.uint64()
    if isinstance(first, Timestamp):
        if any(not LEAST <= value.nanoseconds <= GREATEST for value in found):
            raise _InexpressibleError
        return pa.timestamp("ns", "UTC")
    if isinstance(first, datetime):
        if len({value.tzinfo is None for value in found}) > 1:
            raise _InexpressibleError
        return pa.timestamp("us", None if first.tzinfo is None else "UTC")
    if isinstance(first, Decimal):
        return pa.decimal128(38, 4)
    types: dict[type, Any] = {
        float: pa.float64(),
        str: pa.string(),
        bytes: pa.binary(),
        date: pa.date32(),
    }
    return types[type(first)]


def _prepared(value: Any, arrow_type: Any) -> Any:
    """The value as pyarrow takes it for the type: nanoseconds as integers."""
    if isinstance(value, list):
        return [_prepared(element, arrow_type.value_type) for element in value]
    if isinstance(value, Mapping):
        return {key: _prepared(inner, arrow_type.field(key).type) for key, inner in value.items()}
    return value.nanoseconds if isinstance(value, Timestamp) else value
