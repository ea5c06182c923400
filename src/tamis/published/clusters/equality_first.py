"""What equality-preferred and quarantining share: boxes with equalities are found by those."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Counters, Numbers
from tamis.published.boxes import BoxTable, Points, is_sparse
from tamis.published.clusters.axis_sets import SetTree
from tamis.published.clusters.equality_clusters import EqualityClusters, have_equality
from tamis.published.clusters.label_groups import Groups
from tamis.published.clusters.lookup import Lookup, asked_of
from tamis.published.counting.counting import COUNT, Positions
from tamis.published.counting.hit_counts import HitCounts
from tamis.published.counting.predicate_clusters import Clusters
from tamis.published.index import Index, Size


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
    hits: Counters


class EqualityFirst(Index):
    """Boxes with an equality in equality clusters, the others (``neqsub``) in hit counts."""

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table)
        self._equal, self._counts = EqualityClusters(table), HitCounts(table)

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

    @contextmanager
    def _scratch(self, points: Points) -> Iterator[Structures]:
        equal, counts = self._equal, self._counts
        with counts.lent_hits() as hits:
            yield Structures(
                *(equal.tree, equal.groups, counts.clusters, counts.whole, counts.apart),
                *(asked_of(equal.tree, points.axes), hits),
            )

    def _most(self) -> int:
        return self._equal.count + int(self._counts.whole.state[COUNT])

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
