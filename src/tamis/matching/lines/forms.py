"""Lines of what is derived from strings: texts in another *form*, in which a test is an interval.

    x ends with 'oak'          reversed     'kao' is a prefix
    x = 'Oak' ignoring case    folded       'oak' is a point
    x in cidr '10.0.0.0/8'     address      '40a000000' to '40affffff'

An address is its version and then its digits in hexadecimal, as many as the version has; a string
that is no address has no such form, and so no rank. Columns change form in compiled code or in
Arrow's own, and then go to a line of strings.
"""

from __future__ import annotations

import ipaddress
from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
import pyarrow.compute as pc

from tamis.arrays.arrow_buffers import frozen, mark_nulls, string_buffers, strings_from
from tamis.arrays.arrow_types import is_text, large_strings
from tamis.arrays.ip_addresses import parse_addresses
from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Int32s, Offsets, Ranks
from tamis.matching.lines.line import Ranking
from tamis.matching.lines.strings import StringLine
from tamis.predicates.texts import fold, folds

REVERSED, FOLDED, FOLDED_REVERSED, ADDRESS = "reversed", "folded", "folded reversed", "address"


class FormLine(StringLine):
    """A line of strings in another form."""

    @classmethod
    def of(cls, line: StringLine) -> FormLine:
        """The line of a form, from that of the strings in it."""
        return cls(line.constants, line.gaps_alike)

    @staticmethod
    @abstractmethod
    def form(text: str) -> str | None:
        """The form of a string, if it has one."""

    @staticmethod
    @abstractmethod
    def forms(array: Any) -> Any:
        """The forms of an array of large strings."""

    def rank(self, value: str) -> int:
        """The rank of a string's form."""
        form = self.form(value)
        return -1 if form is None else super().rank(form)

    def ranking(self) -> Ranking:
        """What gives the rank of one string fastest."""
        form_of, ranks = self.form, super().ranking()

        def rank(value: str) -> int:
            form = form_of(value)
            return -1 if form is None else ranks[form]

        return Ranking(rank)

    def _ranks(self, array: Any) -> Ranks | None:
        if not is_text(array.type):
            return None
        forms = self.forms(large_strings(array))
        ranks = super()._ranks(forms)
        if ranks is not None:
            mark_nulls(forms, ranks)
        return ranks


class ReversedLine(FormLine):
    """Strings from their end."""

    @staticmethod
    def form(text: str) -> str:
        """The string, reversed by code points."""
        return text[::-1]

    @staticmethod
    def forms(array: Any) -> Any:
        """The strings, reversed by code points."""
        return pc.utf8_reverse(array)


class FoldedLine(FormLine):
    """Strings without regard to case."""

    @staticmethod
    def form(text: str) -> str:
        """The string, folded."""
        return fold(text)

    @staticmethod
    def forms(array: Any) -> Any:
        """The strings, folded."""
        return fold_all(array)


class FoldedReversedLine(FormLine):
    """Strings from their end, without regard to case."""

    @staticmethod
    def form(text: str) -> str:
        """The string, folded and reversed."""
        return fold(text)[::-1]

    @staticmethod
    def forms(array: Any) -> Any:
        """The strings, folded and reversed."""
        return pc.utf8_reverse(fold_all(array))


class AddressLine(FormLine):
    """IP addresses, those of version 4 before those of version 6."""

    @staticmethod
    def form(text: str) -> str | None:
        """The address that a string denotes, if it does; with a scope it is none."""
        try:
            return None if "%" in text else address_form(ipaddress.ip_address(text))
        except ValueError:
            return None

    @staticmethod
    def forms(array: Any) -> Any:
        """The addresses that strings denote, null for those that denote none."""
        offsets, data = string_buffers(array)
        out = np.empty((len(array), 33), np.uint8)
        lengths = np.zeros(len(array), np.int64)
        parse_addresses(offsets, data, out, lengths)
        kept = np.arange(33) < lengths[:, None]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        return strings_from(ends, out[kept], lengths > 0)


FORM_LINES: dict[str, type[FormLine]] = {
    REVERSED: ReversedLine,
    FOLDED: FoldedLine,
    FOLDED_REVERSED: FoldedReversedLine,
    ADDRESS: AddressLine,
}


def address_form(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Version and digits of an address."""
    return f"{address.version}{int(address):0{address.max_prefixlen // 4}x}"


def fold_all(array: Any) -> Any:
    """Large strings (``large_strings``), folded as ``fold`` does."""
    offsets, data = string_buffers(array)
    used = data[offsets[0] : offsets[-1]]
    if not len(used) or used.max() < 0x80:
        return pc.ascii_lower(array)
    out = np.empty(2 * len(used), np.uint8)
    ends = np.empty(len(offsets), np.int64)
    _fold(offsets, data, _fold_table(), out, ends)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return strings_from(ends, out[: ends[-1]], valid)


@cache
def _fold_table() -> Int32s:
    """The fold of each code point that has one, itself for the others."""
    table = np.arange(0x20000, dtype=np.int32)
    for code, folded in folds().items():
        table[code] = ord(folded)
    return frozen(table, np.int32)


@kernel(allocates=False)
def _fold(offsets: Offsets, data: Bytes, table: Ranks, out: Bytes, ends: Offsets) -> None:
    """Decode UTF-8, fold, encode; a code point takes at most twice the bytes that it took."""
    at = 0
    ends[0] = 0
    for i in range(len(offsets) - 1):
        j, stop = offsets[i], offsets[i + 1]
        while j < stop:
            code, j = _decode(data, j)
            if code < len(table):
                code = table[code]
            at = _encode(code, out, at)
        ends[i + 1] = at


@kernel(allocates=False)
def _decode(data: Bytes, at: int) -> tuple[int, int]:
    """The code point at a place of valid UTF-8, and the place behind it."""
    first = int(data[at])
    if first < 0x80:
        return first, at + 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | _bits(data, at + 1), at + 2
    if first < 0xF0:
        return (first & 0xF) << 12 | _bits(data, at + 1) << 6 | _bits(data, at + 2), at + 3
    high = (first & 0x7) << 18 | _bits(data, at + 1) << 12
    return high | _bits(data, at + 2) << 6 | _bits(data, at + 3), at + 4


@kernel(allocates=False)
def _bits(data: Bytes, at: int) -> int:
    """The six bits of a code point that a byte behind the first one holds."""
    return int(data[at]) & 0x3F


@kernel(allocates=False)
def _encode(code: int, out: Bytes, at: int) -> int:
    """Write a code point as UTF-8; return the place behind it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | code >> 6
        out[at + 1] = 0x80 | code & 0x3F
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | code >> 12
        out[at + 1] = 0x80 | code >> 6 & 0x3F
        out[at + 2] = 0x80 | code & 0x3F
        return at + 3
    out[at] = 0xF0 | code >> 18
    out[at + 1] = 0x80 | code >> 12 & 0x3F
    out[at + 2] = 0x80 | code >> 6 & 0x3F
    out[at + 3] = 0x80 | code & 0x3F
    return at + 4
