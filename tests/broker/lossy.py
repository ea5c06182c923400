"""A disk that can lose its power: what was not synced is gone (a VFS of SQLite, through apsw).

A kill keeps what the operating system has in memory, so it cannot show that a sync is missing. Here
every write goes to the file and into a list, and only a sync moves the list into the *image*, which
is what a machine would find after its power was cut.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from tamis.broker.storage.database import Row
from tamis.broker.storage.sqlite import SqliteDatabase


class Disk:
    """The images of all files, and what waits for a sync."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.images: dict[str, bytearray] = {}
        self.waiting: dict[str, list[tuple[int, bytes | None]]] = {}
        self.syncs = 0

    def write(self, name: str, offset: int, data: bytes | None) -> None:
        """Note a write; without data, the file ends at the offset."""
        with self.lock:
            self.waiting.setdefault(name, []).append((offset, data))

    def sync(self, name: str) -> None:
        """Let all that was written to a file be safe."""
        with self.lock:
            self.syncs += 1
            image = self.images.setdefault(name, bytearray())
            for offset, data in self.waiting.pop(name, []):
                _apply(image, offset, data)

    def delete(self, name: str) -> None:
        """Remove a file, safely."""
        with self.lock:
            self.images.pop(name, None)
            self.waiting.pop(name, None)

    def cut_power(self, folder: Path, rng: random.Random | None) -> None:
        """Write what is left into a folder. With ``rng``, some of what was not synced is there too,
        in any order, as disks do it."""
        with self.lock:
            left = {name: bytearray(image) for name, image in self.images.items()}
            for name, writes in self.waiting.items() if rng is not None else ():
                assert rng is not None
                image = left.setdefault(name, bytearray())
                for offset, data in rng.sample(writes, rng.randrange(len(writes) + 1)):
                    _apply(image, offset, data)
        folder.mkdir()
        for name, image in left.items():
            (folder / Path(name).name).write_bytes(image)


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._disk.write(self._name, offset, bytes(data))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        self._disk.write(self._name, size, None)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._disk.sync(self._name)


class LossyVfs(apsw.VFS):
    """The file system of a disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__("lossy", "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self._disk, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        super().xDelete(name, sync)
        self._disk.delete(name)


class _Connection:
    """A connection of apsw with the methods of sqlite3's that a database uses."""

    def __init__(self, path: Path) -> None:
        self._inner = apsw.Connection(str(path), vfs="lossy")
        self._inner.execute("pragma locking_mode = exclusive").fetchall()  # no shared memory here

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self._inner.execute(sql, tuple(parameters))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._inner.executemany(sql, [tuple(row) for row in rows])

    def executescript(self, sql: str) -> None:
        self._inner.execute(sql).fetchall()

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    def close(self) -> None:
        self._inner.close()


class LossyDatabase(SqliteDatabase):
    """The storage of a broker on such a disk; readers wait for the writer's transaction."""

    def __init__(self, path: Path) -> None:
        self._turn = threading.RLock()
        super().__init__(path)

    def _connect(self) -> Any:
        return _Connection(self.path)

    def begin(self) -> None:
        self._turn.acquire()
        super().begin()

    def commit(self) -> None:
        super().commit()
        self._turn.release()

    def rollback(self) -> None:
        super().rollback()
        self._turn.release()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._turn:
            return self._writer.execute(sql, parameters).fetchall()
