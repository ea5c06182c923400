"""The version of the subscriptions that each micro-batch sees, recorded before the batch runs.

    folder/
        snapshots/000007.index               an index; the highest number is the latest
        snapshots/000007.rejected.ndjson     the subscriptions that it had to leave out
        batches/12                           {"snapshot": 7, "at": …}: what micro-batch 12 sees,
                                             and when it began, in microseconds
        checkpoint/                          Spark's own

Only the driver writes here, one micro-batch after the other, so no file needs to be claimed. If the
driver is killed, the batch runs again: its record is there and says what it sees, or it is not, and
then no sink has seen the batch. Everything is written through Hadoop's file systems (storage.py).
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tamis.engine.engine import Engine
from tamis.spark.index.index import Index, rejected_rows
from tamis.spark.index.shipping import Shipment, ship, withdraw
from tamis.spark.pipeline.storage import Storage
from tamis.spark.snapshots.sources import Source, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("tamis")
_STATE = "state"
_KEPT = 2
"""Latest snapshots, and latest batches whose snapshots, are kept; Spark replays only the last."""
_DEAREST = 10
"""Access keys, and subscriptions without one, that are named as expensive."""
_PLANNED = 60.0
"""Seconds for which the expensive subscriptions stay those of a former version: to find them takes
half a second of a million, as long as 10,000 changes."""
_RECORDS = 100
"""Latest records that are kept, as many as Spark's own."""


@dataclass(frozen=True, slots=True)
class Version:
    """The subscriptions of a micro-batch."""

    number: int
    shipment: Shipment
    rejected: pa.Table | None
    """What was rejected, in the first batch that sees this version."""
    expensive: Expensive
    """The subscriptions that an event is expected to cost most, of this version or of one up to a
    minute before it."""
    at: int
    """When the micro-batch began, the first time that it ran; in microseconds."""
    seconds: float
    """How long the driver took to find changes, compile, save and ship them."""


class Expense(NamedTuple):
    """Subscriptions that the same access key serves."""

    access_key: str
    subscriptions: int
    nanoseconds: float
    """What an event is expected to pay for them."""


class Expensive(NamedTuple):
    """The most expensive subscriptions of a version."""

    by_key: tuple[Expense, ...] = ()
    """By access key, the most expensive first."""
    unserved: tuple[int | str, ...] = ()
    """Some of those that no access key serves, so that they cost every event."""
    unserved_count: int = 0

    @classmethod
    def of(cls, index: Index) -> Expensive:
        """What the plan of an index tells."""
        plan = index.engine.plan()
        totals: dict[str, Expense] = {}
        for group in plan.groups:
            name = group.signature
            former = totals.get(name, Expense(name, 0, 0.0))
            count, cost = (
                former.subscriptions + group.subscriptions,
                former.nanoseconds + group.cost,
            )
            totals[name] = Expense(name, count, cost)
        dearest = sorted(totals.values(), key=lambda each: -each.nanoseconds)[:_DEAREST]
        return cls(tuple(dearest), plan.unserved[:_DEAREST], plan.unserved_count)


class _Record(NamedTuple):
    """What a micro-batch sees."""

    snapshot: int
    at: int = 0


