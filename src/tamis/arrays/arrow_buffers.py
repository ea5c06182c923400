"""Arrow's buffers as NumPy arrays, without a copy, in the one form that the kernels take.

    validity   1 0 1 1 …            a bit a value, lowest first; absent if there are no nulls
    values     v0 v1 v2 v3 …        a slice begins ``offset`` values into each of these
    offsets    0 3 3 7 …            strings: value i is bytes offsets[i] to offsets[i + 1]

Numba compiles a kernel once for each combination of argument types, and a read-only array is of
another type than a writable one. So all that comes from outside, columns and the arrays of lines,
is read-only, contiguous and aligned, and only results and scratch are writable: each kernel is
compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Bytes, Flags, Offsets, Ranks

UNRANKED = -1
"""The rank of what is on no line: a null, NaN, a value of another kind."""


def frozen(array: Any, dtype: DTypeLike) -> NDArray[Any]:
    """A read-only view, or a copy where the type, the layout or the alignment is another."""
    found = np.ascontiguousarray(array, dtype)
    view = found.view() if found.flags.aligned else found.copy()
    view.flags.writeable = False
    return view


def fixed_width(array: Any, dtype: DTypeLike, width: int = 1) -> NDArray[Any]:
    """The values of an array, each of them ``width`` numbers of a type."""
    item = np.dtype(dtype).itemsize * width
    return _view(array.buffers()[1], dtype, array.offset * item, len(array) * width)


def string_buffers(array: Any) -> tuple[Offsets, Bytes]:
    """The offsets of an array of strings, one more than there are strings, and all their bytes."""
    if not len(array):  # its offsets may be absent
        return frozen((0,), np.int64), frozen((), np.uint8)
    _, offsets, data = array.buffers()
    dtype = np.dtype(np.int64 if str(array.type).startswith("large") else np.int32)
    found = _view(offsets, dtype, array.offset * dtype.itemsize, len(array) + 1)
    return frozen(found, np.int64), _view(data, np.uint8, 0, data.size if data else 0)


def are_within(offsets: Offsets, data: Bytes) -> bool:
    """Whether offsets ascend and stay within the data, which only a full validation looks at."""
    return bool(
        offsets[0] >= 0 and offsets[-1] <= len(data) and (offsets[1:] >= offsets[:-1]).all()
    )


def strings_from(offsets: Offsets, data: Bytes, valid: Flags) -> Any:
    """Large strings of these offsets and bytes, null where they are not valid."""
    import pyarrow as pa

    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").data)
    buffers = [bits, pa.py_buffer(offsets.data), pa.py_buffer(data.data)]
    return pa.Array.from_buffers(pa.large_string(), len(valid), buffers)


def bits(buffer: Any, offset: int, count: int) -> Flags:
    """The bits of a bitmap from an offset on."""
    packed = _view(buffer, np.uint8, offset // 8, (offset % 8 + count + 7) // 8)
    return np.unpackbits(packed, bitorder="little")[offset % 8 :][:count].view(np.bool_)


def mark_nulls(array: Any, ranks: Ranks) -> None:
    """Take the nulls of an array out of its ranks."""
    if array.null_count:
        bitmap = array.buffers()[0]
        _mark_unset(_view(bitmap, np.uint8, 0, bitmap.size), array.offset, ranks)


def _view(buffer: Any, dtype: DTypeLike, start: int, count: int) -> NDArray[Any]:
    if not count:
        return frozen((), dtype)
    return frozen(np.frombuffer(buffer, dtype, count, start), dtype)


@kernel
def _mark_unset(bitmap: Bytes, offset: int, ranks: Ranks) -> None:
    for i in range(len(ranks)):
        bit = offset + i
        if not (bitmap[bit >> 3] >> (bit & 7)) & 1:
            ranks[i] = UNRANKED
