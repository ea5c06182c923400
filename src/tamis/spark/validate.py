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
from tamis.model.events.json_events import read_json
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.arrow_conformity import rejected_rows
from tamis.model.schema.conformity import Rule, Violation
from tamis.model.schema.schema import Schema
from tamis.spark.columns import EVENTS, arrow_schema, check_events, check_packed, quoted
from tamis.spark.worker import Batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RULE, REASON = "rule", "reason"
"""The columns that rejected events have in addition."""


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
    if column:
        check_packed(events, column)
    check_columns(attributes, [kinds.field(name).type for name in attributes])
    places = tuple(events.columns.index(name) for name in attributes)
    task = ValidateTask(schema, tuple(attributes), places, column is not None, tuple(types), limits)
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
    """The names of the columns that are attributes; only one if ``packed``."""
    places: tuple[int, ...]
    """The positions of these columns in a batch."""
    packed: bool
    """Whether events are in one column: JSON, a map or a struct."""
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
        if self.packed:
            (column,) = columns
            if not pa.types.is_struct(column.type):
                return dict(self._rejected(column))
            names = [field.name for field in column.type]
            columns = column.flatten()
        if not names:  # a batch has as many rows as a column of it
            names, columns = [""], [pa.nulls(batch.num_rows)]
        table = pa.record_batch(columns, names=names)
        return rejected_rows(table, self.schema, self.types, self.limits)

    def _rejected(self, column: Any) -> Iterator[tuple[int, Violation]]:
        """The rows of a column of documents or maps that break a rule."""
        documents = is_text(column.type)
        texts = not documents and is_text(column.type.item_type)
        for row, raw in enumerate(column.to_pylist()):
            try:
                event = Event({}) if raw is None else self._event(raw, documents)
            except (EventError, LimitError) as error:
                yield row, Violation(Rule.UNREADABLE, "", (), str(error))
                continue
            typed = self.schema.typed(event, texts=texts)
            for violation in self.schema.violations(typed, types=self.types)[:1]:
                yield row, violation

    def _event(self, raw: Any, documents: bool) -> Event:
        return read_json(raw, self.limits) if documents else Event(dict(raw), self.limits)
