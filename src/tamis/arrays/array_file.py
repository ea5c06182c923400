"""One file of named flat arrays, opened by memory mapping and shared between processes.

    with open_arrays("index.tamis") as arrays:
        arrays.header["segments"], arrays["lines/3/hi"]

Format 1 is read by every later 0.x and 1.x version of Tamis, and keys of the head that are not
known are ignored. A file of a newer format is refused by a message that tells the version it needs:
for that, the preamble, its checksum and the key ``needs`` are the same in all formats.

A file is written beside its place and renamed, so that a crash leaves the old one or the new one,
and whoever has the old one open keeps it. A symbolic link stays: its target is written. Never
change a file in place: a process that has mapped it dies when it reads beyond a new end. A process
that is killed while it writes can leave a ``*.tmp`` file behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.errors import StorageError
from tamis.model.limits import check_limit

if TYPE_CHECKING:
    pass

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

_PREAMBLE = struct.Struct("<8sIQQI")
_DTYPES = {
    text: np.dtype(text)
    for text in "|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split()
}
_CHUNK = 1 << 20
_MAX_DIMENSIONS = 64


class _Entry(NamedTuple):
    name: str
    dtype: str
    shape: list[int]
    offset: int
    length: int
    checksum: str = "00000000"


_fields = itemgetter(*_Entry._fields)


def save_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays of numbers and a header of JSON, atomically; equal content gives equal bytes."""
    stored = {name: np.asarray(arrays[name]) for name in sorted(arrays)}
    entries = _layout(stored)
    name = _name(path)
    check_limit(len(_head(entries, header)), MAX_HEAD, "bytes of table and header", f" in {name}")
    try:
        with _replacing(_destination(name)) as file:
            _write(file, entries, stored, header)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        remedy = "check the folder, its permissions and its free space"
        raise StorageError(f"cannot write {name}: {reason}; {remedy}") from error


def open_arrays(path: str | os.PathLike[str], verify: bool = True) -> ArrayFile:
    """Map a file; without ``verify`` its head is checked and its arrays are not read."""
    path = _name(path)
    try:
        if not stat.S_ISREG(mode := os.stat(path).st_mode):
            raise StorageError(f"{path} is {_sort(mode)}: give the path of a file")
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
    path = _name(path)
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
        entries: list[_Entry],
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
        flat = np.frombuffer(self._memory, _DTYPES[entry.dtype], count, start)
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


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _end(entries: list[_Entry]) -> int:
    return entries[-1].offset + entries[-1].length if entries else 0


def _layout(arrays: Mapping[str, NDArray[Any]]) -> list[_Entry]:
    entries: list[_Entry] = []
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in _DTYPES:
            raise TypeError(f"no array of numbers: {name!r} is of dtype {array.dtype}")
        offset = _aligned(_end(entries))
        entries.append(_Entry(name, dtype, list(array.shape), offset, array.nbytes))
    return entries


