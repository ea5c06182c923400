"""Throttling: after a match, its subscription is quiet for a while, or from then on.

    every = 1 hour      10:00 sent   10:20 held back   10:59 held back   11:05 sent   …
    once                10:00 sent   10:20 held back   …

    folder/throttle/12/         what is quiet after micro-batch 12: subscription, version, time
    folder/throttle/12.json     {"watermark": …}; written last, so what it belongs to is complete

A micro-batch reads what the one before it left and writes its own, so one that runs again decides
alike. The watermark is the latest time seen so far, less a delay. A match whose time is before the
watermark is treated as if it came at the watermark: so no match is lost because it is late, and
whatever ends its silence before the watermark can be forgotten without any consequence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays.types import Int64s
from tamis.spark.columns import EVENT_ID, SUBSCRIPTION_ID, VERSION, quoted
from tamis.spark.pipeline.settings import Duration
from tamis.spark.pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]

TIME = "tamis_time"
"""The column of events with the time that throttling goes by."""
_AT, _LAST, _QUIET = "tamis_at", "tamis_last", "tamis_quiet"
_FOLDER = "throttle"
_MICROSECONDS = 1_000_000
_KEPT = 3
"""Latest micro-batches whose state is kept; Spark runs only the last one again."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """Holds back matches of a subscription that had one a short while ago.

    A changed subscription, with another version, begins anew.
    """

    every: Duration = 0.0
    """how long a subscription is quiet after a match"""
    once: bool = False
    """whether a subscription is quiet for ever after its first match"""
    time: str | None = None
    """the event's time, as SQL over the source; without it, the time of the micro-batch counts"""
    delay: Duration = 600.0
    """how late events may be; later ones count as if they came just so late"""
    sinks: tuple[str, ...] = ()
    """the sinks that get only what is not held back; none means all"""

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        if (self.every > 0) == self.once:
            yield "needs either every, such as '1 hour', or once = true"
        if self.time is not None and not self.time.strip():
            yield "time must be a column or an SQL expression"

    def affects(self, sink: str) -> bool:
        """Whether a sink gets only what is not held back."""
        return not self.sinks or sink in self.sinks

    @property
    def pause(self) -> int | None:
        """Microseconds for which a subscription is quiet; None means for ever."""
        return None if self.once else round(self.every * _MICROSECONDS)


class Selection(NamedTuple):
    """The matches of a micro-batch that are not held back."""

    matches: DataFrame
    cached: DataFrame
    """What they are made of; to be let go after the batch."""
    kept: int
    """How many they are."""


class QuietSubscriptions:
    """The subscriptions that are quiet, by micro-batch, in the folder of a pipeline."""

    def __init__(self, storage: Storage, throttle: Throttle) -> None:
        self._storage = storage
        self.throttle = throttle

    def selection(self, matches: DataFrame, batch: int, now: int) -> Selection:
        """The matches that are not held back; ``now`` is in microseconds.

        Writes what is quiet after this batch.
        """
        from pyspark.sql import functions as F  # noqa: N812

        before = self._watermark(batch - 1)
        state = self._state(matches, batch - 1)
        time = f"least(coalesce(unix_micros({TIME}), {now}), {now})"
        known = TIME in matches.columns
        at = F.expr(f"greatest({time if known else now}, {before})").cast("long")
        timed = matches.withColumn(_AT, at).drop(TIME)
        same = timed[SUBSCRIPTION_ID] == state[_QUIET]
        last = F.when(timed[VERSION].eqNullSafe(state[f"{_QUIET}_{VERSION}"]), state[_LAST])
        joined = timed.join(state, same, "left").withColumn(_LAST, last)
        found = _filtered(joined.select(*map(quoted, timed.columns), _LAST), self.throttle.pause)
        latest, count = timed.agg(F.max(_AT)).collect()[0][0], found.count()
        delay = round(self.throttle.delay * _MICROSECONDS)
        self._write(found, state, batch, before if latest is None else max(before, latest - delay))
        return Selection(found.drop(_AT, _LAST), found, count)

    def _watermark(self, batch: int) -> int:
        """The watermark after a micro-batch; the beginning of time if there is none."""
        content = self._storage.read(f"{_FOLDER}/{batch}.json")
        return 0 if content is None else int(json.loads(content)["watermark"])

    def _state(self, matches: DataFrame, batch: int) -> DataFrame:
        """What is quiet after a micro-batch: subscription, version, the time of its last match."""
        session, names = matches.sparkSession, (_QUIET, f"{_QUIET}_{VERSION}", _LAST)
        if self._storage.exists(f"{_FOLDER}/{batch}.json"):
            return session.read.parquet(f"{self._storage.root}/{_FOLDER}/{batch}").toDF(*names)
        kinds = [
            matches.schema[name].dataType.simpleString() for name in (SUBSCRIPTION_ID, VERSION)
        ]
        form = zip(names, [*kinds, "bigint"])
        return session.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in form))

    def _write(self, found: DataFrame, state: DataFrame, batch: int, watermark: int) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        new = found.selectExpr(SUBSCRIPTION_ID, VERSION, f"{_AT} AS {_LAST}", "1 AS turn")
        every = new.union(state.selectExpr("*", "0 AS turn"))
        newest = F.max_by(F.struct(VERSION, _LAST), F.struct("turn", _LAST)).alias("newest")
        quiet = every.groupBy(SUBSCRIPTION_ID).agg(newest).select(SUBSCRIPTION_ID, "newest.*")
        if self.throttle.pause is not None:
            quiet = quiet.where(f"{_LAST} + {self.throttle.pause} > {watermark}")
        quiet.write.mode("overwrite").parquet(f"{self._storage.root}/{_FOLDER}/{batch}")
        mark = json.dumps({"watermark": watermark}).encode()
        self._storage.write(f"{_FOLDER}/{batch}.json", mark)
        self._storage.delete(f"{_FOLDER}/{batch - _KEPT}.json")
        self._storage.delete(f"{_FOLDER}/{batch - _KEPT}")


