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
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from tamis.matching.arrow_buffers import Ranks, frozen, string_buffers
from tamis.matching.line import Arrays, Line, Positions, positions_of
from tamis.matching.string_search import Constants, Strings, build_constants, find_rank, find_ranks
from tamis.matching.thresholds import LISTED


class _Listed(NamedTuple):
    """The constants for Python: sorted, with the rank of each and of the gap below each."""

    constants: list[str]
    at: dict[str, int]
    below: list[int]


def string_line(
    values: Any, after: NDArray[np.bool_], *, gaps_alike: bool = False
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
    sides = np.zeros((len(order), 2), np.int32)
    sides[cuts >> 1, cuts & 1] = 1
    below = np.concatenate([[0], np.cumsum(sides.sum(axis=1))])
    at = frozen(below[:-1] + sides[:, 0], np.int32)
    sorted_strings = Strings(*string_buffers(encoded.dictionary.take(pa.array(order))))
    constants = build_constants(sorted_strings, at, frozen(below, np.int32))
    return StringLine(constants, gaps_alike), positions


class StringLine(Line):
    """The line of strings."""

    def __init__(self, constants: Constants, gaps_alike: bool) -> None:
        self.size = int(constants.below[-1]) + 1
        self.constants = constants
        self.gaps_alike = gaps_alike

    def rank(self, value: str) -> int:
        """The rank of a string."""
        listed = self._listed
        if listed is None:
            return find_rank(value, self.constants, gaps_alike=self.gaps_alike)
        rank = listed.at.get(value)
        if rank is not None:
            return rank
        return 0 if self.gaps_alike else listed.below[bisect_left(listed.constants, value)]

    def arrays(self) -> Arrays:
        """The constants, what finds them, and their ranks."""
        return {"gaps_alike": np.array([self.gaps_alike]), **self.constants._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``."""
        fields = {name: frozen(arrays[name], arrays[name].dtype) for name in Constants._fields}
        return cls(Constants(**fields), bool(arrays["gaps_alike"][0]))

    def _ranks(self, array: Any) -> Ranks | None:
        if types.is_string_view(array.type):
            array.validate(full=True)
            array = array.cast(pa.large_string())
        elif not (types.is_string(array.type) or types.is_large_string(array.type)):
            return None
        strings = Strings(*string_buffers(array))
        if not _are_within(strings):
            array.validate(full=True)
        return find_ranks(strings, self.constants, gaps_alike=self.gaps_alike)

    @cached_property
    def _listed(self) -> _Listed | None:
        if len(self.constants.at) > LISTED:
            return None
        offsets, data = self.constants.offsets.tolist(), self.constants.data.tobytes()
        constants = [data[start:stop].decode() for start, stop in pairwise(offsets)]
        at = dict(zip(constants, self.constants.at.tolist(), strict=True))
        return _Listed(constants, at, self.constants.below.tolist())


def _are_within(strings: Strings) -> bool:
    """Whether offsets ascend and stay within the data, which only a full validation looks at."""
    offsets, data = strings
    return bool(
        offsets[0] >= 0 and offsets[-1] <= len(data) and (offsets[1:] >= offsets[:-1]).all()
    )
