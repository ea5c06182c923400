"""Points of labels, as experiments and tests have them: without events and axes."""

from __future__ import annotations

import numpy as np

from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import Points


def points_of_labels(labels: Labels, type: Numbers | None = None) -> Points:
    """The points of a matrix [points, axes] of labels, which has -1 where there is none."""
    row, axis = np.nonzero(labels >= 0)
    start = np.zeros(len(labels) + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=len(labels)), out=start[1:])
    if type is None:
        type = np.zeros(len(labels), np.int32)
    found = np.ascontiguousarray(labels[row, axis], np.int64)
    return Points(start, axis.astype(np.int32), found, type, labels.shape[1])
