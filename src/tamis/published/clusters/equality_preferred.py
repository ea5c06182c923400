"""Equality-preferred (Le Subscribe, section 3.1 and figure 4): equalities by hash, others counted.

Subscriptions with equalities are clustered by the attributes of those and found by hash. All other
predicates, those of subscriptions without any equality (``neqsub``) among them, are in predicate
clusters and counted; then the counts of the subscriptions that were found and of ``neqsub`` are
compared.

Time for an event: a lookup for each cluster whose attributes the event has, a sum for each
satisfied predicate other than equality of each subscription, and a comparison for each subscription
whose equalities hold or that has none. Adding one: one lookup, and a search and an insertion for
each predicate other than equality.

Deviation: none. Counts are cleared by taking the sums back where those are few.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Numbers, Tally
from tamis.published.boxes import Points, clear_labels, set_labels
from tamis.published.clusters.equality_first import EqualityFirst, Structures
from tamis.published.clusters.label_groups import records_of
from tamis.published.clusters.lookup import ask_clusters, depth_of, slab_of
from tamis.published.counting.counting import COUNT, DOWN, UP, count_point, write_matched
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, BoxHits

RECORD = 2
"""Words of a record: the box, and its position apart or -1."""
FEW = 16
"""Hits that are cleared in the time of one sum."""


class EqualityPreferred(EqualityFirst):
    """Equalities of boxes by hash, their other predicates by counting."""

    def _add_equal(self, boxes: Numbers) -> None:
        self._counts.add(boxes, apart=True)
        self._equal.add(boxes, self._counts.apart.place[boxes])

    def _remove_equal(self, boxes: Numbers) -> None:
        self._equal.remove(boxes)
        self._counts.remove(boxes, apart=True)

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
    middle = len(apart.need)
    n, point = 0, first
    while point < len(points.type) and n + most < len(chunk.box):
        set_labels(points, point, asked.label)
        sums, tried = count_point(clusters, points, point, hits, middle, UP)
        for i in range(ask_clusters(tree, groups, points, point, asked, tally)):
            slab = slab_of(tree, groups, asked, i)
            if slab >= 0:
                begin, end = records_of(groups, slab, depth_of(tree, asked, i))
                n, compared = compare(structures, begin, end, chunk, point, n)
                tally[COMPARISONS] += compared
        n = write_matched(whole, hits, middle, chunk, point, n)
        if FEW * sums > len(hits):
            hits[:] = 0
        elif sums:
            count_point(clusters, points, point, hits, middle, DOWN)
        clear_labels(points, point, asked.label)
        tally[SUMS] += sums
        tally[EVALUATED] += tried
        tally[COMPARISONS] += whole.state[COUNT]
        point += 1
    return point, n


@kernel
def compare(
    structures: Structures, begin: int, end: int, chunk: BoxHits, point: int, n: int
) -> tuple[int, int]:
    """Write the boxes of the records whose hits are what they need; return the next place, and how
    many were compared."""
    words, halves = structures.groups.words, structures.groups.words.view(np.int32)
    need, hits, compared = structures.apart.need, structures.hits, 0
    for at in range(begin, end, RECORD):
        box, position = halves[2 * at], words[at + 1]
        uncounted, place = position < 0, max(position, 0)
        chunk.point[n], chunk.box[n] = point, box
        n += (box >= 0) & (uncounted | (hits[len(need) + ~place] == need[place]))
        compared += box >= 0
    return n, compared
