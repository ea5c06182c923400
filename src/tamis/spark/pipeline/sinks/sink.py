"""What a sink is: it takes the rows of a micro-batch, and taking them twice changes nothing.

Spark runs a micro-batch again after a crash, and a pipeline tries an unavailable sink again.
So every sink must tell a repeated batch by its number, or rows by their key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = "batch"
"""The number of the micro-batch, in files (as a folder) and tables (as a column)."""


@dataclass(frozen=True, slots=True)
class BatchRows:
    """The rows of a micro-batch for a sink."""

    frame: DataFrame
    batch: int
    pipeline: str
    """The identity of the pipeline, which tells its batches from those of others."""
    key: tuple[str, ...]
    """The columns that identify a row."""

    @property
    def name(self) -> str:
        """The name of the pipeline, which stays when it starts again in another folder."""
        return self.pipeline.rpartition("-")[0]


def target(sink: Sink) -> str | None:
    """Where a sink replaces what is there, so that no other sink may write there."""
    found: str | None = getattr(sink, "target", None)
    return found


class Sink(Protocol):
    """Writes the rows of micro-batches, each of them once."""

    def write(self, rows: BatchRows) -> None:
        """Write the rows of a batch, or leave them as they are if they were written before."""

    def problems(self) -> Iterator[str]:
        """What is wrong with it, as far as one can tell without Spark."""

    def check(self, session: SparkSession) -> Iterator[str]:
        """What is wrong with it on this Spark, such as a library that is missing."""
