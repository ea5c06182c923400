"""Equality-preferred with nonequality quarantining (Le Subscribe, section 3.1 and figure 5).

Subscriptions with equalities are clustered by the attributes of those and found by hash; the rest
of each that is found is verified on the spot. Those without any equality (``neqsub``) are matched
by counting, and only their predicates are in predicate clusters.

Time for an event: a lookup for each cluster whose attributes the event has, a verification for each
subscription whose equalities hold, a sum for each satisfied predicate of each subscription without
equality, and a comparison for each such subscription. Adding one: one lookup, or a search and an
insertion for each predicate.

Deviation: a side with two ends is verified as one predicate.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Tally
from tamis.published.boxes import Points, clear_labels, set_labels
from tamis.published.clusters.equality_first import EqualityFirst, Structures
from tamis.published.clusters.label_groups import SIDE, records_of
from tamis.published.clusters.lookup import ask_clusters, depth_of, slab_of
from tamis.published.counting.counting import COUNT, UP, count_point, write_matched
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, BoxHits

_NO_POSITIONS = np.empty(0, np.int32)


class Quarantining(EqualityFirst):
    """Boxes with equalities by hash and verification, the others by counting."""

    def _add_equal(self, boxes: Numbers) -> None:
        self._equal.add(boxes, _NO_POSITIONS)

    def _remove_equal(self, boxes: Numbers) -> None:
        self._equal.remove(boxes)

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Structures, tally: Tally
    ) -> tuple[int, int]:
        return match_points(scratch, points, first, chunk, self._most(), tally)


@kernel
def match_points(
    structures: Structures, points: Points, first: int, chunk: BoxHits, most: int, tally: Tally
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    tree, groups, clusters, whole, apart, asked, hits = structures
    n, point = 0, first
    while point < len(points.type) and n + most < len(chunk.box):
        set_labels(points, point, asked.label)
        for i in range(ask_clusters(tree, groups, points, point, asked, tally)):
            slab = slab_of(tree, groups, asked, i)
            if slab >= 0:
                begin, end = records_of(groups, slab, depth_of(tree, asked, i))
                n, tried = verify(groups.words, begin, end, asked.label, chunk, point, n)
                tally[EVALUATED] += tried
        clear_labels(points, point, asked.label)
        middle = len(apart.need)
        sums, tried = count_point(clusters, points, point, hits, middle, UP)
        n = write_matched(whole, hits, middle, chunk, point, n)
        hits[:] = 0
        tally[SUMS] += sums
        tally[EVALUATED] += tried
        tally[COMPARISONS] += whole.state[COUNT]
        point += 1
    return point, n


@kernel
def verify(
    words: Labels, begin: int, end: int, label: Labels, chunk: BoxHits, point: int, n: int
) -> tuple[int, int]:
    """Write the boxes of the records whose sides hold; return the next place, and how many sides
    were tried."""
    halves, at, tried = words.view(np.int32), begin, 0
    while at < end:
        box, stop = halves[2 * at], at + 1 + halves[2 * at + 1]
        holds = box >= 0
        side = at + 1
        while holds and side < stop:
            own = label[words[side]]
            holds = words[side + 1] <= own <= words[side + 2]
            tried += 1
            side += SIDE
        if holds:
            chunk.point[n], chunk.box[n] = point, box
            n += 1
        at = stop
    return n, tried
