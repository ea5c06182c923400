"""A subscription as the engine keeps it, and the many forms in which it may be handed over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tamis.errors import LimitError, SubscriptionError, TamisError
from tamis.language.json_form import from_json
from tamis.language.template import Templates
from tamis.model.events.readers import read_events
from tamis.model.limits import Limits, check_limit
from tamis.model.schema.schema import Schema
from tamis.predicates.expression import Expression
from tamis.predicates.resolving import resolve

EXISTS = "the id {!r} exists; pass replace=True to replace it"
REPEATED = "the id {!r} stands in an earlier row too"

Source = str | Expression | Mapping[str, Any]
"""A subscription as text, as an expression, or in its JSON form."""


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
    """One row of a table of subscriptions, as it came."""

    number: int
    id: Any
    source: Any
    metadata: Any = None
    enabled: Any = True


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that could not be taken, and why."""

    row: int
    id: Any
    error: TamisError


def read_rows(table: Any) -> Iterator[Row]:
    """The rows of a table, a frame, a mapping from id to subscription, or an iterable of rows."""
    rows: Iterable[Any]
    if isinstance(table, Mapping):
        rows = table.items()
    elif hasattr(table, "__arrow_c_stream__"):
        rows = (event.attributes for event in read_events(table))
    else:
        rows = table
    for number, row in enumerate(rows):
        yield _row(number, row)


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


class SubscriptionReader:
    """Checks and parses what is handed over as a subscription."""

    def __init__(
        self, prefixes: Mapping[str, str] | None, limits: Limits, schema: Schema | None = None
    ) -> None:
        names = None if schema is None else schema.names
        self.templates = Templates(prefixes=prefixes, attributes=names, limits=limits)
        self.schema = schema
        self._limits = limits

    def read(self, id: Any, source: Any, metadata: Any = None, enabled: Any = True) -> Subscription:
        """The subscription, or an error that says what is wrong with it."""
        if not isinstance(enabled, bool):
            raise SubscriptionError(f"'enabled' is true or false, not {enabled!r}")
        expression, text = self.expression(source)
        self.check_id(id)
        return Subscription(id, text, expression, checked_metadata(metadata, self._limits), enabled)

    def check_id(self, id: Any) -> None:
        """Raise unless an id is a string of reasonable length."""
        if not isinstance(id, str) or not id:
            raise SubscriptionError(f"an id is a string of one character or more, not {id!r}")
        check_limit(len(id), self._limits.id, "characters in an id")
        if not id.isascii() and any("\ud800" <= character <= "\udfff" for character in id):
            raise SubscriptionError("an id with a lone surrogate, which is no Unicode")
        if id[0] == "\x00":
            raise SubscriptionError("an id must not begin with a NUL character")

    def parse(self, text: str) -> Expression:
        """The expression of a text, with the meaning that the schema gives it."""
        return self._resolved(self.templates.parse(text))

    def _resolved(self, expression: Expression) -> Expression:
        return expression if self.schema is None else resolve(expression, self.schema)

    def expression(self, source: Any) -> tuple[Expression, str]:
        """The expression of a text, an expression or its JSON form, with the meaning that the
        schema gives it, and its text as it was given."""
        if isinstance(source, str):
            return self.parse(source), source
        if isinstance(source, Mapping):
            source = from_json(source, self._limits)
        if isinstance(source, Expression):
            return self._resolved(source), str(source)
        raise SubscriptionError(
            f"a subscription is a text, an expression or its JSON form, not a "
            f"{type(source).__name__}"
        )


def checked_metadata(metadata: Any, limits: Limits) -> Mapping[str, Any]:
    """A private copy of metadata, which must be a JSON object within its limit."""
    if metadata is None:
        return {}
    if isinstance(metadata, str):
        source = metadata
    else:
        try:
            source = json.dumps(metadata, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SubscriptionError(f"metadata must be a JSON object: {error}") from error
    if len(source) > limits.metadata:
        raise LimitError(
            f"metadata of {len(source):,} characters: the limit is {limits.metadata:,}"
        )
    try:
        copy = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise SubscriptionError(f"metadata must be a JSON object: {error}") from error
    if not isinstance(copy, dict):
        raise SubscriptionError("metadata must be a JSON object")
    return copy
