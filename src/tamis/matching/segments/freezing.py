"""From the live part to a segment: labels become ranks, boxes a sieve.

This goes on beside threads that match, so it is a few calls for each axis, which let the GIL go,
and no loop over boxes. Only subscriptions that are more than boxes are compiled once more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tamis.arrays.types import Flags
from tamis.matching.axes.live import finish
from tamis.matching.boxes.layout import Boxes
from tamis.matching.covers.covers import Cover
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.segments.builder import SegmentBuilder
from tamis.matching.segments.content_sieve import Expectations
from tamis.matching.segments.live import LiveView
from tamis.matching.segments.segment import Segment


def frozen_boxes(
    view: LiveView,
    kept: Flags,
    terms: TermLines,
    statistics: Expectations | None = None,
) -> Segment:
    """A segment of some of the boxes."""
    first, start, others, _, _ = view.arrays
    box = np.repeat(np.arange(view.boxes), np.diff(start[: view.boxes + 1]))
    box = np.concatenate((np.arange(view.boxes), box))
    sides = [first.reshape(-1, 3)[: view.boxes], others.reshape(-1, 3)[: start[view.boxes]]]
    axis, low, high = np.concatenate(sides).T
    own = kept[box] & (axis >= 0)
    box, axis, low, high = box[own], axis[own], low[own], high[own]
    count = np.bincount(box, minlength=view.boxes)
    low_rank, high_rank = np.empty(len(axis), np.int32), np.empty(len(axis), np.int32)
    axes = []
    for number, each in enumerate(view.axes):
        mine = axis == number
        begin, end = low[mine], high[mine] + 1
        finished = finish(each, terms, np.concatenate((begin, end)))
        low_rank[mine], high_rank[mine] = finished.ranks(begin), finished.ranks(end) - 1
        axes.append(finished.axis)
    order = np.lexsort((axis, box))
    boxes = Boxes(
        np.concatenate(([0], np.cumsum(count[kept]))),
        axis[order].astype(np.int32),
        low_rank[order],
        high_rank[order],
        view.slot[kept],
        np.array([each.size for each in axes], np.int64),
    )
    return Segment.of_boxes(axes, boxes, statistics)


def frozen_covers(
    covers: Mapping[int, Cover],
    terms: TermLines,
    statistics: Expectations | None = None,
) -> Segment:
    """A segment of subscriptions that are more than boxes."""
    builder = SegmentBuilder(terms)
    for slot, cover in covers.items():
        builder.add(slot, cover)
    return builder.finish(statistics)
