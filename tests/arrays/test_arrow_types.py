"""The same values come out of every encoding, of whole arrays and of slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.arrays.arrow_types import decoded, large_strings, strings_of, valid_rows

TEXTS = ["Oak", None, "", "oak", "Ähre", "Ähre", None, "x" * 20]


class Wrapped(pa.ExtensionType):
    """A type that says nothing about its storage."""

    def __init__(self, storage: Any) -> None:
        super().__init__(storage, "tamis.tests.wrapped")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Wrapped:
        return cls(storage)


def wrapped(array: Any) -> Any:
    return pa.ExtensionArray.from_storage(Wrapped(array.type), array)


def runs(array: Any) -> Any:
    return pc.call_function("run_end_encode", [array])


def views(array: Any) -> Any:
    return array.cast(pa.string_view())


ENCODINGS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda array: array,
    "large": lambda array: array.cast(pa.large_string()),
    "views": views,
    "dictionary": lambda array: array.dictionary_encode(),
    "null in a dictionary": lambda array: array.dictionary_encode(null_encoding="encode"),
    "dictionary of views": lambda array: pa.DictionaryArray.from_arrays(
        pa.array([None if text is None else place for place, text in enumerate(TEXTS)]),
        views(array.fill_null("")),
    ),
    "runs": runs,
    "extension": wrapped,
    "extension of a dictionary": lambda array: wrapped(array.dictionary_encode()),
}


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_has_the_same_values(encoding: str, start: int) -> None:
    array = ENCODINGS[encoding](pa.array(TEXTS)).slice(start, 4)
    wanted = TEXTS[start : start + 4]
    assert decoded(array).to_pylist() == wanted
    assert strings_of(array).to_pylist() == wanted
    assert valid_rows(array).tolist() == [text is not None for text in wanted]


@pytest.mark.parametrize("encoding", ["plain", "large", "views"])
def test_large_strings_of_a_slice_can_be_folded(encoding: str) -> None:
    strings = large_strings(ENCODINGS[encoding](pa.array(TEXTS)).slice(3, 3))
    lower = pc.ascii_lower(strings)
    lower.validate(full=True)
    assert lower.to_pylist() == ["oak", "Ähre", "Ähre"]


def test_nulls_in_any_encoding_are_nulls() -> None:
    nothing = pa.nulls(2)
    for array in (nothing, pa.DictionaryArray.from_arrays(pa.array([0, None]), nothing)):
        assert decoded(array).to_pylist() == [None, None]
        assert valid_rows(array).tolist() == [False, False]


def test_indices_outside_of_a_dictionary_are_refused() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["a"]), safe=False)
    with pytest.raises(pa.ArrowException):
        decoded(array)
