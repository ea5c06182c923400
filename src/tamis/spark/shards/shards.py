"""Subscriptions in shards: more of them than one machine holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from tamis.engine.engine import Engine
from tamis.errors import StorageError, SubscriptionError, TamisError
from tamis.model.kinds import Kind
from tamis.model.limits import LIMITS, Limits
from tamis.model.paths import Path
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.model.timestamp import Timestamp
from tamis.predicates.valueset import before
from tamis.spark.columns import SUBSCRIPTION_ID, arrow_schema
from tamis.spark.index.building import TABLE, Settings, column_fields
from tamis.spark.index.index import Index, complaint, rejected_rows
from tamis.spark.learn import Statistics
from tamis.spark.shards.axes import KeyAxis
from tamis.spark.shards.building import Built, Work, build_shards, table_rows
from tamis.spark.shards.folder import SETTINGS, ShardFolder
from tamis.spark.shards.keys import ALWAYS
from tamis.spark.shards.routing import router_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERSION = 1
MOST_SHARDS = 1_000


class Shards:
    """Compiled subscriptions, divided into shards; pass it to ``match`` instead of a table.

        shards = Shards.build(spark.table("rules"), "hdfs:///tamis/rules", count=8)
        matches = match(events, shards)

    A subscription lives in one shard. An event visits the shards whose subscriptions it can match,
    and those that hold subscriptions without a key. Shards do not change: for new subscriptions,
    build new ones in another folder.
    """

    def __init__(self, folder: ShardFolder, content: Mapping[str, Any], limits: Limits) -> None:
        self.folder = folder
        self.limits = limits
        self.axes = [_axis(each) for each in content["axes"]]
        self.sizes: list[int] = content["subscriptions"]
        """The subscriptions of each shard."""
        self.nbytes: list[int] = content["bytes"]
        """The bytes of each shard's index."""
        self.keys: list[list[int]] = content["keys"]
        self.paths = _paths(content["paths"])
        """The attributes that subscriptions look at; None if any may matter."""
        self.reads_graphs: bool = content["graphs"]
        """Whether some subscription has a graph pattern."""
        self.operators: dict[str, str] = content["operators"]
        """The operators that subscriptions call, with their versions."""
        self.schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(content["schema"])))
        """The columns by slot."""
        self.rejected = rejected_rows([], [], [], self.schema.field(SUBSCRIPTION_ID).type)
        """The faulty rows: ``id``, ``subscription`` and ``error``; none if shards were opened."""
        self._router: Index | None = None

    @classmethod
    def build(
        cls,
        subscriptions: DataFrame,
        folder: str | os.PathLike[str],
        *,
        count: int,
        columns: Sequence[str] = (),
        errors: Literal["raise", "collect"] = "collect",
        schema: Schema | Mapping[str, Any] | None = None,
        taxonomy: Taxonomies | TaxonomyLike | None = None,
        prefixes: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
        operators: Sequence[str] = (),
        statistics: Statistics | None = None,
    ) -> Shards:
        """Compile a table with the columns ``id``, ``subscription`` and optionally ``version``.

        Executors divide and compile it; the driver sees a sample and how often each key occurs.
        They write the shards to ``folder``, which must be new or empty and which all nodes see: a
        path on a shared disk, or a URI such as ``hdfs://…`` or ``s3://…``. ``statistics`` are what
        ``learn`` told of events; keys are chosen by them. The other parameters are those of
        ``Index.of``.
        """
        if not isinstance(count, int) or not 1 <= count <= MOST_SHARDS:
            raise TamisError(f"count must be a number of shards from 1 to {MOST_SHARDS:,}")
        if not hasattr(subscriptions, "mapInArrow") or subscriptions.isStreaming:
            raise TamisError(
                "shards are built of a DataFrame that is not a stream; otherwise use Index.of"
            )
        form = schema.to_json() if isinstance(schema, Schema) else schema
        settings = Settings(form, taxonomy, prefixes, limits, tuple(operators))
        rows = table_rows(subscriptions, columns)
        types = arrow_schema(rows, TABLE)
        place = ShardFolder.of(folder)
        place.make()
        events = () if statistics is None else statistics.sampled_events
        axes, built = build_shards(rows, count, Work(settings, place, types, events))
        place.save(Index(settings.engine()), SETTINGS)
        place.write(_content(axes, _complete(built, count), column_fields(types)))
        shards = cls.open(folder, limits=limits)
        shards.rejected = pa.concat_tables([shards.rejected, *(each.rejected for each in built)])
        if errors == "raise" and shards.rejected.num_rows:
            raise SubscriptionError(complaint(shards.rejected))
        return shards

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, limits: Limits = LIMITS) -> Shards:
        """Open shards that were built."""
        place = ShardFolder.of(folder)
        content = place.read()
        if content.get("version") != VERSION:
            raise StorageError(
                f"the shards in {place.uri} are of another version: build them again"
            )
        return cls(place, content, limits)

    @property
    def router(self) -> Index:
        """The index that finds the shards of an event."""
        if self._router is None:
            engine = Engine.load(self.folder.local(SETTINGS), limits=self.limits)
            self._router = router_of(engine, self.axes, self.keys, self.paths or ())
        return self._router

    @property
    def attributes(self) -> frozenset[str] | None:
        """The outermost keys of the attributes that subscriptions speak of."""
        return None if self.paths is None else frozenset(path[0] for path in self.paths)

    @property
    def always(self) -> tuple[int, ...]:
        """The shards that every event visits."""
        return tuple(shard for shard, keys in enumerate(self.keys) if ALWAYS in keys)

    def visits(self, events: Any) -> float:
        """How many shards an event visits, on average of some events as ``match_batch`` takes
        them."""
        shards = self.router.columns[SUBSCRIPTION_ID].to_numpy()
        found = self.router.engine.match_batch(events)
        count, always = len(self.sizes), len(self.always)
        once = np.unique(found.event * np.int64(count) + shards[found.slot])
        more = int(np.count_nonzero(~np.isin(once % count, self.always)))
        return always + more / max(len(events), 1)

    def __len__(self) -> int:
        return sum(self.sizes)

    def __repr__(self) -> str:
        return f"Shards({self.folder.uri!r}, {len(self):,} subscriptions in {len(self.sizes):,})"


