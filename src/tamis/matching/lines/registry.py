"""Lines: the maps from the values of each kind to ranks. See ``line`` for what a rank is.

number_line   ─┐                  one value    line.rank(5)
string_line    ├─ cuts → line ─── a column     line.ranks(arrow_array)
timestamp_line ┘                  a file       line.arrays(), Line.from_arrays(arrays)
BooleanLine    ─┐
PresenceLine   ─┴ always the same
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from pyarrow import types

from tamis.arrays.arrow_buffers import UNRANKED, bits
from tamis.arrays.types import Arrays, Positions, Ranks, Uses
from tamis.matching.lines.line import Line, StoredLine
from tamis.matching.lines.numbers import NumberLine, number_line
from tamis.matching.lines.strings import StringLine, string_line
from tamis.matching.lines.timestamps import TimestampLine, timestamp_line
from tamis.model.kinds import Kind

__all__ = [
    "LINES",
    "MISSING",
    "PRESENT",
    "UNRANKED",
    "BooleanLine",
    "Line",
    "NumberLine",
    "PresenceLine",
    "StringLine",
    "TimestampLine",
    "number_line",
    "string_line",
    "timestamp_line",
]


class BooleanLine(StoredLine):
    """Two ranks: 0 for false, 1 for true."""

    size = 2

    def rank(self, value: bool) -> int:
        """0 for false, 1 for true."""
        return int(value)

    def arrays(self) -> Arrays:
        """No arrays: all such lines are the same."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``."""
        return cls()

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """The same line, with its one cut."""
        return cls(), [np.zeros(1, np.int32) for _ in lines]

    def _ranks(self, array: Any) -> Ranks | None:
        if not types.is_boolean(array.type):
            return None
        return bits(array.buffers()[1], array.offset, len(array)).astype(np.int32)


PRESENT, MISSING = 0, 1


class PresenceLine(Line):
    """Two ranks: 0 for an attribute that is there, 1 for one that is missing."""

    size = 2

    def rank(self, value: Any) -> int:
        """The rank of an attribute that has a value."""
        return PRESENT

    def arrays(self) -> Arrays:
        """No arrays: all such lines are the same."""
        return {}

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """The same line, with its one cut."""
        return cls(), [np.zeros(1, np.int32) for _ in lines]

    def _ranks(self, array: Any) -> Ranks | None:
        return np.full(len(array), PRESENT, np.int32)


LINES: dict[Kind, type[StoredLine]] = {
    Kind.NUMBER: NumberLine,
    Kind.STRING: StringLine,
    Kind.TIMESTAMP: TimestampLine,
    Kind.BOOLEAN: BooleanLine,
}
"""The class of the line of each kind that has one."""
