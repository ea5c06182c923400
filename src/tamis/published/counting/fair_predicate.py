"""Fair predicate (Le Subscribe, section 3.1 and figure 2): count the predicates that are satisfied.

Predicates are clustered by attribute and operator and stored once, with the subscriptions that they
appear in. Of each cluster an event satisfies one predicate at most (equality) or a contiguous part,
which a binary search finds; each subscription of those gets a hit, and those with as many hits as
predicates match.

Time for an event: O(log) for each cluster of its attributes, a sum for each satisfied predicate of
each subscription, and a comparison for each subscription. Adding one: a search and an insertion for
each predicate.

Deviations. The text lets *less than* predicates be satisfied up to the greatest constant that is at
most the event's value; that is the part that fails: ``price < c`` holds of all constants above it.
Equality is found by binary search, the first of the two ways that the text offers.

With ``threads``, as section 5 proposes, each thread has some of the clusters and counts for a block
of events; then the counts are added up and compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Counters, Numbers, Tally
from tamis.published.boxes import BoxTable, Points, is_sparse
from tamis.published.counting.counting import (
    COUNT,
    UP,
    Positions,
    count_cluster,
    count_point,
    write_matched,
)
from tamis.published.counting.hit_counts import HitCounts
from tamis.published.counting.predicate_clusters import PAGE, Clusters, tail_of
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, TALLY, BoxHits, Index, Size, chunks
from tamis.published.predicates import OPERATORS

ROOM = 1 << 24
"""Bytes of the hit counts of a block of events, for each thread."""


class FairPredicate(Index):
    """All boxes, by counting."""

    def __init__(self, table: BoxTable, threads: int = 1) -> None:
        super().__init__(table)
        self._counts = HitCounts(table)
        self._threads = threads

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        self._counts.add(boxes)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        self._counts.remove(boxes)
        if is_sparse(*self._counts.usages()):
            left = self._counts.boxes()
            self._counts = HitCounts(self._table)
            self._counts.add(left)

    def stab(self, points: Points) -> Iterator[BoxHits]:
        """The boxes that points stab, in chunks."""
        return self._stab_together(points) if self._threads > 1 else super().stab(points)

    def _scratch(self, points: Points) -> AbstractContextManager[Counters]:
        return self._counts.lent_hits()

    def _most(self) -> int:
        return int(self._counts.whole.state[COUNT])

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Counters, tally: Tally
    ) -> tuple[int, int]:
        clusters, whole, middle = self._counts.clusters, self._counts.whole, self._counts.middle
        return count_all(clusters, whole, points, first, chunk, scratch[middle:], tally)

    def _stab_together(self, points: Points) -> Iterator[BoxHits]:
        clusters, whole = self._counts.clusters, self._counts.whole
        owner = deal_clusters(clusters, self._threads)
        block = max(1, min(ROOM // len(whole.need), len(points.type)))
        hits = np.zeros((self._threads, block, len(whole.need)), whole.need.dtype)
        tally: Tally = np.zeros((self._threads, TALLY), np.int64)
        counted = 0
        with ThreadPoolExecutor(self._threads) as pool:

            def count(first: int, thread: int) -> None:
                own = owner == thread
                count_own(clusters, own, points, first, hits[thread], tally[thread])

            def fill(first: int, chunk: BoxHits) -> tuple[int, int]:
                nonlocal counted
                if first == counted:
                    list(pool.map(lambda thread: count(first, thread), range(self._threads)))
                    counted = min(first + block, len(points.type))
                return compare_block(whole, hits, first, counted, chunk, tally[0])

            yield from chunks(points, self._most(), fill)
        self.tally += tally.sum(axis=0)

    def size(self) -> Size:
        """How large it is."""
        return Size(self._counts.predicates(), bytes=self._counts.nbytes)


@kernel
def count_all(
    clusters: Clusters,
    whole: Positions,
    points: Points,
    first: int,
    chunk: BoxHits,
    hits: Counters,
    tally: Tally,
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    count = whole.state[COUNT]
    n, point = 0, first
    while point < len(points.type) and n + count < len(chunk.box):
        sums, tried = count_point(clusters, points, point, hits, 0, UP)
        n = write_matched(whole, hits, 0, chunk, point, n)
        hits[:] = 0
        tally[SUMS] += sums
        tally[EVALUATED] += tried
        tally[COMPARISONS] += count
        point += 1
    return point, n


# --- threads -------------------------------------------------------------------------------------


def deal_clusters(clusters: Clusters, threads: int) -> NDArray[Any]:
    """The thread of each cluster, or -1 if it is empty: the largest first, each to whom has least
    so far."""
    size = np.zeros(len(clusters.begin) - 1, np.int64)
    measure_clusters(clusters, size)
    owner, load = np.full(len(size), -1), np.zeros(threads, np.int64)
    for cluster in np.argsort(-size, kind="stable")[: np.count_nonzero(size)].tolist():
        owner[cluster] = load.argmin()
        load[owner[cluster]] += size[cluster]
    return owner


@kernel
def measure_clusters(clusters: Clusters, size: NDArray[np.int64]) -> None:
    """How many boxes the predicates of each cluster have."""
    for cluster in range(len(size)):
        for entry in range(clusters.begin[cluster], clusters.begin[cluster + 1]):
            size[cluster] += tail_of(clusters.words, clusters.page[entry] * PAGE, 0)


@kernel
def count_own(
    clusters: Clusters,
    own: NDArray[np.bool_],
    points: Points,
    first: int,
    hits: Counters,
    tally: Tally,
) -> None:
    """Count the hits of a block of points, from the first on, in some of the clusters."""
    for point in range(first, min(first + len(hits), len(points.type))):
        for a in range(points.start[point], points.start[point + 1]):
            for cluster in range(OPERATORS * points.axis[a], OPERATORS * (points.axis[a] + 1)):
                if cluster < len(own) and own[cluster]:
                    sums, tried = count_cluster(
                        clusters, cluster, points.label[a], hits[point - first], 0, UP
                    )
                    tally[SUMS] += sums
                    tally[EVALUATED] += tried


@kernel
def compare_block(
    whole: Positions, hits: Counters, first: int, last: int, chunk: BoxHits, tally: Tally
) -> tuple[int, int]:
    """Add up what threads have counted for points from the first on, and write the boxes of those
    for which there is room."""
    count, block = whole.state[COUNT], hits.shape[1]
    n, point = 0, first
    while point < last and n + count < len(chunk.box):
        total = hits[0, point % block]
        for thread in range(1, len(hits)):
            total += hits[thread, point % block]
            hits[thread, point % block] = 0
        n = write_matched(whole, total, 0, chunk, point, n)
        total[:] = 0
        tally[COMPARISONS] += count
        point += 1
    return point, n
