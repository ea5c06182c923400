"""One file of named flat arrays, opened by memory mapping and shared between processes.

    with open_arrays("index.tamis") as arrays:
        arrays.header["segments"], arrays["lines/3/hi"]

Format 1 is read by every later 0.x and 1.x version of Tamis, and keys of the head that are not
known are ignored. A file of a newer format is refused by a message that tells the version it needs:
for that, the preamble, its checksum and the key ``needs`` are the same in all formats.

A file is written beside its place and renamed, so that a crash leaves the old one or the new one,
and readers that have the old one open keep it. A symbolic link stays: its target is written. Never
change a file in place: a process that has mapped it dies when it reads beyond a new end. A process
that is killed while it writes can leave a ``*.tmp`` file behind.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.array_layout import (
    ALIGNMENT,
    DTYPES,
    FORMAT,
    MAGIC,
    MAX_HEAD,
    PREAMBLE,
    Entry,
    file_sort,
    path_name,
)
from tamis.errors import StorageError

_MAX_DIMENSIONS = 64

_fields = itemgetter(*Entry._fields)


def open_arrays(path: str | os.PathLike[str], verify: bool = True) -> ArrayFile:
    """Map a file; without ``verify`` its head is checked and its arrays are not read."""
    path = path_name(path)
    try:
        if not stat.S_ISREG(mode := os.stat(path).st_mode):
            raise StorageError(f"{path} is {file_sort(mode)}: give the path of a file")
        with open(path, "rb") as file:
            head_size, document = _read_head(path, file)
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        remedy = "check the path and its permissions"
        raise StorageError(f"cannot read {path}: {reason}; {remedy}") from error
    try:
        entries = _table(document.get("arrays"), len(memory) - head_size)
        if not isinstance(header := document.get("header"), dict):
            raise ValueError("it has no header")
        if verify:
            _verify(memory, head_size, entries)
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return ArrayFile(path, header, memory, head_size, entries)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """A name for the content of a file, from its head, which has the checksums of all else."""
    path = path_name(path)
    try:
        with open(path, "rb") as file:
            head_size, _ = _read_head(path, file)
            file.seek(0)
            return hashlib.blake2b(file.read(head_size), digest_size=12).hexdigest()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


class ArrayFile(Mapping[str, NDArray[Any]]):
    """The arrays of a file by name: views of one memory map, read-only and aligned."""

    # numpy.frombuffer keeps the map alive for each view (numpy.ndarray(buffer=…) would not), and
    # nothing here unmaps by force: the map goes with the last that refers to it.

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: dict[str, Any],
        memory: mmap.mmap,
        head_size: int,
        entries: list[Entry],
    ) -> None:
        self.path = os.fspath(path)
        self.header = header
        self._memory: mmap.mmap | None = memory
        self._head_size = head_size
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if self._memory is None:
            raise StorageError(f"{self.path} is closed: open it again")
        if name not in self._entries:
            raise KeyError(f"no array {name!r} in {self.path}")
        entry = self._entries[name]
        start, count = self._head_size + entry.offset, math.prod(entry.shape)
        flat = np.frombuffer(self._memory, DTYPES[entry.dtype], count, start)
        return flat.reshape(entry.shape)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(entry.length for entry in self._entries.values())

    def close(self) -> None:
        """Give up the map; views that are in use stay valid, and the last of them unmaps it."""
        self._memory = None

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._memory is None else ""
        return f"<ArrayFile {self.path!r}: {len(self):,} arrays, {self.nbytes:,} bytes{closed}>"


def _damaged(path: str | os.PathLike[str], reason: str) -> StorageError:
    remedy = "restore it from a copy or build it again"
    return StorageError(f"{os.fspath(path)} is damaged, {reason}: {remedy}")


def _read_head(path: str | os.PathLike[str], file: BinaryIO) -> tuple[int, dict[str, Any]]:
    """The size of the head and its document, of a file that is as long as its head says."""
    preamble = file.read(PREAMBLE.size)
    if not MAGIC.startswith(preamble[: len(MAGIC)]):
        raise StorageError(
            f"{os.fspath(path)} is not a file of arrays: give one that Tamis has saved"
        )
    size = os.fstat(file.fileno()).st_size
    if len(preamble) < PREAMBLE.size:
        raise _damaged(path, f"cut short at {size:,} bytes")
    _, version, head_size, file_size, checksum = PREAMBLE.unpack(preamble)
    if not PREAMBLE.size <= head_size <= min(size, MAX_HEAD) or head_size % ALIGNMENT:
        raise _damaged(path, "its head is cut short or of a wrong size")
    text = file.read(head_size - PREAMBLE.size)
    if zlib.crc32(text, zlib.crc32(preamble[:-4])) != checksum:
        raise _damaged(path, "its head does not fit its checksum")
    document = _document(path, text)
    if version > FORMAT:
        needs = f"Tamis {str(document.get('needs', 'of a later version'))[:20]}"
        raise StorageError(f"{os.fspath(path)} is of format {version}: it needs {needs}, upgrade")
    if version < 1:
        raise _damaged(path, f"there is no format {version}")
    if size != file_size:
        raise _damaged(path, f"it has {size:,} bytes instead of {file_size:,}")
    return head_size, document


def _document(path: str | os.PathLike[str], text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its head is not JSON") from error
    if not isinstance(document, dict):
        raise _damaged(path, "its head is not a JSON object")
    return document


def _table(rows: object, size: int) -> list[Entry]:
    """The entries of the table, each of which lies behind the one before and within ``size``."""
    if not isinstance(rows, list):
        raise ValueError("it has no table of arrays")
    entries: dict[str, Entry] = {}
    end = 0
    for row in rows:
        entry = _entry(row)
        if entry.name in entries:
            raise ValueError(f"it has two arrays {entry.name[:100]!r}")
        if entry.offset % ALIGNMENT or entry.offset < end or entry.offset + entry.length > size:
            raise ValueError(f"its array {entry.name[:100]!r} lies where it cannot")
        end = entry.offset + entry.length
        entries[entry.name] = entry
    return list(entries.values())


def _entry(row: Any) -> Entry:
    """One row of the table, whose shape NumPy can represent and whose length is that of its shape.

    The bound holds for empty arrays too, since NumPy leaves zeros out of its own check.
    """
    try:
        entry = Entry(*_fields(row))
    except (KeyError, TypeError) as error:
        raise ValueError("a row of its table lacks a field") from error
    if not type(entry.name) is type(entry.dtype) is type(entry.checksum) is str:
        raise ValueError("a row of its table has a field of a wrong type")
    name = entry.name[:100]
    if (dtype := DTYPES.get(entry.dtype)) is None:
        raise ValueError(f"its array {name!r} is of the unknown dtype {entry.dtype[:20]!r}")
    if type(entry.shape) is not list or len(entry.shape) > _MAX_DIMENSIONS:
        raise ValueError(f"its array {name!r} has no shape")
    for number in (*entry.shape, entry.offset, entry.length):
        if type(number) is not int or not 0 <= number < 1 << 63:
            raise ValueError(f"its array {name!r} has a number that is not a size")
    largest = math.prod([extent or 1 for extent in entry.shape]) * dtype.itemsize
    if largest >= 1 << 63 or entry.length != math.prod(entry.shape) * dtype.itemsize:
        raise ValueError(f"its array {name!r} has a length that is not that of its shape")
    return entry


def _verify(memory: mmap.mmap, head_size: int, entries: list[Entry]) -> None:
    """Read every byte behind the head."""
    content = memoryview(memory)[head_size:]
    end = 0
    for entry in entries:
        if any(content[end : entry.offset]):
            raise ValueError(f"the padding before its array {entry.name!r} is not zero")
        end = entry.offset + entry.length
        if f"{zlib.crc32(content[entry.offset : end]):08x}" != entry.checksum:
            raise ValueError(f"its array {entry.name!r} does not fit its checksum")
    if any(content[end:]):
        raise ValueError("the padding behind its arrays is not zero")
