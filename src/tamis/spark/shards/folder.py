"""The folder of the shards, on any file system that Arrow knows.

    shards/
        shards.json         key axes, the keys of each shard, what the shards need; written last
        settings.index      an engine without subscriptions: schema, taxonomy, prefixes
        000000.index        the index of a shard
        000001.index

Executors write the indices, and open those that they need. On a file system that all nodes see as a
local one, they map the files into memory; of others they keep a copy on their own disk.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem

from tamis.errors import StorageError
from tamis.spark.index.index import Index

CONTENT, SETTINGS = "shards.json", "settings.index"


class ShardFolder(NamedTuple):
    """A folder of shards: a path, or a URI such as ``s3://bucket/shards`` or ``hdfs://…``."""

    uri: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> ShardFolder:
        """The folder with an absolute path."""
        text = os.fspath(folder)
        return cls(text if "://" in text else str(Path(text).absolute()))

    def _opened(self) -> tuple[FileSystem, str]:
        if "://" not in self.uri:
            return LocalFileSystem(), self.uri
        try:
            files, path = FileSystem.from_uri(self.uri.replace("s3a://", "s3://", 1))
        except (ArrowException, OSError) as error:
            raise StorageError(f"cannot open {self.uri}: {error}") from error
        return files, path

    def make(self) -> None:
        """Make the folder, where there is nothing yet."""
        files, path = self._opened()
        try:
            files.create_dir(path, recursive=True)
            taken = files.get_file_info(FileSelector(path))
        except OSError as error:
            raise StorageError(f"cannot write {self.uri}: {error}") from error
        if taken:
            raise StorageError(
                f"{self.uri} is not empty: name a new folder, or use Shards.open if it has shards"
            )

    def save(self, index: Index, name: str) -> int:
        """Write an index, completely or not at all; return its size in bytes."""
        with tempfile.TemporaryDirectory(dir=self._here()) as folder:
            path = Path(folder) / name
            index.save(path)
            size = path.stat().st_size
            self._place(path, name)
        return size

    def _here(self) -> str | None:
        """Where files are written first: beside their place if it is local."""
        files, path = self._opened()
        return path if isinstance(files, LocalFileSystem) else None

    def _place(self, source: Path, name: str) -> None:
        files, path = self._opened()
        if isinstance(files, LocalFileSystem):
            os.replace(source, Path(path) / name)
            return
        try:
            with source.open("rb") as content, files.open_output_stream(f"{path}/{name}") as out:
                shutil.copyfileobj(content, out, 1 << 22)
        except OSError as error:
            raise StorageError(f"cannot write {name} to {self.uri}: {error}") from error

    def write(self, content: Any) -> None:
        """Write what is to know of the shards, as JSON."""
        files, path = self._opened()
        with files.open_output_stream(f"{path}/{CONTENT}") as out:
            out.write(json.dumps(content).encode())

    def read(self) -> Any:
        """What is to know of the shards."""
        files, path = self._opened()
        try:
            with files.open_input_stream(f"{path}/{CONTENT}") as content:
                return json.loads(content.read())
        except (OSError, ValueError) as error:
            raise StorageError(f"{self.uri} has no shards: {error}") from error

    def local(self, name: str) -> str:
        """The path of an index here; a copy on this machine's disk, if there is no other."""
        files, path = self._opened()
        if isinstance(files, LocalFileSystem):
            found = Path(path) / name
            if not found.exists():
                raise StorageError(
                    f"this executor finds no shard {found}: all nodes must see this folder"
                )
            return str(found)
        copy = _copies() / f"{blake2b(self.uri.encode(), digest_size=8).hexdigest()}-{name}"
        if not copy.exists():
            hidden = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}")
            try:
                with files.open_input_stream(f"{path}/{name}") as content, hidden.open("wb") as out:
                    shutil.copyfileobj(content, out, 1 << 22)
            except OSError as error:
                hidden.unlink(missing_ok=True)
                raise StorageError(f"cannot read {name} from {self.uri}: {error}") from error
            hidden.rename(copy)
        return str(copy)


def index_name(shard: int) -> str:
    """The name of a shard's index."""
    return f"{shard:06d}.index"


def _copies() -> Path:
    """Where an executor keeps copies: in its folder of files, which Spark deletes at its end."""
    from pyspark import SparkFiles

    return Path(SparkFiles.getRootDirectory())
