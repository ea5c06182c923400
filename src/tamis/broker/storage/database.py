"""What a broker asks of a database: one writer, many readers, and transactions that are durable.

All SQL is in the broker and is written once, with ``?`` for parameters; a database only runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tamis.errors import StorageError, UnavailableError

Row = tuple[Any, ...]


class Database(Protocol):
    """One store. ``begin`` to ``rollback`` are for one thread, the writer; ``read`` is for all."""

    blob: str
    """The type of columns that hold bytes."""

    def begin(self) -> None:
        """Begin a transaction of the writer."""
        ...

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement in the writer's transaction; its rows, if it has any."""
        ...

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row."""
        ...

    def commit(self) -> None:
        """Make the transaction durable; when this returns, it is."""
        ...

    def rollback(self) -> None:
        """Forget the transaction. Does nothing without one, or without a database."""
        ...

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query on what was committed last."""
        ...

    def check(self) -> None:
        """Raise a StorageError if the store is damaged, as far as the database itself can tell."""
        ...

    def backup(self, path: Path) -> None:
        """Write a copy of what was committed last, while others go on."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


def open_database(url: str) -> Database:
    """The database at a URL: ``sqlite:///file.db`` or ``postgresql://…``."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        from tamis.broker.storage.sqlite import SqliteDatabase

        path = rest.removeprefix("/")  # sqlite:///relative.db and sqlite:////absolute.db
        if not rest.startswith("/") or not path:
            raise StorageError(f"{url[:200]!r} names no file: write sqlite:///file.db")
        return SqliteDatabase(Path(path))
    if scheme in ("postgresql", "postgres"):
        from tamis.broker.storage.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(url)
    raise StorageError(
        f"{url[:200]!r} is not a database: write sqlite:///file.db or postgresql://…"
    )


def unavailable(error: BaseException) -> UnavailableError:
    """What callers get if the database fails; nothing of the transaction is there."""
    return UnavailableError(f"the storage failed, and nothing was changed: {error}")


def places(count: int) -> str:
    """So many parameters of an ``in (…)``."""
    return ", ".join("?" * count)
