"""Check events against a schema: a DataFrame, static or streaming, in two parts.

    events ──mapInArrow──> the same rows, with rule and reason ─┬─ neither ──> valid
                                                                └─ both ─────> rejected

Every row is in one of the two. Each part is a query plan of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tamis.errors import EventError, LimitError, TamisError
from tamis.model.events.arrow_events import check_columns, is_text
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.arrow_conformity import rejected_rows
from tamis.model.schema.conformity import Rule, Violation
from tamis.model.schema.schema import Schema
from tamis.spark.columns import (
    EVENTS,
    REASON,
    Form,
    arrow_schema,
    check_events,
    check_no_variants,
    form_of,
    quoted,
)
from tamis.spark.reading import documents_of
from tamis.spark.worker import Batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RULE = "rule"
"""The column that rejected events have beside the reason."""


class Validated(NamedTuple):
    """Valid and rejected events; cache the events if you use both, or Spark reads them twice."""

    valid: DataFrame
    """The events that conform to the schema, unchanged."""
    rejected: DataFrame
    """The other events, each with the first ``rule`` that it breaks, and the ``reason``."""


def validate(
    events: DataFrame,
    schema: Schema,
    *,
    column: str | None = None,
    ignore: Sequence[str] = (),
    types: Collection[str] = (),
    limits: Limits = LIMITS,
) -> Validated:
    """Separate valid events from invalid ones; those get a ``rule`` and a ``reason``.

    If ``events`` is a stream, so are both parts. Every column is an attribute, except those you
    ``ignore``. If one column holds whole events, as JSON, a map or a struct, name it in ``column``.
    ``types`` are the types of events that do not name their own. Anything that cannot be read as
    an event breaks the rule ``unreadable``.
    """
    check_events(events, [*([column] if column else []), *ignore])
    for name in (RULE, REASON):
        if name in events.columns:
            raise TamisError(f"rejected events get a column {name!r}: rename the one that you have")
    if not isinstance(schema, Schema):
        raise TamisError(f"schema must be a tamis.Schema, not {type(schema).__name__}")
    schema.view(types)
    attributes = [column] if column else [name for name in events.columns if name not in ignore]
    kinds = arrow_schema(events, EVENTS)
    form = form_of(events, column)
    if column is None:
        check_no_variants(events, attributes)
    check_columns(attributes, [kinds.field(name).type for name in attributes])
    places = tuple(events.columns.index(name) for name in attributes)
    task = ValidateTask(schema, tuple(attributes), places, form, tuple(types), limits)
    checked = _mapped(events, task)
    rule = checked[RULE]
    return Validated(
        checked.where(rule.isNull()).drop(RULE, REASON), checked.where(rule.isNotNull())
    )


def _mapped(events: DataFrame, task: ValidateTask) -> DataFrame:
    """The events with rule and reason, which are null for valid ones."""
    from pyspark.sql import functions
    from pyspark.sql.types import StringType, StructField, StructType

    def tamis_validate(batches: Batches) -> Batches:
        return task(batches)

    # Rename the columns, because mapInArrow reads a dot in a name as a step into a struct.
    ours = [f"c{number}" for number in range(len(events.columns))]
    given = [functions.col(quoted(name)).alias(c) for name, c in zip(events.columns, ours)]
    fields = [StructField(c, each.dataType, each.nullable) for c, each in zip(ours, events.schema)]
    texts = [StructField(name, StringType()) for name in (RULE, REASON)]
    found = events.select(*given).mapInArrow(tamis_validate, StructType([*fields, *texts]))
    theirs = [
        functions.col(c).alias(each.name, metadata=each.metadata)
        for c, each in zip(ours, events.schema)
    ]
    return found.select(*theirs, RULE, REASON)


class ValidateTask(NamedTuple):
    """Checks the events of a partition; pickled once with the plan."""

    schema: Schema
    attributes: tuple[str, ...]
    """The names of the columns that are attributes; only one if it holds whole events."""
    places: tuple[int, ...]
    """The positions of these columns in a batch."""
    form: Form
    types: tuple[str, ...]
    limits: Limits

    def __call__(self, batches: Batches) -> Batches:
        """The batches, with the columns for rule and reason."""
        for batch in batches:
            found = self.rejected(batch)
            rules: list[str | None] = [None] * batch.num_rows
            reasons: list[str | None] = [None] * batch.num_rows
            for row, violation in found.items():
                rules[row], reasons[row] = str(violation.rule), violation.reason
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, pa.array(rules, pa.string()), pa.array(reasons, pa.string())],
                names=[*batch.schema.names, RULE, REASON],
            )

    def rejected(self, batch: pa.RecordBatch) -> dict[int, Violation]:
        """The rows of a batch that break a rule."""
        columns: list[Any] = [batch.column(place) for place in self.places]
        names = list(self.attributes)
        if self.form != "columns":
            (column,) = columns
            if self.form != "struct":
                return dict(self._rejected(column))
            names = [field.name for field in column.type]
            columns = column.flatten()
        if not names:  # a batch has as many rows as a column of it
            names, columns = [""], [pa.nulls(batch.num_rows)]
        table = pa.record_batch(columns, names=names)
        return rejected_rows(table, self.schema, self.types, self.limits)

    def _rejected(self, column: Any) -> Iterator[tuple[int, Violation]]:
        """The rows of a column of documents or maps that break a rule."""
        texts = self.form == "map" and is_text(column.type.item_type)
        documents = documents_of(pa.record_batch([column], names=["events"]), self.form)
        maps = column if documents is None else ()
        for row in range(len(column)):
            try:
                if documents is not None:
                    event = documents.event(row, self.limits)
                else:
                    event = Event(dict(maps[row].as_py() or ()), self.limits)
            except (EventError, LimitError) as error:
                yield row, Violation(Rule.UNREADABLE, "", (), str(error))
                continue
            typed = self.schema.typed(event, texts=texts)
            for violation in self.schema.violations(typed, types=self.types)[:1]:
                yield row, violation
