"""The line of numbers: integers of 64 bits, signed or not, and doubles, in their exact order.

While a line is built a number is the pair of its nearest double and what is left, an integer:

    2^53 + 1   =  (2^53, +1)        2^64 - 1  =  (2^64, -1)        0.1  =  (0.1, 0)

Rounding is monotone, so pairs in their lexicographic order are numbers in their order. (Extended
precision would hold both in one number, but not on every machine.) Of the sorted cuts only
thresholds stay, see ``thresholds``: those in doubles, those in signed integers, and those from
2^63 on, as distances from there. Every cut that is missing in one of these arrays lies above all
of its values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from tamis.arrays.arrow_buffers import fixed_width, frozen
from tamis.arrays.arrow_types import EXACT
from tamis.arrays.thresholds import Thresholds
from tamis.arrays.types import (
    Arrays,
    Flags,
    Float64s,
    Int64s,
    Numerics,
    Positions,
    Ranks,
    UInt64s,
    Uses,
)
from tamis.matching.lines.line import (
    Ranking,
    StoredLine,
    integers,
    merged_cuts,
    number_in_order,
    positions_of,
)
from tamis.model.kinds import to_value

_TOP = 2**63
_LEAST = -(2**63)
_NONE = 2**63 - 1
_NO_WHOLE = 2**64 - 1
_EXACT_POWER = 22
"""The greatest power of ten that is a double."""


class _Pairs(NamedTuple):
    """Numbers as nearest doubles and what is left."""

    nearest: Float64s
    rest: Int64s


def number_line(values: Numerics | list[int | float], after: Flags) -> tuple[NumberLine, Positions]:
    """The line of the cuts before or after the given numbers, and each one's position in it."""
    if isinstance(values, list):
        keys: tuple[NDArray[Any], ...] = _split_list(values)
        order = np.lexsort(keys[::-1]) if keys[1].any() else np.argsort(keys[0])
    else:
        keys = (values,)
        order = np.argsort(values)
    if len(order) and np.isnan(keys[0][order[-1]]):  # sorted to the end
        raise ValueError("NaN has no place in the order of numbers")
    first, number = number_in_order(order, *keys)
    cuts, positions = positions_of(number, after)
    constant, side = first[cuts >> 1], cuts & 1
    parts = [key[constant] for key in keys]
    sorted_pairs = _Pairs(*parts) if len(parts) == 2 else _split(parts[0])
    doubles = _double_thresholds(sorted_pairs, side)
    signed, unsigned = _integer_thresholds(sorted_pairs, side)
    return NumberLine(len(cuts) + 1, doubles, signed, unsigned), positions


def _split_list(values: list[int | float]) -> _Pairs:
    nearest = np.array(values, np.float64)
    rest = np.zeros(len(values), np.int64)
    for i in np.flatnonzero(np.abs(nearest) >= EXACT).tolist():
        value = values[i]
        if isinstance(value, int):
            rest[i] = value - int(nearest[i])
    return _Pairs(nearest, rest)


def _split(values: Numerics) -> _Pairs:
    nearest = values.astype(np.float64)
    if values.dtype.kind == "f":
        return _Pairs(nearest, np.zeros(len(values), np.int64))
    return _Pairs(nearest, values.view(np.int64) - _wrapped(nearest))


def _wrapped(whole: Float64s) -> Int64s:
    """Whole doubles from -2^63 to 2^64 as integers, modulo 2^64."""
    high = whole >= _TOP  # multiples of 2^11
    return np.where(high, whole / 2**11, whole).astype(np.int64) << np.where(high, 11, 0)


def _double_thresholds(pairs: _Pairs, after: Int64s) -> Float64s:
    """The least double at or above each cut; none is above infinity."""
    nearest, rest = pairs
    with np.errstate(over="ignore"):  # above the greatest double is infinity
        above = np.nextafter(nearest, np.inf)
    least = np.where(rest + after > 0, above, nearest)
    unreached = np.isposinf(nearest) & (after > 0)
    return least[: len(least) - int(unreached.sum())]


def _integer_thresholds(pairs: _Pairs, after: Int64s) -> tuple[Int64s, Int64s]:
    """The least integer at or above each cut: those up to 2^63 - 1, and those above less 2^63."""
    whole = np.where(after > 0, np.floor(pairs.nearest), np.ceil(pairs.nearest))
    more = pairs.rest + after

    def count_below(limit: int) -> int:
        # ``more`` is less than the distance to the next double, so it matters at the limit only.
        return int(((whole < limit) | ((whole == limit) & (more < 0))).sum())

    start, middle, stop = (count_below(limit) for limit in (_LEAST, 2**63, 2**64))
    wrapped = _wrapped(whole[start:stop]) + more[start:stop]
    least = np.concatenate([np.full(start, _LEAST), wrapped])
    return least[:middle], least[middle:] ^ _LEAST


