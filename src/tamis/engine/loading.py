"""Many subscriptions at once: as columns of constants where they are many, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tamis.engine.registry import Algorithm
from tamis.engine.subscription import (
    EXISTS,
    REPEATED,
    Rejected,
    Row,
    Subscription,
    read_rows,
)
from tamis.engine.subscriptions import Collection
from tamis.errors import DuplicateIdError, SubscriptionError, TamisError

if TYPE_CHECKING:
    from tamis.engine.bulk import Block, Bulk

_BULK = 1_000
"""Rows from which on they are taken in as columns."""


class Subscribed(NamedTuple):
    """What came of ``subscribe_many``."""

    ids: list[str]
    rejected: list[Rejected]


class Loading(Collection):
    """A collection that takes in tables."""

    def subscribe_many(
        self,
        table: Any,
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> Subscribed:
        """Add all rows of a table (columns ``id``, ``subscription``, on request ``metadata`` and
        ``enabled``), frame, mapping from id to subscription, or iterable of such rows.

        All or nothing; with ``errors="collect"`` faulty rows are left out and returned.
        """
        collect = _collects(errors)
        rows = read_rows(table)
        first = list(islice(rows, _BULK))
        may_refuse = isinstance(self._make, Algorithm)  # some rows, when others are in already
        if len(first) == _BULK or (first and may_refuse):
            blocks = self.read_blocks(chain(first, rows), errors=errors)
            bulk = self._take_blocks(blocks, replace, collect)
            ids: Any = bulk.ids().to_pylist()
            return Subscribed([id for id in ids if id[0] != "\x00"], bulk.rejected)
        with self._lock:
            return self._take_few(first, replace, collect)

    def _take_few(self, rows: Iterable[Row], replace: bool, collect: bool) -> Subscribed:
        taken: dict[str, Subscription] = {}
        rejected = []
        for row in rows:
            try:
                new = self._checked(row)
                if new.id in taken:
                    raise DuplicateIdError(REPEATED.format(new.id))
                if new.id in self and not replace:
                    raise DuplicateIdError(EXISTS.format(new.id))
            except TamisError as error:
                if not collect:
                    raise SubscriptionError(f"row {row.number}, id {row.id!r}: {error}") from error
                rejected.append(Rejected(row.number, row.id, error))
            else:
                taken[new.id] = new
        for new in taken.values():
            self._take(new, self._store.slot(new.id))
        return Subscribed(list(taken), rejected)

    def read_blocks(
        self, table: Any, *, errors: Literal["raise", "collect"] = "raise"
    ) -> Iterator[Block]:
        """Read rows as ``subscribe_many`` does, without taking them in.

        This is the larger part of its work. Blocks can be pickled, so that other processes, with
        an engine of the same settings, can do it.
        """
        from tamis.engine.bulk import BlockReader

        shapes = self._matcher.compiles
        reader = BlockReader(self._reader, self._checked, _collects(errors), shapes)
        return reader.blocks(read_rows(table))

    def subscribe_blocks(
        self,
        blocks: Iterable[Block],
        *,
        replace: bool = False,
        errors: Literal["raise", "collect"] = "raise",
    ) -> list[Rejected]:
        """Add what ``read_blocks`` has read; all or nothing, unless faulty rows are collected."""
        return self._take_blocks(blocks, replace, _collects(errors)).rejected

    def _take_blocks(self, blocks: Iterable[Block], replace: bool, collect: bool) -> Bulk:
        from tamis.arrays.string_table import StringTable
        from tamis.engine.bulk import Bulk

        with self._lock:
            store, matcher = self._held
            load = matcher.load()
            bulk = Bulk(self._reader, load, len(store.ids), self._checked, collect)
            for block in blocks:
                bulk.take(block)
            bulk.check_ids((lambda _: ()) if replace else store.taken)
            ids = bulk.ids()
            replaced = [str(ids[row].as_py()) for row in store.taken(ids)] if replace else []
            gone = {self._slot(id) for id in replaced} - store.disabled
            disabled = {slot for slot, new in bulk.others.items() if not new.enabled}
            slot = store.reserve_many(ids, bulk.texts())
            load.install([*gone, *(bulk.gone - disabled)])
            for id in replaced:
                self._forget(id)
            store.add_many(slot, StringTable(ids))
            for slot, new in bulk.others.items():
                if slot not in bulk.gone:
                    store.metadata[slot] = new.metadata
                    if not new.enabled:
                        store.disabled.add(slot)
            for slot in bulk.gone:
                store.remove(store.ids[slot], slot)
            if replace:  # without, the slots stay those of the rows
                self._tidy()
        bulk.rejected.sort(key=lambda each: each.row)
        return bulk

    def _compile(self) -> None:
        """Give the matcher, which has nothing yet, all subscriptions of the store."""
        import numpy as np

        from tamis.engine.bulk import BlockReader, Bulk

        if self._store.waste:
            self._use(self._store.renumbered(np.fromiter(self._store.slots(), np.int32)))
        store, matcher = self._held

        def parsed(row: Row) -> Subscription:
            return Subscription(row.id, row.source, self._reader.parse(row.source), {}, True)

        load = matcher.load()
        bulk = Bulk(self._reader, load, 0, parsed, False)
        reader = BlockReader(self._reader, parsed, False, matcher.compiles)
        rows = (Row(slot, str(slot), text) for slot, text in enumerate(store.texts))
        for block in reader.blocks(rows):
            bulk.take(block)
        load.install(store.disabled)


def _collects(errors: str) -> bool:
    if errors not in ("raise", "collect"):
        raise TamisError(f"errors is 'raise' or 'collect', not {errors!r}")
    return errors == "collect"
