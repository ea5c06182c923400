"""The sieve as a matcher: subscriptions compiled to boxes, in segments.

New subscriptions gather in a *live* segment, which is compiled anew when an event comes and it has
changed; when it has grown large it is frozen, and another begins. Removed subscriptions of frozen
segments are left out of the results until their segment is compiled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.matching.arrow_points import TooManyPointsError, UnsupportedTypeError, arrow_points
from tamis.matching.axes import Axis
from tamis.matching.batch import Batch
from tamis.matching.jit import kernel
from tamis.matching.points import Points, points_of
from tamis.matching.protocol import Pairs, Setting, Slot
from tamis.matching.segment import Segment, SegmentBuilder
from tamis.matching.shapes import Shape
from tamis.matching.terms import TermLine
from tamis.model.event import Event
from tamis.predicates.expression import Expression
from tamis.predicates.normal import NormalForm, normalise

Integers = NDArray[np.int32]

EVENTS = 4_096
"""Events that are no columns, whose points are made at a time."""
LIVE = 4_096
"""Subscriptions in the live segment when it is frozen."""


class SieveMatcher:
    """Keeps subscriptions in segments."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._terms = None if setting.taxonomy is None else TermLine(setting.taxonomy)
        self._frozen: list[Segment] = []
        self._live: dict[Slot, NormalForm] = {}
        self._compiled: Segment | None = None
        self._removed: set[Slot] = set()

    def add(self, slot: Slot, expression: Expression) -> None:
        """Take in a subscription."""
        self._live[slot] = normalise(expression, self._setting.limits)
        self._compiled = None

    def load(self) -> SieveLoad:
        """Begin to take in many at once, as a segment of their own."""
        return SieveLoad(SegmentBuilder(self._terms), self._setting, self._frozen)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions."""
        for slot in slots:
            if self._live.pop(slot, None) is None:
                self._removed.add(slot)
            else:
                self._compiled = None

    def segments(self) -> list[Segment]:
        """All segments, with everything compiled."""
        if self._compiled is None and self._live:
            builder = SegmentBuilder(self._terms)
            for slot, form in self._live.items():
                builder.add(slot, form)
            self._compiled = builder.finish()
        if self._compiled is not None and len(self._live) >= LIVE:
            self._frozen.append(self._compiled)
            self._live, self._compiled = {}, None
        return self._frozen if self._compiled is None else [*self._frozen, self._compiled]

    def arrays(self) -> tuple[list[Any], dict[str, NDArray[Any]]]:
        """A header and flat arrays of all segments; removed subscriptions are in them still."""
        header, arrays = [], {}
        for number, segment in enumerate(self.segments()):
            header.append(segment.header())
            arrays.update(segment.arrays(f"segments/{number}/"))
        return header, arrays

    def restore(
        self, header: list[Any], arrays: Mapping[str, NDArray[Any]], removed: Iterable[Slot]
    ) -> None:
        """Take in the segments of ``arrays``."""
        for number, part in enumerate(header):
            prefix = f"segments/{number}/"
            self._frozen.append(Segment.from_arrays(part, arrays, prefix, self._terms))
        self._removed.update(removed)

    def match(self, event: Event) -> Iterator[Slot]:
        """The slots of all subscriptions that the event matches."""
        for pairs in self.match_batch(Batch([event], self._setting.limits), None):
            yield from pairs.slot.tolist()

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, in chunks."""
        taken = None if limit is None else np.zeros(len(batch), np.int32)
        for pairs in self._pairs(batch, limit):
            if limit is None or taken is None:
                yield pairs
            else:
                kept = mark_within(pairs.row, taken, limit)
                yield Pairs(pairs.row[kept], pairs.slot[kept])

    def _pairs(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        for segment in self.segments():
            for start, part in parts(batch):
                for first, piece, points in pointed(part, segment.axes):
                    for pairs in self._stabbed(segment, points, piece, limit):
                        yield pairs.shifted(start + first)

    def _stabbed(
        self, segment: Segment, points: Points, batch: Batch, limit: int | None
    ) -> Iterator[Pairs]:
        several = points.row is not None
        stamp = np.full(segment.most_slot + 1 if several else 0, -1, np.int32)
        most = None if several or self._removed else limit
        for found in segment.stab(points.ranks, most):
            row, slot = found.point, found.slot
            if points.row is not None:
                row = points.row[row].astype(np.int32)
                kept = mark_first(row, slot, stamp)
                row, slot = row[kept], slot[kept]
            if found.certain:
                yield self._alive(Pairs(row, slot))
            else:
                yield self._decided(row, slot, batch)
        for left in points.left:
            slots = segment.slots()
            yield self._decided(np.full(len(slots), left, np.int32), slots, batch)

    def _alive(self, pairs: Pairs) -> Pairs:
        if not self._removed:
            return pairs
        kept = ~np.isin(pairs.slot, np.fromiter(self._removed, np.int64))
        return Pairs(pairs.row[kept], pairs.slot[kept])

    def _decided(self, row: Integers, slot: Integers, batch: Batch) -> Pairs:
        """Those of some candidates that the oracle finds to match."""
        row, slot = self._alive(Pairs(row, slot))
        oracle = self._setting.oracle
        kept = np.fromiter(
            (oracle(batch.event(one), other) for one, other in zip(row.tolist(), slot.tolist())),
            bool,
            len(row),
        )
        return Pairs(row[kept], slot[kept])


class SieveLoad:
    """Subscriptions on their way into a segment of their own."""

    takes_shapes = True

    def __init__(self, builder: SegmentBuilder, setting: Setting, segments: list[Segment]) -> None:
        self._builder = builder
        self._setting = setting
        self._segments = segments

    def add(self, slot: Slot, expression: Expression) -> None:
        """Take in one subscription."""
        self._builder.add(slot, normalise(expression, self._setting.limits))

    def add_shape(self, shape: Shape, slots: NDArray[np.int32], columns: Sequence[Any]) -> bool:
        """Take in many subscriptions of one shape."""
        return shape.add(self._builder.axes, self._builder.plain, slots, columns)

    def install(self) -> None:
        """Compile the segment, and let events see it."""
        self._segments.append(self._builder.finish())


def parts(batch: Batch) -> Iterator[tuple[int, Batch]]:
    """Events that are no columns in small parts, each with its first row."""
    if batch.table is not None:
        yield 0, batch
        return
    events = batch.events()
    for start in range(0, len(events), EVENTS):
        yield start, Batch(events[start : start + EVENTS])


def pointed(batch: Batch, axes: Sequence[Axis]) -> Iterator[tuple[int, Batch, Points]]:
    """The points of a batch, in pieces if it has too many; each with the piece's first row."""
    if batch.table is None:
        yield 0, batch, points_of(batch.events(), axes)
        return
    try:
        yield 0, batch, arrow_points(batch.table, axes)
    except UnsupportedTypeError:
        yield 0, batch, points_of(batch.events(), axes)
    except TooManyPointsError:
        if len(batch) == 1:
            yield 0, batch, points_of(batch.events(), axes)
            return
        half = len(batch) // 2
        for start, piece in ((0, batch.slice(0, half)), (half, batch.slice(half, len(batch)))):
            for first, inner, points in pointed(piece, axes):
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
