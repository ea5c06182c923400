"""Schemas to and from Arrow: a column for each attribute, structs where paths have several keys.

    price                 mandatory unique      price      double not null
    tags                  optional multiple     tags       list<string>
    seller.name           optional unique       seller     struct<name: string>
    bids.by, bids.amount  optional multiple     bids       list<struct<by: string, amount: double>>

A mapping whose attributes are all multiple is a list of structs, any other a struct. Enumerated and
hierarchical attributes are strings. What Arrow cannot say is in the schema's metadata, as JSON.

This module imports pyarrow; ``Schema`` imports this module when it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from tamis.errors import LimitError, SchemaError
from tamis.model.events.arrow_events import is_list, is_text
from tamis.model.kinds import Kind
from tamis.model.limits import MAX_DEPTH
from tamis.model.paths import Path, format_path
from tamis.model.schema import schema as model
from tamis.model.schema.views import Annotation, EventSchema

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

METADATA = b"tamis.schema"
"""The key of the metadata that hold the JSON form."""

_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.BYTES: pa.binary(),
}


def to_arrow(schema: Schema) -> pa.Schema:
    """The Arrow schema of events of all types."""
    types_column = pa.field(schema.event_type[0], pa.list_(pa.string()), nullable=False)
    fields = [types_column, *_fields(schema, list(schema.attributes), 0, lists=True)]
    return pa.schema(fields, {METADATA: json.dumps(schema.to_json()).encode()})


def _fields(schema: Schema, paths: list[Path], depth: int, *, lists: bool) -> Iterable[Any]:
    """The fields of the attributes below one mapping; lists of structs have no lists inside."""
    groups: dict[str, list[Path]] = {}
    for path in paths:
        groups.setdefault(path[depth], []).append(path)
    for key, inside in groups.items():
        multiple = lists and not any(map(schema.has_one_value, inside))
        if len(inside[0]) == depth + 1:
            kind: Any = _leaf(schema, inside[0])
            multiple = lists and not schema.has_one_value(inside[0])
        else:
            children = _fields(schema, inside, depth + 1, lists=lists and not multiple)
            kind = pa.struct(list(children))
        needed = lists and any(_is_everywhere(schema, path) for path in inside)
        yield pa.field(key, pa.list_(kind) if multiple else kind, nullable=not needed)


def _leaf(schema: Schema, path: Path) -> Any:
    kind = schema.kind(path)
    assert kind is not None
    return pa.int64() if schema.is_integer(path) else _TYPES[kind]


def _is_everywhere(schema: Schema, path: Path) -> bool:
    """Whether an attribute is mandatory in all types."""
    return bool(schema.types) and all(path in each.mandatory for each in schema.types.values())


def from_arrow(schema: pa.Schema, type: str, event_type: str) -> Schema:
    """The schema in the metadata, or one type that has all columns."""
    stored = (schema.metadata or {}).get(METADATA)
    if stored is not None:
        return model.Schema.from_json(stored)
    attributes: dict[Path, str] = {}
    annotations: dict[Path, Annotation] = {}
    for field in schema:
        if field.name != event_type:
            for path, domain, annotation in _attributes(field, (), Annotation(True, True)):
                if path in attributes:
                    raise SchemaError(f"two columns are named {format_path(path)!r}")
                attributes[path], annotations[path] = domain, annotation
    return model.Schema(
        attributes=attributes, types={type: EventSchema(annotations)}, event_type=event_type
    )


def _attributes(
    field: Any, above: Path, annotation: Annotation
) -> Iterable[tuple[Path, str, Annotation]]:
    """The attributes of a field, which is in a mapping of this annotation."""
    path = (*above, field.name)
    if len(path) > MAX_DEPTH:
        raise LimitError(f"an event is at most {MAX_DEPTH} levels deep")
    annotation = annotation._replace(mandatory=annotation.mandatory and not field.nullable)
    kind = _plain(field.type)
    if is_list(kind):
        annotation = annotation._replace(unique=False)
        while is_list(kind):
            kind = _plain(kind.value_type)
        if types.is_struct(kind):  # the list may be empty
            annotation = annotation._replace(mandatory=False)
    if types.is_struct(kind):
        for child in kind:
            yield from _attributes(child, path, annotation)
        return
    domain = _domain(kind)
    if domain is None:
        raise SchemaError(
            f"column {format_path(path)!r} is of type {str(kind)[:100]}, which no domain has; cast "
            "or drop it"
        )
    yield path, domain, annotation


def _plain(kind: Any) -> Any:
    """The type of the values, however they are encoded."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _domain(kind: Any) -> str | None:
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "timestamp"
    if is_text(kind):
        return "string"
    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return "bytes" if any(holds(kind) for holds in (*binary, types.is_binary_view)) else None
