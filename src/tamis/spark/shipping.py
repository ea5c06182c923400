"""Getting an index to the executors: a file, once to each, by Spark's own means.

    driver     index ──save──> tamis-1f0c….index ──addFile──> each executor's folder of files
    executor   worker ┐
               worker ┼─ memory-mapped: the pages of the file, once in memory
               worker ┘

Through Spark Connect there is no SparkContext; there the file is an artifact of the session. The
name tells the content, so that the same index is sent once a session, and another never takes its
place. Spark keeps such files until the session ends.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from tamis.errors import StorageError
from tamis.spark.index import Index

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAD = 1 << 16
_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


class Shipped(NamedTuple):
    """An index that executors find among their files."""

    name: str

    def path(self) -> str:
        """Where it is, on an executor."""
        from pyspark import SparkFiles

        path = SparkFiles.get(self.name)
        if not os.path.exists(path):
            raise StorageError(
                f"the index {self.name} did not reach this executor: "
                "was the session stopped and started again? call match() anew"
            )
        return path


def ship(session: SparkSession, index: Index | str | os.PathLike[str]) -> Shipped:
    """Send an index, or a saved one, to all executors of a session."""
    if isinstance(index, Index):
        source = _folder() / f"unnamed-{os.getpid()}.index"
        index.save(source)
    else:
        source = Path(index)
    name = f"tamis-{_digest(source)}.index"
    sent = _SENT.setdefault(_owner(session), set())
    if name not in sent:
        target = _folder() / name
        if not target.exists():
            _place(source, target, moved=isinstance(index, Index))
        _send(session, str(target))
        sent.add(name)
    return Shipped(name)


def _owner(session: SparkSession) -> Any:
    """Whose files they are: those of a context are for all its sessions."""
    return session if is_remote(session) else session.sparkContext


def is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _send(session: SparkSession, path: str) -> None:
    if is_remote(session):
        session.addArtifacts(path, file=True)
    else:
        session.sparkContext.addFile(path)


def _digest(path: Path) -> str:
    """A name for the content of a file of arrays: its head has the checksums of everything."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return hashlib.blake2b(file.read(_HEAD), key=str(size).encode(), digest_size=12).hexdigest()


def _place(source: Path, target: Path, moved: bool) -> None:
    if moved:
        source.replace(target)
        return
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


@cache
def _folder() -> Path:
    """A folder of this process; executors that start late fetch from it, so it stays to the end."""
    folder = tempfile.TemporaryDirectory(prefix="tamis-")
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
