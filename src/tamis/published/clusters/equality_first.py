"""What equality-preferred and quarantining share: boxes with equalities are found by those."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tamis.published.boxes import BoxTable, Numbers, Points, is_sparse
from tamis.published.clusters.axis_sets import SetTree
from tamis.published.clusters.equality_clusters import EqualityClusters, have_equality
from tamis.published.clusters.label_groups import Groups
from tamis.published.clusters.lookup import Lookup, asked_of
from tamis.published.counting.counting import COUNT, Hits, Positions
from tamis.published.counting.hit_counts import HitCounts
from tamis.published.counting.predicate_clusters import Clusters
from tamis.published.index import TALLY, BoxHits, Size, Tally, chunks


class Structures(NamedTuple):
    """All that a kernel needs to match points."""

    tree: SetTree
    groups: Groups
    clusters: Clusters
    whole: Positions
    """Of the boxes without equality."""
    apart: Positions
    """Of the others, as far as they are counted."""
    asked: Lookup
    hits: Hits


class EqualityFirst(ABC):
    """Boxes with an equality in equality clusters, the others (``neqsub``) in hit counts."""

    def __init__(self, table: BoxTable) -> None:
        self._table = table
        self._equal, self._counts = EqualityClusters(table), HitCounts(table)
        self.tally: Tally = np.zeros(TALLY, np.int64)

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        equal, others = self._divided(boxes)
        if len(equal):
            self._add_equal(equal)
        if len(others):
            self._counts.add(others)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        equal, others = self._divided(boxes)
        if len(equal):
            self._remove_equal(equal)
        if len(others):
            self._counts.remove(others)
        if is_sparse(*self._equal.usages(), *self._counts.usages()):
            left = np.concatenate((self._equal.boxes(), self._counts.boxes()))
            self._equal, self._counts = EqualityClusters(self._table), HitCounts(self._table)
            self.add(left)

    def stab(self, points: Points) -> Iterator[BoxHits]:
        """The boxes that points stab."""
        equal, counts = self._equal, self._counts
        most = equal.count + int(counts.whole.state[COUNT])
        tally: Tally = np.zeros(TALLY, np.int64)
        with counts.lent_hits() as hits:
            structures = Structures(
                *(equal.tree, equal.groups, counts.clusters, counts.whole, counts.apart),
                *(asked_of(equal.tree, points.axes), hits),
            )

            def fill(first: int, chunk: BoxHits) -> tuple[int, int]:
                return self._match(structures, points, first, chunk, most, tally)

            yield from chunks(points, most, fill)
        self.tally += tally

    def size(self) -> Size:
        """How large it is."""
        predicates = self._counts.predicates() + self._equal.predicates()
        return Size(predicates, bytes=self._counts.nbytes + self._equal.nbytes)

    def _divided(self, boxes: Numbers) -> tuple[Numbers, Numbers]:
        """The boxes that have an equality, and the others."""
        equal, count = have_equality(self._table.arrays, boxes)
        if 0 < count < len(boxes):
            return boxes[equal], boxes[~equal]
        return (boxes, boxes[:0]) if count else (boxes[:0], boxes)

    @abstractmethod
    def _add_equal(self, boxes: Numbers) -> None: ...

    @abstractmethod
    def _remove_equal(self, boxes: Numbers) -> None: ...

    @staticmethod
    @abstractmethod
    def _match(
        structures: Structures, points: Points, first: int, chunk: BoxHits, most: int, tally: Tally
    ) -> tuple[int, int]:
        """Write the boxes of all points from the first on for which there is room: as long as there
        is some for more than ``most`` pairs."""
