"""Events from everything that holds events: the same data gives the same event.

pyarrow, pandas and Polars are imported only when a source is one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import EventError
from tamis.model.events.event import Event
from tamis.model.events.json_events import read_json, read_ndjson
from tamis.model.events.rows import events_of
from tamis.model.limits import LIMITS, Limits

if TYPE_CHECKING:
    from tamis.model.events.arrow_events import ArrowData
    from tamis.model.schema.schema import Schema

__all__ = ["read_arrow", "read_events", "read_frame", "read_json", "read_ndjson"]

# Sources that people try, and what to do instead; by package and name of their class.
_REMEDIES = {
    ("polars", "LazyFrame"): "collect() it first",
    ("polars", "Series"): "give a frame",
    ("pandas", "Series"): "give a frame",
    ("pyspark", "DataFrame"): "use tamis.spark.match, which leaves the data where it is",
}
_ARROW = {("pyarrow", name) for name in ("Table", "RecordBatch", "RecordBatchReader")}


def read_arrow(data: ArrowData, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of an Arrow table, record batch or stream of batches, one a row."""
    from tamis.model.events import arrow_events  # pyarrow stays unloaded until here

    return arrow_events.read_arrow(data, limits)


def read_frame(frame: Any, limits: Limits = LIMITS) -> Iterator[Event]:
    """The events of a pandas or Polars frame, or of anything with ``__arrow_c_stream__``.

    In a pandas frame a cell that pandas calls missing is null: NaN in a column of floats, too.
    """
    classes = _classes(frame)
    _refuse(classes)
    if ("pandas", "DataFrame") in classes or ("polars", "DataFrame") in classes:
        from tamis.model.events import frames

        if ("pandas", "DataFrame") in classes:
            return frames.read_pandas(frame, limits)
        return frames.read_polars(frame, limits)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise EventError(f"a {type(frame).__name__} is not a frame; give a pandas or a Polars one")
    from tamis.model.events import arrow_events

    return arrow_events.read_stream(frame, limits)


def read_events(
    source: Any, limits: Limits = LIMITS, *, schema: Schema | None = None
) -> Iterator[Event]:
    """The events of a list of mappings, Arrow data, a frame, or anything that yields events.

    With a schema, strings are timestamps where it says so. Errors name the row, counted from 0.
    """
    events = _read_events(source, limits)
    return events if schema is None else map(schema.typed, events)


def _read_events(source: Any, limits: Limits) -> Iterator[Event]:
    classes = _classes(source)
    _refuse(classes)
    if isinstance(source, Event):
        return iter([source])
    if isinstance(source, Mapping):
        raise EventError("events come in a list or a table; put the mapping in a list")
    if isinstance(source, str | bytes | bytearray):
        raise EventError("events come in a list or a table; read text with read_ndjson")
    if classes & _ARROW:
        return read_arrow(source, limits)
    if hasattr(source, "__arrow_c_stream__") or ("pandas", "DataFrame") in classes:
        return read_frame(source, limits)
    if not isinstance(source, Iterable):
        name = type(source).__name__
        raise EventError(f"a {name} holds no events; give a list of mappings, a table or a frame")
    return events_of(source, limits)


def _classes(source: object) -> set[tuple[str, str]]:
    """Package and name of the class of an object and of all its bases."""
    return {(base.__module__.split(".")[0], base.__name__) for base in type(source).__mro__}


def _refuse(classes: set[tuple[str, str]]) -> None:
    for package, name in classes & _REMEDIES.keys():
        remedy = _REMEDIES[package, name]
        raise EventError(f"a {name} of {package} is not a source of events; {remedy}")
