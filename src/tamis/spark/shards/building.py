"""Build shards from a DataFrame, in executors.

    sample ──driver: covers──> key axes
    rows ──executors: keys of each──> on disk ──┬─ rows of each home ──driver: which shard─┐
                                                └─ by shard ──executors: an index each ──> folder

The home of a subscription is its first key. The driver lines the homes up, axis by axis and cell by
cell, and cuts the line into pieces of the same number of subscriptions. A home with more than half
a share is cut too, and its subscriptions are dealt out. What the driver holds grows with the number
of distinct keys, at most a few thousand an axis, not with that of the subscriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engine.bulk import BlockReader
from tamis.engine.rows import REPEATED, Row
from tamis.errors import TamisError
from tamis.matching.capabilities import NamesPaths, capability
from tamis.matching.covers.covers import Cover
from tamis.model.events.event import Event
from tamis.spark.columns import ID, SUBSCRIPTION, SUBSCRIPTION_ID, VERSION, quoted
from tamis.spark.index.building import (
    ParsedPart,
    Settings,
    check_table,
    column_fields,
    merged,
    read_parts,
)
from tamis.spark.index.index import Index, as_keys, rejected_rows
from tamis.spark.shards.axes import KeyAxis, chosen_axes
from tamis.spark.shards.folder import ShardFolder, index_name
from tamis.spark.shards.keys import NOWHERE, keys_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 10_000
"""Subscriptions by which key axes are chosen."""
_KEYS, _FAULTY, _ORDER = "tamis_keys", "tamis_faulty", "tamis_order"
_SHARD, _REPEATED = "tamis_shard", "tamis_repeated"
_HOME, _FIRST, _SEVERAL = "tamis_home", "tamis_first", "tamis_several"
_TWICE, _EARLIEST = "tamis_twice", "tamis_earliest"
"""Columns beside those of the table."""
_TOLD = pa.schema(
    [
        pa.field("shard", pa.int32()),
        pa.field("subscriptions", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("keys", pa.list_(pa.int64())),
        pa.field("paths", pa.list_(pa.list_(pa.string()))),
        pa.field("graphs", pa.bool_()),
        pa.field("operators", pa.map_(pa.string(), pa.string())),
        pa.field("rejected", pa.binary()),
    ]
)
"""What an executor tells of a shard that it has built."""

Batches = Iterator[pa.RecordBatch]


class Built(NamedTuple):
    """A shard that an executor has built."""

    shard: int
    subscriptions: int
    bytes: int
    keys: list[int]
    paths: list[list[str]] | None
    graphs: bool
    operators: dict[str, str]
    rejected: pa.Table


class Homes(NamedTuple):
    """For each home key, the first shard of its subscriptions, and over how many they are dealt."""

    key: list[int]
    first: list[int]
    several: list[int]

    @classmethod
    def dealt(cls, counts: Mapping[int, int], shards: int) -> Homes:
        """Cut the line of all homes into shards of about the same size."""
        keys = sorted(counts)
        sizes = np.array([counts[key] for key in keys], np.float64)
        end = np.cumsum(sizes) * shards / max(float(sizes.sum()), 1.0)
        begin = np.concatenate(([0.0], end[:-1]))
        middle = np.floor((begin + end) / 2)
        is_large = end - begin > 0.5
        first = np.where(is_large, np.floor(begin + _ROUNDING), middle)
        last = np.where(is_large, np.ceil(end - _ROUNDING) - 1, middle)
        first, last = (each.clip(0, shards - 1).astype(int) for each in (first, last))
        return cls(keys, first.tolist(), (last - first + 1).clip(1).tolist())


_ROUNDING = 1e-9


class Work(NamedTuple):
    """What executors need to build shards."""

    settings: Settings
    folder: ShardFolder
    types: pa.Schema
    """The columns of the table, as they reach a worker."""
    events: Sequence[Event]
    """A sample of events, if there is one."""


def build_shards(
    subscriptions: DataFrame, count: int, work: Work
) -> tuple[list[KeyAxis], list[Built]]:
    """Build so many shards of a table's rows in the folder; those without rows are not there."""
    from pyspark import StorageLevel
    from pyspark.sql.pandas.types import from_arrow_schema

    axes = _sampled_axes(subscriptions, count, work)
    keyed = _keyed(subscriptions, axes, work).persist(StorageLevel.DISK_ONLY)
    try:
        dealt = _dealt(keyed, count).repartitionById(count, _SHARD)
        told = dealt.mapInArrow(_builder(work), from_arrow_schema(_TOLD))
        return axes, [_built(row) for row in told.collect()]
    finally:
        keyed.unpersist()