def _filtered(matches: DataFrame, pause: int | None) -> DataFrame:
    """The matches that are not held back, cached; time and last match are their last columns."""
    from pyspark.sql.types import StructField, StructType

    numbered = [f"c{number}" for number in range(len(matches.columns))]  # names may have dots
    names = dict(zip(matches.columns, numbered))
    sieve = _Filter(pause, *(names[name] for name in (SUBSCRIPTION_ID, _AT, _LAST)))

    def tamis_throttle(batches: Batches) -> Batches:
        return sieve(batches)

    plain = matches.toDF(*numbered).repartition(names[SUBSCRIPTION_ID])
    ordered = plain.sortWithinPartitions(
        *(names[each] for each in (SUBSCRIPTION_ID, _AT, EVENT_ID))
    )
    schema = StructType([StructField(each.name, each.dataType) for each in ordered.schema])
    return ordered.mapInArrow(tamis_throttle, schema).toDF(*matches.columns).persist()


class _Filter(NamedTuple):
    """Lets the first match of a subscription through, and those after a pause; by the names of
    columns. The matches of a subscription follow each other, in the order of their times."""

    pause: int | None
    id: str
    at: str
    last: str

    def __call__(self, batches: Batches) -> Batches:
        former: Any = None
        due = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            ids, at = batch[self.id], batch[self.at].to_numpy()
            starts = np.concatenate(([0], 1 + np.flatnonzero(pc.not_equal(ids[1:], ids[:-1]))))
            allowed = self._allowed(batch[self.last].take(starts))
            if ids[0].as_py() == former:
                allowed[0] = due
            kept = self._kept(at, starts, allowed)
            former, due = ids[-1].as_py(), int(allowed[-1])
            yield batch.take(pa.array(kept, pa.int64()))

    def _allowed(self, last: pa.Array[Any]) -> Int64s:
        """From when on a subscription may have another match, by the time of its last one."""
        found = self._after(last.fill_null(0).to_numpy())
        return np.where(last.is_null().to_numpy(zero_copy_only=False), _ALWAYS, found)

    def _after(self, last: Int64s) -> Int64s:
        return np.full(len(last), _NEVER) if self.pause is None else last + self.pause

    def _kept(self, at: Int64s, starts: Int64s, allowed: Int64s) -> Int64s:
        """The rows that get through; moves on from when subscriptions are allowed another one.

        All subscriptions take a step at the same time: to their next row that is late enough. A row
        is found by the number of its subscription and the rank of its time in one.
        """
        times = np.unique(at)
        width = len(times) + 1
        number = np.zeros(len(at), np.int64)
        number[starts[1:]] = 1
        places = np.cumsum(number) * width + np.searchsorted(times, at)
        ends = np.append(starts[1:], len(at))
        kept = []
        waiting = np.arange(len(starts))
        while len(waiting):
            wanted = waiting * width + np.searchsorted(times, allowed[waiting])
            rows = np.searchsorted(places, wanted)
            is_there = rows < ends[waiting]
            waiting, rows = waiting[is_there], rows[is_there]
            allowed[waiting] = self._after(at[rows])
            kept.append(rows)
        return np.sort(np.concatenate(kept))


_ALWAYS, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Times from which on a subscription may have another match."""