class Versions:
    """The snapshots of a pipeline."""

    def __init__(self, session: SparkSession, storage: Storage, feed: Source) -> None:
        self._session = session
        self._storage = storage
        self._feed = feed
        self._local = Path(tempfile.mkdtemp(prefix="tamis-pipeline-"))
        self._shipped: dict[int, Shipment] = {}
        self._expensive = Expensive()
        self._planned = -math.inf
        self.error: Exception | None = None
        """The error of the last look for changes, if it failed; the last version stays in use."""
        for folder in ("snapshots", "batches"):
            storage.sweep(folder)
        numbers = self._numbers()
        self.number = max(numbers, default=0)
        """The number of the latest snapshot."""
        self.index: Index | None = None
        self._state: State = {}
        self._pending: tuple[Index, State] | None = None
        if numbers:
            self.index = self._opened(self.number)
            self._state = json.loads(bytes(self.index.engine.attachments[_STATE]))

    def close(self) -> None:
        """Delete the local files."""
        shutil.rmtree(self._local, ignore_errors=True)

    # What a batch sees.

    def decide(self, batch: int) -> Version:
        """The version for a micro-batch: the recorded one, or the latest, which is recorded."""
        started = time.monotonic()
        seen = self._recorded(batch)
        if seen is None:
            self.refresh()
            seen = _Record(self.number, time.time_ns() // 1000)
            self._storage.write(f"batches/{batch}", json.dumps(seen._asdict()).encode())
        shipment = self._shipment(seen.snapshot)
        before = self._recorded(batch - 1)
        known = before is not None and before.snapshot == seen.snapshot
        rejected = None if known else self._rejected(seen.snapshot, shipment.index)
        if started >= self._planned + _PLANNED:
            self._expensive, self._planned = Expensive.of(shipment.index), started
        seconds = time.monotonic() - started
        return Version(seen.snapshot, shipment, rejected, self._expensive, seen.at, seconds)

    def _recorded(self, batch: int) -> _Record | None:
        content = self._storage.read(f"batches/{batch}")
        return None if content is None else _Record(**json.loads(content))

    def _shipment(self, number: int) -> Shipment:
        if number not in self._shipped:
            latest = number == self.number and self.index is not None
            index = self.index if latest and self.index is not None else self._opened(number)
            if not self._path(number).exists():
                self._storage.download(_index(number), self._path(number))
            sent = ship(self._session, self._path(number))
            gone = self._withdrawn(number)
            self._shipped[number] = Shipment(index, sent._replace(withdrawn=gone))
        return self._shipped[number]

    def _withdrawn(self, number: int) -> tuple[str, ...]:
        """Take back all versions but this one and the one before it, and return their names."""
        old = sorted(each for each in self._shipped if each != number)[:-1]
        names = tuple(self._shipped.pop(each).source.name for each in old)
        for name in names:
            withdraw(self._session, name)
        for each in old:
            self._path(each).unlink(missing_ok=True)
        return names

    def _opened(self, number: int) -> Index:
        if not self._path(number).exists():
            self._storage.download(_index(number), self._path(number))
        return Index.open(self._path(number))

    def _path(self, number: int) -> Path:
        return self._local / f"{number:06}.index"

    # New versions.

    def refresh(self) -> int:
        """Look for changes, save the new version if there is one, and return the latest number.

        If a source fails, the last version stays in use, if there is one.
        """
        if self._pending is None:
            self._pending = self._look()
        if self._pending is not None:  # also if it could not be saved the last time
            self._publish(*self._pending)
            self._pending = None
        return self.number

    def _look(self) -> tuple[Index, State] | None:
        try:
            found = self._feed.look(self.index or Index(Engine()), self._state)
        except Exception as error:  # a source may raise anything: keep it, log it, try again
            if self.index is None:
                raise
            if str(error) != str(self.error):
                _LOG.warning("subscriptions version %d stays in use: %s", self.number, error)
            self.error = error
            return None
        self.error = None
        return found

    def _publish(self, index: Index, state: State) -> None:
        number = self.number + 1
        index.engine.attachments[_STATE] = json.dumps(state).encode()
        index.save(self._path(number))
        rejected = index.rejected.to_pylist()
        if rejected:
            _LOG.warning("subscriptions version %d: %s", number, index.complaint())
            lines = "".join(json.dumps(row, default=str) + "\n" for row in rejected)
            self._storage.write(_rejected(number), lines.encode())
        self._storage.upload(self._path(number), _index(number))
        self.index, self._state, self.number = index, state, number
        self._prune()

    def _rejected(self, number: int, index: Index) -> pa.Table | None:
        content = self._storage.read(_rejected(number))
        if content is None:
            return None
        rows = [json.loads(line) for line in content.splitlines()]
        ids, texts, errors = (
            [row[name] for row in rows] for name in ("id", "subscription", "error")
        )
        return rejected_rows(ids, texts, errors, index.id_type)

    def _numbers(self) -> list[int]:
        names = [each.name for each in self._storage.listing("snapshots")]
        return sorted(int(name.split(".")[0]) for name in names if name.endswith(".index"))

    def _prune(self) -> None:
        """Delete what no micro-batch can need any more."""
        names = [each.name for each in self._storage.listing("batches")]
        batches = sorted(int(name) for name in names if name.isdigit())
        records = [self._recorded(batch) for batch in batches[-_KEPT:]]
        needed = {record.snapshot for record in records if record is not None}
        for batch in batches[:-_RECORDS]:
            self._storage.delete(f"batches/{batch}")
        for number in self._numbers()[:-_KEPT]:
            if number not in needed:
                self._storage.delete(_index(number))
                self._storage.delete(_rejected(number))


def _index(number: int) -> str:
    return f"snapshots/{number:06}.index"


def _rejected(number: int) -> str:
    return f"snapshots/{number:06}.rejected.ndjson"
