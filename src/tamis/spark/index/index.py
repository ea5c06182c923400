"""Compiled subscriptions as Spark uses them: an engine, and the columns of its table by slot.

    slot   engine             columns: subscription_id   version   owner
    0      category = 'Toy'            17                3         ada
    1      price < 5                   42                1         ben

One file (an engine's, with the columns as an attachment in Arrow's file format), which executors
open by memory mapping. A match is a slot; its row of the columns goes into the result, with the
type that the column had in the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tamis.arrays.string_table import StringTable
from tamis.engine.engine import Engine
from tamis.engine.rows import Row
from tamis.errors import (
    StorageError,
    SubscriptionError,
    TamisError,
)
from tamis.model.limits import LIMITS, Limits
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies, TaxonomyLike
from tamis.spark.columns import (
    ID,
    SUBSCRIPTION,
    SUBSCRIPTION_ID,
    VERSION,
    check_present,
    is_text,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = "columns"


class Index:
    """Subscriptions, compiled, with the columns that matches carry."""

    def __init__(
        self, engine: Engine, columns: pa.Table | None = None, rejected: pa.Table | None = None
    ) -> None:
        self.engine = engine
        if columns is None:
            ids = engine.slot_ids()
            columns = pa.table({SUBSCRIPTION_ID: ids, VERSION: pa.nulls(len(ids), pa.int64())})
        self.columns = columns
        """By slot: ``subscription_id``, ``version``, and those that were asked for."""
        self.rejected = rejected_rows([], [], [], self.id_type) if rejected is None else rejected
        """The rows that could not be taken: ``id``, ``subscription`` and ``error``."""

    @classmethod
    def of(
        cls,
        subscriptions: DataFrame | pa.Table,
        *,
        columns: Sequence[str] = (),
        errors: Literal["raise", "collect"] = "collect",
        schema: Schema | Mapping[str, Any] | None = None,
        taxonomy: Taxonomies | TaxonomyLike | None = None,
        prefixes: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
    ) -> Index:
        """Compile a table with the columns ``id``, ``subscription`` and, if it has one,
        ``version``: a DataFrame of Spark, in its executors, or an Arrow table, in this process.

        More ``columns`` of it go into the matches. Faulty rows are in ``rejected``, unless
        ``errors="raise"``.
        """
        from tamis.spark.index.building import Settings, build

        if errors not in ("raise", "collect"):
            raise TamisError(f"errors is 'raise' or 'collect', not {errors!r}")
        form = schema.to_json() if isinstance(schema, Schema) else schema
        index = cls(*build(subscriptions, columns, Settings(form, taxonomy, prefixes, limits)))
        if errors == "raise" and index.rejected.num_rows:
            raise SubscriptionError(index.complaint())
        return index

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, verify: bool = True, limits: Limits = LIMITS
    ) -> Index:
        """Open a saved index, or any saved engine; the file is mapped into memory, not read."""
        engine = Engine.load(path, verify=verify, limits=limits)
        stored = engine.attachments.get(_COLUMNS)
        if stored is None:
            return cls(engine)
        try:
            return cls(engine, pa.ipc.open_file(pa.py_buffer(stored)).read_all())
        except pa.ArrowException as error:
            raise StorageError(f"{os.fspath(path)} has damaged columns: build it anew") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write engine and columns to one file, which is whole or not there."""
        sink = pa.BufferOutputStream()
        table = self.columns.combine_chunks()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self.engine.attachments[_COLUMNS] = sink.getvalue()
        self.engine.save(path)

    @property
    def id_type(self) -> Any:
        """The type of the subscriptions' ids."""
        return self.columns.schema.field(SUBSCRIPTION_ID).type

    def change(self, rows: pa.Table) -> None:
        """Add, replace and, where the subscription is null, remove subscriptions.

        Of rows with the same id the last one holds. Faulty ones are in ``rejected`` then, and what
        was there under their ids stays.
        """
        check_present(rows.column_names, [ID, SUBSCRIPTION], "a table of changes")
        kind = rows.schema.field(SUBSCRIPTION).type
        if not is_text(kind) and kind != pa.null():
            raise SubscriptionError(f"column {SUBSCRIPTION!r} of the changes is text, not {kind}")
        ids = self._own_ids(rows[ID])
        rows = self._own_types(rows)
        keys: list[Any] = as_keys(ids).to_pylist()
        texts: list[Any] = rows[SUBSCRIPTION].to_pylist()
        last = {key: place for place, key in enumerate(keys)}
        for key, place in last.items():
            if texts[place] is None and key in self.engine:
                self.engine.unsubscribe(key)
        places = [place for place in last.values() if texts[place] is not None]
        new = [Row(place, keys[place], texts[place]) for place in places]
        found = self.engine.loader.add(new, replace=True, errors="collect").subscribed.rejected
        faulty = {each.row: str(each.error) for each in found}
        self.rejected = rejected_rows(
            [ids[place].as_py() for place in faulty],
            [texts[place] for place in faulty],
            list(faulty.values()),
            self.id_type,
        )
        self._align(ids, rows, [place for place in places if place not in faulty])

    def _own_ids(self, ids: Any) -> pa.Array[Any]:
        try:
            return one_chunk(ids.cast(self.id_type))
        except pa.ArrowException as error:
            raise SubscriptionError(
                f"the ids of the changes are of type {ids.type}, those of the index {self.id_type}"
            ) from error

    def _own_types(self, rows: pa.Table) -> pa.Table:
        """The rows with the types of these columns, before anything is changed."""
        for place, name in enumerate(rows.column_names):
            if name in (VERSION, *self.columns.column_names):
                kind = self.columns.schema.field(name).type
                try:
                    column = rows[name].cast(kind)
                except pa.ArrowException as error:
                    raise SubscriptionError(
                        f"column {name!r} of the changes is of type {rows[name].type}, that of "
                        f"the index {kind}: {error}"
                    ) from error
                rows = rows.set_column(place, name, column)
        return rows

    def _align(self, ids: pa.Array[Any], rows: pa.Table, places: list[int]) -> None:
        """Let the columns follow the slots: a row of the changes goes before a former one."""
        taken = pa.array(places, pa.int64())
        fields: dict[str, Any] = {SUBSCRIPTION_ID: ids.take(taken)}
        for field in self.columns.schema:
            if field.name in rows.column_names and field.name not in fields:
                fields[field.name] = rows[field.name].take(taken)
            elif field.name not in fields:
                fields[field.name] = pa.nulls(len(places), field.type)
        table = pa.concat_tables([pa.table(fields, self.columns.schema), self.columns])
        found = StringTable(as_keys(table[SUBSCRIPTION_ID])).rows(self.engine.slot_ids())
        slots: Any = pa.array(found, mask=found < 0)
        self.columns = table.combine_chunks().take(slots)

    def complaint(self) -> str:
        """What to say of the rows that were rejected."""
        count = self.rejected.num_rows
        first = [
            f"  id {row['id']!r}: {row['error'].splitlines()[0]}"
            for row in self.rejected.slice(0, 3).to_pylist()
        ]
        more = [f"  and {count - 3:,} more"] if count > 3 else []
        lines = [f"{count:,} of the subscriptions cannot be taken:", *first, *more]
        return "\n".join(lines)

    def __len__(self) -> int:
        return len(self.engine)

    def __repr__(self) -> str:
        aside = f", {self.rejected.num_rows:,} rejected" if self.rejected.num_rows else ""
        return f"Index({len(self):,} subscriptions{aside})"


def rejected_rows(ids: Any, texts: Any, errors: Any, id_type: Any) -> pa.Table:
    """A table of rejected subscriptions."""
    kinds = {ID: id_type, SUBSCRIPTION: pa.large_string(), "error": pa.large_string()}
    columns = [pa.array(each, kind) for each, kind in zip((ids, texts, errors), kinds.values())]
    return pa.table(dict(zip(kinds, columns)))


def one_chunk(column: Any) -> pa.Array[Any]:
    """A column as one array."""
    whole: pa.Array[Any] = column
    if isinstance(column, pa.ChunkedArray):
        whole = column.combine_chunks()
    return whole


def as_keys(ids: Any) -> pa.LargeStringArray:
    """Ids of any type as the strings that an engine knows them by."""
    return one_chunk(ids.cast(pa.large_string()))  # type: ignore[return-value]
