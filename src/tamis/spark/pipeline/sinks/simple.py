"""Sinks for people and programs: a function, and the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError
from tamis.spark.pipeline.feeds import load_function
from tamis.spark.pipeline.settings import FunctionName
from tamis.spark.pipeline.sinks.sink import BatchRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Call:
    """A Python function, called with the rows (a DataFrame) and the number of each batch.

    It may be called twice for the same batch: make it do nothing the second time.
    """

    function: FunctionName
    """"module:name"; in Python, the function itself"""

    def _function(self) -> Callable[..., Any]:
        return load_function(self.function)

    def problems(self) -> Iterator[str]:
        """A function that cannot be imported."""
        try:
            self._function()
        except TamisError as error:
            yield str(error)

    def check(self, session: SparkSession) -> Iterator[str]:
        """Nothing can be missing."""
        yield from ()

    def write(self, rows: BatchRows) -> None:
        """Call the function."""
        self._function()(rows.frame, rows.batch)


@dataclass(frozen=True, slots=True)
class Console:
    """The first rows of each batch, on standard output."""

    rows: int = 20
    """how many rows of a batch are shown"""

    def problems(self) -> Iterator[str]:
        """Nothing can be wrong."""
        yield from ()

    def check(self, session: SparkSession) -> Iterator[str]:
        """Nothing can be missing."""
        yield from ()

    def write(self, rows: BatchRows) -> None:
        """Show the rows of a batch."""
        print(f"batch {rows.batch}", flush=True)
        rows.frame.show(self.rows, truncate=False)
