"""Columns of strings as flat arrays, and back without a copy: offsets, bytes, and what is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.errors import StorageError

if TYPE_CHECKING:
    import pyarrow as pa


def string_arrays(array: pa.Array[Any], prefix: str = "") -> dict[str, NDArray[Any]]:
    """The offsets, the bytes and, if there are nulls, the validity bits of an array of strings."""
    import pyarrow as pa

    value_type = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not any(is_kind(value_type) for is_kind in kinds):
        raise TypeError(f"no array of strings: {array.type}")
    strings = array.cast(pa.large_string())
    offsets, data = np.zeros(1, np.int64), np.zeros(0, np.uint8)
    if len(strings):
        _, offset_bytes, data_bytes = (memoryview(each or b"") for each in strings.buffers())
        offsets = np.frombuffer(offset_bytes, np.int64, len(strings) + 1, strings.offset * 8)
        data = np.frombuffer(data_bytes, np.uint8)[offsets[0] : offsets[-1]]
        offsets = offsets - offsets[0] if offsets[0] else offsets
    arrays: dict[str, NDArray[Any]] = {
        _joined(prefix, "offsets"): offsets,
        _joined(prefix, "data"): data,
    }
    if strings.null_count:
        valid = strings.is_valid().to_numpy(zero_copy_only=False)
        arrays[_joined(prefix, "valid")] = np.packbits(valid, bitorder="little")
    return arrays


def strings_of(
    arrays: Mapping[str, NDArray[Any]], prefix: str = "", verify: bool = True
) -> pa.LargeStringArray:
    """The strings that ``string_arrays`` took apart, without a copy; ``verify`` reads them all."""
    import pyarrow as pa

    try:
        offsets, data = arrays[_joined(prefix, "offsets")], arrays[_joined(prefix, "data")]
        valid = arrays.get(_joined(prefix, "valid"))
        _check_strings(offsets, data, valid)
        bits = None if valid is None else pa.py_buffer(valid.data)
        buffers = [bits, pa.py_buffer(offsets.data), pa.py_buffer(data.data)]
        strings = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
        strings.validate(full=verify)
    except (KeyError, ValueError) as error:
        path = getattr(arrays, "path", "these arrays")
        reason = error.args[0] if error.args else error
        remedy = "restore the file from a copy or build it again"
        raise StorageError(f"no strings {prefix!r} in {path}: {reason}; {remedy}") from error
    return strings  # type: ignore[return-value]


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def _check_strings(offsets: NDArray[Any], data: NDArray[Any], valid: NDArray[Any] | None) -> None:
    """What Arrow takes on trust: the types and the lengths of the buffers."""
    if offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) == 0:
        raise ValueError("the offsets are not a row of int64")
    if data.dtype != np.uint8 or data.ndim != 1:
        raise ValueError("the data are not a row of bytes")
    if offsets[0] != 0 or offsets[-1] != len(data):
        raise ValueError("the offsets do not fit the data")
    if valid is not None and (valid.dtype != np.uint8 or valid.shape != ((len(offsets) + 6) // 8,)):
        raise ValueError("the validity bits do not fit the offsets")
