"""Matching against a snapshot: a batch by its points, one event by a way of its own."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.arrays.types import Int64s
from tamis.bindings.choices import count_bindings
from tamis.matching.axes.axis import Axis
from tamis.matching.batch import Batch
from tamis.matching.boxes.compiler import MAX_AXES
from tamis.matching.doors import DoorPairs, DoorView
from tamis.matching.evaluation.entries import Candidates
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.oracle import answered, asked_hits
from tamis.matching.pairs import (
    Hits,
    Pairs,
    distinct_pairs,
    hits_of,
    joined,
    limited,
    mark_first,
)
from tamis.matching.points.of_columns import TooManyPointsError, UnsupportedTypeError, arrow_points
from tamis.matching.points.of_events import MAX_POINTS, Points, points_of
from tamis.matching.segments.live import LiveView
from tamis.matching.segments.segment import Segment
from tamis.matching.segments.snapshot import DatedSegment, Snapshot
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.model.paths import Path

EVENTS = 4_096
"""Events that are no columns, whose points are made at a time."""
CANDIDATES = 1 << 26
"""Pairs of a row and a condition that may have to be held at once."""


class SieveView:
    """The subscriptions of one snapshot, and the oracle for what boxes cannot tell."""

    __slots__ = ("_see", "_setting", "snapshot")

    def __init__(
        self, snapshot: Snapshot, setting: Setting, see: Callable[[Batch], None] | None = None
    ) -> None:
        self.snapshot = snapshot
        self._setting = setting
        self._see = see

    def paths(self) -> frozenset[Path] | None:
        """All attributes that subscriptions look at; None if there was no room for some axes, or
        an operator may look at any."""
        now = self.snapshot
        segments = [each.segment for each in now.segments]
        if any(len(segment.axes) == MAX_AXES for segment in segments):
            return None
        asked = {slot for segment in segments for slot in segment.evaluation.open_slots().tolist()}
        if now.door is not None:
            slots = now.door.slots()
            asked.update(slots[~now.door.decides(slots)].tolist())
        alive = (slot for slot in asked if now.died[slot] > now.epoch)
        others = self._setting.world.paths(map(self._setting.expressions, alive))
        if others is None:
            return None
        indexed = {axis.key.path for segment in segments for axis in segment.axes}
        return others.union(indexed, *(segment.valued for segment in segments))

    # One event.

    def match(self, event: Event) -> Hits:
        """The subscriptions that one event matches."""
        snapshot, last = self.snapshot, self.snapshot.last
        found: list[Collection[Slot]] = []
        several: list[Hits] = []
        asked: list[Slot] = []
        for live in snapshot.lives:
            if live.boxes:
                found.append(self._match_live(live, event, asked))
        for dated in snapshot.segments:
            segment = dated.segment
            if event.multiple and not segment.projection.can_tell(event):
                pairs = self._segment_pairs(dated, Batch([event]), None)
                several.append(hits_of(joined(list(pairs))))
                continue
            point = segment.projection.point(event)
            slots = segment.plain.match_one(point)
            found.append(slots if last <= dated.epoch else snapshot.all_alive(slots, dated.epoch))
            if not segment.is_plain:
                rest = segment.verdicts(event, point)
                found.append(snapshot.all_alive(rest.certain, -1))
                asked += snapshot.all_alive(rest.open.keys() - rest.certain.keys(), -1)
        if asked:
            several.append(asked_hits(event, asked, self._setting))
        if snapshot.door is not None and event.graph is not None:
            return self._with_door(snapshot.door, event, _united(found, several))
        if len(found) == 1 and not several and type(found[0]) is array:
            return Hits(found[0])
        return _united(found, several)

    def _with_door(self, door: DoorView, event: Event, others: Hits) -> Hits:
        """What a door finds, and what others found that it does not decide on."""
        pairs, shared = self._through_door(door, Batch([event]))
        twice = set(pairs.slot[shared].tolist())
        slots = [slot for slot in others.slots if slot not in twice]
        open_ = [slot for slot in others.open if slot not in twice]
        return _united([], [Hits(slots, others.answers, open_), hits_of(pairs)])

    def _through_door(self, door: DoorView, batch: Batch) -> DoorPairs:
        """What a door finds of subscriptions that are there."""
        pairs, shared = door.match(batch)
        alive = self.snapshot.is_alive(pairs.slot)
        return DoorPairs(pairs.take(alive), shared[alive])

    def has_long_lists(self, event: Event) -> bool:
        """Whether an event has too many points for a live part."""
        return any(
            not live.projection.can_tell(event)
            and count_bindings(event, [axis.key.path for axis in live.axes]) > MAX_POINTS
            for live in self.snapshot.lives
            if live.boxes
        )

    def _match_live(self, live: LiveView, event: Event, asked: list[Slot]) -> Collection[Slot]:
        """The slots of a live part that match; those that only the oracle can tell are added to
        ``asked``."""
        points: Iterable[NDArray[np.int64]]
        matched: dict[Slot, None] = {}
        perhaps: dict[Slot, None] = {}
        if live.projection.can_tell(event):
            points = [np.frombuffer(live.projection.point(event), np.int64)]
        else:
            found = points_of([event], list(live.axes), dtype=np.int64)
            points = np.pad(found.ranks, ((0, 0), (0, 1)))  # a 0 behind each
        for point in points:
            certain, others = live.stabbed(point)
            matched.update(dict.fromkeys(certain))
            perhaps.update(dict.fromkeys(others))
        if perhaps:
            live.asked[0] += len(perhaps)
            asked += self.snapshot.all_alive(perhaps, -1)
        return self.snapshot.all_alive(matched, -1)

    # Batches.

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, in chunks."""
        if self._see is not None:
            self._see(batch)
        yield from limited(self._pairs(batch, limit), len(batch), limit)

    def _pairs(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of all doors; what two of them find counts as found by the one that is no
        box, since that decides on the whole subscription."""
        twice = np.empty(0, np.int64)
        if self.snapshot.door is not None:
            found, shared = self._through_door(self.snapshot.door, batch)
            twice = _keys(found.take(shared))
            yield found
        for dated in self.snapshot.segments:
            for pairs in self._segment_pairs(dated, batch, limit):
                yield pairs.take(~np.isin(_keys(pairs), twice)) if len(twice) else pairs

    def _segment_pairs(
        self, dated: DatedSegment, batch: Batch, limit: int | None
    ) -> Iterator[Pairs]:
        """The pairs of a segment."""
        segment = dated.segment
        conditions = len(segment.evaluation.entries.slot)
        fallbacks = self._setting.fallbacks
        for start, part in batch.parts(rows_at_once(conditions, batch)):
            for first, piece, points in pointed(part, segment.axes, segment.valued, fallbacks):
                for pairs in self._plain_pairs(dated, points, limit):
                    yield pairs.shifted(start + first)
                for pairs in self._candidates(segment, points, piece):
                    yield pairs.shifted(start + first)
                for left in points.left:
                    yield self._listed(segment, left, piece).shifted(start + first)

    def _plain_pairs(
        self, dated: DatedSegment, points: Points, limit: int | None
    ) -> Iterator[Pairs]:
        """The pairs of plain boxes."""
        several = points.row is not None
        stamp = np.full(dated.segment.most_slot + 1 if several else 0, -1, np.int32)
        most = None if several or self.snapshot.last > dated.epoch else limit
        for point, slot in dated.segment.stab(points, most):
            row = point
            if points.row is not None:
                row = points.row[point].astype(np.int32)
                kept = mark_first(row, slot, stamp)
                row, slot = row[kept], slot[kept]
            yield self.snapshot.alive(Pairs(row, slot), dated.epoch)

    def _candidates(self, segment: Segment, points: Points, batch: Batch) -> Iterator[Pairs]:
        """The matches of subscriptions that are more than boxes, each once."""
        if segment.is_plain:
            return
        found = [segment.candidates(points, batch)]
        for pairs in decided(found, points.row, lambda asked: self._answered(asked, batch)):
            yield self.snapshot.alive(pairs, -1)

    def _listed(self, segment: Segment, row: int, batch: Batch) -> Pairs:
        """The pairs of an event with long lists."""
        verdicts = segment.listed(batch.event(row))
        if verdicts is None:
            self._setting.fallbacks.count("an event with too many bindings", 1)
            certain, asked = np.empty(0, np.int32), segment.slots()
        else:
            certain = np.array(list(verdicts.certain), np.int32)
            asked = np.array(list(verdicts.open.keys() - verdicts.certain.keys()), np.int32)
        found = Pairs(np.full(len(certain), row, np.int32), certain)
        others = self._answered(Pairs(np.full(len(asked), row, np.int32), asked), batch)
        return distinct_pairs([self.snapshot.alive(found, -1), others])

    def _answered(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some candidates that the oracle finds to match, or cannot tell."""
        alive = self.snapshot.alive(pairs, -1)
        return answered(alive, batch, self._setting)


def _united(found: Sequence[Collection[Slot]], several: Sequence[Hits]) -> Hits:
    """All slots that match, each from one place only, and hits with answers or open slots."""
    answers = {slot: answer for hits in several for slot, answer in hits.answers.items()}
    open_ = [slot for hits in several for slot in hits.open]
    return Hits([*chain(*found, *(hits.slots for hits in several))], answers, open_)


def _keys(pairs: Pairs) -> Int64s:
    """Rows and slots as one number."""
    keys: Int64s = pairs.row.astype(np.int64) << 32 | pairs.slot
    return keys


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
        every = Pairs(row, found.slot)
        pairs, asked = every.take(~found.ask), every.take(found.ask)
        if rows is None and not found.several:
            yield pairs
            yield verified(asked)
        else:
            again += [pairs, verified(distinct_pairs([asked]))]
    if again:
        yield distinct_pairs(again)


def rows_at_once(conditions: int, batch: Batch) -> int:
    """Rows whose candidates can be held at once, were every row to match everything."""
    most = max(16, CANDIDATES // conditions) if conditions else sys.maxsize
    return most if batch.table is not None else min(most, EVENTS)


def pointed(
    batch: Batch,
    axes: Sequence[Axis],
    valued: Sequence[Path] = (),
    fallbacks: Fallbacks | None = None,
) -> Iterator[tuple[int, Batch, Points]]:
    """The points of a batch, in pieces if it has too many; each with the piece's first row."""
    return pieces(
        batch,
        lambda events: points_of(events, axes, valued),
        lambda table: arrow_points(table, axes, valued),
        fallbacks or Fallbacks(),
    )


def pieces(
    batch: Batch,
    of_events: Callable[[Sequence[Event]], Points],
    of_table: Callable[[pa.RecordBatch], Points],
    fallbacks: Fallbacks,
) -> Iterator[tuple[int, Batch, Points]]:
    """The same, by what makes points of events, or of columns."""
    if batch.table is None:
        yield 0, batch, of_events(batch.events())
        return
    try:
        yield 0, batch, of_table(batch.table)
    except UnsupportedTypeError as error:
        events = Batch(batch.events(), graphs=batch.graphs)  # the reader raises if they are invalid
        fallbacks.count(str(error), len(batch))
        yield from pieces(events, of_events, of_table, fallbacks)
    except TooManyPointsError:
        if len(batch) == 1:
            fallbacks.count("an event with too many bindings", 1)
            events = Batch(batch.events(), graphs=batch.graphs)
            yield from pieces(events, of_events, of_table, fallbacks)
            return
        half = len(batch) // 2
        for start, piece in ((0, batch.slice(0, half)), (half, batch.slice(half, len(batch)))):
            for first, inner, points in pieces(piece, of_events, of_table, fallbacks):
                yield start + first, inner, points
