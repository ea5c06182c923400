"""Covering and merging of a whole table of subscriptions, as a Spark job.

    partition ──cover──> roots, and what they cover ─┐
    partition ──cover──> roots, and what they cover ─┼──one task: cover and merge the roots──> rows
    partition ──cover──> roots, and what they cover ─┘

Parsing and most of the covering happen in the partitions. The task at the end holds only the roots:
what nothing else in the same partition covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tamis.errors import DuplicateIdError, SubscriptionError, TamisError
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.compacting import compact as compact_rows
from tamis.routing.compacting import cover
from tamis.routing.merging import MergeRules
from tamis.spark.columns import ID, REASON, SUBSCRIPTION, check_distinct, check_present, quoted
from tamis.spark.index.building import Settings
from tamis.spark.worker import Batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COVERED_BY, MEMBERS = "covered_by", "members"
"""Columns of what is covered, and of mergers."""
TWICE = "the id is in the table twice; this row was left out"
_TABLE = "the table of subscriptions"
_BATCH = 10_000
_COVERED = pa.schema(
    [(ID, pa.string()), (SUBSCRIPTION, pa.string()), (COVERED_BY, pa.string()),
     (REASON, pa.string())]
)  # fmt: skip
_FOUND = pa.schema([*_COVERED, (MEMBERS, pa.list_(pa.string()))])
_KINDS = "id string, subscription string, covered_by string, reason string"


class Compaction(NamedTuple):
    """What became of a table. Every subscription is in one of the four; cache what you use twice.

    All four come from one plan, so that they fit together.
    """

    covered: DataFrame
    """``id`` and ``covered_by``: another one, not covered itself, that matches whatever it does."""
    mergers: DataFrame
    """``subscription``, and ``members``: the ids of those that it stands for."""
    remaining: DataFrame
    """``id`` and ``subscription`` of those that are neither covered nor merged."""
    rejected: DataFrame
    """``id`` and ``reason`` of those that cannot be read."""


def compact(
    subscriptions: DataFrame,
    *,
    schema: Schema | None = None,
    rules: MergeRules | None = None,
    prefixes: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
) -> Compaction:
    """Find out which subscriptions of a table others cover, and which can be merged.

    The table has the columns ``id``, unique, and ``subscription``. A ``schema`` makes more of both
    possible: it knows which attributes are integers, and which have one value. Without ``rules``
    mergers match what their members match, and nothing else.
    """
    from pyspark.sql import functions

    if not hasattr(subscriptions, "mapInArrow"):
        raise TamisError(
            f"subscriptions must be a Spark DataFrame, not {type(subscriptions).__name__}; "
            "for a file, use 'tamis compact'"
        )
    if schema is not None and not isinstance(schema, Schema):
        raise TamisError(f"schema must be a tamis.Schema, not {type(schema).__name__}")
    check_distinct(subscriptions.columns, _TABLE)
    check_present(subscriptions.columns, [ID, SUBSCRIPTION], _TABLE)
    kind = subscriptions.schema[ID].dataType
    form = None if schema is None else schema.to_json()
    task = CompactTask(Settings(form, None, prefixes, limits), schema, rules)

    def tamis_cover(batches: Batches) -> Batches:
        return task.cover(batches)

    def tamis_merge(batches: Batches) -> Batches:
        return task.merge(batches)

    rows = subscriptions.select(*(functions.col(quoted(c)).cast("string").alias(c)
                                  for c in (ID, SUBSCRIPTION)))  # fmt: skip
    covered = rows.mapInArrow(tamis_cover, _KINDS)
    # Roots come first, so that the last task knows them all before it meets what they cover.
    sorted_rows = covered.repartition(1).sortWithinPartitions(functions.col(SUBSCRIPTION).isNull())
    found = sorted_rows.mapInArrow(tamis_merge, f"{_KINDS}, members array<string>")
    id = functions.col(ID).cast(kind).alias(ID)
    by = functions.col(COVERED_BY)
    is_rejected = functions.col(REASON).isNotNull()
    is_merger = functions.col(MEMBERS).isNotNull()
    members = functions.col(MEMBERS).cast(f"array<{kind.simpleString()}>").alias(MEMBERS)
    return Compaction(
        found.where(by.isNotNull()).select(id, by.cast(kind).alias(COVERED_BY)),
        found.where(is_merger).select(SUBSCRIPTION, members),
        found.where(by.isNull() & ~is_merger & ~is_rejected).select(id, SUBSCRIPTION),
        found.where(is_rejected).select(id, REASON),
    )


class CompactTask(NamedTuple):
    """Covers a partition, then covers and merges what is left of all; pickled with the plan."""

    settings: Settings
    schema: Schema | None
    rules: MergeRules | None

    @property
    def _facts(self) -> Facts:
        return NO_FACTS if self.schema is None else self.schema

    def cover(self, batches: Batches) -> Batches:
        """The roots of a partition with their texts, then what they cover, and what is faulty."""
        rejected: list[tuple[str | None, str]] = []
        texts: dict[str, str] = {}
        roots, covered = cover(self._read(batches, texts, rejected), self._facts)
        yield from _written(({ID: id, SUBSCRIPTION: texts[id]} for id in roots), _COVERED)
        yield from _written(({ID: id, COVERED_BY: by} for id, by in covered.items()), _COVERED)
        yield from _written(({ID: id, REASON: why} for id, why in rejected), _COVERED)

    def _read(
        self, batches: Batches, texts: dict[str, str], rejected: list[tuple[str | None, str]]
    ) -> Iterator[tuple[str, Expression]]:
        reader = self.settings.reader()
        for batch in batches:
            for id, text in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                try:
                    reader.check_id(id)
                    if text is None:
                        raise SubscriptionError("the subscription is null")
                    if id in texts:
                        raise DuplicateIdError(TWICE)
                    expression = reader.parse(text)
                except TamisError as error:
                    rejected.append((id, str(error)))
                else:
                    texts[str(id)] = text
                    yield str(id), expression

    def merge(self, batches: Batches) -> Batches:
        """What became of all subscriptions, given the rows of all partitions, roots first."""
        texts: dict[str, str] = {}
        twice: list[str] = []
        others: list[pa.RecordBatch] = []
        for batch in batches:
            roots = batch.filter(batch.column(1).is_valid())
            for row in roots.to_pylist():
                if row[ID] in texts:
                    twice.append(row[ID])
                texts.setdefault(row[ID], row[SUBSCRIPTION])
            if roots.num_rows < batch.num_rows:
                others.append(batch.filter(batch.column(1).is_null()))
                break
        read = self.settings.reader().parse
        found = compact_rows(
            ((id, read(text)) for id, text in texts.items()), self._facts, self.rules
        )
        yield from _written(({ID: id, REASON: TWICE} for id in twice), _FOUND)
        yield from _written(({ID: i, COVERED_BY: by} for i, by in found.covered.items()), _FOUND)
        yield from _written(
            ({SUBSCRIPTION: str(each.filter.expression), MEMBERS: each.members}
             for each in found.mergers), _FOUND
        )  # fmt: skip
        yield from _written(({ID: id, SUBSCRIPTION: texts[id]} for id in found.remaining), _FOUND)
        for batch in (*others, *batches):
            yield from _written((_moved(row, found.covered) for row in batch.to_pylist()), _FOUND)


def _moved(row: dict[str, Any], covered: Mapping[str, str]) -> dict[str, Any]:
    """A row of what a partition covered, by a root of all."""
    by = row[COVERED_BY]
    return {**row, COVERED_BY: covered.get(by, by)}


def _written(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Batches:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield pa.RecordBatch.from_pylist(batch, schema)
            batch = []
    if batch:
        yield pa.RecordBatch.from_pylist(batch, schema)
