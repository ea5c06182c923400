"""What all lines share: ranks of Arrow arrays of whatever encoding.

The subscriptions of a segment use, on one attribute, some cuts of each kind. Sorted, they divide
the values of the kind into ranks; a cut lies just before or just after a constant:

    x = 3, x > 5        cuts     before 3 │ after 3 │ after 5
                        values   …  2     │    3    │  4  5   │  6  …
                        rank        0     │    1    │   2     │  3

Invariant: the rank of a value is the number of cuts at or below it. So ranks go from 0 to the
number of cuts, and the values between cut i and cut j are exactly the ranks i + 1 to j: every
range of values is a range of small integers, whatever the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from tamis.arrays.arrow_buffers import UNRANKED, fixed_width, frozen, mark_nulls
from tamis.arrays.arrow_types import run_values, storage
from tamis.arrays.types import Arrays, Flags, Int64s, Positions, Ranks, Uses

UNUSED, USED, WIDE = np.uint8(0), np.uint8(1), np.uint8(2)
"""An interval of several ranks begins at a cut that is WIDE."""


class Ranking(dict[Any, int]):
    """The ranks of single values: those that it holds at once, all others by a function.

    The values of one kind are distinct as keys, however they are written (1 and 1.0 have one rank);
    values of other kinds are not asked for.
    """

    __slots__ = ("_rank",)

    def __init__(self, rank: Callable[[Any], int], known: Mapping[Any, int] | None = None) -> None:
        super().__init__(known or {})
        self._rank = rank

    def __missing__(self, value: Any) -> int:
        return self._rank(value)


class Line(ABC):
    """The cuts of one kind on one attribute: a map from values to ranks."""

    size: int
    """How many ranks there are: one more than cuts."""

    @abstractmethod
    def rank(self, value: Any) -> int:
        """The rank of a canonical value of the line's kind; -1 for NaN."""

    def ranking(self) -> Ranking:
        """What gives the rank of one value fastest."""
        return Ranking(self.rank)

    @abstractmethod
    def arrays(self) -> Arrays:
        """The line as flat arrays, which may be mapped into memory from a file."""

    @classmethod
    @abstractmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """One line of the used cuts of several, and the positions there of the cuts of each;
        those of unused ones mean nothing."""

    @abstractmethod
    def _ranks(self, array: Any) -> Ranks | None:
        """The ranks of a plain array, anything for its nulls; None if it is of another kind."""

    def ranks(self, array: Any) -> Ranks:
        """The ranks of an Arrow array; -1 for nulls, NaN and all that is of another kind."""
        ranks = self.own_ranks(array)
        return np.full(len(array), UNRANKED, np.int32) if ranks is None else ranks

    def own_ranks(self, array: Any) -> Ranks | None:
        """The ranks of an Arrow array of the line's kind; None if it is of another."""
        array = storage(array)
        if types.is_dictionary(array.type):
            return self._ranks_of_dictionary(array)
        if types.is_run_end_encoded(array.type):
            return self.own_ranks(run_values(array))
        ranks = self._ranks(array) if len(array) else None
        if ranks is not None:
            mark_nulls(array, ranks)
        return ranks

    def _ranks_of_dictionary(self, array: Any) -> Ranks:
        """Rank the dictionary, or what the rows take from it if that is less."""
        dictionary = array.dictionary
        indices = integers(array.indices)
        if not _are_within(indices, len(dictionary)):
            array.validate(full=True)  # raises, unless only nulls are outside
            indices = np.where(array.indices.is_valid(), indices, 0)
        if not len(dictionary):
            return np.full(len(array), UNRANKED, np.int32)
        if len(dictionary) > len(array):
            try:
                dictionary = dictionary.take(pa.array(indices))
                indices = np.arange(len(array))
            except pa.ArrowNotImplementedError:  # Arrow takes nothing from string views
                pass
        ranks = self.ranks(dictionary)[indices]
        mark_nulls(array.indices, ranks)
        return ranks


class StoredLine(Line):
    """A line that its arrays tell everything about."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``, in time that does not depend on its size."""


def positions_of(constants: Int64s, after: Flags) -> tuple[Int64s, Positions]:
    """The distinct cuts, each twice the number of its constant plus one if after it, and for each
    given cut its position among them; constants are numbered in their order."""
    codes = 2 * constants + after
    used = np.zeros(2 * (int(constants.max(initial=-1)) + 1), np.bool_)
    used[codes] = True
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), place[codes]


def number_in_order(order: Int64s, *keys: NDArray[Any]) -> tuple[Int64s, Int64s]:
    """Where each distinct tuple of keys stands first, and for each row the number of its tuple,
    given the order that sorts the rows."""
    first = np.zeros(len(order), np.bool_)
    first[:1] = True
    for key in keys:
        ordered = key[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(first) - 1
    return order[first], number


def merged_cuts(
    lines: Iterable[Sequence[NDArray[Any]]], uses: Sequence[Uses]
) -> tuple[list[NDArray[Any]], list[Positions]]:
    """The distinct used cuts of several lines in their order, and the positions of each line's
    cuts; a cut is a tuple of numbers in whose order cuts are, a line has an array for each."""
    used = [use != UNUSED for use in uses]
    keys = [
        np.concatenate([key[kept] for key, kept in zip(column, used, strict=True)])
        for column in zip(*lines, strict=True)
    ]
    first, number = number_in_order(np.lexsort(keys[::-1]), *keys)
    ends = np.cumsum([0, *(kept.sum() for kept in used)])
    positions = [np.zeros(len(kept), np.int32) for kept in used]
    for found, kept, start, stop in zip(positions, used, ends, ends[1:]):
        found[kept] = number[start:stop]
    return [key[first] for key in keys], positions


def integers(array: Any) -> Int64s:
    """The values of an array of integers; unsigned ones of 64 bits wrap around."""
    width = array.type.bit_width
    signed = types.is_signed_integer(array.type) or width == 64
    dtype = f"{'i' if signed else 'u'}{width // 8}"
    return frozen(fixed_width(array, dtype), np.int64)


def _are_within(indices: Int64s, count: int) -> bool:
    """Whether indices are in a dictionary, which only a full validation looks at."""
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < count)
