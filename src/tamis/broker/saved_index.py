"""The engines in files, for a quick start. The store is what counts: an index that is missing,
damaged or of another store is made again from it, and what has changed since it was saved is read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from tamis.broker.catalog import Catalog
from tamis.broker.settings import BrokerSettings
from tamis.broker.state import State
from tamis.broker.writer import Transaction
from tamis.engine.engine import Engine
from tamis.errors import TamisError

log = logging.getLogger("tamis.broker.index")

_STAMP = "tamis/broker"
_MANY = 10_000
"""Changes after which an index is worth saving again before the broker is closed."""


class SavedIndex:
    """Files of engines in a folder, or none."""

    def __init__(self, state: State, folder: Path | None, store: str) -> None:
        """``store`` is the name of the store, which no other has."""
        self._state, self._folder, self._store = state, folder, store
        self.saved_upto = 0
        """The change up to which all engines are saved."""
        self.rebuilt: list[str] = []
        """Tenants whose engines had to be made from the store."""

    def load(self) -> None:
        """Fill the catalog and the roster with what the store has."""
        database, state = self._state.database, self._state
        tenants = [row[0] for row in database.read("select distinct tenant from subscriptions")]
        for tenant in tenants:
            engine, change = self._opened(tenant)
            if engine is None:
                self.rebuilt.append(tenant)
                self._build(tenant)
            else:
                state.catalog.engines[tenant] = engine
                self._catch_up(tenant, change)
        rows = database.read(
            "select number, expires, acknowledged from subscriptions order by number"
        )
        state.roster.load(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.float64),
            np.array([row[2] for row in rows], np.int64),
        )

    def _path(self, tenant: str) -> Path | None:
        if self._folder is None:
            return None
        name = hashlib.sha256(tenant.encode()).hexdigest()[:32]
        return self._folder / f"{name}.tamis"

    def _opened(self, tenant: str) -> tuple[Engine | None, int]:
        """The saved engine of a tenant, and the change up to which it was saved."""
        path = self._path(tenant)
        if path is None or not path.exists():
            return None, 0
        settings: BrokerSettings = self._state.settings
        try:
            engine = Engine.load(path, operators=settings.operators, limits=settings.limits)
            stamp = json.loads(bytes(engine.attachments[_STAMP]))
            schema = self._state.catalog.schema
            wanted = None if schema is None else schema.to_json()
            has = None if engine.schema is None else engine.schema.to_json()
            if stamp["store"] == self._store and stamp["tenant"] == tenant and has == wanted:
                return engine, int(stamp["change"])
            log.warning("the index %s is of another store or schema; it is made again", path)
        except (TamisError, OSError, KeyError, ValueError) as error:
            log.warning("the index %s is of no use, and is made again: %s", path, error)
        return None, 0

    def _build(self, tenant: str) -> None:
        rows = self._state.database.read(
            "select number, text, enabled from subscriptions where tenant = ? order by number",
            (tenant,),
        )
        table: list[dict[str, Any]] = [
            {"id": str(number), "subscription": text, "enabled": bool(enabled)}
            for number, text, enabled in rows
        ]
        engine = self._state.catalog.engine(tenant)
        engine.loader.add(table, replace=False, errors="raise")

    def _catch_up(self, tenant: str, change: int) -> None:
        database, catalog = self._state.database, self._state.catalog
        for (number,) in database.read(
            "select number from removals where changed > ? and tenant = ?", (change, tenant)
        ):
            catalog.drop(tenant, number)
        for number, text, enabled in database.read(
            "select number, text, enabled from subscriptions where changed > ? and tenant = ?",
            (change, tenant),
        ):
            catalog.put(tenant, number, text, bool(enabled))

    def save_if_many(self, transaction: Transaction) -> None:
        """Save the engines if much has changed since, compared with what there is."""
        rows = transaction.database.execute(
            "select (select count(*) from removals where changed > ?) + "
            "(select count(*) from subscriptions where changed > ?)",
            (self.saved_upto, self.saved_upto),
        )
        if rows[0][0] > max(_MANY, len(self._state.roster) // 4):
            self.save(transaction)

    def save(self, transaction: Transaction) -> None:
        """Write the engines, in the writer's thread; only afterwards are removals forgotten."""
        change = self._state.next()
        if self._folder is not None:
            self._write(self._folder, change)
        self.saved_upto = change
        transaction.database.execute("delete from removals where changed < ?", (change,))

    def _write(self, folder: Path, change: int) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        for tenant, engine in self._state.catalog.engines.items():
            path = self._path(tenant)
            assert path is not None
            stamp = {"store": self._store, "tenant": tenant, "change": change}
            engine.attachments[_STAMP] = json.dumps(stamp).encode()
            engine.save(path)


def folder_of(settings: BrokerSettings, database: object) -> Path | None:
    """Where the index of a store is saved."""
    if settings.index is not None:
        return settings.index
    path = getattr(database, "path", None)
    return None if path is None else Path(os.fspath(path) + ".index")


def check_equal(catalog: Catalog, state: State) -> None:
    """Raise unless the engines hold exactly what the store has; for ``Broker.verify``."""
    rows = state.database.read("select tenant, number, text, enabled from subscriptions")
    wanted = {
        (tenant, str(number)): (text, bool(enabled)) for tenant, number, text, enabled in rows
    }
    has = {
        (tenant, each.id): (each.text, each.enabled)
        for tenant, engine in catalog.engines.items()
        for each in engine
    }
    if has != wanted:
        missing, extra = len(wanted.keys() - has.keys()), len(has.keys() - wanted.keys())
        raise TamisError(f"the index is not what the store has: {missing} missing, {extra} extra")
