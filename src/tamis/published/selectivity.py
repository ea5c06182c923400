"""How selective the sides of boxes are, by a sample of labels: the share of them that a side has.

    axis 2    sample 3 3 5 8 8 8 9 12       side 8..9: (4 + 1/2) / (8 + 1)

The sample is one of events, if there is one; a share is then one of all events, those without the
attribute included. Or else it is the constants of the boxes on the axis, equal ones counted each:
what subscriptions ask for is the best guess at what events have. Of sides on which the sample says
the same, nothing at the worst, an equality is preferred to an interval with two ends and that to
one with one end: they count 1/4, 1/2 and 1 besides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import UNBOUNDED, BoxArrays, Points


class Sample(NamedTuple):
    """Labels by axis."""

    start: Offsets
    label: Labels
    """Ascending on each axis."""
    total: Offsets
    """Of each axis: what its labels are a share of."""


def sample_of_points(points: Points) -> Sample:
    """The labels of events."""
    start, label = _sorted(points.axis, points.label)
    return Sample(start, label, np.full(len(start) - 1, len(points.type), np.int64))


def sample_of_constants(boxes: Boxes) -> Sample:
    """The ends of sides."""
    axis, low, high = boxes.axis, boxes.low, boxes.high
    has_low, has_high = low > 0, (high < UNBOUNDED) & (high != low)
    axes = np.concatenate((axis[has_low], axis[has_high]))
    start, label = _sorted(axes, np.concatenate((low[has_low], high[has_high])))
    return Sample(start, label, np.diff(start))


def _sorted(axis: Numbers, label: Labels) -> tuple[Offsets, Labels]:
    order = np.lexsort((label, axis))
    start = np.concatenate(([0], np.cumsum(np.bincount(axis, minlength=1))))
    return start, label[order]


@kernel
def most_selective(
    arrays: BoxArrays, boxes: Numbers, sample: Sample
) -> tuple[Numbers, Labels, Labels]:
    """The side of each box that the fewest events are in; axis -1 and all labels if it has none."""
    axis, low = np.full(len(boxes), -1, np.int32), np.zeros(len(boxes), np.int64)
    high = np.full(len(boxes), UNBOUNDED, np.int64)
    for i in range(len(boxes)):
        least = np.inf
        for side in range(arrays.begin[boxes[i]], arrays.end[boxes[i]]):
            share = share_of(sample, arrays.axis[side], arrays.low[side], arrays.high[side])
            if share < least:
                least = share
                axis[i], low[i], high[i] = arrays.axis[side], arrays.low[side], arrays.high[side]
    return axis, low, high


@kernel
def share_of(sample: Sample, axis: int, low: int, high: int) -> float:
    """The share of events that a side has, by guess."""
    besides = 1.0
    if low == high:
        besides = 0.25
    elif low > 0 and high < UNBOUNDED:
        besides = 0.5
    if axis >= len(sample.total):
        return besides
    labels = sample.label[sample.start[axis] : sample.start[axis + 1]]
    inside = np.searchsorted(labels, high, "right") - np.searchsorted(labels, low, "left")
    return float((inside + besides) / (sample.total[axis] + 1))
