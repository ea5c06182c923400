"""What a published algorithm is: an index of boxes that changes, and counts what it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Numbers, Tally
from tamis.published.boxes import BoxTable, Points

EVALUATED, SUMS, COMPARISONS, VISITED = range(4)
"""Predicates evaluated (a binary search for many at once is one for each of its steps), hit counts
added to, hit counts compared, nodes of a tree visited."""
TALLY = 4

CHUNK = 1 << 16
"""Pairs that a chunk has room for, at least."""


class BoxHits(NamedTuple):
    """Points, ascending, and the boxes that they stab, in no order; each pair once."""

    point: Numbers
    box: Numbers


class Size(NamedTuple):
    """How large an index is, in the terms of the papers; 0 where an algorithm has none such."""

    predicates: int = 0
    """Predicates stored; one that is stored twice counts twice."""
    nodes: int = 0
    edges: int = 0
    successors: int = 0
    """The sizes of all successor sets."""
    bytes: int = 0
    """Its own, with those of the table of boxes if it looks at these for events."""


class Index(ABC):
    """Boxes that are found by points; one algorithm is one subclass.

    One thread at a time changes an index, and nobody reads meanwhile; any number may read at once.
    The boxes themselves are in a table that others share.
    """

    takes_types = False
    """Whether the index knows the types of boxes and points; else they do not concern it."""
    takes_comparisons = False
    """Whether an axis may be a comparison of two attributes; it has a method ``compare`` then
    (comparisons.py)."""

    def __init__(self, table: BoxTable) -> None:
        self._table = table
        self.tally: Tally = np.zeros(TALLY, np.int64)
        """What was done for all events so far."""

    @abstractmethod
    def add(self, boxes: Numbers) -> None:
        """Take in boxes that were just put into the table, all of them or, raising, none."""

    @abstractmethod
    def remove(self, boxes: Numbers) -> None:
        """Forget boxes, which are in the table still."""

    @abstractmethod
    def size(self) -> Size:
        """How large it is."""

    def stab(self, points: Points) -> Iterator[BoxHits]:
        """The boxes that points stab, in chunks."""
        tally: Tally = np.zeros(TALLY, np.int64)
        with self._scratch(points) as scratch:

            def fill(first: int, chunk: BoxHits) -> tuple[int, int]:
                return self._fill(points, first, chunk, scratch, tally)

            yield from chunks(points, self._most(), fill)
        self.tally += tally

    def _scratch(self, points: Points) -> AbstractContextManager[Any]:
        """What ``_fill`` writes to for one set of points: nothing, unless an index needs it."""
        return nullcontext()

    @abstractmethod
    def _most(self) -> int:
        """How many boxes one point can stab."""

    @abstractmethod
    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        """Write the boxes of the points from the first on for which a chunk has room; return the
        next point, and how many pairs were written."""


def chunks(
    points: Points, most: int, fill: Callable[[int, BoxHits], tuple[int, int]]
) -> Iterator[BoxHits]:
    """Let a kernel fill chunks; it must stop before a point as soon as fewer than ``most`` pairs
    have room, that is, as many as one point can make.

    ``fill`` is given the first point and a chunk, and returns the next point and how many pairs it
    has written.
    """
    room = max(CHUNK, 2 * most)
    point = 0
    while point < len(points.type):
        chunk = BoxHits(np.empty(room, np.int32), np.empty(room, np.int32))
        point, count = fill(point, chunk)
        found = BoxHits(chunk.point[:count], chunk.box[:count])
        if count > room // 2:
            yield found
        elif count:  # in less memory
            yield BoxHits(found.point.copy(), found.box.copy())