def _head(entries: list[_Entry], header: Mapping[str, Any]) -> bytes:
    rows = [entry._asdict() for entry in entries]
    document = {"needs": NEEDS, "header": dict(header), "arrays": rows}
    text = json.dumps(document, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    size = _aligned(_PREAMBLE.size + len(text))
    text = text.ljust(size - _PREAMBLE.size)
    guarded = _PREAMBLE.pack(MAGIC, FORMAT, size, size + _end(entries), 0)[:-4]
    return guarded + zlib.crc32(text, zlib.crc32(guarded)).to_bytes(4, "little") + text


def _write(
    file: BinaryIO,
    entries: list[_Entry],
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
) -> None:
    """One pass over the arrays; the head, whose size does not depend on checksums, comes last."""
    start = len(_head(entries, header))
    complete = []
    for entry in entries:
        file.seek(start + entry.offset)
        checksum = 0
        for chunk in _chunks(arrays[entry.name], _DTYPES[entry.dtype]):
            checksum = zlib.crc32(chunk, checksum)
            file.write(chunk)
        complete.append(entry._replace(checksum=f"{checksum:08x}"))
    file.seek(0)
    file.write(_head(complete, header))
    file.truncate(start + _end(entries))


def _chunks(array: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    flat: Any = array.reshape(-1) if array.flags.c_contiguous else array.flat
    step = _CHUNK // dtype.itemsize
    for start in range(0, array.size, step):
        yield np.ascontiguousarray(flat[start : start + step], dtype).view(np.uint8).data


def _name(path: str | os.PathLike[str]) -> str:
    """The path as a string; numbers, which Python takes for open files, are refused."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise StorageError(f"a path is a string or a pathlib.Path, not {path!r:.50}")
    return name


def _destination(name: str) -> Path:
    """The regular file behind all links, whether it is there or not."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(mode := os.stat(name).st_mode):
            raise StorageError(f"cannot write {name}: it is {_sort(mode)}; give the path of a file")
    return Path(os.path.realpath(name))


_SORTS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def _sort(mode: int) -> str:
    return _SORTS.get(stat.S_IFMT(mode), "not a file")


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``target`` if all goes well, and vanishes otherwise."""
    temporary = target.with_name(f"{target.name[:50]}.{secrets.token_hex(8)}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115  (closed below, before it is renamed)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _damaged(path: str | os.PathLike[str], reason: str) -> StorageError:
    remedy = "restore it from a copy or build it anew"
    return StorageError(f"{os.fspath(path)} is damaged, {reason}: {remedy}")


def _read_head(path: str | os.PathLike[str], file: BinaryIO) -> tuple[int, dict[str, Any]]:
    """The size of the head and its document, of a file that is as long as its head says."""
    preamble = file.read(_PREAMBLE.size)
    if not MAGIC.startswith(preamble[: len(MAGIC)]):
        raise StorageError(f"{os.fspath(path)} is no file of arrays: give one that Tamis has saved")
    size = os.fstat(file.fileno()).st_size
    if len(preamble) < _PREAMBLE.size:
        raise _damaged(path, f"cut short at {size:,} bytes")
    _, version, head_size, file_size, checksum = _PREAMBLE.unpack(preamble)
    if not _PREAMBLE.size <= head_size <= min(size, MAX_HEAD) or head_size % ALIGNMENT:
        raise _damaged(path, "its head is cut short or of a wrong size")
    text = file.read(head_size - _PREAMBLE.size)
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
        raise _damaged(path, "its head is no JSON") from error
    if not isinstance(document, dict):
        raise _damaged(path, "its head is no JSON object")
    return document


def _table(rows: object, size: int) -> list[_Entry]:
    """The entries of the table, each of which lies behind the one before and within ``size``."""
    if not isinstance(rows, list):
        raise ValueError("it has no table of arrays")
    entries: dict[str, _Entry] = {}
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


def _entry(row: Any) -> _Entry:
    """One row of the table, whose shape NumPy can represent and whose length is that of its shape.

    The bound holds for empty arrays too, since NumPy leaves zeros out of its own check.
    """
    try:
        entry = _Entry(*_fields(row))
    except (KeyError, TypeError) as error:
        raise ValueError("a row of its table lacks a field") from error
    if not type(entry.name) is type(entry.dtype) is type(entry.checksum) is str:
        raise ValueError("a row of its table has a field of a wrong type")
    name = entry.name[:100]
    if (dtype := _DTYPES.get(entry.dtype)) is None:
        raise ValueError(f"its array {name!r} is of the unknown dtype {entry.dtype[:20]!r}")
    if type(entry.shape) is not list or len(entry.shape) > _MAX_DIMENSIONS:
        raise ValueError(f"its array {name!r} has no shape")
    for number in (*entry.shape, entry.offset, entry.length):
        if type(number) is not int or not 0 <= number < 1 << 63:
            raise ValueError(f"its array {name!r} has a number that is no size")
    largest = math.prod([extent or 1 for extent in entry.shape]) * dtype.itemsize
    if largest >= 1 << 63 or entry.length != math.prod(entry.shape) * dtype.itemsize:
        raise ValueError(f"its array {name!r} has a length that is not that of its shape")
    return entry


def _verify(memory: mmap.mmap, head_size: int, entries: list[_Entry]) -> None:
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
