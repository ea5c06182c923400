"""The reference scan of WORKLOADS.md: every box, one after another, out at the first failure."""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.matching.boxes.layout import Boxes


def dense_boxes(boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
    """Return row-major low[n, k], high[n, k]; where unconstrained, -1 (absent) is within."""
    n, k = len(boxes.owner), len(boxes.size)
    low = np.full((n, k), -1, np.int32)
    high = np.full((n, k), np.iinfo(np.int32).max, np.int32)
    row = np.repeat(np.arange(n), np.diff(boxes.start))
    low[row, boxes.axis] = boxes.low
    high[row, boxes.axis] = boxes.high
    return low, high


@kernel
def scan(low: np.ndarray, high: np.ndarray, point: np.ndarray, out: np.ndarray) -> int:
    """Write the numbers of the boxes that contain the point; return how many."""
    n = 0
    for b in range(low.shape[0]):
        inside = True
        for a in range(low.shape[1]):
            if point[a] < low[b, a] or point[a] > high[b, a]:
                inside = False
                break
        if inside:
            out[n] = b
            n += 1
    return n


@kernel
def scan_sparse(boxes: Boxes, point: np.ndarray, out: np.ndarray) -> int:
    """Do the same over boxes as they are: for workloads too wide for dense rows."""
    n = 0
    for b in range(len(boxes.owner)):
        inside = True
        for c in range(boxes.start[b], boxes.start[b + 1]):
            rank = point[boxes.axis[c]]
            if rank < boxes.low[c] or rank > boxes.high[c]:
                inside = False
                break
        if inside:
            out[n] = b
            n += 1
    return n
