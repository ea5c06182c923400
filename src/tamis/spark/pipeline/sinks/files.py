"""Sinks of files: each micro-batch is a folder, ``batch=12``, which appears as a whole.

Spark's own file sinks keep a list of the files that count, and only Spark reads that list. Here a
batch that is run again replaces its folder, so every reader sees each row once, pandas and DuckDB
too. A folder with a ``_SUCCESS`` file is complete, and is left alone. So a folder takes the batches
of one pipeline only: the file ``_pipeline`` says of which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tamis.spark.pipeline.libraries import missing_file_system
from tamis.spark.pipeline.settings import Location, Options, PipelineError, local_path
from tamis.spark.pipeline.sinks.sink import BATCH, BatchRows
from tamis.spark.pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWNER = "_pipeline"


@dataclass(frozen=True, slots=True)
class _Files:
    path: Location
    """the folder; each batch is a folder in it, batch=12"""
    files: int | None = None
    """write at most so many files for a batch"""
    options: Options = field(default_factory=dict)
    """options of Spark's writer, such as compression"""

    format: ClassVar[str]

    @property
    def target(self) -> str:
        """The folder, where no other sink may write."""
        return self.path.rstrip("/")

    def problems(self) -> Iterator[str]:
        """A path that is no folder."""
        local = local_path(self.path)
        if local is not None and local.exists() and not local.is_dir():
            yield f"{self.path} is a file: name a folder"
        if self.files is not None and self.files < 1:
            yield f"files must be at least 1, not {self.files}"

    def check(self, session: SparkSession) -> Iterator[str]:
        """The library of the file system may be missing."""
        yield from missing_file_system(session, self.path)

    def write(self, rows: BatchRows) -> None:
        """Write the folder of a batch, unless it is complete."""
        folder = f"{BATCH}={rows.batch}"
        storage = Storage(rows.frame.sparkSession, self.path)
        self._claim(storage, rows.pipeline)
        if storage.exists(f"{folder}/_SUCCESS"):
            return
        frame = rows.frame if self.files is None else rows.frame.coalesce(self.files)
        writer = frame.write.options(**self.options).mode("overwrite")
        writer.save(f"{self.path}/{folder}", format=self.format)

    def _claim(self, storage: Storage, pipeline: str) -> None:
        owner = storage.read(_OWNER)
        if owner is None:
            storage.write(_OWNER, pipeline.encode())
        elif owner != pipeline.encode():
            problem = (
                f"{self.path} holds the batches of another pipeline, or of this one before its own "
                "folder was replaced: name another folder for the sink, or delete this one"
            )
            raise PipelineError([problem])


class Parquet(_Files):
    """Parquet files."""

    format = "parquet"


class Json(_Files):
    """Files of JSON, one object in a line."""

    format = "json"