class _Cuts(NamedTuple):
    """Cuts by their thresholds alone: numbers in whose lexicographic order the cuts are, whatever
    lines they come from, since all three ascend with the cut. Cuts with no value of any type
    between them are one.

    signed, unsigned    3, 0       least integer 3
                     _NONE, 6      least integer 2^63 + 5
                     _NONE, _NO_WHOLE      no integer
    """

    double: Int64s  # the bits of the double, turned such that they order it; or _NONE
    signed: Int64s
    unsigned: UInt64s

    @classmethod
    def of(cls, count: int, doubles: Float64s, signed: Int64s, unsigned: Int64s) -> _Cuts:
        """The cuts of a line, so many, from its thresholds."""
        double, least = np.full((2, count), _NONE)
        above = np.full(count, _NO_WHOLE, np.uint64)
        double[: len(doubles)] = _turned((doubles + 0.0).view(np.int64))  # no negative zero
        least[: len(signed)] = signed
        above[: len(signed)] = 0
        above[len(signed) : len(signed) + len(unsigned)] = unsigned.view(np.uint64) + np.uint64(1)
        return cls(double, least, above)

    def thresholds(self) -> tuple[Float64s, Int64s, Int64s]:
        """The thresholds of the line that has these cuts."""
        doubles = _turned(self.double[self.double != _NONE]).view(np.float64)
        is_whole = self.unsigned != _NO_WHOLE
        unsigned = self.unsigned[is_whole & (self.unsigned > 0)] - np.uint64(1)
        return doubles, self.signed[self.unsigned == 0], unsigned.view(np.int64)


def _turned(bits: Int64s) -> Int64s:
    """The bits of doubles as integers in the order of the doubles, and back."""
    return bits ^ (bits >> 63 & _NONE)


class NumberLine(StoredLine):
    """The line of numbers."""

    def __init__(self, size: int, doubles: Float64s, signed: Int64s, unsigned: Int64s) -> None:
        self.size = size
        self._doubles = Thresholds(frozen(doubles, np.float64))
        self._signed = Thresholds(frozen(signed, np.int64))
        self._unsigned = Thresholds(frozen(unsigned, np.int64))

    def rank(self, value: int | float) -> int:
        """The rank of a number; -1 for NaN."""
        if type(value) is float:
            return self._doubles.rank(value) if value == value else -1
        if value < _TOP:
            return self._signed.rank(value)
        return len(self._signed) + self._unsigned.rank(value - _TOP)

    def ranking(self) -> Ranking:
        """What gives the rank of one value fastest."""
        thresholds, rank_of = self._signed.sequence, self.rank

        def rank(value: int | float) -> int:
            is_signed = type(value) is int and value < _TOP
            return bisect_right(thresholds, value) if is_signed else rank_of(value)

        return Ranking(rank, self._signed.near())

    def arrays(self) -> Arrays:
        """Three arrays of thresholds, and the size."""
        return {
            "size": np.array([self.size], np.int64),
            "doubles": self._doubles.numbers,
            "signed": self._signed.numbers,
            "unsigned": self._unsigned.numbers,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The line of ``arrays()``."""
        size = int(arrays["size"][0])
        return cls(size, arrays["doubles"], arrays["signed"], arrays["unsigned"])

    @classmethod
    def merged(cls, lines: Sequence[Self], uses: Sequence[Uses]) -> tuple[Self, list[Positions]]:
        """One line of the used cuts of several."""
        cuts, positions = merged_cuts([line._cuts() for line in lines], uses)
        return cls(len(cuts[0]) + 1, *_Cuts(*cuts).thresholds()), positions

    def _cuts(self) -> _Cuts:
        thresholds = self._doubles.numbers, self._signed.numbers, self._unsigned.numbers
        return _Cuts.of(self.size - 1, *thresholds)  # type: ignore[arg-type]

    def _ranks(self, array: Any) -> Ranks | None:
        arrow_type = array.type
        if types.is_integer(arrow_type):
            return self._ranks_of_integers(array)
        if types.is_floating(arrow_type):
            values = fixed_width(array, f"f{arrow_type.bit_width // 8}")
            return self._doubles.ranks(frozen(values, np.float64))
        if types.is_decimal(arrow_type):
            return self._ranks_of_decimals(array)
        return None

    def _ranks_of_integers(self, array: Any) -> Ranks:
        values = integers(array)
        ranks = self._signed.ranks(values)
        if types.is_uint64(array.type):
            above = values < 0  # from 2^63 on, wrapped around
            if above.any():
                distances = frozen(values[above] ^ _LEAST, np.int64)
                ranks[above] = len(self._signed) + self._unsigned.ranks(distances)
        return ranks

    def _ranks_of_decimals(self, array: Any) -> Ranks:
        """One division of doubles where that is exact or nearest, else Python's decimals."""
        coefficients, small = _coefficients(array)
        scale = array.type.scale
        small &= 0 <= scale <= _EXACT_POWER
        quotients = np.where(small, coefficients, 0) / np.float64(10.0 ** max(scale, 0))
        ranks = self._doubles.ranks(frozen(quotients, np.float64))
        large = np.flatnonzero(~small)
        if len(large):
            decimals = array.take(pa.array(large)).to_pylist()
            ranks[large] = [0 if raw is None else self._rank_of(raw) for raw in decimals]
        return ranks

    def _rank_of(self, raw: Decimal) -> int:
        value = to_value(raw)
        assert isinstance(value, int | float)
        return self.rank(value)


def _coefficients(array: Any) -> tuple[Int64s, Flags]:
    """The unscaled integers of decimals, and which of them are exact as doubles too."""
    width = array.type.bit_width
    if width < 64:
        coefficients = fixed_width(array, np.int32).astype(np.int64)
        return coefficients, np.ones(len(array), np.bool_)
    words = fixed_width(array, np.int64, width // 64).reshape(len(array), -1)
    coefficients = words[:, 0]
    small = (coefficients >= -EXACT) & (coefficients <= EXACT)
    for word in range(1, width // 64):
        small &= words[:, word] == coefficients >> 63
    return coefficients, small
