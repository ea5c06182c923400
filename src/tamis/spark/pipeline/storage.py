"""Files on any file system that Spark runs on (``file``, ``hdfs``, ``s3a``, ``abfss``, …).

Everything goes through Hadoop's file system API in the driver's JVM, so the credentials and
settings are those of Spark. A file appears as a whole or not at all: it is written under another
name and then renamed. On object stores a rename copies the file, but there too the new name appears
only with the whole content.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.errors import StorageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_BUFFER = 1 << 20


class FileStatus(NamedTuple):
    """A file as a listing shows it."""

    name: str
    size: int
    modified: int


class Storage:
    """A folder on any file system."""

    def __init__(self, session: SparkSession, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self._jvm: Any = session._jvm
        with self._told("open"):
            settings = session._jsc.hadoopConfiguration()
            self._files = self._path("").getFileSystem(settings)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)

    @contextmanager
    def _told(self, verb: str, name: str = "") -> Iterator[None]:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        try:
            yield
        except Py4JJavaError as error:
            place = f"{self.root}/{name}" if name else self.root
            raise StorageError(f"cannot {verb} {place}: {error.java_exception}") from error

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is no such file."""
        path = self._path(name)
        with self._told("read", name):
            if not self._files.exists(path):
                return None
            stream = self._files.open(path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        with self._told("read", name):
            return bool(self._files.exists(self._path(name)))

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a small file."""
        temporary = self._temporary(name)
        with self._told("write", name):
            stream = self._files.create(temporary, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
            self._move(temporary, name)

    def upload(self, local: Path, name: str) -> None:
        """Copy a local file here."""
        temporary = self._temporary(name)
        with self._told("write", name):
            source = self._jvm.java.io.FileInputStream(str(local.absolute()))
            target = self._files.create(temporary, True)
            self._jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, target, _BUFFER, True)
            self._move(temporary, name)

    def download(self, name: str, local: Path) -> None:
        """Copy a file from here to this machine."""
        with self._told("read", name):
            target = self._jvm.org.apache.hadoop.fs.Path(local.absolute().as_uri())
            self._files.copyToLocalFile(False, self._path(name), target, True)

    def _temporary(self, name: str) -> Any:
        folder, _, last = name.rpartition("/")
        return self._path(f"{folder}/.{last}.{secrets.token_hex(4)}.tmp".lstrip("/"))

    def _move(self, temporary: Any, name: str) -> None:
        target = self._path(name)
        self._files.delete(target, False)
        if not self._files.rename(temporary, target):
            raise StorageError(f"cannot rename {temporary} to {target}")

    def listing(self, folder: str = "") -> list[FileStatus]:
        """The files of a folder, in the order of their names; none if there is no such folder."""
        path = self._path(folder)
        with self._told("list", folder):
            if not self._files.exists(path):
                return []
            found = [
                FileStatus(each.getPath().getName(), each.getLen(), each.getModificationTime())
                for each in self._files.listStatus(path)
            ]
        return sorted(each for each in found if each.name[0] not in "._")

    def delete(self, name: str) -> None:
        """Delete a file or a folder with its content, if it is there."""
        with self._told("delete", name):
            self._files.delete(self._path(name), True)

    def sweep(self, folder: str) -> None:
        """Delete what writers that were killed have left in a folder."""
        path = self._path(folder)
        with self._told("list", folder):
            if self._files.exists(path):
                for each in self._files.listStatus(path):
                    if each.getPath().getName().endswith(".tmp"):
                        self._files.delete(each.getPath(), False)
