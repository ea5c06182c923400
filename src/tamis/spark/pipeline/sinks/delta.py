"""A Delta table: its log remembers the last batch of each writer, and ignores a repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tamis.spark.pipeline.libraries import missing_file_system, missing_format
from tamis.spark.pipeline.settings import Location, Options
from tamis.spark.pipeline.sinks.sink import BatchRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Delta:
    """A Delta table."""

    path: Location
    """the folder of the table"""
    options: Options = field(default_factory=dict)
    """options of Delta's writer"""

    @property
    def target(self) -> str:
        """The table, where no other sink may write: Delta counts the batches of a pipeline."""
        return self.path.rstrip("/")

    def problems(self) -> Iterator[str]:
        """Nothing can be wrong."""
        yield from ()

    def check(self, session: SparkSession) -> Iterator[str]:
        """The library may be missing."""
        yield from missing_format(session, "delta")
        yield from missing_file_system(session, self.path)

    def write(self, rows: BatchRows) -> None:
        """Append a batch; Delta ignores one that its log has already (``txnVersion``)."""
        options = {"txnAppId": f"tamis/{rows.pipeline}", "txnVersion": str(rows.batch)}
        writer = rows.frame.write.options(**options, **self.options).mode("append")
        writer.save(self.path, format="delta")
