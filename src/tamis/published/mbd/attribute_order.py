"""The order of attributes in decision diagrams (PADRES, section 3.2).

Chains share what they have in common at the bottom, so that the attributes there should be those on
which subscriptions agree. Three things are learned from subscriptions:

    frequency       how many have the attribute
    distribution    how likely two that have it ask for the same predicate
    co-occurrence   how many have it together with the attribute below

The first attribute has the greatest product of frequency and agreement; each next one the greatest
product of agreement and the mean of frequency and co-occurrence with the one below it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Float64s, Int64s, Numbers, Offsets
from tamis.matching.boxes.layout import Boxes

MAX_PAIRED = 512
"""Attributes of which co-occurrence is counted, which takes the square of their number."""


def learned_order(boxes: Boxes) -> list[int]:
    """The axes of boxes, the one for the bottom first."""
    if not len(boxes.axis):
        return []
    axes, axis = np.unique(boxes.axis, return_inverse=True)
    frequency = np.bincount(axis).astype(np.float64)
    agreement = _agreement(axis, boxes, frequency)
    paired = None
    if len(axes) <= MAX_PAIRED:
        paired = count_pairs(boxes.start, axis.astype(np.int32), len(axes))
    order: list[int] = []
    left = np.ones(len(axes), bool)
    together = frequency
    for _ in range(len(axes)):
        score = np.where(left, agreement * (frequency + together) / 2, -1.0)
        best = int(np.argmax(score))
        left[best] = False
        order.append(int(axes[best]))
        together = frequency if paired is None else paired[best].astype(np.float64)
    return order


def _agreement(axis: Int64s, boxes: Boxes, frequency: Float64s) -> Float64s:
    """For each axis the chance that two of its sides are the same."""
    sides = np.stack((axis, boxes.low, boxes.high))
    distinct, count = np.unique(sides, axis=1, return_counts=True)
    same = np.bincount(distinct[0], weights=count.astype(np.float64) ** 2)
    return np.asarray(same / frequency**2)


def random_order(boxes: Boxes, seed: int) -> list[int]:
    """The axes of boxes, in no order."""
    axes: Sequence[int] = np.unique(boxes.axis).tolist()
    return np.random.default_rng(seed).permutation(axes).tolist() if axes else []


@kernel
def count_pairs(start: Offsets, axis: Numbers, axes: int) -> Int64s:
    """How many boxes have both of two axes."""
    count = np.zeros((axes, axes), np.int64)
    for box in range(len(start) - 1):
        for ours in range(start[box], start[box + 1]):
            for theirs in range(start[box], start[box + 1]):
                count[axis[ours], axis[theirs]] += 1
    return count
