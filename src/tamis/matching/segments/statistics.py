"""What to expect of events on the axes of a sieve, counted on a sample of them.

    rank       0    1    2    3                     a sample of 8 points
    seen       5    1    0    2                     seen but once: 1 of 8
    mass      .54  .15  .06  .25                    (1 + 1) / (8 + 1) of the mass spread evenly

How much of the mass belongs to what the sample does not show is, by Good and Turing, the part of
those values that it shows but once: of a million users each is new, and all are as likely as they
were; of seven categories none is. One more is added, so that no rank is impossible.

I. J. Good, The population frequencies of species and the estimation of population parameters,
Biometrika 40 (1953). Deviation: the mass of what is unseen is spread over all ranks, and what is
seen keeps its proportions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Float64s, Int32s, Int64s
from tamis.errors import TamisError
from tamis.matching.axes.axis import Axis
from tamis.matching.batch import Batch
from tamis.matching.boxes.layout import Statistics
from tamis.matching.covers.chances import PRESENCE
from tamis.matching.segments.view import pointed

CELLS = 1 << 14
"""Ranks that are asked for one by one, of events that are no columns."""
LEAST = 256
"""Such events that are looked at in any case."""


class Expected(NamedTuple):
    """What is expected of one axis."""

    presence: float = PRESENCE
    mass: Float64s | None = None


class AxisStatistics:
    """Statistics of any axes, each counted once; those of found things have none."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches
        self._known: dict[Axis, Expected] = {}

    def __call__(self, axes: Sequence[Axis]) -> Statistics:
        new = [axis for axis in axes if axis not in self._known and not axis.key.sort.several_ranks]
        if new:
            self._count(new)
        found = [self._known.get(axis, Expected()) for axis in axes]
        presence = np.array([each.presence for each in found], np.float64)
        return Statistics(presence, [each.mass for each in found])

    def _count(self, axes: Sequence[Axis]) -> None:
        seen = [np.zeros(axis.size, np.int64) for axis in axes]
        points = 0
        for batch in self._batches:
            for ranks in _ranks(batch, axes):
                points += len(ranks)
                for counts, column in zip(seen, ranks.T):
                    counts += np.bincount(column[column >= 0], minlength=len(counts))
        for axis, counts in zip(axes, seen):
            presence = (int(counts.sum()) + PRESENCE) / (points + 1)
            self._known[axis] = Expected(presence, smoothed(counts))


def smoothed(counts: Int64s) -> Float64s:
    """The mass of each rank, of which each was seen as often as counted."""
    total = int(counts.sum())
    spread = (int((counts == 1).sum()) + 1) / (total + 1)
    return (1 - spread) * counts / max(total, 1) + spread / len(counts)


def _ranks(batch: Batch, axes: Sequence[Axis]) -> Iterator[Int32s]:
    """The points of a batch, in pieces; what cannot be read teaches nothing."""
    if batch.table is None:
        step = max(1, len(batch) // max(LEAST, CELLS // len(axes)))
        batch = Batch(batch.events()[::step])
    with suppress(TamisError):
        for _, _, points in pointed(batch, axes):
            yield points.ranks
