"""Writing a file of arrays: beside its place, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.array_layout import (
    DTYPES,
    MAX_HEAD,
    Entry,
    end_of,
    entries_of,
    file_sort,
    head_of,
    path_name,
)
from tamis.errors import StorageError
from tamis.model.limits import check_limit

_CHUNK = 1 << 20
"""Bytes written at a time."""


def save_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays of numbers and a header of JSON, atomically; equal content gives equal bytes."""
    stored = {name: np.asarray(arrays[name]) for name in sorted(arrays)}
    entries = entries_of(stored)
    name = path_name(path)
    check_limit(len(head_of(entries, header)), MAX_HEAD, "bytes of table and header", f" in {name}")
    try:
        with _replacing(_destination(name)) as file:
            _write(file, entries, stored, header)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        remedy = "check the folder, its permissions and its free space"
        raise StorageError(f"cannot write {name}: {reason}; {remedy}") from error


def _write(
    file: BinaryIO,
    entries: list[Entry],
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
) -> None:
    """One pass over the arrays; the head, whose size does not depend on checksums, comes last."""
    start = len(head_of(entries, header))
    complete = []
    for entry in entries:
        file.seek(start + entry.offset)
        checksum = 0
        for chunk in _chunks(arrays[entry.name], DTYPES[entry.dtype]):
            checksum = zlib.crc32(chunk, checksum)
            file.write(chunk)
        complete.append(entry._replace(checksum=f"{checksum:08x}"))
    file.seek(0)
    file.write(head_of(complete, header))
    file.truncate(start + end_of(entries))


def _chunks(array: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    flat: Any = array.reshape(-1) if array.flags.c_contiguous else array.flat
    step = _CHUNK // dtype.itemsize
    for start in range(0, array.size, step):
        yield np.ascontiguousarray(flat[start : start + step], dtype).view(np.uint8).data


def _destination(name: str) -> Path:
    """The regular file behind all links, whether it is there or not."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(mode := os.stat(name).st_mode):
            raise StorageError(
                f"cannot write {name}: it is {file_sort(mode)}; give the path of a file"
            )
    return Path(os.path.realpath(name))


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
