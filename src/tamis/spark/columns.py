"""The columns of tables, and checks that find mistakes in them before a job starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tamis.errors import TamisError, suggestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

ID, SUBSCRIPTION = "id", "subscription"
"""Columns of a table of subscriptions; ``version`` is optional."""
EVENT_ID, SUBSCRIPTION_ID, VERSION = "event_id", "subscription_id", "version"
"""Columns of matches."""
BINDINGS = "bindings"
"""The column of matches with the values of variables, if it is asked for."""
TEXT, REASON = "text", "reason"
"""Columns of rejected events: the event as a text, and why it cannot be read."""
EVENTS = "the table of events"
"""The name of the table in messages."""


def check_events(events: DataFrame, wanted: Iterable[str]) -> None:
    """Raise unless events are a DataFrame with these columns."""
    if not hasattr(events, "mapInArrow"):
        raise TamisError(
            f"events must be a Spark DataFrame, not {type(events).__name__}; "
            "for data in this process, use Engine.match_batch"
        )
    check_distinct(events.columns, EVENTS)
    check_present(events.columns, wanted, EVENTS)


Form = Literal["columns", "struct", "map", "json", "variant"]
"""How events come: each attribute in a column, or whole events in one column of some type."""


def form_of(events: DataFrame, column: str | None) -> Form:
    """How events come; raises unless the column can hold whole events."""
    from pyspark.sql.types import MapType, StringType, StructType, VariantType

    if column is None:
        return "columns"
    kind = events.schema[column].dataType
    forms: list[tuple[type, Form]] = [
        (StringType, "json"),
        (VariantType, "variant"),
        (MapType, "map"),
        (StructType, "struct"),
    ]
    for each, form in forms:
        if isinstance(kind, each):
            return form
    raise TamisError(
        f"column {column!r} is of type {kind.simpleString()}: a column of whole events must "
        "hold JSON strings, variants, maps or structs"
    )


def check_no_variants(events: DataFrame, names: Iterable[str]) -> None:
    """Raise if an attribute is a variant, whose fields Spark does not know."""
    from pyspark.sql.types import VariantType

    for name in names:
        if isinstance(events.schema[name].dataType, VariantType):
            raise TamisError(
                f"column {name!r} is a variant: if it holds whole events, name it in 'column'; "
                f"else take what you need out of it, as with variant_get"
            )


def check_present(columns: Sequence[str], wanted: Iterable[str], table: str) -> None:
    """Raise if a table lacks a column."""
    for name in wanted:
        if name not in columns:
            hint = suggestion(name, columns) or f"it has {', '.join(columns[:10]) or 'none'}"
            raise TamisError(f"{table} has no column {name!r}; {hint}")


def check_distinct(names: Sequence[str], table: str) -> None:
    """Raise if two columns have the same name."""
    for name in names:
        if names.count(name) > 1:
            raise TamisError(f"{table} has two columns {name!r}; rename or drop one")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of strings."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def quoted(name: str) -> str:
    """A column's name as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def arrow_type(kind: DataType) -> Any:
    """The Arrow type in which values of a type of Spark reach a Python worker."""
    from pyspark.sql.pandas.types import to_arrow_type

    knows_zones = "timezone" in signature(to_arrow_type).parameters
    options: dict[str, Any] = {"timezone": "UTC"} if knows_zones else {}  # Spark 4.1: always UTC
    return to_arrow_type(kind, **options)


def arrow_schema(frame: DataFrame, table: str) -> pa.Schema:
    """The Arrow schema in which the columns of a frame reach a Python worker."""
    from pyspark.errors import PySparkException

    fields = []
    for field in frame.schema:
        try:
            kind = arrow_type(field.dataType)
        except (PySparkException, TypeError) as error:
            name = field.dataType.simpleString()
            raise TamisError(
                f"column {field.name!r} of {table} is of type {name}, which Spark cannot pass to "
                "Python; cast or drop it"
            ) from error
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)
