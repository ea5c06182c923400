"""A bounded sample of events, by which access keys are chosen.

    learn ──drawn at random──────────┐
    batches ──a few rows of some──> slices of 64 rows ──> statistics of axes (statistics.py)
                                    4,096 rows, 16 MiB; the oldest go first

Ranks are others in every segment, so values are kept, and counted when a sieve is built. A slice is
a copy: it keeps nothing alive of the table that it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby

import numpy as np
import pyarrow as pa

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Float64s, Rows
from tamis.errors import TamisError
from tamis.matching.batch import Batch
from tamis.matching.segments.statistics import AxisStatistics
from tamis.model.events.event import Event, Node

ROWS = 4_096
"""Events that are kept."""
SLICE = 64
"""Events that are kept of a batch that passes."""
ROW_BYTES = 4_096
"""Memory for each event, on average; of larger ones fewer are kept."""
LARGE = 1_024
"""Rows of a batch from which on some of it may be kept."""
GAP = 1 << 18
"""Rows that pass between two looks; the first looks come sooner, each after twice as many."""
_VALUE_BYTES = 64
"""What a value takes in Python, besides its characters."""


class Sample(Lockable):
    """Events that were taught or that passed; any number of threads show it batches."""

    def __init__(self) -> None:
        super().__init__()
        self._slices: tuple[Batch, ...] = ()
        self._passed = 0  # rows; a count that two threads spoil does no harm
        self._due = 0
        self.times = 0
        """How often it was taught."""

    def learn(self, batches: Sequence[Batch]) -> None:
        """Know these events, and forget all others."""
        with self._lock:
            self._slices = _latest(batches)
            self.times += 1

    def see(self, batch: Batch) -> None:
        """Look at a batch that passes; of few of them a few rows are kept."""
        if len(batch) < LARGE:
            return
        passed = self._passed = self._passed + len(batch)
        if passed >= self._due:
            self._due = passed + min(passed, GAP)
            step = len(batch) // SLICE
            rows = np.arange(passed // SLICE % step, step * SLICE, step)
            with suppress(TamisError, pa.ArrowException):  # what nobody asks for may be faulty
                new = copied(batch, rows)
                with self._lock:
                    self._slices = _latest((*self._slices, new))

    def expected(self) -> AxisStatistics | None:
        """What it tells about events; None if it has seen none."""
        slices = self._slices
        return AxisStatistics(joined(slices)) if slices else None


def statistics_of(batches: Iterable[Batch]) -> AxisStatistics:
    """What some of these events tell."""
    return AxisStatistics(joined(drawn(batches)))


def drawn(batches: Iterable[Batch], seed: int = 0) -> list[Batch]:
    """Some events of many, each as likely as any other, in slices.

    Each gets a random number, and those with the least ones stay.
    """
    random = np.random.default_rng(seed)
    parts: list[tuple[Float64s, Batch]] = []
    bound = 1.0
    for batch in batches:
        number = random.random(len(batch))
        rows = np.flatnonzero(number <= min(bound, _least(number)))
        if len(rows):
            parts.append((number[rows], batch.take(rows)))
        if sum(len(part) for _, part in parts) >= 2 * ROWS:
            parts, bound = _thinned(parts)
    parts, _ = _thinned(parts)
    several = joined([copied(part, np.arange(len(part))) for _, part in parts])
    return [each.slice(at, at + SLICE) for each in several for at in range(0, len(each), SLICE)]


def _least(number: Float64s) -> float:
    """The number up to which rows stay, were there no others."""
    return float(np.partition(number, ROWS - 1)[ROWS - 1]) if len(number) > ROWS else 1.0


def _thinned(
    parts: Sequence[tuple[Float64s, Batch]],
) -> tuple[list[tuple[Float64s, Batch]], float]:
    """The rows with the least numbers of all parts, and the greatest of these numbers."""
    bound = _least(np.concatenate([np.empty(0), *(number for number, _ in parts)]))
    kept = [(number, part, np.flatnonzero(number <= bound)) for number, part in parts]
    return [(number[rows], part.take(rows)) for number, part, rows in kept if len(rows)], bound


def copied(batch: Batch, rows: Rows) -> Batch:
    """Some rows that keep nothing else alive; fewer, perhaps none, if they are large."""
    room = len(rows) * ROW_BYTES
    if batch.table is not None:
        most = int(room // max(batch.table.nbytes / len(batch), 1.0))
        rows = rows[:: -(-len(rows) // most)] if most else rows[:0]
        taken = batch.take(rows)
        if taken.table is not None and taken.table.get_total_buffer_size() <= room:
            return taken
    return Batch(list(_light((batch.plain_event(row) for row in rows.tolist()), room)))


def _light(events: Iterable[Event], room: int) -> Iterator[Event]:
    """Events until they take too much memory."""
    for event in events:
        room = _room_left(event.attributes, room)
        if room < 0:
            return
        yield event


def _room_left(node: Node, room: int) -> int:
    """What a tree leaves of some memory; below 0 it is not looked at further."""
    room -= _VALUE_BYTES + (len(node) if isinstance(node, str | bytes) else 0)
    children: Iterable[Node] = ()
    if isinstance(node, dict):
        children = node.values()
    elif isinstance(node, list):
        children = node
    for child in children:
        if room < 0:
            break
        room = _room_left(child, room)
    return room


def _latest(slices: Sequence[Batch]) -> tuple[Batch, ...]:
    """The last slices, with as many rows as are kept."""
    kept: list[Batch] = []
    rows = 0
    for each in reversed(slices):
        rows += len(each)
        if rows > ROWS:
            break
        kept.append(each)
    return tuple(reversed(kept))


def _schema(batch: Batch) -> pa.Schema | None:
    return None if batch.table is None else batch.table.schema


def joined(several: Sequence[Batch]) -> list[Batch]:
    """Batches with those of the same columns, and those of events, put together."""
    found: list[Batch] = []
    for schema, group in groupby(several, _schema):
        batches = list(group)
        if schema is None:
            found.append(Batch([event for batch in batches for event in batch.events()]))
            continue
        try:
            tables = [batch.table for batch in batches if batch.table is not None]
            found += map(Batch, pa.Table.from_batches(tables).combine_chunks().to_batches())
        except pa.ArrowException:  # of some types Arrow puts no arrays together
            found += batches
    return found
