"""Axes on which an event has several ranks at once: what was *found* in a text or in a list.

    title contains text 'oak'     the patterns that stand in the bound title
    tags contains 'new'           the values of tags, all of them, whatever is bound

A box asks for one of them. Points are multiplied by what was found: a point with the patterns 'oak'
and 'table' in its title becomes two, and one with none becomes none, so that boxes on such an axis
have a sieve of their own and cost nothing where nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.arrays.sharing import lazy
from tamis.arrays.substring_search import SubstringSearch
from tamis.arrays.types import Int32s
from tamis.matching.axes.axis import Axis
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.lines.forms import fold_all
from tamis.matching.lines.strings import StringLine
from tamis.matching.points.of_columns import row_values
from tamis.matching.points.of_events import Points
from tamis.model.events.event import Event
from tamis.predicates.texts import fold

POINTS = 1 << 16
"""Points that are made of what was found at a time."""


class ContentAxis:
    """An axis of found things, which is the last one of its sieve."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    @lazy
    def _search(self) -> SubstringSearch:
        (line,) = self.axis.lines
        assert isinstance(line, StringLine)
        return SubstringSearch(line.strings())

    def points(self, points: Points, batch: Batch) -> Iterator[tuple[Int32s, Int32s]]:
        """The numbers of points, and these points with a rank on this axis, in pieces."""
        if self.axis.key.sort is AxisSort.CONTAINED:
            owner, rank = self.contained(batch)
            index: Any = np.arange(len(points.ranks)) if points.row is None else points.row
        else:
            owner, rank = self._substrings(points)
            index = points.values[self.axis.key.path]
        order = np.argsort(owner, kind="stable")
        owner, rank = owner[order], rank[order]
        start, stop = (np.searchsorted(owner, index, side) for side in ("left", "right"))
        counts = np.where(index < 0, 0, stop - start)
        ends = np.cumsum(counts)
        first = 0
        while first < len(counts):
            base = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, base + POINTS, "right")))
            number = np.repeat(np.arange(first, last), counts[first:last])
            if len(number):
                within = np.arange(len(number)) - (ends[number] - counts[number] - base)
                found = rank[start[number] + within]
                yield number.astype(np.int32), with_column(points.ranks, number, found)
            first = last

    def ranks_in(self, event: Event) -> list[int]:
        """The ranks of what one event has, each once."""
        values = event.values(self.axis.key.path)
        if self.axis.key.sort is AxisSort.CONTAINED:
            return [rank for rank in {self.axis.rank(value) for value in values} if rank >= 0]
        texts = [value for value in values if isinstance(value, str)]
        if self.axis.key.sort is AxisSort.FOLDED_SUBSTRINGS:
            texts = [fold(text) for text in texts]
        patterns = {pattern for text in texts for pattern in self._search.patterns(text)}
        (line,) = self.axis.lines
        assert isinstance(line, StringLine)
        ranks: list[int] = line.constants.at[list(patterns)].tolist()
        return ranks

    def _substrings(self, points: Points) -> tuple[Any, Any]:
        """Leaves of texts, and the ranks of the patterns in them."""
        path = self.axis.key.path
        texts = points.strings(path)
        if texts is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        if self.axis.key.sort is AxisSort.FOLDED_SUBSTRINGS:
            texts = fold_all(texts)
        pairs = list(self._search.pairs(texts))
        nothing = np.empty(0, np.int32)
        rows = np.concatenate([nothing, *(row for row, _ in pairs)])
        patterns = np.concatenate([nothing, *(pattern for _, pattern in pairs)])
        (line,) = self.axis.lines
        assert isinstance(line, StringLine)
        return rows, line.constants.at[patterns]

    def contained(self, batch: Batch) -> tuple[Any, Any]:
        """Rows, and the ranks of the values that their attribute has, each once."""
        path = self.axis.key.path
        if batch.table is None:
            pairs = {
                (row, self.axis.rank(value))
                for row, event in enumerate(batch.events())
                for value in event.values(path)
            }
            both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
            return both[:, 0], both[:, 1].astype(np.int32)
        owners, ranks = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for owner, array in row_values(batch.table, path):
            found = self.axis.ranks(array)
            owners.append(owner[found >= 0])
            ranks.append(found[found >= 0])
        keys = np.unique(np.concatenate(owners) << 32 | np.concatenate(ranks))
        return keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)


def with_column(ranks: Int32s, rows: Any, column: Any) -> Int32s:
    """Some points, with one rank more."""
    wider = np.empty((len(rows), ranks.shape[1] + 1), np.int32, order="F")
    wider[:, :-1] = ranks[rows]
    wider[:, -1] = column
    return wider
