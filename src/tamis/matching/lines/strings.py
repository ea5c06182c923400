"""The line of strings: by code point, which is by the bytes of UTF-8.

    constants   'kiwi'  'lime'  'limestone'        cuts  before kiwi, after kiwi, before lime,
    offsets     0  4  8  17                              after limestone
    bytes       kiwilimelimestone
    at              1       3       3              rank of the constant itself
    below           0       2       3       4      rank of what lies between it and the one before
    heads       'kiwi····' 'lime····' 'limeston'   the first eight bytes, as a big-endian number

A string that is a constant is found by a hash table (open addressing, linear probing; a slot is
31 bits of the hash and the number of the constant) and compared byte for byte, eight at a time:
one probe and one comparison on average. Any other lies between two constants, found by a
branch-free search of the heads, then by a bisection of the strings among equal heads: log2(n)
steps. If all predicates are equalities, nobody asks which gap it is in, and the search is saved.

Search alone would do, but takes longer than a probe, the more the longer the line. Encoding the
column as a dictionary first takes longer too, unless a batch repeats a few strings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tamis.arrays.arrow_buffers import are_within, frozen, string_buffers
from tamis.arrays.arrow_types import is_text, large_strings
from tamis.arrays.sharing import lazy
from tamis.arrays.string_search import Constants, Strings, build_constants, find_rank, find_ranks
from tamis.arrays.string_union import merge_strings
from tamis.arrays.thresholds import LISTED
from tamis.arrays.types import Arrays, Flags, Int64s, Positions, Ranks, Uses
from tamis.matching.lines.line import UNUSED, WIDE, Ranking, StoredLine, positions_of


def string_line(
    values: Any, after: Flags, *, gaps_alike: bool = False
) -> tuple[StringLine, Positions]:
    """The line of the cuts before or after the given strings, and each one's position in it.

    values: a list of strings or an Arrow array of strings without nulls.
    gaps_alike: the promise that no predicate tells apart two strings that are no constants
        (equalities and their negations do not, ``<`` and prefixes do); these then all have rank 0.
    """
    strings = values if isinstance(values, pa.Array) else pa.array(values, pa.large_string())
    encoded: Any = strings.cast(pa.large_string()).dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cuts, positions = positions_of(place[encoded.indices.to_numpy()], after)
    sides = np.zeros((len(order), 2), np.bool_)
    sides[cuts >> 1, cuts & 1] = True
    constants = _constants(encoded.dictionary.take(pa.array(order)), sides)
    return StringLine(constants, gaps_alike), positions


def _constants(strings: Any, sides: Flags) -> Constants:
    """Sorted strings and their ranks, given whether there is a cut before and after each."""
    below = np.concatenate([[0], np.cumsum(sides.sum(axis=1))])
    at = frozen(below[:-1] + sides[:, 0], np.int32)
    return build_constants(Strings(*string_buffers(strings)), at, frozen(below, np.int32))


class StringLine(StoredLine):
    """The line of strings."""

    def __init__(self, constants: Constants, gaps_alike: bool) -> None:
        self.size = int(constants.below[-1]) + 1
        self.constants = constants
        self.gaps_alike = gaps_alike

    def rank(self, value: str) -> int:
        """The rank of a string."""
        return self._ranking[value]

    def ranking(self) -> Ranking:
        """What gives the rank of one value fastest."""
        return self._ranking

    def strings(self) -> Any:
        """The constants in their order, as an array."""
        ends, data = self.constants.offsets, self.constants.data
        buffers = [None, pa.py_buffer(ends.data), pa.py_buffer(data.data)]
        return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)

    def arrays(self) -> Arrays:
        """The constants, what finds them, and their ranks."""
        return {"gaps_alike": np.array([self.gaps_alike]), **self.constants._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``."""
        fields = {name: frozen(arrays[name], arrays[name].dtype) for name in Constants._fields}
        return cls(Constants(**fields), bool(arrays["gaps_alike"][0]))

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """One line of the used cuts of several.

        Gaps are alike in it if they are in all, unless an interval reaches from one constant to
        another (a set that was widened): a constant within, at which no interval ends, is none in
        the merged line, and must still be within.
        """
        sides = [line._sides(use) for line, use in zip(lines, uses, strict=True)]
        used = [(own != UNUSED).any(axis=1) for own in sides]
        strings, numbers = merge_strings([line.strings() for line in lines], used)
        united = np.zeros((len(strings), 2), np.bool_)
        for own, kept, number in zip(sides, used, numbers):
            united[number[kept]] |= own[kept] != UNUSED
        alike = all(line.gaps_alike for line in lines)
        alike &= not any((own[:, 0] == WIDE).any() for own in sides)
        line = cls(_constants(strings, united), alike)
        triples = zip(lines, sides, numbers)
        return line, [one._positions(own, number, line) for one, own, number in triples]

    def _sides(self, uses: Uses) -> Uses:
        """The uses of the cuts before and after each constant."""
        below, at = self.constants.below, self.constants.at
        padded = np.append(uses, UNUSED)
        before = np.where(at > below[:-1], padded[below[:-1]], UNUSED)
        return np.stack([before, np.where(below[1:] > at, padded[at], UNUSED)], axis=1)

    def _positions(self, sides: Uses, number: Int64s, line: StringLine) -> Positions:
        """The positions of the used cuts in another line, where constants have other numbers."""
        positions = np.zeros(self.size - 1, np.int32)
        before, after = (sides != UNUSED).T
        positions[self.constants.below[:-1][before]] = line.constants.below[number[before]]
        positions[self.constants.at[after]] = line.constants.at[number[after]]
        return positions

    def _ranks(self, array: Any) -> Ranks | None:
        if types.is_string_view(array.type):
            array = large_strings(array)
        elif not is_text(array.type):
            return None
        strings = Strings(*string_buffers(array))
        if not are_within(*strings):
            array.validate(full=True)
        return find_ranks(strings, self.constants, gaps_alike=self.gaps_alike)

    @lazy
    def _ranking(self) -> Ranking:
        """The ranks of the constants, if they are not many, and of what lies between them."""
        if len(self.constants.at) > LISTED:
            find = partial(find_rank, constants=self.constants, gaps_alike=self.gaps_alike)
            return Ranking(find)
        offsets, data = self.constants.offsets.tolist(), self.constants.data.tobytes()
        constants = [data[start:stop].decode() for start, stop in pairwise(offsets)]
        at = dict(zip(constants, self.constants.at.tolist(), strict=True))
        if self.gaps_alike:
            return Ranking(lambda value: 0, at)
        below = self.constants.below.tolist()
        return Ranking(lambda value: below[bisect_left(constants, value)], at)
