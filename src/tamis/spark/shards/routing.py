"""The way of an event to its shards.

    executor   events ──router──> for each shard, the events that visit it, as Arrow bytes ─┐
                                                                                     shuffle
    executor   the index of a shard, mapped <──open── events of the shard <─────────────────┘
                                     └──> rows of matches

The router is a small index: its subscriptions are the keys of all shards, and their ids the shards.
So it understands whatever an index understands, be it JSON, lists or a schema. Events travel in
blobs of thousands, which Spark moves as they are: row by row, the shuffle would cost more than the
matching.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays.types import Int64s
from tamis.engine.bulk import Block
from tamis.engine.conjunctions import Conjunctions
from tamis.engine.engine import Engine
from tamis.matching.covers.covers import Condition, Cover
from tamis.matching.covers.leaves import Within
from tamis.model.paths import Path
from tamis.predicates.to_expression import predicate_of
from tamis.predicates.valueset import ValueSet, points
from tamis.spark.columns import EVENT_ID, REASON, SUBSCRIPTION_ID, TEXT, VERSION
from tamis.spark.index.index import Index
from tamis.spark.shards.axes import KeyAxis
from tamis.spark.shards.folder import ShardFolder, index_name
from tamis.spark.shards.keys import ALWAYS, place_of
from tamis.spark.worker import Batches, MatchTask, declare, opened

PARTITION, SHARD, EVENTS = "partition", "shard", "events"
SENT = f"{PARTITION} int, {SHARD} int, {EVENTS} binary"
FOUND = -1
"""In the place of a shard: rows of the result, which the router found itself."""
_ROW = "tamis row"
_FIELDS: dict[str, Any] = {
    EVENT_ID: pa.int64(),
    SUBSCRIPTION_ID: pa.int32(),
    VERSION: pa.int64(),
    TEXT: pa.string(),
    REASON: pa.string(),
}
_ROUTES = pa.schema(_FIELDS)
"""What the router finds: the row of an event, and a shard."""
_BLOB_ROWS, _BLOB_BYTES = 8_192, 4 << 20
_UNLIKELY = points(["\U0010ffff tamis"])
"""Values that no event has; one that has them would visit a shard in vain."""


def router_of(
    engine: Engine, axes: Sequence[KeyAxis], keys: Sequence[Sequence[int]], paths: Iterable[Path]
) -> Index:
    """The index that finds the shards of an event; ``keys`` are those of each shard, and the engine
    has no subscriptions yet. It looks at all ``paths`` that shards look at, so that it rejects an
    event whenever one index of all subscriptions would."""
    covers: dict[int, Cover] = {}
    shards: list[int] = []
    for shard, own in enumerate(keys):
        for key in own:
            if key != ALWAYS:
                axis, cell = place_of(key)
                covers[len(shards)] = _cover(axes[axis].path, axes[axis].values(cell))
                shards.append(shard)
    for path in {*paths} - {axis.path for axis in axes}:
        covers[len(shards)] = _cover(path, _UNLIKELY)
        shards.append(0)
    ids = pa.array(map(str, range(len(shards))), pa.large_string())
    block = Block(
        ids, ids, list(range(len(shards))), [], Conjunctions(np.empty(0, np.int32), []),
        dict(covers), {}, [], [],
    )  # fmt: skip
    engine.subscribe_blocks([block])
    numbers: Any = pa.array(shards, pa.int32())
    absent: Any = pa.nulls(len(shards), pa.int64())
    return Index(engine, pa.table({SUBSCRIPTION_ID: numbers, VERSION: absent}))


def _cover(path: Path, values: ValueSet) -> Cover:
    """The cover of: the attribute has one of these values."""
    within = Within(path, values)
    return Cover((Condition({path: values}),), within, predicate_of(path, values))


class RouteTask(NamedTuple):
    """Sends the events of a partition to the shards that they may match."""

    match: MatchTask
    """What finds the matches of a shard; its source is that of the router."""
    always: tuple[int, ...]
    """The shards that every event visits."""
    partitions: int
    """For each shard."""

    def __call__(self, batches: Batches) -> Batches:
        """Blobs of events, each with its shard and a partition of it."""
        outbox = _Outbox(self.partitions)
        router: Index | None = None
        for batch in batches:
            if router is None:
                router = opened(self.match.source.path(), self.match.limits)
            batch = batch.rename_columns(list(self.match.columns))
            routes = self.routes(batch, router)
            if self.match.on_error == "fail":
                self.match.check(batch, dict(routes.rejected))
            for found in self.match.rejections(batch, routes.rejected):
                yield from outbox.send(FOUND, found)
            for shard in np.unique(routes.shard).tolist():
                rows = routes.row[routes.shard == shard]
                yield from outbox.send(shard, batch.take(pa.array(rows)))
        yield from outbox.rest()

    def routes(self, batch: pa.RecordBatch, router: Index) -> Routes:
        """The shards of each event of a batch, and the events that cannot be read."""
        task = self.match._replace(
            columns=(*self.match.columns, _ROW),
            event_id=_ROW,
            keep=(),
            schema=_ROUTES,
            limit=None,
            bindings=False,
            on_error="collect",
        )
        numbers = np.arange(batch.num_rows)
        arrays = [*batch.columns, pa.array(numbers)]
        numbered = pa.RecordBatch.from_arrays(arrays, list(task.columns))
        rows, shards = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        rejected: list[tuple[int, str]] = []
        for found in task.matches(numbered, router):
            row = found[EVENT_ID].to_numpy()
            if found[REASON].null_count < found.num_rows:
                rejected += zip(row.tolist(), map(str, found[REASON].to_pylist()), strict=True)
            else:
                rows.append(row)
                shards.append(found[SUBSCRIPTION_ID].to_numpy())
        readable = np.ones(batch.num_rows, bool)
        readable[[row for row, _ in rejected]] = False
        for shard in self.always:
            rows.append(numbers[readable])
            shards.append(np.full(int(readable.sum()), shard))
        count = max(batch.num_rows, 1)
        once = np.unique(np.concatenate(shards) * count + np.concatenate(rows))
        once = once[readable[once % count]]
        return Routes(once % count, once // count, rejected)


class Routes(NamedTuple):
    """Which events visit which shards."""

    row: Int64s
    shard: Int64s
    rejected: list[tuple[int, str]]
    """The rows of the others, and the reasons."""


class _Outbox:
    """Events on their way to shards, until they are enough for a blob."""

    def __init__(self, partitions: int) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        self._partitions = partitions
        self._next = 0 if context is None else context.partitionId()
        self._waiting: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)

    def send(self, shard: int, events: pa.RecordBatch) -> Batches:
        """Take in events, and give a blob if there are enough."""
        waiting = self._waiting[shard]
        waiting.append(events)
        if (
            sum(each.num_rows for each in waiting) >= _BLOB_ROWS
            or sum(each.nbytes for each in waiting) >= _BLOB_BYTES
        ):
            yield self._blob(shard)

    def rest(self) -> Batches:
        """All that are still waiting."""
        for shard in list(self._waiting):
            yield self._blob(shard)

    def _blob(self, shard: int) -> pa.RecordBatch:
        table = pa.Table.from_batches(self._waiting.pop(shard)).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        partition = max(shard, 0) * self._partitions + self._next % self._partitions
        self._next += 1
        arrays: list[Any] = [
            pa.array([partition], pa.int32()),
            pa.array([shard], pa.int32()),
            pa.array([sink.getvalue().to_pybytes()], pa.binary()),
        ]
        return pa.RecordBatch.from_arrays(arrays, [PARTITION, SHARD, EVENTS])


class ShardTask(NamedTuple):
    """Matches the events that visit a shard against its index."""

    match: MatchTask
    folder: ShardFolder

    def __call__(self, batches: Batches) -> Batches:
        """The matches of the blobs of a partition."""
        for batch in batches:
            shards: list[Any] = batch[SHARD].to_pylist()
            for shard, blob in zip(shards, batch[EVENTS], strict=True):
                events = pa.ipc.open_stream(blob.as_buffer()).read_all().combine_chunks()
                for each in events.to_batches():
                    if shard == FOUND:
                        yield each
                    else:
                        yield from self.match.matches(each, self._index(shard))

    def _index(self, shard: int) -> Index:
        """The index of a shard; a process has one open at a time, so that none holds all."""
        key = (self.folder.uri, shard, self.match.limits)
        index = _HELD.get(key)
        if index is None:
            declare(self.match.operators)
            _HELD.clear()
            path = self.folder.local(index_name(shard))
            index = _HELD[key] = Index.open(path, verify=False, limits=self.match.limits)
        return index


_HELD: dict[Any, Index] = {}
