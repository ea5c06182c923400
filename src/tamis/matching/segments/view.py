"""Matching against a snapshot: a batch by its points, one event by a way of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.matching.axes.axis import Axis
from tamis.matching.batch import Batch
from tamis.matching.points.of_columns import TooManyPointsError, UnsupportedTypeError, arrow_points
from tamis.matching.points.of_events import Points, points_of
from tamis.matching.protocol import Pairs, Slot
from tamis.matching.segments.live import LiveView
from tamis.matching.segments.segment import NOTHING, Segment
from tamis.matching.segments.snapshot import DatedSegment, Snapshot
from tamis.matching.tests.column_tests import Candidates
from tamis.model.events.event import Event
from tamis.model.paths import Path

Integers = NDArray[np.int32]

EVENTS = 4_096
"""Events that are no columns, whose points are made at a time."""
CANDIDATES = 1 << 26
"""Pairs of a row and a conjunction that may have to be held at once."""


def match_event(
    snapshot: Snapshot, oracle: Callable[[Event, Slot], bool], event: Event
) -> list[Slot]:
    """The slots of all subscriptions that one event matches."""
    slots: list[Slot] = []
    for view in snapshot.lives:
        if view.boxes:
            slots += SieveView(snapshot, oracle).match_live(view, event)
    for aged in snapshot.segments:
        segment = aged.segment
        found, rest = None, None
        if not event.multiple or segment.projection.can_tell(event):
            point = segment.projection.point(event)
            found = segment.plain.match_one(point)
            rest = NOTHING if segment.is_plain else segment.judged(event, point)
        if found:
            slots += snapshot.all_alive(found, aged.epoch)
        if found is None or rest is None:
            slots += SieveView(snapshot, oracle).match_segment(aged, event, plain=found is None)
        elif not segment.is_plain:
            certain, perhaps = rest
            slots += snapshot.all_alive(certain, -1)
            others = snapshot.all_alive(perhaps.keys() - certain.keys(), -1)
            slots += (slot for slot in others if oracle(event, slot))
    return slots


class SieveView:
    """One snapshot, and the oracle for what boxes cannot tell."""

    def __init__(
        self,
        snapshot: Snapshot,
        oracle: Callable[[Event, Slot], bool],
        see: Callable[[Batch], None] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._oracle = oracle
        self._see = see

    # One event.

    def match_segment(self, aged: DatedSegment, event: Event, *, plain: bool) -> Iterator[Slot]:
        """The slots in a segment, without those of plain boxes if they are known already."""
        for pairs in self._stabbed_by(aged, Batch([event]), None, plain=plain):
            yield from pairs.slot.tolist()

    def match_live(self, view: LiveView, event: Event) -> Iterator[Slot]:
        """The slots in a live part."""
        points: Iterable[NDArray[np.int64]]
        if view.projection.can_tell(event):
            points = [view.projection.point(event)]
        else:
            found = points_of([event], list(view.axes), dtype=np.int64)
            if found.left:
                yield from self._asked(view, dict.fromkeys(view.slot.tolist()), event)
                return
            points = np.pad(found.ranks, ((0, 0), (0, 1)))  # a 0 behind each
        matched: dict[Slot, None] = {}
        asked: dict[Slot, None] = {}
        for point in points:
            certain, perhaps = view.stabbed(point)
            matched.update(dict.fromkeys(certain))
            asked.update(dict.fromkeys(perhaps))
        yield from self._snapshot.all_alive(matched, -1)
        yield from self._asked(view, asked, event)

    def _asked(self, view: LiveView, slots: Mapping[Slot, None], event: Event) -> Iterator[Slot]:
        """Those of some slots in a live part that the oracle finds to match."""
        view.asked[0] += len(slots)
        alive = self._snapshot.all_alive(slots, -1)
        return (slot for slot in alive if self._oracle(event, slot))

    # Batches.

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, in chunks."""
        if self._see is not None:
            self._see(batch)
        yield from limited(self._pairs(batch, limit), len(batch), limit)

    def _pairs(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        for aged in self._snapshot.segments:
            yield from self._stabbed_by(aged, batch, limit)

    def _stabbed_by(
        self, aged: DatedSegment, batch: Batch, limit: int | None, *, plain: bool = True
    ) -> Iterator[Pairs]:
        """The pairs of a segment; without those of plain boxes, if they are known already."""
        segment = aged.segment
        conjunctions = len(segment.checks.conjunctions.slot)
        for start, part in batch.parts(rows_at_once(conjunctions, batch)):
            for first, piece, points in pointed(part, segment.axes, segment.valued):
                if plain:
                    for pairs in self._stabbed(aged, points, limit):
                        yield pairs.shifted(start + first)
                for pairs in self._candidates(segment, points, piece):
                    yield pairs.shifted(start + first)
                for left in points.left:
                    slots = segment.slots()
                    everything = Pairs(np.full(len(slots), left, np.int32), slots)
                    yield self._verified(everything, piece).shifted(start + first)

    def _stabbed(self, aged: DatedSegment, points: Points, limit: int | None) -> Iterator[Pairs]:
        """The pairs of plain boxes."""
        several = points.row is not None
        stamp = np.full(aged.segment.most_slot + 1 if several else 0, -1, np.int32)
        most = None if several or self._snapshot.last > aged.epoch else limit
        for point, slot in aged.segment.stab(points, most):
            row = point
            if points.row is not None:
                row = points.row[point].astype(np.int32)
                kept = mark_first(row, slot, stamp)
                row, slot = row[kept], slot[kept]
            yield self._snapshot.alive(Pairs(row, slot), aged.epoch)

    def _candidates(self, segment: Segment, points: Points, batch: Batch) -> Iterator[Pairs]:
        """The matches of subscriptions that are more than boxes, each once."""
        found = segment.candidates(points, batch)
        for pairs in decided(found, points.row, lambda asked: self._verified(asked, batch)):
            yield self._snapshot.alive(pairs, -1)

    def _verified(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some candidates that the oracle finds to match."""
        row, slot = self._snapshot.alive(pairs, -1)
        return asked_pairs(Pairs(row, slot), batch, self._oracle)


def asked_pairs(pairs: Pairs, batch: Batch, oracle: Callable[[Event, Slot], bool]) -> Pairs:
    """Those of some pairs that the oracle finds to match."""
    both = zip(pairs.row.tolist(), pairs.slot.tolist())
    kept = np.fromiter((oracle(batch.event(row), slot) for row, slot in both), bool)
    return Pairs(pairs.row[kept], pairs.slot[kept])


def decided(
    several: Iterable[Candidates],
    rows: NDArray[np.int64] | None,
    verified: Callable[[Pairs], Pairs],
) -> Iterator[Pairs]:
    """The pairs of candidates, each once; those that only the oracle can tell are verified.

    rows: the rows of the points, None if point i is of row i.
    """
    again: list[Pairs] = []
    for found in several:
        row = found.point if rows is None else rows[found.point].astype(np.int32)
        pairs = Pairs(row[~found.ask], found.slot[~found.ask])
        asked = Pairs(row[found.ask], found.slot[found.ask])
        if rows is None and not found.several:
            yield pairs
            yield verified(asked)
        else:
            again += [pairs, verified(distinct([asked]))]
    if again:
        yield distinct(again)


def limited(found: Iterable[Pairs], rows: int, limit: int | None) -> Iterator[Pairs]:
    """Pairs without those that are beyond a limit for each row."""
    if limit is None:
        yield from found
        return
    taken = np.zeros(rows, np.int32)
    for pairs in found:
        kept = mark_within(pairs.row, taken, limit)
        yield Pairs(pairs.row[kept], pairs.slot[kept])


def distinct(several: Sequence[Pairs]) -> Pairs:
    """Pairs by ascending row, each once."""
    row = np.concatenate([pairs.row for pairs in several]).astype(np.int64)
    slot = np.concatenate([pairs.slot for pairs in several])
    keys = np.unique(row << 32 | slot)
    return Pairs((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32))


def rows_at_once(conjunctions: int, batch: Batch) -> int:
    """Rows whose candidates can be held at once, were every row to match everything."""
    most = max(16, CANDIDATES // conjunctions) if conjunctions else sys.maxsize
    return most if batch.table is not None else min(most, EVENTS)


def pointed(
    batch: Batch, axes: Sequence[Axis], valued: Sequence[Path] = ()
) -> Iterator[tuple[int, Batch, Points]]:
    """The points of a batch, in pieces if it has too many; each with the piece's first row."""
    return pieces(
        batch,
        lambda events: points_of(events, axes, valued),
        lambda table: arrow_points(table, axes, valued),
    )


def pieces(
    batch: Batch,
    of_events: Callable[[Sequence[Event]], Points],
    of_table: Callable[[pa.RecordBatch], Points],
) -> Iterator[tuple[int, Batch, Points]]:
    """The same, by what makes points of events, or of columns."""
    if batch.table is None:
        yield 0, batch, of_events(batch.events())
        return
    try:
        yield 0, batch, of_table(batch.table)
    except UnsupportedTypeError:
        yield from pieces(Batch(batch.events()), of_events, of_table)
    except TooManyPointsError:
        if len(batch) == 1:
            yield from pieces(Batch(batch.events()), of_events, of_table)
            return
        half = len(batch) // 2
        for start, piece in ((0, batch.slice(0, half)), (half, batch.slice(half, len(batch)))):
            for first, inner, points in pieces(piece, of_events, of_table):
                yield start + first, inner, points


@kernel
def mark_first(row: Integers, slot: Integers, stamp: Integers) -> NDArray[np.bool_]:
    """Mark the first of the points of a row that stab a slot; rows ascend over all calls."""
    first = np.empty(len(row), np.bool_)
    for i in range(len(row)):
        first[i] = stamp[slot[i]] != row[i]
        stamp[slot[i]] = row[i]
    return first


@kernel
def mark_within(row: Integers, taken: Integers, limit: int) -> NDArray[np.bool_]:
    """Mark the pairs that a limit for each row leaves, and count them."""
    within = np.empty(len(row), np.bool_)
    for i in range(len(row)):
        within[i] = taken[row[i]] < limit
        taken[row[i]] += within[i]
    return within
