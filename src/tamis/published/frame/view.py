"""Matching against the state of a published matcher.

events ──axes──> points ──types──> points of each index ──plain──────────────> matches
                                                    └──checked──> oracle ────> matches
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import ArrowException

from tamis.arrays.types import Rows
from tamis.matching.batch import Batch
from tamis.matching.evaluation.entries import Candidates
from tamis.matching.oracle import answered
from tamis.matching.pairs import (
    Hits,
    Pairs,
    distinct_pairs,
    hits_of,
    joined,
    limited,
    mark_first,
)
from tamis.matching.points.of_columns import UnsupportedTypeError, arrow_points
from tamis.matching.points.of_events import Points, points_of
from tamis.matching.segments.view import decided, pieces, rows_at_once
from tamis.matching.setting import Setting
from tamis.model.events.event import Event
from tamis.published.frame.comparisons import write_labels
from tamis.published.frame.event_points import Pass, TypesOfRows, passes, passes_of_one
from tamis.published.frame.indexed_boxes import IndexedBoxes
from tamis.published.frame.label_axes import Ranking
from tamis.published.frame.new_boxes import CHECKED, PLAIN
from tamis.published.frame.owners import SCATTERED
from tamis.published.frame.state import State

_FEW = 256
"""Rows below which pairs are sorted to find those that come twice; else each slot has a stamp."""


class PublishedView:
    """The subscriptions of one moment, which nothing changes as long as it is there.

    A writer that finds a view goes on with a copy of the state. Only the axes are shared with the
    copy, since labels stay what they are; so the view holds those of its moment.
    """

    def __init__(self, state: State, setting: Setting) -> None:
        self._state = state
        self._axes = state.axes.view()
        self._setting = setting

    def match(self, event: Event) -> Hits:
        """The subscriptions that one event matches."""
        state = self._state
        projection = self._axes.projection
        if not state.is_plain or not projection.can_tell(event):
            found = self.match_batch(Batch([event]), None)
        else:
            state.events[0] += 1
            labels = projection.point(event).tolist()
            for number, axis in self._axes.comparisons.items():
                labels[number] = axis.label(event)
            every = passes_of_one(labels, state.types, state.types.of_event(event))
            found = self._plain(every, None, 1)
        return hits_of(joined(list(found)))

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, in chunks."""
        self._state.events[0] += len(batch)
        return limited(self._pairs(batch), len(batch), limit)

    def _pairs(self, batch: Batch) -> Iterator[Pairs]:
        state = self._state
        ranking = None if batch.table is None else self._axes.ranking()
        for start, part in batch.parts(rows_at_once(state.checked, batch)):
            for first, piece, points, own in self._pointed(part, ranking):
                has_labels = points.ranks.dtype == np.int64
                every = list(passes(points, None if has_labels else ranking, state.types, own))
                for pairs in self._matched(piece, points, every):
                    yield pairs.shifted(start + first)

    def _pointed(
        self, batch: Batch, ranking: Ranking | None
    ) -> Iterator[tuple[int, Batch, Points, TypesOfRows | None]]:
        """The points of a batch: labels of events, ranks of columns; and the types of the rows."""
        axes, comparisons = self._axes.axes, self._axes.comparisons
        valued = sorted(self._axes.compared_paths)

        def of_events(events: Sequence[Event]) -> Points:
            return points_of(events, axes, valued, np.int64)

        def of_table(table: pa.RecordBatch) -> Points:
            assert ranking is not None  # there is one for columns
            return arrow_points(table, ranking.axes, valued)

        fallbacks = self._setting.fallbacks
        for first, piece, points in pieces(batch, of_events, of_table, fallbacks):
            try:
                types = self._types(piece)
                write_labels(points, piece, comparisons)
            except (UnsupportedTypeError, ArrowException) as error:
                piece = Batch(piece.events(), graphs=piece.graphs)
                fallbacks.count(str(error), len(piece))
                points, types = of_events(piece.events()), self._types(piece)
                write_labels(points, piece, comparisons)
            yield first, piece, points, types

    def _types(self, batch: Batch) -> TypesOfRows | None:
        types = self._state.types
        return TypesOfRows(*types.rows(batch)) if types.numbers else None

    def _matched(self, batch: Batch, points: Points, every: list[Pass]) -> Iterator[Pairs]:
        """The pairs of some points."""
        yield from self._plain(every, points.row, len(batch))
        if not self._state.is_plain:
            found = self._candidates(every)
            yield from decided(found, points.row, lambda asked: self._verified(asked, batch))
        slots = self._state.places.slots() if points.left else None
        for left in points.left:
            assert slots is not None
            yield self._verified(Pairs(np.full(len(slots), left, np.int32), slots), batch)

    def _verified(self, pairs: Pairs, batch: Batch) -> Pairs:
        return answered(pairs, batch, self._setting)

    def _plain(self, every: Iterable[Pass], rows: Rows | None, count: int) -> Iterator[Pairs]:
        """The pairs of plain boxes, of so many rows."""
        state = self._state
        later: list[Pairs] = []
        for each in every:
            part = state.parts.get(2 * each.key + PLAIN)
            if part is None:
                continue
            found = _stabbed(part, each, rows)
            if rows is not None or part.repeats:
                found = once(found, count, len(state.places))
            for pairs in found:
                if state.places.scattered:
                    apart = state.places.place[pairs.slot] == SCATTERED
                    later.append(pairs.take(apart))
                    pairs = pairs.take(~apart)
                yield pairs
        if later:
            yield distinct_pairs(later)

    def _candidates(self, every: Iterable[Pass]) -> Iterator[Candidates]:
        """What other boxes find, which the oracle decides."""
        state = self._state
        for each in every:
            part = state.parts.get(2 * each.key + CHECKED)
            if part is not None:
                for point, slot, *_ in _stabbed(part, each, None):
                    yield Candidates(point, slot, np.ones(len(point), bool), several=True)


def _stabbed(part: IndexedBoxes, each: Pass, rows: Rows | None) -> Iterator[Pairs]:
    """Rows of events and the owners of boxes that they stab."""
    for point, box in part.index.stab(each.points):
        row = point if each.number is None else each.number[point]
        if rows is not None:
            row = rows[row].astype(np.int32)
        yield Pairs(row, part.owner[box])


def once(found: Iterable[Pairs], rows: int, slots: int) -> Iterator[Pairs]:
    """Pairs whose rows ascend, each once."""
    if rows < _FEW:
        several = list(found)
        if several:
            yield distinct_pairs(several)
        return
    stamp = np.full(slots, -1, np.int32)
    for pairs in found:
        yield pairs.take(mark_first(pairs.row, pairs.slot, stamp))
