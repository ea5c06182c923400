"""From the live part to a segment: labels become ranks, boxes a sieve.

This goes on beside threads that match, so it is a few calls for each axis, which let the GIL go,
and no loop over boxes. Only subscriptions that are more than boxes are compiled once more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tamis.arrays.types import Flags, Labels, Ranks
from tamis.matching.axes.axis import Axis, AxisBuilder, LineBuilder
from tamis.matching.axes.live import LiveAxis, LiveLine
from tamis.matching.boxes.layout import Boxes
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.segments.live import LiveView
from tamis.matching.segments.segment import Expectations, Segment, SegmentBuilder
from tamis.predicates.normal import NormalForm


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
        finished, low_rank[mine], high_rank[mine] = _finished(each, terms, low[mine], high[mine])
        axes.append(finished)
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


def frozen_forms(
    forms: Mapping[int, NormalForm],
    terms: TermLines,
    statistics: Expectations | None = None,
) -> Segment:
    """A segment of subscriptions that are more than boxes."""
    builder = SegmentBuilder(terms)
    for slot, form in forms.items():
        builder.add(slot, form)
    return builder.finish(statistics)


def _finished(
    live: LiveAxis, terms: TermLines, low: Labels, high: Labels
) -> tuple[Axis, Ranks, Ranks]:
    """The finished axis, and the ranks of intervals of labels."""
    builder = AxisBuilder(live.key, terms)
    if not live.lines:
        axis, _ = builder.finish()
        return axis, low.astype(np.int32), high.astype(np.int32)
    if not live.gaps_alike:
        builder.tell_gaps()
    ends = np.sort(np.concatenate((low, high + 1)))
    cuts = [_add_cuts(line, own, ends) for line, own in zip(builder.lines, live.lines)]
    axis, positions = builder.finish()
    first, _ = axis.line_ends()
    begins = [live.begin(line) for line in range(len(first))]
    labels = np.concatenate((begins, [live.end(len(first) - 1)], *cuts))
    above = np.concatenate((first, [axis.size], *(position + 1 for position in positions)))
    order = np.argsort(labels)
    labels, above = labels[order], above[order].astype(np.int32)
    return (
        axis,
        above[np.searchsorted(labels, low)],
        above[np.searchsorted(labels, high + 1)] - np.int32(1),
    )


def _add_cuts(line: LineBuilder, own: LiveLine, ends: Labels) -> Labels:
    """Take in those cuts of a line at which intervals end; return the labels just above them."""
    values = list(own.values)
    labels = np.fromiter(map(own.labels.__getitem__, values), np.int64, len(values))
    above = np.searchsorted(labels, ends, "right")
    below, ends = above[above > 0] - 1, ends[above > 0]
    found = []
    for after in (False, True):
        is_cut = np.zeros(len(values), np.bool_)
        is_cut[below[labels[below] + after == ends]] = True
        which = np.flatnonzero(is_cut)
        line.add_list(list(map(values.__getitem__, which.tolist())), [after] * len(which))
        found.append(labels[which] + after)
    return np.concatenate(found)
