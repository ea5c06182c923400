"""Which segments are merged, and when."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tamis.matching.segments.snapshot import DatedSegment, Snapshot


def snapshot(*boxes: int, apart: int = 0) -> Snapshot:
    """Segments of so many boxes, the first of which cannot be merged."""
    segments = [
        DatedSegment(SimpleNamespace(boxes=each), 0, number < apart)
        for number, each in enumerate(boxes)
    ]
    return Snapshot(tuple(segments), (), 0, 0, np.empty(0, np.int64))


@pytest.mark.parametrize(
    ("boxes", "merged"),
    [
        ((), 0),
        ((5,), 0),
        ((100, 10, 1), 0),
        ((100, 30), 2),
        ((100, 10, 3), 2),
        ((100, 20, 6), 3),
        ((*[1_000] * 150, 1), 151),  # the last one alone is no reason to leave the others
        ((*[2] * 150, 300), 151),
    ],
)
def test_segments_are_merged_with_all_later_ones(boxes: tuple[int, ...], merged: int) -> None:
    due = snapshot(*boxes).due_to_merge()
    assert len(boxes[due] if due else ()) == merged


def test_segments_apart_stay_as_they_are() -> None:
    assert snapshot(10, 10, 10, apart=2).due_to_merge() is None
    assert snapshot(10, 10, 10, apart=1).due_to_merge() == slice(1, 3)
