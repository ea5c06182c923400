"""Many subscriptions at once: as columns of constants where they are many, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.arrays.sharing import collection_paused
from tamis.engine.reader import PreparedSubscription, Remark
from tamis.engine.rows import EXISTS, REPEATED, Rejected, Row, read_rows
from tamis.engine.subscriptions import Subscriptions
from tamis.errors import DuplicateIdError, TamisError
from tamis.matching.capabilities import Settles, capability

if TYPE_CHECKING:
    from tamis.engine.bulk import Block, Bulk
    from tamis.engine.shapes import ShapedSubscription

_BULK = 1_000
"""Rows from which on they are taken in as columns."""


class Subscribed(NamedTuple):
    """The result of ``subscribe_many``."""

    ids: list[str]
    rejected: list[Rejected]


class LoadOutcome(NamedTuple):
    """The same, and what to say of the subscriptions."""

    subscribed: Subscribed
    remarks: list[Remark]


class Loader:
    """Takes tables into a collection of subscriptions."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    @collection_paused()
    def add(self, table: Any, *, replace: bool = False, errors: str = "raise") -> LoadOutcome:
        """Add all rows of a table; all or nothing, unless faulty rows are collected."""
        collect = collects(errors)
        rows = read_rows(table)
        first = list(islice(rows, _BULK))
        subscriptions = self._subscriptions
        has_live_part = capability(subscriptions.index.matcher, Settles) is not None
        if len(first) < _BULK and has_live_part:
            with subscriptions.changing:
                return self._add_few(first, replace, collect)
        bulk = self._take(self.read(chain(first, rows), errors=errors), replace, collect)
        return LoadOutcome(Subscribed(bulk.taken_ids(), bulk.rejected), bulk.remarks)

    def _add_few(self, rows: Iterable[Row], replace: bool, collect: bool) -> LoadOutcome:
        subscriptions = self._subscriptions
        taken: dict[str, PreparedSubscription | ShapedSubscription] = {}
        rejected: list[Rejected] = []
        remarks: list[Remark] = []
        for row in rows:
            try:
                new = subscriptions.reader.prepare(row)
                if new.id in taken:
                    raise DuplicateIdError(REPEATED.format(new.id))
                if new.id in subscriptions and not replace:
                    raise DuplicateIdError(EXISTS.format(new.id))
            except TamisError as error:
                rejected.append(Rejected.of(row, error, collect=collect))
            else:
                taken[new.id] = new
                remarks += new.remarks if isinstance(new, PreparedSubscription) else ()
        for new in taken.values():
            subscriptions.take(new, subscriptions.index.store.slot(new.id))
        return LoadOutcome(Subscribed(list(taken), rejected), remarks)

    def read(self, table: Any, *, errors: str = "raise") -> Iterator[Block]:
        """Read rows without taking them in: the larger part of the work."""
        from tamis.engine.bulk import BlockReader

        return BlockReader(self._subscriptions.reader, collects(errors)).blocks(read_rows(table))

    @collection_paused()
    def add_blocks(
        self, blocks: Iterable[Block], *, replace: bool = False, errors: str = "raise"
    ) -> list[Rejected]:
        """Add what was read; all or nothing, unless faulty rows are collected."""
        return self._take(blocks, replace, collects(errors)).rejected

    def _take(self, blocks: Iterable[Block], replace: bool, collect: bool) -> Bulk:
        from tamis.arrays.string_table import StringTable
        from tamis.engine.bulk import Bulk

        subscriptions = self._subscriptions
        with subscriptions.changing:
            store, matcher = subscriptions.index[:2]
            load = matcher.load()
            bulk = Bulk(subscriptions.reader, load, len(store.ids), collect)
            for block in blocks:
                bulk.take(block)
            bulk.check_ids((lambda _: ()) if replace else store.taken)
            bulk.check_refusals()
            ids = bulk.ids()
            replaced = [str(ids[row].as_py()) for row in store.taken(ids)] if replace else []
            slots = {id: subscriptions.slot(id) for id in replaced}
            slot = store.reserve_many(ids, bulk.texts())
            load.install([*({*slots.values()} - store.disabled), *(bulk.gone - bulk.disabled)])
            for id, old in slots.items():
                store.remove(id, old)
            store.add_many(slot, StringTable(ids))
            for slot, new in bulk.others.items():
                if slot not in bulk.gone:
                    store.describe(slot, new.metadata, new.enabled)
            store.forget(bulk.gone)
            if replace:  # without, the slots stay those of the rows
                subscriptions.tidy()
        bulk.rejected.sort(key=lambda each: each.row)
        return bulk

    @collection_paused()
    def compile(self) -> None:
        """Give the matcher, which has nothing yet, all subscriptions of the store."""
        from tamis.engine.bulk import BlockReader, Bulk

        subscriptions = self._subscriptions
        subscriptions.tidy_whole()
        store, matcher = subscriptions.index[:2]
        load = matcher.load()
        bulk = Bulk(subscriptions.reader, load, 0, collect=False)
        rows = (Row(slot, str(slot), text) for slot, text in enumerate(store.texts))
        for block in BlockReader(subscriptions.reader, collect=False).blocks(rows):
            bulk.take(block)
        load.install(store.disabled)


def collects(errors: str) -> bool:
    """Whether faulty rows are collected."""
    if errors not in ("raise", "collect"):
        raise TamisError(f"errors must be 'raise' or 'collect', not {errors!r}")
    return errors == "collect"
