"""Send an index to the executors: one file, once to each, by Spark's own means.

    driver     index ──save──> tamis-1f0c….index ──addFile──> each executor's folder of files
    executor   worker ┐
               worker ┼─ memory-mapped: they share the pages of the file
               worker ┘

Spark Connect has no SparkContext; there the file is an artifact of the session. Its name depends on
its content, so the same index is sent once per session, and another one never replaces it. Spark
keeps such files until the session ends, unless they are withdrawn: then executors that start later
do not fetch them, and the others delete them when they open the next index.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass
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
    """An index in the folder of files of each executor."""

    name: str
    withdrawn: tuple[str, ...] = ()
    """Names of former indices, which nobody needs any more."""

    def path(self) -> str:
        """The path on an executor."""
        from pyspark import SparkFiles

        for name in self.withdrawn:
            Path(SparkFiles.get(name)).unlink(missing_ok=True)
        path = SparkFiles.get(self.name)
        if not os.path.exists(path):
            raise StorageError(
                f"this executor does not have the index {self.name}; "
                "if you stopped the session and started another, call match() again"
            )
        return path


@dataclass(frozen=True, slots=True)
class Shipment:
    """An index that was sent; ``match`` takes it as it is."""

    index: Index
    source: ShippedIndex


def ship(session: SparkSession, index: Index | str | os.PathLike[str]) -> ShippedIndex:
    """Send an index, or the file of a saved one, to all executors of a session."""
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


def withdraw(session: SparkSession, name: str) -> None:
    """Take an index back from a session, so that a long stream of versions fills no disk.

    Spark knows a file by its place on the driver, or on a cluster by an address there. If it were
    still in the list, executors that start later would ask for it in vain, and fail.
    """
    _SENT.setdefault(_owner(session), set()).discard(name)
    files: Any = session.sparkContext._jsc.sc().addedFiles().apply("default")
    places = files.keysIterator()
    while places.hasNext():
        place = places.next()
        if place.endswith(f"/{name}"):
            files.remove(place)
    (_folder() / name).unlink(missing_ok=True)


def _owner(session: SparkSession) -> Any:
    """The owner of the files: a context shares its files with all its sessions."""
    return session if is_remote(session) else session.sparkContext


def is_remote(session: SparkSession) -> bool:
    """Whether a session uses Spark Connect."""
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
    """A folder of this process; it stays to the end, because late executors fetch from it."""
    folder = Path(tempfile.mkdtemp(prefix="tamis-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
