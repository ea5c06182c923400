"""Strings that can be asked where one of them stands: the ids of subscriptions.

    strings   "a" "b" "c"          Arrow: offsets and bytes
    table     hash → row           open addressing; 16 bytes a string

A dict of Python's strings would take some 150 bytes each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays.arrow_buffers import frozen, string_buffers
from tamis.arrays.jit import addresses
from tamis.arrays.sharing import lazy
from tamis.arrays.string_search import (
    Constants,
    Strings,
    find_constants,
    find_row,
    hash_strings,
    make_table,
)
from tamis.arrays.types import Buckets, Flags, Int32s, Int64s


def without_rows(strings: pa.LargeStringArray, gone: Flags) -> pa.LargeStringArray:
    """The strings, with a null that has no bytes in the rows that are gone: a table, which looks at
    bytes alone, finds nothing there."""
    rows: Any = pa.array(np.arange(len(strings)), mask=gone)
    return strings.take(rows)


class StringTable:
    """Strings, not empty unless null, and the rows in which they stand."""

    def __init__(self, strings: pa.LargeStringArray, table: Buckets | None = None) -> None:
        self.strings = strings
        own = Strings(*string_buffers(strings))
        rows = frozen(np.arange(len(strings)), np.int32)
        self.table = make_table(hash_strings(own)) if table is None else table
        unused = frozen((), np.uint64)
        self._constants = Constants(*own, unused, frozen(self.table, np.int64), rows, rows)

    def rows(self, strings: Any) -> Int32s:
        """For each string of an array the first row in which it stands, or -1."""
        wanted = strings.cast(pa.large_string())
        return find_constants(Strings(*string_buffers(wanted)), self._constants)

    def row(self, string: str) -> int:
        """The first row in which a string stands, or -1."""
        return find_row(self._places, np.frombuffer(string.encode(), np.uint8))

    @lazy
    def _places(self) -> Int64s:
        ends, others, _, table, _, _ = self._constants
        return addresses([ends, others, table])

    def __len__(self) -> int:
        return len(self.strings)

    @property
    def nbytes(self) -> int:
        """Memory of the strings and of the table."""
        return self.strings.nbytes + self.table.nbytes
