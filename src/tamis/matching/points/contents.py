"""Axes on which an event has several ranks at once: what was *found* in a text or in a list.

    title contains text 'oak'     the patterns that stand in the bound title
    tags contains 'new'           the values of tags, all of them, whatever is bound

A box asks for one of them. Points are multiplied by what was found: a point with the patterns 'oak'
and 'table' in its title becomes two, and one with none becomes none, so that boxes on such an axis
have a sieve of their own and cost nothing where nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.distinct import distinct
from tamis.arrays.sharing import lazy
from tamis.arrays.substring_search import SearchTable, SubstringSearch
from tamis.arrays.types import Int32s, Numbers, Offsets, Ranks
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


class FoundThings(NamedTuple):
    """What was found on one axis in the texts, or lists, of some points."""

    text: Int32s  # of each point: the number of its text, or -1
    start: Offsets  # of what was found in each text, and the end of the last one's
    rank: Int32s  # of each thing, ascending for each text


class ContentAxis:
    """An axis of found things, which is the last one of its sieve."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    @lazy
    def search(self) -> SubstringSearch:
        """What finds the texts."""
        return SubstringSearch(self._line.strings())

    @property
    def _line(self) -> StringLine:
        (line,) = self.axis.lines
        assert isinstance(line, StringLine)
        return line

    def find(self, points: Points, batch: Batch) -> FoundThings:
        """What is found in the texts, or lists, of points."""
        if self.axis.key.sort is AxisSort.CONTAINED:
            owner, rank = self.contained(batch)
            rows: Any = np.arange(len(points.ranks)) if points.row is None else points.row
            text, texts = rows.astype(np.int32), len(batch)
        else:
            path = self.axis.key.path
            owner, rank = self._substrings(points)
            text = points.values[path]
            strings = points.strings(path)
            texts = 0 if strings is None else len(strings)
            text = text if texts else np.full(len(text), -1, np.int32)
        order = np.lexsort((rank, owner))
        count = np.bincount(owner, minlength=texts)
        start = np.concatenate((np.zeros(1, np.int64), np.cumsum(count)))
        return FoundThings(text, start, rank[order].astype(np.int32))

    def points(
        self, points: Ranks, columns: Numbers, found: FoundThings
    ) -> Iterator[tuple[Int32s, Ranks]]:
        """The numbers of points, and these points on some axes, with a rank on this axis behind
        them, in pieces."""
        text, start, rank = found
        counts = (
            np.where(text < 0, 0, start[text + 1] - start[text]) if len(start) > 1 else text * 0
        )
        ends = np.cumsum(counts)
        first = 0
        while first < len(counts):
            base = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, base + POINTS, "right")))
            number = np.repeat(np.arange(first, last), counts[first:last])
            if len(number):
                within = np.arange(len(number)) - (ends[number] - counts[number] - base)
                ranks = rank[start[text[number]] + within]
                yield number.astype(np.int32), _with_column(points, columns, number, ranks)
            first = last

    def ranks_in(self, event: Event) -> list[int]:
        """The ranks of what one event has, each once, ascending."""
        values = event.values(self.axis.key.path)
        if self.axis.key.sort is AxisSort.CONTAINED:
            return sorted(rank for rank in {*map(self.axis.rank, values)} if rank >= 0)
        found: set[int] = set()
        for value in values:
            if isinstance(value, str):
                found.update(
                    self.ranks_of(self.search.patterns(fold(value) if self.folds else value))
                )
        return sorted(found)

    @property
    def folds(self) -> bool:
        """Whether texts are searched without regard to case."""
        return self.axis.key.sort is AxisSort.FOLDED_SUBSTRINGS

    def ranks_of(self, patterns: Int32s) -> list[int]:
        """The ranks of patterns, by their numbers."""
        ranks: list[int] = self._line.constants.at[patterns].tolist()
        return ranks

    def _substrings(self, points: Points) -> tuple[Any, Any]:
        """Leaves of texts, and the ranks of the patterns in them."""
        texts = points.strings(self.axis.key.path)
        nothing = np.empty(0, np.int32)
        if texts is None:
            return nothing, nothing
        if self.folds:
            texts = fold_all(texts)
        pairs = list(self.search.pairs(texts))
        rows = np.concatenate([nothing, *(row for row, _ in pairs)])
        patterns = np.concatenate([nothing, *(pattern for _, pattern in pairs)])
        return rows, self._line.constants.at[patterns]

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
        keys = distinct(np.concatenate(owners) << 32 | np.concatenate(ranks))
        return keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)


class EventSearch:
    """Finds things in one event on all axes of found things; all texts are searched by one call."""

    def __init__(self, axes: Sequence[ContentAxis]) -> None:
        self._axes = axes
        self._numbers: dict[str, list[tuple[int, int]]] = {}
        """Of each outermost key, its axes and the number of each one's search; -1 if it has none,
        or is about what lies deeper."""
        searches: list[SubstringSearch] = []
        for number, each in enumerate(axes):
            path, sort, _ = each.axis.key
            search = -1
            if len(path) == 1 and sort is not AxisSort.CONTAINED:
                search = len(searches)
                searches.append(each.search)
            self._numbers.setdefault(path[0], []).append((number, search))
        self._table = SearchTable(searches)

    def ranks_in(self, event: Event) -> Iterator[tuple[int, list[int]]]:
        """Axes, by their numbers, and the ranks of what the event has there, ascending."""
        numbers, searches, texts = [], [], []
        attributes = event.attributes
        for key in attributes.keys() & self._numbers.keys():
            value = attributes[key]
            for number, search in self._numbers[key]:
                axis = self._axes[number]
                if search >= 0 and type(value) is str:
                    numbers.append(number)
                    searches.append(search)
                    texts.append(fold(value) if axis.folds else value)
                elif ranks := axis.ranks_in(event):
                    yield number, ranks
        for place, patterns in self._table.find(searches, texts) if texts else ():
            number = numbers[place]
            if ranks := sorted(self._axes[number].ranks_of(patterns)):
                yield number, ranks


def _with_column(points: Ranks, columns: Numbers, rows: Any, last: Any) -> Ranks:
    """Some points on some axes, with one rank more."""
    wider = np.empty((len(rows), len(columns) + 1), np.int32, order="F")
    for number, column in enumerate(columns.tolist()):
        wider[:, number] = points[rows, column]
    wider[:, -1] = last
    return wider
