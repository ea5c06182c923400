"""How a file of arrays is laid out, in format 1: what writing and reading agree on."""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.errors import StorageError

# The layout of a file; numbers are little-endian.
#
#     0       8         12          20          28         32             head size
#     ┌───────┬─────────┬───────────┬───────────┬──────────┬──────────────┬───────┬─┬───────┐
#     │ magic │ version │ head size │ file size │ checksum │ JSON, spaces │ array │0│ array │
#     └───────┴─────────┴───────────┴───────────┴──────────┴──────────────┴───────┴─┴───────┘
#     └────────────── preamble ────────────────────────────┘
#     └────────────── head ───────────────────────────────────────────────┘
#
#     JSON    {"needs": "0.1", "header": {the caller's}, "arrays": [{"name": …, "dtype": "<i4",
#             "shape": [3, 2], "offset": 64, "length": 24, "checksum": "89abcdef"}, …]}
#
# Arrays lie in the order of the table, in C order, at multiples of 64 bytes with zeros between.
# Offsets count from the end of the head, which thereby does not depend on its own size. The
# checksum of the preamble covers the rest of the head, each array has its own, and the zeros are
# compared: no byte of the file is without a guard. CRC-32 finds every single flipped bit and every
# burst of up to 32 bits, 3 to 7 times as fast as BLAKE2b; it is no guard against forgery, and so
# every number is checked against the file before it is used.

MAGIC = b"\x93TAMIS\r\n"
FORMAT = 1
NEEDS = "0.1"
"""The first version of Tamis that reads this format."""
ALIGNMENT = 64
MAX_HEAD = 1 << 26
"""Bytes in the head: the table and the caller's header."""

PREAMBLE = struct.Struct("<8sIQQI")
DTYPES = {
    text: np.dtype(text)
    for text in "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split()
}


class Entry(NamedTuple):
    """A row of the table of arrays."""

    name: str
    dtype: str
    shape: list[int]
    offset: int
    length: int
    checksum: str = "00000000"


def aligned(size: int) -> int:
    """A size, rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def end_of(entries: list[Entry]) -> int:
    """Where the last array ends."""
    return entries[-1].offset + entries[-1].length if entries else 0


def entries_of(arrays: Mapping[str, NDArray[Any]]) -> list[Entry]:
    """The table of arrays, without their checksums."""
    entries: list[Entry] = []
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise TypeError(f"no array of numbers: {name!r} is of dtype {array.dtype}")
        offset = aligned(end_of(entries))
        entries.append(Entry(name, dtype, list(array.shape), offset, array.nbytes))
    return entries


def head_of(entries: list[Entry], header: Mapping[str, Any]) -> bytes:
    """The head of a file: preamble, table and the header of its owner."""
    rows = [entry._asdict() for entry in entries]
    document = {"needs": NEEDS, "header": dict(header), "arrays": rows}
    text = json.dumps(document, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    size = aligned(PREAMBLE.size + len(text))
    text = text.ljust(size - PREAMBLE.size)
    guarded = PREAMBLE.pack(MAGIC, FORMAT, size, size + end_of(entries), 0)[:-4]
    return guarded + zlib.crc32(text, zlib.crc32(guarded)).to_bytes(4, "little") + text


def path_name(path: str | os.PathLike[str]) -> str:
    """The path as a string; numbers, which Python takes for open files, are refused."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise StorageError(f"a path is a string or a pathlib.Path, not {path!r:.50}")
    return name


_SORTS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def file_sort(mode: int) -> str:
    """What a path leads to, if that is not a regular file."""
    return _SORTS.get(stat.S_IFMT(mode), "not a file")
