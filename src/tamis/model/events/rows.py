"""Rows on their way to events: columns zipped into mappings, mappings made into events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, Limits

Column = list[Any]
"""The values of one column, a null as None."""

_SLICE_ROWS = 4_096
_SLICE_BYTES = 4_194_304


def slice_length(rows: int, size: int) -> int:
    """How many rows to convert at once, of so many rows that take so many bytes."""
    return max(1, min(_SLICE_ROWS, _SLICE_BYTES * rows // max(size, 1)))


def rows_of(names: list[str], columns: list[Column], count: int) -> Iterator[dict[str, Any]]:
    """The rows of so many columns, perhaps of none."""
    for _, *cells in zip(range(count), *columns, strict=True):
        yield dict(zip(names, cells, strict=True))


def events_of(rows: Iterable[Any], limits: Limits = LIMITS) -> Iterator[Event]:
    """An event for each mapping or event; errors name the row, counted from 0."""
    for number, row in enumerate(rows):
        try:
            event = Event.of(row, limits)
        except (EventError, LimitError) as error:
            raise type(error)(f"row {number}: {error}") from error
        yield event
