"""What a broker asks of a database: one writer, many readers, and transactions that are durable.

All SQL is in the broker and is written once, with ``?`` for parameters; a database only runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tamis.errors import BrokerError, StorageError, UnavailableError

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


def is_storable(text: str) -> bool:
    """Whether every database can keep a text: PostgreSQL takes no NUL, and none takes half of a
    surrogate pair."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def storable(text: str) -> str:
    """A text as every database can keep it, such as the message of an error."""
    return text if is_storable(text) else text.encode(errors="replace").decode().replace("\0", "?")


def check_storable(text: str, what: str) -> None:
    """Raise unless every database can keep a text; ``what`` it is."""
    if not is_storable(text):
        raise BrokerError(
            f"{what} has a NUL character (U+0000) or half of a surrogate pair: leave it out"
        )


def places(count: int) -> str:
    """So many parameters of an ``in (…)``."""
    return ", ".join("?" * count)
