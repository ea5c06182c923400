"""The terms of a taxonomy on a line, so that the kinds of a term are few intervals.

Terms are numbered depth first, each below its first parent: in a tree, the kinds of a term are one
interval. A term with several parents stands below one of them and makes an interval of its own for
the others.

    furniture 0 ── chair 1 ── throne 2        is a furniture   0..2
    regalia 3                                 is a regalia     2..2, 3..3

Behind the terms is one rank for all strings that are none. Siblings are in the order of their
names, so that a taxonomy has one numbering, however it is written or came to be: files of segments
rely on it.

The intervals are made of the taxonomy's labels (tree_cover.py): the kinds of a term are those below
it in the tree, and those with a side there. What has the same sides stands together, mostly, and is
kept as intervals by group:

    sides, by their number     3 (regalia)           groups of regalia: that of throne
    group of that side         1                     intervals of that group: 2..2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tamis.arrays.arrow_types import is_text, large_strings
from tamis.arrays.distinct import distinct
from tamis.arrays.types import Arrays, Int64s, Positions, Ranks, Uses
from tamis.matching.lines.line import Line
from tamis.model.paths import Path
from tamis.model.taxonomy.nesting import brackets, parents_first
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies
from tamis.model.taxonomy.taxonomy import Taxonomy


class TermLines:
    """The lines of the attributes' taxonomies, each made when it is first asked for."""

    def __init__(self, taxonomies: Taxonomies) -> None:
        self._taxonomies = taxonomies
        self._lines: dict[int, TermLine] = {}

    def of(self, path: Path) -> TermLine | None:
        """The line of an attribute; None if it has no taxonomy."""
        taxonomy = self._taxonomies.of(path)
        if taxonomy is None:
            return None
        line = self._lines.get(id(taxonomy))  # which lives as long as the others here
        if line is None:
            line = self._lines[id(taxonomy)] = TermLine(taxonomy)
        return line


NO_TERMS = TermLines(NO_TAXONOMIES)


class TermLine(Line):
    """The numbering of one taxonomy."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        names = sorted(taxonomy)
        place = {name: number for number, name in enumerate(names)}
        above = [
            (place[parents[0]],) if parents else () for parents in map(taxonomy.parents.get, names)
        ]
        first = [parents[0] if parents else -1 for parents in above]
        opens, closes = brackets(first, parents_first(above))
        order = np.argsort(opens)
        self._number = {names[place]: number for number, place in enumerate(order.tolist())}
        self._last: Int64s = np.arange(len(names)) + (closes - opens)[order] // 2
        self.size = len(names) + 1
        self._intervals: dict[str, list[tuple[int, int]]] = {}
        self._index_sides(taxonomy, [names[place] for place in order.tolist()])

    def _index_sides(self, taxonomy: Taxonomy, names: list[str]) -> None:
        """Sort sides by their numbers, and the intervals of groups by these."""
        labels = taxonomy.labels
        number = np.empty(len(names), np.int64)
        known = np.fromiter(map(taxonomy.number, names), np.int64)
        number[known] = np.arange(len(names))
        sides = number[labels.sides]
        order = np.argsort(sides)
        self._sides: Int64s = sides[order]
        self._side_group: Int64s = np.repeat(
            np.arange(len(labels.start) - 1), np.diff(labels.start)
        )[order]
        group = labels.group[known]
        low = np.flatnonzero(np.diff(group, prepend=-1))
        high = np.append(low[1:], len(group)) - 1
        order = np.argsort(group[low], kind="stable")
        self._low, self._high = low[order], high[order]
        self._start: Int64s = np.searchsorted(group[low][order], np.arange(len(labels.start)))

    def kinds_of(self, term: str, positive: bool) -> list[tuple[int, int]]:
        """The intervals of the strings that are a kind of the term, or of those that are not."""
        intervals = self._intervals.get(term)
        if intervals is None:
            intervals = self._intervals[term] = self._kinds(self._number[term])
        if positive:
            return intervals
        ends = [-1, *(rank for interval in intervals for rank in interval), self.size]
        gaps = [(ends[i] + 1, ends[i + 1] - 1) for i in range(0, len(ends), 2)]
        return [(low, high) for low, high in gaps if low <= high]

    def _kinds(self, number: int) -> list[tuple[int, int]]:
        last = int(self._last[number])
        first, stop = np.searchsorted(self._sides, [number, last + 1])
        found = [(number, last)]
        for group in distinct(self._side_group[first:stop]).tolist():
            own = slice(self._start[group], self._start[group + 1])
            found += zip(self._low[own].tolist(), self._high[own].tolist())
        return _joined(found)

    def rank(self, value: str) -> int:
        """The number of a term; of all other strings the last rank."""
        return self._number.get(value, self.size - 1)

    def arrays(self) -> Arrays:
        """No arrays: terms are numbered from their taxonomy."""
        return {}

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """The same line, which all segments share, with all its cuts."""
        cuts = np.arange(lines[0].size - 1, dtype=np.int32)
        return lines[0], [cuts for _ in lines]

    def _ranks(self, array: Any) -> Ranks | None:
        if not is_text(array.type):
            return None
        encoded: Any = large_strings(array).dictionary_encode()
        words = encoded.dictionary.to_pylist()
        table = np.array([*map(self.rank, words), -1], np.int32)
        ranks: Ranks = table[encoded.indices.fill_null(len(words)).to_numpy()]
        return ranks


def _joined(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Intervals that overlap or are neighbours as one."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
