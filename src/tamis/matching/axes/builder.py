"""Axes that are still taking in cuts.

While subscriptions are taken in, a ``LineBuilder`` collects cuts and gives each a reference;
``finish`` sorts them, and then a reference has a position. Where ranks are known beforehand, a
reference is the first rank above the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from tamis.arrays.types import Flags, Int32s, Int64s, Positions
from tamis.matching.axes.axis import Axis, AxisKey, known_line
from tamis.matching.lines.forms import FORM_LINES
from tamis.matching.lines.registry import (
    BooleanLine,
    Line,
    number_line,
    string_line,
    timestamp_line,
)
from tamis.matching.lines.taxonomy import NO_TERMS, TermLines
from tamis.model.kinds import Kind, Value


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

    def add_points(self, values: Sequence[Value]) -> int:
        """Take in the cuts before and after each of some values; return the first reference."""
        first = self.count
        self._values += chain.from_iterable(zip(values, values))
        self._after += [False, True] * len(values)
        self.count += 2 * len(values)
        return first

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


class KnownLineBuilder(LineBuilder):
    """A line that has its cuts already: presence, a comparison, or the terms of a taxonomy."""

    def __init__(self, line: Line) -> None:
        super().__init__("")
        self._line = line

    def finish(self) -> tuple[Line, Positions]:
        """The line; the cut below a rank has the position before it."""
        return self._line, np.arange(-1, self._line.size - 1, dtype=np.int32)


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


class AxisBuilder:
    """An axis whose lines are still taking in cuts."""

    def __init__(self, key: AxisKey, terms: TermLines = NO_TERMS) -> None:
        self.key = key
        known = known_line(key, terms)
        self.lines: list[LineBuilder]
        if known is None:
            self.lines = [LineBuilder(kind) for kind in key.sort.lines]
        else:
            self.lines = [KnownLineBuilder(known)]

    def tell_gaps(self) -> None:
        """Keep the values between the constants apart."""
        for line in self.lines:
            line.gaps_alike = False

    def finish(self) -> tuple[Axis, list[Int32s]]:
        """The axis, and for each line the ranks just below its references."""
        finished = [line.finish() for line in self.lines]
        axis = Axis(self.key, [line for line, _ in finished])
        first, _ = axis.line_ends()
        positions = [
            found + np.int32(start) for (_, found), start in zip(finished, first, strict=False)
        ]
        return axis, positions
