"""From the live part to a segment: labels become ranks, boxes a sieve.

This goes on beside threads that match, so it is a few calls for each axis, which let the GIL go,
and no loop over boxes. Only subscriptions that are more than boxes are compiled once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tamis.matching.axes import Axis, AxisBuilder
from tamis.matching.live import LiveAxis, LiveView
from tamis.matching.segment import Expectations, Segment, SegmentBuilder
from tamis.matching.sieve.boxes import Boxes
from tamis.matching.terms import TermLine
from tamis.predicates.normal import NormalForm

Labels = NDArray[np.int64]


def frozen_boxes(
    view: LiveView,
    kept: NDArray[np.bool_],
    terms: TermLine | None,
    statistics: Expectations | None = None,
) -> Segment:
    """A segment of some of the boxes."""
    count = np.diff(view.start[: view.boxes + 1])
    own = np.repeat(kept, count)
    box = np.repeat(np.arange(view.boxes), count)[own]
    constraints = int(view.start[view.boxes])
    axis = view.axis[:constraints][own]
    low, high = view.low[:constraints][own], view.high[:constraints][own]
    finished = [_finished(each, terms) for each in view.axes]
    low_rank, high_rank = np.empty(len(axis), np.int32), np.empty(len(axis), np.int32)
    for number, (_, to_ranks) in enumerate(finished):
        mine = axis == number
        low_rank[mine], high_rank[mine] = to_ranks(low[mine], high[mine])
    order = np.lexsort((axis, box))
    axes = [each for each, _ in finished]
    boxes = Boxes(
        np.concatenate(([0], np.cumsum(count[kept]))),
        axis[order],
        low_rank[order],
        high_rank[order],
        view.slot[: view.boxes][kept],
        np.array([each.size for each in axes], np.int64),
    )
    return Segment.of_boxes(axes, boxes, statistics)


def frozen_forms(
    forms: Mapping[int, NormalForm],
    terms: TermLine | None,
    statistics: Expectations | None = None,
) -> Segment:
    """A segment of subscriptions that are more than boxes."""
    builder = SegmentBuilder(terms)
    for slot, form in forms.items():
        builder.add(slot, form)
    return builder.finish(statistics)


ToRanks = Callable[[Labels, Labels], tuple[NDArray[np.int32], NDArray[np.int32]]]


def _finished(live: LiveAxis, terms: TermLine | None) -> tuple[Axis, ToRanks]:
    """The finished axis, and what makes intervals of its ranks of intervals of labels."""
    builder = AxisBuilder(live.key, terms)
    if not live.lines:
        axis, _ = builder.finish()
        return axis, lambda low, high: (low.astype(np.int32), high.astype(np.int32))
    if not live.gaps_alike:
        builder.tell_gaps()
    cuts = list(live.cuts)
    for number, line in enumerate(builder.lines):
        own = [cut for cut in cuts if cut[0] == 2 * number + 1]
        line.add_list([cut[1] for cut in own], [cut[2] for cut in own])
    axis, positions = builder.finish()
    first, _ = axis.line_ends()
    labels = np.array([cut[-1] for cut in cuts], np.int64)
    is_cut = np.array([len(cut) > 2 for cut in cuts])
    above = np.empty(len(cuts), np.int32)  # the rank just above each cut
    above[is_cut] = np.concatenate(positions) + 1
    above[~is_cut] = np.append(first, axis.size)
    return axis, lambda low, high: (
        above[np.searchsorted(labels, low)],
        above[np.searchsorted(labels, high + 1)] - np.int32(1),
    )
