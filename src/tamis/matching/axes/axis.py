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

Axes are made in two steps. While subscriptions are taken in, a ``LineBuilder`` collects cuts and
gives each a reference; ``finish`` sorts them, and then a reference has a position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.arrow_types import valid_rows
from tamis.arrays.types import Flags, Int32s, Int64s, Ranks
from tamis.matching.lines.forms import FOLDED, FORM_LINES
from tamis.matching.lines.registry import LINES as ALL_LINES
from tamis.matching.lines.registry import (
    BooleanLine,
    Line,
    number_line,
    string_line,
    timestamp_line,
)
from tamis.matching.lines.taxonomy import NO_TERMS, TermLine, TermLines
from tamis.model.events.event import Event
from tamis.model.kinds import KIND_TYPES, Kind, Value, kind_of
from tamis.model.paths import Path, format_path

if TYPE_CHECKING:
    import pyarrow as pa


MIXED, PRESENCE, TERM = "mixed", "presence", "term"
SUBSTRINGS, FOLDED_SUBSTRINGS, CONTAINED = "substrings", "folded substrings", "contained"
FOUND = (SUBSTRINGS, FOLDED_SUBSTRINGS, CONTAINED)
"""Sorts of axes on which an event has several ranks (points/contents.py)."""
LINES = (Kind.NUMBER, Kind.STRING, Kind.TIMESTAMP, Kind.BOOLEAN)
"""The lines of a mixed axis, in their order; behind them is the rest."""

PRESENT, MISSING = 0, 1
"""The ranks of an axis of presence."""

LEAST, GREATEST = -1, -2
"""References to the ends of a line."""


class AxisKey(NamedTuple):
    """Which values of which attribute an axis is about."""

    path: Path
    sort: str  # a kind, MIXED, PRESENCE or TERM

    def __str__(self) -> str:
        return f"{format_path(self.path)} ({self.sort})"


class Bound(NamedTuple):
    """An end of an interval: a cut of a line, by its reference, or an end of the line."""

    line: int
    reference: int


class Interval(NamedTuple):
    """Neighbouring ranks of an axis, before ranks are known."""

    low: Bound
    high: Bound


