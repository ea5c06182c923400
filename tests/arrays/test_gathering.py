"""Some strings of an array, all at once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine
from tamis.arrays.gathering import StringParts


def from_rows(strings: list[str], rows: list[int], cuts: Sequence[int] = ()) -> list[str] | None:
    """The strings of some rows, from parts that end at the cuts."""
    parts, kept, first = StringParts.none(), [], 0
    for stop in (*sorted(cuts), len(strings)):
        kept.append(pa.array(["before", *strings[first:stop]], pa.large_string())[1:])
        _, offsets, data = kept[-1].buffers()
        assert offsets is not None
        assert data is not None
        begin = offsets.address + 8 * kept[-1].offset
        parts = parts.followed_by(first, stop - first, begin, data.address)
        first = stop
    return parts.strings(rows)


@given(st.lists(st.text(max_size=80), min_size=1, max_size=20), st.data())
def test_strings_of_rows(strings: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(strings) - 1)))
    cuts = data.draw(st.lists(st.integers(0, len(strings)), max_size=4))
    expected = [strings[row] for row in rows]
    found = from_rows(strings, rows, cuts)
    assert found == (None if any("\0" in each for each in expected) else expected)


def test_long_strings() -> None:
    strings = ["x" * 50_000, "", "é" * 400]
    assert from_rows(strings, [2, 0, 1]) == [strings[2], strings[0], ""]


def test_rows_that_no_part_has() -> None:
    assert StringParts.none().strings([0]) is None
    assert from_rows(["a", "b"], [1, 2]) is None
    assert from_rows(["a", "b"], [-1]) is None


@pytest.mark.parametrize("odd", ["plain", "with\0separator"])
def test_ids_of_many_matches(odd: str) -> None:
    ids = [f"{odd}-{number}" for number in range(1_200)]
    engine = Engine()
    engine.subscribe_many(dict.fromkeys(ids, "a = 1"))
    assert sorted(engine.match({"a": 1})) == sorted(ids)
    more = [f"more-{number}" for number in range(1_100)]
    engine.subscribe_many(dict.fromkeys(more, "b = 1"))
    engine.subscribe("b = 1", id="alone")
    assert sorted(engine.match({"b": 1})) == sorted([*more, "alone"])
    assert sorted(engine.match({"a": 1, "b": 1})) == sorted([*ids, *more, "alone"])
    engine.unsubscribe("alone")
    assert sorted(engine.match({"b": 1})) == sorted(more)
