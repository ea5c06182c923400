"""Build an index from a DataFrame: executors parse, the driver merges.

    partition ──parse──> blocks, pickled ─┐
    partition ──parse──> blocks, pickled ─┼─> one engine, columns by slot
    partition ──parse──> blocks, pickled ─┘

Parsing is nine tenths of the work. Blocks (engine/bulk.py) hold constants as columns, so the driver
only has to sort them. It fetches them one partition at a time and never holds all of them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tamis.bindings.evaluation import World
from tamis.engine.bulk import Block, BlockReader
from tamis.engine.engine import Engine
from tamis.engine.reader import SubscriptionReader, vocabulary
from tamis.engine.rows import Row
from tamis.errors import TamisError
from tamis.model.limits import Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.operators.guarded import GuardedOperators
from tamis.operators.registry import KnownOperators
from tamis.spark.columns import (
    EVENT_ID,
    ID,
    SUBSCRIPTION,
    SUBSCRIPTION_ID,
    VERSION,
    arrow_schema,
    check_distinct,
    check_present,
    is_text,
    quoted,
)
from tamis.spark.index.index import as_keys, rejected_rows
from tamis.spark.worker import declare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = "the table of subscriptions"

Batches = Iterator[pa.RecordBatch]


class Settings(NamedTuple):
    """The settings with which executors and driver read subscriptions alike."""

    schema: Mapping[str, Any] | None
    taxonomy: Taxonomies | TaxonomyLike | None
    prefixes: Mapping[str, str] | None
    limits: Limits
    operators: tuple[str, ...] = ()
    """Modules that declare operators."""

    def reader(self) -> SubscriptionReader:
        """What reads subscriptions; it needs no engine."""
        schema = None if self.schema is None else Schema.from_json(self.schema, self.limits)
        declare(self.operators)
        known = GuardedOperators(KnownOperators(), self.limits.bindings)
        world = World(vocabulary(schema, Taxonomies.given(self.taxonomy)), self.limits, known)
        return SubscriptionReader(world, schema, self.prefixes)

    def engine(self) -> Engine:
        """An empty engine with these settings."""
        return Engine(
            schema=self.schema,
            taxonomy=self.taxonomy,
            prefixes=self.prefixes,
            limits=self.limits,
        )


class ParsedPart(NamedTuple):
    """A block, the columns of its rows, and the faulty rows."""

    block: Block
    columns: pa.RecordBatch
    rejected: pa.Table


def build(
    subscriptions: DataFrame | pa.Table, columns: Sequence[str], settings: Settings
) -> tuple[Engine, pa.Table, pa.Table]:
    """The engine, the columns by slot, and the rejected rows."""
    names = subscriptions.schema.names
    check_table(names, columns)
    version = [VERSION] if VERSION in names else []
    wanted = list(dict.fromkeys([ID, SUBSCRIPTION, *version, *columns]))
    if isinstance(subscriptions, pa.Table):
        table = subscriptions.select(wanted)
        fields = column_fields(table.schema)
        reader = settings.reader()
        parts = (part for batch in table.to_batches() for part in read_parts(reader, batch))
        return merged(settings.engine(), parts, fields)
    rows = subscriptions.select(*map(quoted, wanted))
    fields = column_fields(arrow_schema(rows, TABLE))
    blocks = rows.mapInArrow(_reader(settings), "block binary").persist()
    try:
        return merged(settings.engine(), _parts(blocks), fields)
    finally:
        blocks.unpersist()


def check_table(names: Sequence[str], columns: Sequence[str]) -> None:
    check_distinct(names, TABLE)
    check_present(names, [ID, SUBSCRIPTION, *columns], TABLE)
    for name in columns:
        if name in (ID, SUBSCRIPTION_ID, VERSION, EVENT_ID):
            raise TamisError(f"the name {name!r} is reserved in matches: rename it in {TABLE}")


def column_fields(schema: pa.Schema) -> pa.Schema:
    """The columns by slot: the id, the version (nulls if the table has no such column), and those
    you asked for. Strings are large strings, so that one array can hold them all."""
    for name, holds, what in (
        (ID, _is_id, "a string or an integer"),
        (SUBSCRIPTION, is_text, "text"),
    ):
        if not holds(schema.field(name).type):
            kind = schema.field(name).type
            raise TamisError(f"column {name!r} of {TABLE} must be {what}, not {kind}: cast it")
    fields = [pa.field(SUBSCRIPTION_ID, _large(schema.field(ID).type))]
    kind = schema.field(VERSION).type if VERSION in schema.names else pa.int64()
    fields.append(pa.field(VERSION, _large(kind)))
    others = (field for field in schema if field.name not in (ID, SUBSCRIPTION, VERSION))
    return pa.schema([*fields, *(pa.field(field.name, _large(field.type)) for field in others)])


def _large(kind: Any) -> Any:
    return pa.large_string() if is_text(kind) else kind


def _is_id(kind: Any) -> bool:
    return is_text(kind) or pa.types.is_integer(kind)


# In executors.


def _reader(settings: Settings) -> Callable[[Batches], Batches]:
    def tamis_parse(batches: Batches) -> Batches:
        reader = settings.reader()
        for batch in batches:
            parts = [pickle.dumps(part) for part in read_parts(reader, batch)]
            yield pa.RecordBatch.from_pydict({"block": pa.array(parts, pa.binary())})

    return tamis_parse


def read_parts(reader: SubscriptionReader, batch: pa.RecordBatch) -> Iterator[ParsedPart]:
    """Parse the rows of a batch."""
    ids, texts = batch[ID], batch[SUBSCRIPTION].to_pylist()
    rows = (
        Row(number, key, text)
        for number, (key, text) in enumerate(zip(as_keys(ids).to_pylist(), texts))
    )
    for block in BlockReader(reader, collect=True).blocks(rows):
        faulty = [each.row for each in block.rejected]
        rejected = rejected_rows(
            ids.take(pa.array(faulty, pa.int64())).to_pylist(),
            [texts[number] for number in faulty],
            [str(each.error) for each in block.rejected],
            _large(ids.type),
        )
        columns = batch.take(pa.array(block.rows, pa.int64())).drop_columns([SUBSCRIPTION])
        yield ParsedPart(block._replace(rejected=[]), columns, rejected)


# In the driver.


def _parts(blocks: DataFrame) -> Iterator[ParsedPart]:
    for row in blocks.toLocalIterator(prefetchPartitions=True):
        yield pickle.loads(row[0])


def merged(
    engine: Engine, parts: Iterator[ParsedPart], fields: pa.Schema
) -> tuple[Engine, pa.Table, pa.Table]:
    tables: list[pa.Table] = []
    texts: list[Any] = []
    rejected: list[pa.Table] = []
    slots = 0

    def blocks() -> Iterator[Block]:
        """The blocks, with rows numbered by slot."""
        nonlocal slots
        for part in parts:
            tables.append(_by_slot(part.columns, fields))
            texts.append(part.block.texts)
            rejected.append(part.rejected)
            numbers = list(range(slots, slots + len(part.block.rows)))
            slots += len(numbers)
            yield part.block._replace(rows=numbers)

    late = engine.loader.add_blocks(blocks(), errors="collect")
    columns = pa.concat_tables([fields.empty_table(), *tables]).combine_chunks()
    ids, written = columns[SUBSCRIPTION_ID], pa.chunked_array(texts, pa.large_string())
    rejected.append(
        rejected_rows(
            [ids[each.row].as_py() for each in late],
            [written[each.row].as_py() for each in late],
            [str(each.error) for each in late],
            ids.type,
        )
    )
    return engine, columns, pa.concat_tables(rejected)


def _by_slot(columns: pa.RecordBatch, fields: pa.Schema) -> pa.Table:
    names = {SUBSCRIPTION_ID: ID}
    arrays = []
    for field in fields:
        name = names.get(field.name, field.name)
        if name in columns.schema.names:
            arrays.append(columns[name].cast(field.type))
        else:
            arrays.append(pa.nulls(columns.num_rows, field.type))
    return pa.table(arrays, schema=fields)
