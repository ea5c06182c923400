"""SQLite: one file, with a write-ahead log that is synced at every commit."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tamis.broker.storage.database import Row, unavailable
from tamis.errors import StorageError

_PRAGMAS = """
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma temp_store = memory;
    pragma cache_size = -65536;
    pragma wal_autocheckpoint = 4000;
"""
CHECKED = 256 * 2**20
"""Bytes up to which a file is checked whenever it is opened: some 0.5 s. Of a larger one each
row is checked by its checksum when it is read."""
_DAMAGE = ("malformed", "not a database", "disk image", "corrupt")


class SqliteDatabase:
    """One file. Each reading thread has a connection of its own, and never waits for the writer."""

    blob = "blob"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._readers: dict[threading.Thread, sqlite3.Connection] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        self._held = self._hold()
        try:
            with self._errors():
                _create(path)
                self._writer = self._connect()
                self._writer.executescript(_PRAGMAS)
                if self.path.stat().st_size <= CHECKED:
                    self._check()
        except BaseException:
            os.close(self._held)
            raise

    def _hold(self) -> int:
        """A lock that only one broker can hold, and that ends with its process."""
        try:
            held = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise unavailable(error) from error
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(held)
            raise StorageError(f"another broker uses {self.path}: stop it first") from error
        return held

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)

    def _check(self) -> None:
        rows = self._writer.execute("pragma quick_check(5)").fetchall()
        if rows != [("ok",)]:
            raise sqlite3.DatabaseError("malformed: " + "; ".join(row[0] for row in rows)[:500])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if any(word in str(error) for word in _DAMAGE):
                raise StorageError(
                    f"{self.path} is damaged ({error}); restore a backup, or recover what is left "
                    "with sqlite3's .recover"
                ) from error
            raise unavailable(error) from error

    def begin(self) -> None:
        """Begin a transaction of the writer."""
        with self._errors():
            self._writer.execute("begin immediate")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement in the writer's transaction; its rows, if it has any."""
        with self._errors():
            self._check_transaction()
            return self._writer.execute(sql, parameters).fetchall()

    def _check_transaction(self) -> None:
        """SQLite ends a transaction by itself when the disk is full, say."""
        if not self._writer.in_transaction:
            raise sqlite3.OperationalError("the transaction was rolled back")

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row."""
        with self._errors():
            self._check_transaction()
            self._writer.executemany(sql, rows)

    def commit(self) -> None:
        """Make the transaction durable; when this returns, it is."""
        with self._errors():
            self._writer.execute("commit")

    def rollback(self) -> None:
        """Forget the transaction. Does nothing without one."""
        with self._errors():
            if self._writer.in_transaction:
                self._writer.execute("rollback")

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query on what was committed last."""
        with self._errors():
            return self._reader().execute(sql, parameters).fetchall()

    def _reader(self) -> sqlite3.Connection:
        thread = threading.current_thread()
        found = self._readers.get(thread)
        if found is None:
            with self._lock:
                if self._is_closed:
                    raise sqlite3.OperationalError("the database is closed")
                for each in [each for each in self._readers if not each.is_alive()]:
                    self._readers.pop(each).close()
                found = self._readers[thread] = self._connect()
                found.execute("pragma query_only = on")
        return found

    def check(self) -> None:
        """Raise a StorageError if the file is damaged; this reads every page."""
        with self._errors():
            self._check()

    def backup(self, path: Path) -> None:
        """Write a copy of what was committed last, while others go on."""
        if path.exists():
            raise StorageError(f"{path} exists; give a new name for the backup")
        with self._errors():
            _create(path)
            source, target = self._connect(), sqlite3.connect(path)
            try:
                source.backup(target, pages=-1)
            finally:
                source.close()
                target.close()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._is_closed = True
            for each in self._readers.values():
                each.close()
            self._readers.clear()
            self._writer.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1


def _create(path: Path) -> None:
    """Make a file that only its owner may read, if it is not there: it has everybody's events."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise unavailable(error) from error
