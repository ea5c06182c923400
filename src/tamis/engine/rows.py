"""The rows of a table of subscriptions, in whatever form they come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tamis.errors import LimitError, SubscriptionError, TamisError
from tamis.model.events.readers import read_events
from tamis.model.limits import Limits
from tamis.predicates.expression import Expression

EXISTS = "the id {!r} exists; pass replace=True to replace it"
REPEATED = "the id {!r} stands in an earlier row too"


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription with its id, its text, and whatever its owner keeps with it.

    The expression is what is matched: with a schema, orders of its domains are written out in it.
    """

    id: str
    text: str
    expression: Expression = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True


class Row(NamedTuple):
    """One row, as it came."""

    number: int
    id: Any
    source: Any
    metadata: Any = None
    enabled: Any = True

    @property
    def is_plain(self) -> bool:
        """Whether it is an id and a text, and no more."""
        return type(self.source) is str and self.metadata is None and self.enabled is True


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that could not be taken, and why."""

    row: int
    id: Any
    error: TamisError

    @classmethod
    def of(cls, row: Row, error: TamisError, *, collect: bool) -> Rejected:
        """A faulty row; raises its error if such rows are not collected."""
        if not collect:
            raise SubscriptionError(f"row {row.number}, id {row.id!r}: {error}") from error
        return cls(row.number, row.id, error)


def read_rows(table: Any) -> Iterator[Row]:
    """The rows of a table, a frame, a mapping from id to subscription, or an iterable of rows."""
    rows: Iterable[Any]
    if isinstance(table, Mapping):
        rows = table.items()
    elif hasattr(table, "__arrow_c_stream__"):
        rows = _table_rows(table)
    else:
        rows = table
    for number, row in enumerate(rows):
        yield _row(number, row)


def _table_rows(table: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a table or frame; a null cell, which an event would not have, is None."""
    is_arrow = type(table).__module__.startswith("pyarrow")
    names = table.schema.names if is_arrow else getattr(table, "columns", ())
    nulls = {name: None for name in names if isinstance(name, str)}
    for event in read_events(table):
        yield {**nulls, **event.attributes}


def _row(number: int, row: Any) -> Row:
    if isinstance(row, Row):
        return row
    if isinstance(row, Subscription):
        return Row(number, row.id, row.text, row.metadata or None, row.enabled)
    if isinstance(row, tuple) and len(row) == 2:
        return Row(number, *row)
    if not isinstance(row, Mapping) or "id" not in row or "subscription" not in row:
        raise SubscriptionError(
            f"row {number}: a row is a mapping with 'id' and 'subscription', or a pair of the two"
        )
    enabled = row.get("enabled")
    enabled = True if enabled is None else enabled
    return Row(number, row["id"], row["subscription"], row.get("metadata"), enabled)


def checked_metadata(metadata: Any, limits: Limits) -> Mapping[str, Any]:
    """A private copy of metadata, which must be a JSON object within its limit."""
    if metadata is None:
        return {}
    try:
        source = metadata if isinstance(metadata, str) else json.dumps(metadata)
        if len(source) > limits.metadata:
            raise LimitError(
                f"metadata of {len(source):,} characters: the limit is {limits.metadata:,}"
            )
        copy = json.loads(source)
        json.dumps(copy, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SubscriptionError(f"metadata must be a JSON object: {error}") from error
    if not isinstance(copy, dict):
        raise SubscriptionError("metadata must be a JSON object")
    return copy
