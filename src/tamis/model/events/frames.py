"""Events from pandas and Polars frames, typed columns through Arrow and the others by cell.

A column of Python objects does not go through Arrow, which would make one type of it: in a
column with ``'a'`` and ``b'b'``, both would be bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.errors import EventError
from tamis.model.events.arrow_events import check_columns, named_column
from tamis.model.events.event import Event
from tamis.model.events.rows import Column, events_of, rows_of, slice_length
from tamis.model.limits import LIMITS, Limits

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_TYPED = frozenset("biufMm")
"""NumPy's letters for booleans, integers, floats, datetimes and timedeltas."""


def read_pandas(frame: pd.DataFrame, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of a pandas frame, one a row, without its index.

    A cell that pandas calls missing is null: None, NA, NaT and, in NumPy's float columns, NaN.
    """
    names = _names(frame.columns.tolist())
    return events_of(_pandas_rows(frame, names), limits)


def read_polars(frame: pl.DataFrame, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of a Polars frame, one a row; NaN is a value there, and no null."""
    return events_of(_polars_rows(frame, _names(frame.columns)), limits)


def _names(names: list[Any]) -> list[str]:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            kind = type(name).__name__
            raise EventError(f"the column {str(name)[:100]} is named by a {kind}, no string")
        if name in seen:
            raise EventError(f"two columns are named {name[:100]!r}; rename or drop one")
        seen.add(name)
    return names


def _pandas_rows(frame: pd.DataFrame, names: list[str]) -> Iterator[dict[str, Any]]:
    length = slice_length(len(frame), int(frame.memory_usage(index=False).sum()))
    for start in range(0, len(frame), length):
        part = frame.iloc[start : start + length]
        columns = [
            _pandas_column(part.iloc[:, index], name, start) for index, name in enumerate(names)
        ]
        yield from rows_of(names, columns, len(part))


def _pandas_column(series: pd.Series[Any], name: str, start: int) -> Column:
    dtype: Any = series.dtype
    if dtype.kind in _TYPED or type(dtype).__name__ == "ArrowDtype":
        try:
            array = pa.Array.from_pandas(series)
        except pa.ArrowException:  # sparse, of foreign byte order: cells still have values
            pass
        else:
            return _arrow_column(array, name, start)
    cells = zip(series.astype(object).tolist(), series.isna().tolist(), strict=True)
    return [None if missing else cell for cell, missing in cells]


def _polars_rows(frame: pl.DataFrame, names: list[str]) -> Iterator[dict[str, Any]]:
    start = 0
    for part in frame.iter_slices(slice_length(frame.height, int(frame.estimated_size()))):
        series = zip(names, part.get_columns(), strict=True)
        columns = [_polars_column(column, name, start) for name, column in series]
        yield from rows_of(names, columns, part.height)
        start += part.height


def _polars_column(series: pl.Series, name: str, start: int) -> Column:
    if series.dtype.is_object():  # Arrow would be given its pointers
        return series.to_list()
    try:
        array = series.to_arrow()
    except pa.ArrowException:  # integers of 128 bits: cells that fit are values
        return series.to_list()
    return _arrow_column(array, name, start)


def _arrow_column(array: Any, name: str, start: int) -> Column:
    check_columns([name], [array.type])
    return named_column(array, name, start)
