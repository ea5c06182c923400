"""Compiled subscriptions for Spark: an engine, and the columns of its table by slot.

    slot   engine             columns: subscription_id   version   owner
    0      category = 'Toy'            17                3         ada
    1      price < 5                   42                1         ben

An index is one file: that of the engine, with the columns attached in Arrow's file format.
Executors map it into memory. A match is a slot; its row of the columns goes into the result, with
the types that the columns had in the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tamis.arrays.string_table import StringTable
from tamis.engine.documents import DocumentMatcher
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
    """Compiled subscriptions, with the columns that go into matches."""

    def __init__(
        self, engine: Engine, columns: pa.Table | None = None, rejected: pa.Table | None = None
    ) -> None:
        self.engine = engine
        self._documents: DocumentMatcher | None = None
        self._reads_graphs: bool | None = None
        if columns is None:
            ids = engine.slot_ids()
            columns = pa.table({SUBSCRIPTION_ID: ids, VERSION: pa.nulls(len(ids), pa.int64())})
        self.columns = columns
        """By slot: ``subscription_id``, ``version``, and the columns you asked for."""
        self.rejected = rejected_rows([], [], [], self.id_type) if rejected is None else rejected
        """The faulty rows: ``id``, ``subscription`` and ``error``."""

    @property
    def reads_graphs(self) -> bool:
        """Whether some subscription has a graph pattern, for a worker whose index never changes."""
        if self._reads_graphs is None:
            self._reads_graphs = self.engine.reads_graphs()
        return self._reads_graphs

    @property
    def documents(self) -> DocumentMatcher:
        """What matches JSON and variants against the subscriptions, for a worker whose index never
        changes."""
        if self._documents is None:
            self._documents = self.engine.document_matcher()
        return self._documents

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
        operators: Sequence[str] = (),
    ) -> Index:
        """Compile a table with the columns ``id``, ``subscription`` and optionally ``version``.

        A Spark DataFrame is parsed in its executors, an Arrow table in this process. Name more
        ``columns`` of it to have them in the matches. Faulty rows are listed in ``rejected``; with
        ``errors="raise"`` they raise an error. ``operators`` are modules that declare some.
        """
        from tamis.spark.index.building import Settings, build

        if errors not in ("raise", "collect"):
            raise TamisError(f"errors must be 'raise' or 'collect', not {errors!r}")
        form = schema.to_json() if isinstance(schema, Schema) else schema
        settings = Settings(form, taxonomy, prefixes, limits, tuple(operators))
        index = cls(*build(subscriptions, columns, settings))
        if errors == "raise" and index.rejected.num_rows:
            raise SubscriptionError(index.complaint())
        return index

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, verify: bool = True, limits: Limits = LIMITS
    ) -> Index:
        """Open a saved index, or any saved engine, by mapping the file into memory."""
        engine = Engine.load(path, verify=verify, limits=limits)
        stored = engine.attachments.get(_COLUMNS)
        if stored is None:
            return cls(engine)
        try:
            return cls(engine, pa.ipc.open_file(pa.py_buffer(stored)).read_all())
        except pa.ArrowException as error:
            raise StorageError(
                f"the columns in {os.fspath(path)} are damaged: build the index again"
            ) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write engine and columns to one file, completely or not at all."""
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
        """Add and replace subscriptions, and remove those whose row has a null.

        If several rows have the same id, the last one counts. Faulty rows are listed in
        ``rejected``; the previous subscriptions with their ids stay.
        """
        check_present(rows.column_names, [ID, SUBSCRIPTION], "a table of changes")
        kind = rows.schema.field(SUBSCRIPTION).type
        if not is_text(kind) and kind != pa.null():
            raise SubscriptionError(
                f"column {SUBSCRIPTION!r} of the changes must be text, not {kind}"
            )
        ids = self._own_ids(rows[ID])
        rows = self._own_types(rows)
        keys: list[Any] = as_keys(ids).to_pylist()
        texts: list[Any] = rows[SUBSCRIPTION].to_pylist()
        last = {key: place for place, key in enumerate(keys)}
        before = self.engine.subscriptions.index.store
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
        added = self._rows_of(ids, rows, [place for place in places if place not in faulty])
        self._align(added, moved=self.engine.subscriptions.index.store is not before)

    def _own_ids(self, ids: Any) -> pa.Array[Any]:
        try:
            return one_chunk(ids.cast(self.id_type))
        except pa.ArrowException as error:
            raise SubscriptionError(
                f"the ids have type {ids.type} in the changes, but {self.id_type} in the index"
            ) from error

    def _own_types(self, rows: pa.Table) -> pa.Table:
        """The rows with the types of these columns; raises before anything has changed."""
        for place, name in enumerate(rows.column_names):
            if name in (VERSION, *self.columns.column_names):
                kind = self.columns.schema.field(name).type
                try:
                    column = rows[name].cast(kind)
                except pa.ArrowException as error:
                    raise SubscriptionError(
                        f"column {name!r} has type {rows[name].type} in the changes, but {kind} "
                        f"in the index: {error}"
                    ) from error
                rows = rows.set_column(place, name, column)
        return rows

    def _rows_of(self, ids: pa.Array[Any], rows: pa.Table, places: list[int]) -> pa.Table:
        """Some rows of the changes, with all columns."""
        taken = pa.array(places, pa.int64())
        fields: dict[str, Any] = {SUBSCRIPTION_ID: ids.take(taken)}
        for field in self.columns.schema:
            if field.name in rows.column_names and field.name not in fields:
                fields[field.name] = rows[field.name].take(taken)
            elif field.name not in fields:
                fields[field.name] = pa.nulls(len(places), field.type)
        return pa.table(fields, self.columns.schema)

    def _align(self, added: pa.Table, *, moved: bool) -> None:
        """Align the columns with the slots; an added row wins over a previous one.

        Slots only grow, unless the engine gave those of removed subscriptions back and moved the
        others. So mostly the rows there are stay where they are, however many they are.
        """
        slots = self.engine.slot_ids()
        kept = 0 if moved else self.columns.num_rows
        known = pa.concat_tables([added, self.columns]) if moved else added
        found = StringTable(as_keys(known[SUBSCRIPTION_ID])).rows(slots.slice(kept))
        rows: Any = pa.array(found, mask=found < 0)
        more = known.combine_chunks().take(rows)
        self.columns = pa.concat_tables([self.columns.slice(0, kept), more]).combine_chunks()

    def complaint(self) -> str:
        """A message about the rejected rows."""
        return complaint(self.rejected)

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


def complaint(rejected: pa.Table) -> str:
    """A message about rejected subscriptions."""
    count = rejected.num_rows
    first = [
        f"  id {row['id']!r}: {row['error'].splitlines()[0]}"
        for row in rejected.slice(0, 3).to_pylist()
    ]
    more = [f"  and {count - 3:,} more"] if count > 3 else []
    said = "subscription was" if count == 1 else "subscriptions were"
    return "\n".join([f"{count:,} {said} rejected:", *first, *more])


def one_chunk(column: Any) -> pa.Array[Any]:
    """A column as one array."""
    whole: pa.Array[Any] = column
    if isinstance(column, pa.ChunkedArray):
        whole = column.combine_chunks()
    return whole


def as_keys(ids: Any) -> pa.LargeStringArray:
    """Ids of any type as strings, which engines use."""
    return one_chunk(ids.cast(pa.large_string()))  # type: ignore[return-value]
