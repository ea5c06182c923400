"""Axes of rank space: what a box is a box in.

A side of a box is a set of values of one attribute. A set of numbers lies on the attribute's axis
of numbers, one of strings on its axis of strings, and one of several kinds (``x != 5`` is true of
every string) on its *mixed* axis, where the lines of all kinds stand one behind the other:

    x: numbers      0 ........ 7                        x < 5 is one-sided here, as it should be
    x: mixed        0 .... 4 | 5 .. 6 | 7 | 8 9 | 10    x != 5 is two intervals here
                    numbers    strings  ^   ^     ^ rest: NaN and bytes
                                        timestamps, booleans

So an attribute may have several axes, and an event a rank on each: -1 where it has no value of
that kind. Strings in another form (forms.py) have axes of their own; that of folded ones has a
rank behind its line for all values that are no strings, as the mixed one has for NaN and bytes.
Whether an attribute is there at all is an axis of two ranks, 0 present and 1 missing; ``is a`` is
an interval, or a few, of a numbering of the attribute's taxonomy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.arrow_types import valid_rows
from tamis.arrays.types import Arrays, Int64s, Ranks
from tamis.matching.axes.sort import LINES, AxisSort
from tamis.matching.lines.forms import FORM_LINES
from tamis.matching.lines.line import Ranking, StoredLine
from tamis.matching.lines.registry import LINES as ALL_LINES
from tamis.matching.lines.registry import MISSING, PRESENT, BooleanLine, Line, PresenceLine
from tamis.matching.lines.taxonomy import TermLines
from tamis.model.events.event import Event
from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.paths import Path, format_path

if TYPE_CHECKING:
    import pyarrow as pa

LEAST, GREATEST = -1, -2
"""References to the ends of a line."""


class AxisKey(NamedTuple):
    """Which values of which attribute an axis is about."""

    path: Path
    sort: AxisSort
    words: str = ""
    """The comparison, if it is one."""

    def __str__(self) -> str:
        return f"{format_path(self.path)} ({self.sort})"


Interval = tuple[int, int, int, int]
"""Neighbouring ranks of an axis, before ranks are known: the line of the lower end and its cut, by
its reference, or LEAST for the end of the line; and the same of the upper end, or GREATEST. Long
lists become very many of these, so they are plain tuples."""


def known_interval(low: int, high: int, size: int) -> Interval:
    """An interval of an axis of so many ranks that do not depend on constants."""
    return 0, low if low else LEAST, 0, high + 1 if high + 1 < size else GREATEST


def known_line(key: AxisKey, terms: TermLines) -> Line | None:
    """The line of an axis whose ranks do not depend on constants; None if they do."""
    if key.sort is AxisSort.TERM:
        line = terms.of(key.path)
        if line is None:
            raise ValueError(f"{key} has no taxonomy")
        return line
    if key.sort is AxisSort.PRESENCE:
        return PresenceLine()
    return BooleanLine() if key.sort is AxisSort.COMPARED else None


class Axis:
    """One finished axis."""

    __slots__ = ("key", "lines", "offsets", "size")

    def __init__(self, key: AxisKey, lines: Sequence[Line]) -> None:
        self.key = key
        self.lines = lines
        self.offsets: list[int] = np.cumsum([0, *(line.size for line in lines)]).tolist()
        """The first rank of each line, and the one behind them."""
        self.size: int = self.offsets[-1] + key.sort.has_rest

    def line_ends(self) -> tuple[Int64s, Int64s]:
        """The first and last rank of each line, and of the rest behind the lines."""
        first = np.array(self.offsets)
        return first, np.append(first[1:], self.size) - 1

    def rank(self, value: Value) -> int:
        """The rank of one value, or -1 if the axis is not about its kind."""
        sort = self.key.sort
        if sort.is_mixed:
            kind = kind_of(value)
            if kind is Kind.BYTES or value != value:
                return self.size - 1
            number = LINES.index(kind)
            return self.offsets[number] + self.lines[number].rank(value)
        if type(value) in sort.types:
            return self.lines[0].rank(value)
        return self.size - 1 if sort.has_rest else -1

    def ranking(self) -> tuple[Ranking, Collection[type]]:
        """What gives the rank of a value, and the types of those values that have one."""
        sort = self.key.sort
        if sort.is_mixed:
            return Ranking(self.rank), sort.ranked_types
        own, types, last = self.lines[0].ranking(), sort.types, self.size - 1
        if not sort.has_rest:
            return own, types
        return (
            Ranking(lambda value: own[value] if type(value) in types else last),
            sort.ranked_types,
        )

    def ranks(self, array: pa.Array[Any]) -> Ranks:
        """The ranks of a column, whose nulls are -1."""
        if not self.key.sort.has_rest:
            return self.lines[0].ranks(array)
        for line, offset in zip(self.lines, self.offsets, strict=False):
            ranks = line.own_ranks(array)
            if ranks is not None and ranks.max(initial=-1) >= 0:  # then it is of this kind
                ranks[ranks >= 0] += np.int32(offset)
                break
        else:
            ranks = np.full(len(array), -1, np.int32)
        if ranks.min(initial=0) < 0:
            ranks[valid_rows(array) & (ranks < 0)] = self.size - 1
        return ranks

    def arrays(self) -> Arrays:
        """The lines as flat arrays; terms are numbered from their taxonomy, and have none."""
        return {
            f"{number}/{name}": array
            for number, line in enumerate(self.lines)
            for name, array in line.arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, key: AxisKey, arrays: Mapping[str, NDArray[Any]], terms: TermLines
    ) -> Axis:
        """The axis of ``arrays()``."""
        known = known_line(key, terms)
        if known is not None:
            return cls(key, [known])
        found: list[Arrays] = [{} for _ in key.sort.lines]
        for name, array in arrays.items():
            number, _, field = name.partition("/")
            found[int(number)][field] = array
        return cls(key, [_class(kind).from_arrays(own) for kind, own in zip(key.sort.lines, found)])

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""
        return PRESENT if event.present(self.key.path) else MISSING

    def __repr__(self) -> str:
        return f"Axis({self.key}, {self.size:,} ranks)"


def _class(kind: str) -> type[StoredLine]:
    """The class of the lines of a kind or form."""
    return FORM_LINES[kind] if kind in FORM_LINES else ALL_LINES[Kind(kind)]