def _complete(built: Sequence[Built], count: int) -> list[Built | None]:
    """What was built, by shard; a shard that no subscription fell to was not."""
    known = {each.shard: each for each in built}
    return [known.get(shard) for shard in range(count)]


def _content(axes: Sequence[KeyAxis], built: Sequence[Built | None], fields: pa.Schema) -> Any:
    """What is to know of shards, as JSON."""
    there = [each for each in built if each is not None]
    asked = [each.paths for each in there]
    known = {tuple(path) for paths in asked if paths is not None for path in paths}
    return {
        "version": VERSION,
        "axes": [_axis_json(axis) for axis in axes],
        "subscriptions": [each.subscriptions if each else 0 for each in built],
        "bytes": [each.bytes if each else 0 for each in built],
        "keys": [each.keys if each else [] for each in built],
        "paths": None if None in asked else sorted(known),
        "graphs": any(each.graphs for each in there),
        "operators": {name: said for each in there for name, said in each.operators.items()},
        "schema": fields.serialize().to_pybytes().hex(),
    }


def _paths(paths: list[list[str]] | None) -> frozenset[Path] | None:
    return None if paths is None else frozenset(map(tuple, paths))


def _axis_json(axis: KeyAxis) -> dict[str, Any]:
    values = [cut[1] for cut in axis.cuts if len(cut) > 1]
    if axis.kind is Kind.TIMESTAMP:
        values = [value.nanoseconds for value in values if isinstance(value, Timestamp)]
    return {"path": axis.path, "kind": axis.kind, "values": values}


def _axis(content: Mapping[str, Any]) -> KeyAxis:
    kind, values = Kind(content["kind"]), content["values"]
    if kind is Kind.TIMESTAMP:
        values = map(Timestamp, values)
    return KeyAxis(tuple(content["path"]), kind, tuple(map(before, values)))
