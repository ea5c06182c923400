"""The values that points are bound to, as arrays: strings of any encoding, or of a Python list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tamis.arrays.arrow_buffers import are_within, string_buffers, strings_from


def plain_array(leaves: Any) -> Any:
    """An Arrow array without extension, dictionary or runs."""
    if isinstance(leaves.type, pa.BaseExtensionType):
        return plain_array(leaves.storage)
    if types.is_dictionary(leaves.type):
        leaves.validate(full=True)
        return plain_array(without_views(leaves.dictionary).take(leaves.indices))
    if types.is_run_end_encoded(leaves.type):
        leaves.validate(full=True)
        return plain_array(pc.call_function("run_end_decode", [leaves]))
    return leaves


def without_views(array: Any) -> Any:
    """The same values in a layout from which Arrow can take some: of views it takes none."""
    if types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if types.is_binary_view(array.type) else array


def strings_of(leaves: Any) -> Any:
    """The strings among some values as large strings, null for all else; None if none can be."""
    if leaves is None:
        return None
    if isinstance(leaves, list):
        found = [value if isinstance(value, str) else None for value in leaves]
        return pa.array(found, pa.large_string())
    array = plain_array(leaves)
    return large_strings(array) if is_text(array.type) else None


def large_strings(array: Any) -> Any:
    """An array of strings as large strings that begin at offset 0 of their data.

    Arrow's functions are not to be trusted with others: ``cast`` gives a slice of strings offsets
    that begin elsewhere, and pyarrow 25 and 26 make invalid offsets of these in ``ascii_lower``,
    without an error.
    """
    if types.is_string_view(array.type):
        array.validate(full=True)
    found = array.cast(pa.large_string())
    offsets, data = string_buffers(found)
    if not are_within(offsets, data):
        array.validate(full=True)
    if found.offset == 0 and offsets[0] == 0:
        return found
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    return strings_from(offsets - offsets[0], data[offsets[0] : offsets[-1]], valid)


def is_text(kind: Any) -> bool:
    """Whether a type is one of strings."""
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