class LineBuilder:
    """The cuts of one line as they come in: single ones, and whole arrays of them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = 0
        self.gaps_alike = True
        """Whether no set tells apart values that are none of the constants."""
        self._chunks: list[tuple[Any, Flags]] = []
        self._values: list[Any] = []
        self._after: list[bool] = []

    def add(self, value: Value, after: bool) -> int:
        """Take in one cut; return its reference."""
        self._values.append(value)
        self._after.append(after)
        self.count += 1
        return self.count - 1

    def add_many(self, values: Any, after: bool) -> Int32s:
        """Take in a cut for each of many values (an array of NumPy or Arrow)."""
        self._flush()
        self._chunks.append((values, np.full(len(values), after)))
        self.count += len(values)
        return np.arange(self.count - len(values), self.count, dtype=np.int32)

    def add_list(self, values: list[Any], after: list[int]) -> None:
        """Take in many cuts; their references follow those that are there."""
        self._flush()
        self._chunks.append((values, np.array(after, bool)))
        self.count += len(values)

    def _flush(self) -> None:
        if self._values:
            self._chunks.append((self._values, np.array(self._after)))
            self._values, self._after = [], []

    def constants(self) -> tuple[list[Any], Int64s, Flags]:
        """The constants, each once, and of each reference which it is, and whether its cut lies
        after it."""
        self._flush()
        after = np.concatenate([np.zeros(0, bool), *(after for _, after in self._chunks)])
        values = _joined([values for values, _ in self._chunks])
        if isinstance(values, np.ndarray):
            distinct, which = np.unique(values, return_inverse=True)
            return distinct.tolist(), which, after
        if isinstance(values, list):
            numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
            return list(numbers), np.fromiter(map(numbers.get, values), np.int64), after
        encoded = values.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64), after

    def finish(self) -> tuple[Line, Int32s]:
        """The line, and the positions of the references."""
        self._flush()
        if self.kind is Kind.BOOLEAN:
            return BooleanLine(), np.zeros(self.count, np.int32)
        after = np.concatenate([np.zeros(0, bool), *(after for _, after in self._chunks)])
        values = _joined([values for values, _ in self._chunks])
        if self.kind is Kind.NUMBER:
            return number_line(values, after)
        if self.kind is Kind.TIMESTAMP:
            return timestamp_line(values, after)
        line, positions = string_line(values, after, gaps_alike=self.gaps_alike)
        if self.kind in FORM_LINES:
            line = FORM_LINES[self.kind].of(line)
        return line, positions


def _joined(chunks: Sequence[Any]) -> Any:
    """One array of all chunks if they are of one type, else one list."""
    if len(chunks) == 1:
        return chunks[0]
    if chunks and all(isinstance(chunk, np.ndarray) for chunk in chunks):
        if len({chunk.dtype for chunk in chunks}) == 1:
            return np.concatenate(chunks)
    elif chunks and not any(isinstance(chunk, list | np.ndarray) for chunk in chunks):
        import pyarrow as pa

        return pa.concat_arrays(chunks)
    return [value for chunk in chunks for value in _to_list(chunk)]


def _to_list(chunk: Any) -> list[Any]:
    if isinstance(chunk, list):
        return chunk
    values: list[Any] = chunk.tolist() if isinstance(chunk, np.ndarray) else chunk.to_pylist()
    return values


class Axis:
    """One finished axis."""

    __slots__ = ("_lines", "_mixed", "_offsets", "key", "size")

    def __init__(self, key: AxisKey, lines: Sequence[Line] | TermLine) -> None:
        self.key = key
        self._lines = lines
        self._mixed = key.sort in (MIXED, CONTAINED)
        if isinstance(lines, TermLine):
            self._offsets, self.size = [0], lines.size
            return
        self._offsets = np.cumsum([0, *(line.size for line in lines)]).tolist()
        self.size = self._offsets[-1]
        if key.sort == PRESENCE:
            self.size = 2
        elif self._mixed or key.sort == FOLDED:
            self.size += 1

    @property
    def lines(self) -> Sequence[Line]:
        """The lines; a taxonomy's terms are on none."""
        return () if isinstance(self._lines, TermLine) else self._lines

    def line_ends(self) -> tuple[Int64s, Int64s]:
        """The first and last rank of each line, and of the rest behind those of a mixed axis."""
        if len(self._offsets) < 2 or self.key.sort == PRESENCE:
            return np.array([0]), np.array([self.size - 1])
        first = np.array(self._offsets)
        return first, np.append(first[1:], self.size) - 1

    def rank(self, value: Value) -> int:
        """The rank of one value, or -1 if the axis is not about its kind."""
        if isinstance(self._lines, TermLine):
            return self._lines.rank(value) if isinstance(value, str) else -1
        if self.key.sort in FORM_LINES:
            other = self.size - 1 if self.key.sort == FOLDED else -1
            return self._lines[0].rank(value) if isinstance(value, str) else other
        kind = kind_of(value)
        if not self._mixed:
            return self._lines[0].rank(value) if kind == self.key.sort else -1
        if kind is Kind.BYTES or value != value:
            return self.size - 1
        number = LINES.index(kind)
        return int(self._offsets[number]) + self._lines[number].rank(value)

    def ranker(self) -> tuple[Callable[[Any], int], Collection[type]]:
        """What gives the rank of a value, and the types of those values that have one."""
        types = types_of(self.key)
        if self.key.sort in (Kind.NUMBER, Kind.STRING):
            assert not isinstance(self._lines, TermLine)
            return self._lines[0].ranker(), types
        return self.rank, types

    def ranks(self, array: pa.Array[Any]) -> Ranks:
        """The ranks of a column, whose nulls are -1."""
        if isinstance(self._lines, TermLine):
            return self._lines.ranks(array)
        if not self._mixed and self.key.sort != FOLDED:
            return self._lines[0].ranks(array)
        for line, offset in zip(self._lines, self._offsets, strict=False):
            ranks = line.own_ranks(array)
            if ranks is not None and ranks.max(initial=-1) >= 0:  # then it is of this kind
                ranks[ranks >= 0] += np.int32(offset)
                break
        else:
            ranks = np.full(len(array), -1, np.int32)
        if ranks.min(initial=0) < 0:
            ranks[valid_rows(array) & (ranks < 0)] = self.size - 1
        return ranks

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The lines as flat arrays; terms are numbered anew from their taxonomy."""
        if isinstance(self._lines, TermLine):
            return {}
        return {
            f"{number}/{name}": array
            for number, line in enumerate(self._lines)
            for name, array in line.arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, key: AxisKey, arrays: Mapping[str, NDArray[Any]], prefix: str, terms: TermLines
    ) -> Axis:
        """The axis of ``arrays()``, found below a prefix."""
        if key.sort == TERM:
            line = terms.of(key.path)
            if line is None:
                raise ValueError(f"{key} has no taxonomy")
            return cls(key, line)
        kinds = line_kinds(key)
        found: list[dict[str, NDArray[Any]]] = [{} for _ in kinds]
        for name in arrays:
            if name.startswith(prefix):
                number, _, field = name[len(prefix) :].partition("/")
                found[int(number)][field] = arrays[name]
        known: Mapping[Any, Any] = {**ALL_LINES, **FORM_LINES}
        lines = [known[kind].from_arrays(fields) for kind, fields in zip(kinds, found)]
        return cls(key, lines)

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""
        return PRESENT if event.present(self.key.path) else MISSING

    def __repr__(self) -> str:
        return f"Axis({self.key}, {self.size:,} ranks)"


def line_kinds(key: AxisKey) -> tuple[str, ...]:
    """The kinds, or forms, of the lines of an axis."""
    if key.sort in FORM_LINES:
        return (key.sort,)
    if key.sort in (SUBSTRINGS, FOLDED_SUBSTRINGS):
        return (Kind.STRING,)
    return (
        LINES if key.sort in (MIXED, CONTAINED) else (Kind(key.sort),) if key.sort in LINES else ()
    )


def types_of(key: AxisKey) -> Collection[type]:
    """The types of those values that have a rank on an axis."""
    if key.sort in KIND_TYPES:
        return KIND_TYPES[Kind(key.sort)]
    if key.sort == PRESENCE:
        return ()
    if key.sort == TERM or (key.sort in FORM_LINES and key.sort != FOLDED):
        return (str,)
    return [kind for kinds in KIND_TYPES.values() for kind in kinds]


class AxisBuilder:
    """An axis whose lines are still taking in cuts."""

    def __init__(self, key: AxisKey, terms: TermLines = NO_TERMS) -> None:
        self.key = key
        self._terms = terms.of(key.path) if key.sort == TERM else None
        self.lines = [LineBuilder(kind) for kind in line_kinds(key)]

    def tell_gaps(self) -> None:
        """Keep the values between the constants apart."""
        for line in self.lines:
            line.gaps_alike = False

    def finish(self) -> tuple[Axis, list[Int32s]]:
        """The axis, and for each line the ranks just below its references."""
        if self._terms is not None:
            return Axis(self.key, self._terms), []
        finished = [line.finish() for line in self.lines]
        axis = Axis(self.key, [line for line, _ in finished])
        positions = [
            found + np.int32(offset)
            for (_, found), offset in zip(finished, axis._offsets, strict=False)
        ]
        return axis, positions
