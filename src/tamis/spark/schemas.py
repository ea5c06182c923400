"""Convert schemas to and from those of DataFrames, by way of Arrow (model/schema/arrow_form.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.errors import SchemaError
from tamis.model.schema.schema import EVENT_TYPE, Schema
from tamis.spark.columns import arrow_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_METADATA = "tamis.schema"
"""The key in a column's metadata for the JSON form; DataFrames have no metadata of their own."""


def to_spark(schema: Schema) -> StructType:
    """Columns for a DataFrame of events of all types; ``from_spark`` converts them back."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructField, StructType

    first, *others = from_arrow_schema(schema.to_arrow()).fields
    stored = {_METADATA: json.dumps(schema.to_json())}
    return StructType([StructField(first.name, first.dataType, first.nullable, stored), *others])


def from_spark(columns: StructType, *, type: str = "event", event_type: str = EVENT_TYPE) -> Schema:
    """The schema that ``to_spark`` converted; for other columns, a schema with one type.

    In that type, a column is mandatory if it cannot be null, and multiple if it is an array.
    """
    from pyspark.errors import PySparkException

    for field in columns:
        if _METADATA in field.metadata:
            return Schema.from_json(field.metadata[_METADATA])
    fields = []
    for field in columns:
        try:
            kind = arrow_type(field.dataType)
        except (PySparkException, TypeError) as error:
            said = field.dataType.simpleString()
            raise SchemaError(
                f"column {field.name!r} is of type {said}, which no domain has; cast or drop it"
            ) from error
        fields.append(pa.field(field.name, kind, field.nullable))
    return Schema.from_arrow(pa.schema(fields), type=type, event_type=event_type)
