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

import atexit
import os
import secrets
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from tamis.arrays.array_file import fingerprint
from tamis.errors import StorageError
from tamis.spark.index.index import Index

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


class ShippedIndex(NamedTuple):
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


def ship(session: SparkSession, index: Index | str | os.PathLike[str]) -> ShippedIndex:
    """Send an index, or a saved one, to all executors of a session."""
    if isinstance(index, Index):
        source = _folder() / f"{secrets.token_hex(8)}.new"
        index.save(source)
    else:
        source = Path(index)
    name = f"tamis-{fingerprint(source)}.index"
    sent = _SENT.setdefault(_owner(session), set())
    if name not in sent:
        target = _folder() / name
        if not target.exists():
            _place(source, target)
        _send(session, str(target))
        sent.add(name)
    if isinstance(index, Index):
        source.unlink()
    return ShippedIndex(name)


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


def _place(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


@cache
def _folder() -> Path:
    """A folder of this process; executors that start late fetch from it, so it stays to the end."""
    folder = Path(tempfile.mkdtemp(prefix="tamis-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
