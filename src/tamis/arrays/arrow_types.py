"""What an Arrow array holds, whatever its encoding: extension types, dictionaries, runs, views.

    storage      an array without its extension type
    decoded      the same values as a plain array, from which Arrow can take some
    valid_rows   which values are there
    strings_of   the strings among them, as ``large_strings``

Arrow trusts the indices of dictionaries, the ends of runs and the offsets of views; so whatever
decodes them validates them in full first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tamis.arrays.arrow_buffers import are_within, string_buffers, strings_from
from tamis.arrays.types import Flags

EXACT = 2**53
"""Integers up to this one are exact as doubles, and so are their negatives."""
NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Of each unit of Arrow's timestamps."""


def storage(array: Any) -> Any:
    """An array without its extension type."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def storage_type(kind: Any) -> Any:
    """A type without its extension."""
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind


def is_encoded(kind: Any) -> bool:
    """Whether a type is that of a dictionary or of runs."""
    return types.is_dictionary(kind) or types.is_run_end_encoded(kind)


def is_text(kind: Any) -> bool:
    """Whether a type is one of strings."""
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def decoded(array: Any) -> Any:
    """The values of an array without extension, dictionary, runs or views."""
    array = storage(array)
    if is_encoded(array.type):
        if types.is_null(array.type.value_type):  # of which Arrow 26 says nonsense, or crashes
            return pa.nulls(len(array))
        if types.is_run_end_encoded(array.type):
            return decoded(run_values(array))
        array.validate(full=True)
        return decoded(array.dictionary).take(array.indices)
    return _without_views(array)


def run_values(array: Any) -> Any:
    """The values of an array of runs, one for each row."""
    array.validate(full=True)
    return pc.call_function("run_end_decode", [array])


def _without_views(array: Any) -> Any:
    """The same values in a layout from which Arrow can take some: of views it takes none."""
    if types.is_string_view(array.type):
        return large_strings(array)
    return array.cast(pa.large_binary()) if types.is_binary_view(array.type) else array


def valid_rows(array: Any) -> Flags:
    """Which rows of an array are not null, even if its encoding has nulls among its values."""
    array = storage(array)
    if is_encoded(array.type):
        if types.is_null(array.type.value_type):  # of which Arrow 26 says nonsense, or crashes
            return np.zeros(len(array), bool)
        if types.is_run_end_encoded(array.type) or array.dictionary.null_count:
            array.validate(full=True)
    valid: Flags = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def strings_of(leaves: Any) -> Any:
    """The strings among some values as large strings, null for all else; None if none can be."""
    if leaves is None:
        return None
    if isinstance(leaves, list):
        found = [value if isinstance(value, str) else None for value in leaves]
        return pa.array(found, pa.large_string())
    array = decoded(leaves)
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