def table_rows(subscriptions: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The columns of a table that go into shards."""
    names = subscriptions.columns
    check_table(names, columns)
    version = [VERSION] if VERSION in names else []
    wanted = dict.fromkeys([ID, SUBSCRIPTION, *version, *columns])
    return subscriptions.select(*map(quoted, wanted))


def _sampled_axes(rows: DataFrame, shards: int, work: Work) -> list[KeyAxis]:
    """The key axes, by a sample of the subscriptions."""
    from pyspark.sql import functions as F  # noqa: N812

    total = rows.count()
    texts = rows.select(F.col(SUBSCRIPTION).alias("text"))
    if total > SAMPLE:
        texts = texts.sample(min(1.0, 1.1 * SAMPLE / total), 1)
    covers = list(_covers(work.settings, [row[0] for row in texts.limit(SAMPLE).collect()]))
    return chosen_axes(covers, shards, work.events)


def _covers(settings: Settings, texts: Iterable[str | None]) -> Iterator[Cover]:
    reader = settings.reader()
    for text in texts:
        with suppress(TamisError):  # it will be rejected
            yield reader.read(Row(0, "0", text)).cover


def _keyed(rows: DataFrame, axes: list[KeyAxis], work: Work) -> DataFrame:
    """The rows with their keys, whether they are faulty, and their order."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, BooleanType, LongType, StructType

    numbered = rows.withColumn(_ORDER, F.monotonically_increasing_id())
    schema = StructType([*numbered.schema.fields])
    schema = schema.add(_KEYS, ArrayType(LongType())).add(_FAULTY, BooleanType())
    return numbered.mapInArrow(_key_finder(work.settings, axes), schema)


def _dealt(keyed: DataFrame, shards: int) -> DataFrame:
    """The rows with the shard of each, and whether its id is that of an earlier row."""
    from pyspark.sql import functions as F  # noqa: N812

    session = keyed.sparkSession
    home = F.when(F.size(_KEYS) > 0, F.get(F.col(_KEYS), F.lit(0))).otherwise(NOWHERE)
    counts = {row[0]: row[1] for row in keyed.groupBy(home).count().collect()}
    homes = Homes.dealt(counts, shards)
    names = [_HOME, _FIRST, _SEVERAL]
    table = session.createDataFrame(pa.table(dict(zip(names, map(_longs, homes)))))
    sound = keyed.where(~F.col(_FAULTY)).groupBy(ID)
    twice = sound.agg(F.count(F.lit(1)).alias("tamis_times"), F.min(_ORDER).alias(_EARLIEST))
    twice = twice.where("tamis_times > 1").select(F.col(ID).alias(_TWICE), _EARLIEST)
    deal = F.col(_FIRST) + F.pmod(F.xxhash64(ID), F.col(_SEVERAL))
    joined = keyed.join(F.broadcast(table), home == F.col(_HOME))
    joined = joined.join(F.broadcast(twice), F.col(ID) == F.col(_TWICE), "left")
    repeated = ~F.col(_FAULTY) & F.coalesce(F.col(_ORDER) > F.col(_EARLIEST), F.lit(False))
    own = map(quoted, keyed.columns)
    return joined.select(*own, deal.cast("int").alias(_SHARD), repeated.alias(_REPEATED))


def _longs(values: Sequence[int]) -> Any:
    return pa.array(values, pa.int64())


def _built(row: Any) -> Built:
    fields = row.asDict()
    fields["operators"] = dict(fields["operators"])
    fields["rejected"] = pa.ipc.open_stream(fields["rejected"]).read_all()
    return Built(**fields)


# In executors.


def _key_finder(settings: Settings, axes: list[KeyAxis]) -> Callable[[Batches], Batches]:
    def tamis_keys(batches: Batches) -> Batches:
        reader = settings.reader()
        for batch in batches:
            ids, texts = as_keys(batch[ID]).to_pylist(), batch[SUBSCRIPTION].to_pylist()
            rows = (Row(number, *row) for number, row in enumerate(zip(ids, texts)))
            block = BlockReader(reader, collect=True).read(rows)
            found = keys_of(block, axes, reader)
            faulty = np.zeros(batch.num_rows, bool)
            faulty[[each.row for each in block.rejected]] = True
            length = np.zeros(batch.num_rows, np.int64)
            length[block.rows] = np.diff(found.start)
            start = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
            values: Any = pa.array(found.key)
            keys: Any = pa.ListArray.from_arrays(pa.array(start, pa.int32()), values)
            names = [*batch.schema.names, _KEYS, _FAULTY]
            yield pa.RecordBatch.from_arrays([*batch.columns, keys, pa.array(faulty)], names)

    return tamis_keys


def _builder(work: Work) -> Callable[[Batches], Batches]:
    def tamis_build(batches: Batches) -> Batches:
        rows = _Rows(work)
        parts = rows.parts(batches)
        first = next(parts, None)
        if first is None:
            return
        fields = column_fields(work.types)
        engine, columns, rejected = merged(work.settings.engine(), chain([first], parts), fields)
        if work.events:
            engine.learn(work.events)
            engine.settle()
        index = Index(engine, columns, rejected)
        size = work.folder.save(index, index_name(rows.shard))
        names = capability(engine.subscriptions.index.view(), NamesPaths)
        paths = None if names is None else names.paths()
        told = Built(
            rows.shard,
            len(engine),
            size,
            sorted(rows.keys),
            None if paths is None else [list(path) for path in sorted(paths)],
            engine.reads_graphs(),
            engine.needed_operators(),
            pa.concat_tables([rejected, *rows.rejected]),
        )
        yield _told(told)

    return tamis_build


class _Rows:
    """The rows of one shard: what is in them besides subscriptions, noted as they pass."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.shard = -1
        self.keys: set[int] = set()
        self.rejected: list[pa.Table] = []

    def parts(self, batches: Batches) -> Iterator[ParsedPart]:
        """The parsed parts of the rows whose ids are their own."""
        reader = self._work.settings.reader()
        for batch in batches:
            if not batch.num_rows:
                continue
            self.shard = batch[_SHARD][0].as_py()
            found: list[Any] = pc.unique(pc.list_flatten(batch[_KEYS])).to_pylist()
            self.keys.update(found)
            repeated = batch.filter(batch[_REPEATED])
            if repeated.num_rows:
                self._reject(repeated)
                batch = batch.filter(pc.invert(batch[_REPEATED]))
            yield from read_parts(reader, batch.select(self._work.types.names))

    def _reject(self, batch: pa.RecordBatch) -> None:
        ids = batch[ID].to_pylist()
        errors = [REPEATED.format(str(id)) for id in ids]
        kind = column_fields(self._work.types).field(SUBSCRIPTION_ID).type
        self.rejected.append(rejected_rows(ids, batch[SUBSCRIPTION].to_pylist(), errors, kind))


def _told(built: Built) -> pa.RecordBatch:
    """A row of what a shard is like."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, built.rejected.schema) as writer:
        writer.write_table(built.rejected)
    row = {**built._asdict(), "operators": [*built.operators.items()]}
    row["rejected"] = sink.getvalue().to_pybytes()
    return pa.RecordBatch.from_pylist([row], _TOLD)
