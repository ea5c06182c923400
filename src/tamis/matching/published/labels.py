"""The labels of one point by axis."""

from __future__ import annotations

from tamis.matching.jit import kernel
from tamis.matching.published.boxes import Labels, Points


@kernel
def set_labels(points: Points, point: int, label: Labels) -> None:
    """Write the labels of a point by axis."""
    for a in range(points.start[point], points.start[point + 1]):
        label[points.axis[a]] = points.label[a]


@kernel
def clear_labels(points: Points, point: int, label: Labels) -> None:
    """Write -1 in place of them."""
    for a in range(points.start[point], points.start[point + 1]):
        label[points.axis[a]] = -1
