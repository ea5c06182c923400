"""What a job learns of operator calls: rows that a next run begins with.

events ──match, in executors──> call, results of each task ──sum──> rows ──> match(statistics=…)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tamis.spark.worker import Batches, MatchTask

CALL, TRUE_RESULTS, RESULTS = "call", "true_results", "results"
SECONDS, SET_UP = "seconds", "set_up_seconds"
"""Columns of statistics; a call is written with its arguments and the version of its operator."""
_NUMBERS = (TRUE_RESULTS, RESULTS, SECONDS, SET_UP)
_FIELDS: list[tuple[str, pa.DataType]] = [
    (CALL, pa.string()),
    *((name, pa.float64()) for name in _NUMBERS),
]
_SCHEMA = pa.schema(_FIELDS)


class CallTask(NamedTuple):
    """Matches the events of a partition, and tells what it learned of calls instead."""

    match: MatchTask

    def __call__(self, batches: Batches) -> Batches:
        """One batch of rows for a partition."""
        index = self.match.fresh()
        index.engine.learn_calls({})
        for batch in batches:
            for _ in self.match.matches(batch, index):
                pass
        known = index.engine.learned_calls()
        yield pa.RecordBatch.from_pylist(list(_rows(known)), schema=_SCHEMA)


def _rows(known: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for call, (true, results) in known.items():
        if "(" in call:
            seconds, set_up = known.get(_operator(call), (None, None))
            yield {CALL: call, TRUE_RESULTS: true, RESULTS: results, SECONDS: seconds,
                   SET_UP: set_up}  # fmt: skip


def _operator(call: str) -> str:
    """The operator of a call, with its version."""
    return f"{call.partition('(')[0]}@{call.rpartition('@')[2]}"


def summed(events: DataFrame, task: CallTask) -> DataFrame:
    """The statistics of all partitions together."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    def tamis_calls(batches: Batches) -> Batches:
        return task(batches)

    found = events.mapInArrow(tamis_calls, from_arrow_schema(_SCHEMA)).groupBy(CALL)
    weight = f.sum(RESULTS)
    return found.agg(
        f.sum(TRUE_RESULTS).alias(TRUE_RESULTS),
        weight.alias(RESULTS),
        (f.sum(f.col(SECONDS) * f.col(RESULTS)) / weight).alias(SECONDS),
        (f.sum(f.col(SET_UP) * f.col(RESULTS)) / weight).alias(SET_UP),
    )


def known_calls(statistics: DataFrame) -> dict[str, Any]:
    """What statistics say, as an engine takes it."""
    from tamis.spark.columns import check_present

    names = [CALL, *_NUMBERS]
    check_present(statistics.columns, names, "the table of statistics")
    known: dict[str, Any] = {}
    for call, true, results, seconds, set_up in statistics.select(*names).toLocalIterator():
        known[call] = [true, results]
        if seconds is not None:
            known[_operator(call)] = [seconds, set_up or 0.0]
    return known
