"""PostgreSQL, through psycopg 3. A connection that was lost is made again when it is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.broker.storage.database import Row, unavailable
from tamis.errors import MissingExtraError, StorageError

if TYPE_CHECKING:
    from psycopg import Connection

_LOCK = 7_240_126_451
"""The advisory lock that a broker holds: a second one on the same store would lose leases."""
_TAKE = "select pg_try_advisory_lock(%s)"
_PATIENCE = 5.0
"""Seconds to wait for the lock."""


class PostgresqlDatabase:
    """A database of PostgreSQL. One broker at a time may use it."""

    blob = "bytea"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError(
                "PostgreSQL needs psycopg: pip install 'tamis[server]'"
            ) from error
        self._psycopg = psycopg
        self._url = url
        self._writer: Connection[Row] | None = None
        self._readers: dict[threading.Thread, Connection[Row]] = {}
        self._lock = threading.Lock()
        with self._errors():
            self._writing()

    def _connect(self) -> Connection[Row]:
        return self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.DataError:
            raise  # the server is well: what it was given is to blame, and only whoever gave it
        except self._psycopg.Error as error:
            raise unavailable(error) from error

    def _writing(self) -> Connection[Row]:
        """The writer's connection, which alone holds the lock of the store."""
        if self._writer is None or self._writer.closed:
            writer = self._connect()
            try:
                self._hold(writer)
                writer.execute("set synchronous_commit = on")
            except BaseException:
                writer.close()
                raise
            self._writer = writer
        return self._writer

    def _hold(self, writer: Connection[Row]) -> None:
        """Take the lock. A broker that was killed, or a connection that was lost, may hold it until
        the server has noticed."""
        end = time.monotonic() + _PATIENCE
        while writer.execute(_TAKE, (_LOCK,)).fetchone() != (True,):
            if time.monotonic() > end:
                raise StorageError("another broker uses this database: stop it first")
            time.sleep(0.05)

    def begin(self) -> None:
        """Begin a transaction of the writer, on a new connection if the last one was lost."""
        with self._errors():
            self._writing().execute("begin")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement in the writer's transaction; its rows, if it has any."""
        assert self._writer is not None
        with self._errors():
            return _run(self._writer, sql, parameters)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row."""
        assert self._writer is not None
        with self._errors():
            self._writer.cursor().executemany(_translated(sql), rows)

    def commit(self) -> None:
        """Make the transaction durable; when this returns, it is."""
        assert self._writer is not None
        with self._errors():
            self._writer.execute("commit")

    def rollback(self) -> None:
        """Forget the transaction; a connection that is lost has forgotten it."""
        if self._writer is not None and not self._writer.closed:
            try:
                self._writer.execute("rollback")
            except self._psycopg.Error:
                self._writer.close()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query on what was committed last; tried again once if the connection was lost."""
        with self._errors():
            reader = self._reader()
            try:
                return _run(reader, sql, parameters)
            except self._psycopg.OperationalError:
                if not reader.closed:
                    raise
            return _run(self._reader(), sql, parameters)

    def _reader(self) -> Connection[Row]:
        thread = threading.current_thread()
        found = self._readers.get(thread)
        if found is None or found.closed:
            with self._lock:
                for each in [each for each in self._readers if not each.is_alive()]:
                    self._readers.pop(each).close()
            made = self._connect()
            made.execute("set default_transaction_read_only = on")
            with self._lock:
                found = self._readers[thread] = made
        return found

    def check(self) -> None:
        """PostgreSQL checks its own pages if it was set up with checksums."""
        self.read("select 1")

    def backup(self, path: Path) -> None:
        """PostgreSQL has tools of its own for this."""
        raise StorageError("back up PostgreSQL with pg_dump or pg_basebackup")

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for each in self._readers.values():
                each.close()
            self._readers.clear()
            if self._writer is not None:
                with suppress(self._psycopg.Error):  # the server would do so when it notices
                    self._writer.execute("select pg_advisory_unlock(%s)", (_LOCK,))
                self._writer.close()


def _run(connection: Connection[Row], sql: str, parameters: Sequence[Any]) -> list[Row]:
    cursor = connection.execute(_translated(sql), parameters)
    return cursor.fetchall() if cursor.description is not None else []


def _translated(sql: str) -> Any:
    """Our statements have no ``%`` and no ``?`` but those of parameters."""
    return sql.replace("?", "%s")
