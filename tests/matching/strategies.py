"""Hypothesis strategies: Arrow columns of every layout, and subscriptions that look into them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Expression
from tamis.predicates.terms import Attribute, Constant
from tests.strategies import combined, comparisons, predicates

PARENTS = {
    "red": ["blue", "warm"],
    "Red": ["red", ""],
    "warm": [""],
    "10.0.0.1": [],
    "r": ["warm", "10.0.0.1"],
}
"""A taxonomy with several parents, which knows all words of the strategies but one."""
WORDS = ["red", "Red", "blue", "", "10.0.0.1", "warm", "r"]
STRANGER = "no term"

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
CONSTANTS: list[Any] = [
    *(0, 1, 2, 1.5, -1, 2**53 + 1, 2**63, -(2**63), 0.1),
    *WORDS,
    *(True, False),
    *(Timestamp.of(MOMENT), Timestamp.of(MOMENT + timedelta(microseconds=1)), Timestamp(0)),
]
PATHS = [
    *(("a",), ("b",), ("c",), ("x.y",), ("x", "y"), ("items",), ("n",)),
    *(("items", "color"), ("items", "price"), ("items", "tags"), ("n", "m"), ("n", "items")),
    *(("items", "parts", "size"), ("n", "m", "k"), ("n", "items", "color"), ("a", "b")),
]
KEYS = ["a", "b", "c", "x.y", "x", "items", "n", "unasked"]
FIELDS = ["color", "price", "tags", "parts", "size", "m", "k", "y", "x.y", "items", "b", "unasked"]


def sample(strategy: st.SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """So many examples, the same for the same number: what is too large for one example."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Any) -> None:
        found.append(example)

    collect()
    return found


def subscriptions(max_leaves: int = 4) -> st.SearchStrategy[Expression]:
    """Expressions over the paths, values and words of the columns."""
    subjects = st.sampled_from(PATHS).map(Attribute)
    values = st.sampled_from(CONSTANTS).map(Constant)
    words = st.sampled_from(WORDS).map(Constant)
    leaves = comparisons(subjects, values) | predicates(subjects, values, words)
    return combined(leaves, max_leaves)


# Scalars: a type and what may stand in a column of it.

TEXTS = [*WORDS, STRANGER, "re", "redder", "é", "\U0010ffff", "red\0"]
FLOATS = [0.0, -0.0, 1.0, 1.5, 0.1, math.nan, math.inf, -math.inf, 2.0**53]
MOMENTS = [
    *(MOMENT, MOMENT + timedelta(microseconds=1), MOMENT - timedelta(seconds=1)),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1700, 1, 1, tzinfo=UTC),
]
BYTES = [b"red", b"", b"\xff\0"]


def _integers(arrow_type: pa.DataType) -> list[int]:
    info = np.iinfo(arrow_type.to_pandas_dtype())
    edges = (0, 1, 2, 3, -1, 100, 2**53 + 1, 2**63, int(info.min), int(info.max))
    return [value for value in edges if info.min <= value <= info.max]


def _moments(arrow_type: pa.TimestampType) -> list[datetime]:
    """Moments that the unit can tell."""
    coarse = {"s": 1_000_000, "ms": 1_000}.get(arrow_type.unit, 1)
    rounded = [
        each.replace(microsecond=each.microsecond - each.microsecond % coarse) for each in MOMENTS
    ]
    elsewhere = timezone(timedelta(hours=5, minutes=30))
    if arrow_type.tz is None:
        return [each.replace(tzinfo=None) for each in rounded]
    return [each.astimezone(elsewhere) for each in rounded]


def _decimals(arrow_type: Any) -> list[Decimal]:
    """Some numbers of the scale, which also stand as constants, and its least and greatest."""
    scale, most = arrow_type.scale, 10**arrow_type.precision - 1
    wanted = [Fraction(text) for text in ("0", "1", "2", "3/2", "-1", "1/10", str(2**53 + 1))]
    scaled = [value * Fraction(10) ** scale for value in wanted]
    exact = [int(value) for value in scaled if value.denominator == 1 and abs(value) <= most]
    return [Decimal(f"{unscaled}e{-scale}") for unscaled in (*exact, 1, -1, most, -most)]


INTEGERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
]
DECIMALS = [
    *(pa.decimal32(9, 2), pa.decimal64(18, 0), pa.decimal128(38, 4), pa.decimal256(76, 1)),
    *(pa.decimal128(38, 30), pa.decimal128(5, -2), pa.decimal128(20, 0)),
]
TIMESTAMPS = [
    pa.timestamp(unit, zone)
    for unit in ("s", "ms", "us", "ns")
    for zone in (None, "UTC", "Asia/Kolkata")
]
POOLS: list[tuple[pa.DataType, list[Any]]] = [
    *((kind, _integers(kind)) for kind in INTEGERS),
    (pa.float16(), [np.float16(value) for value in (0.0, 1.0, 1.5, math.nan, math.inf, -1.0)]),
    *((kind, FLOATS) for kind in (pa.float32(), pa.float64())),
    *((kind, _decimals(kind)) for kind in DECIMALS),
    (pa.bool_(), [True, False]),
    *((kind, TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, _moments(kind)) for kind in TIMESTAMPS),
    *((kind, [each.date() for each in MOMENTS]) for kind in (pa.date32(), pa.date64())),
    *((kind, BYTES) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.binary(3), [b"red", b"\xff\0a"]),
    (pa.null(), [None]),
]
ENCODABLE = [
    pool
    for pool in POOLS
    if not (pa.types.is_null(pool[0]) or str(pool[0]).endswith("_view"))  # which decode to nothing
]


class Tagged(pa.ExtensionType):
    """Any storage under another name."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "tamis.tests.tagged")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Tagged:
        return cls(storage)


# Arrays of a length, from the buffers up: what ``pa.array`` would never make is made here too.

Draw = Callable[[st.SearchStrategy[Any]], Any]


def _cells(draw: Draw, pool: list[Any], length: int) -> list[Any]:
    cell = st.none() | st.sampled_from(pool)
    return draw(st.lists(cell, min_size=length, max_size=length))


def _mask(draw: Draw, length: int) -> pa.Array:
    """Which rows are null: mostly none."""
    some = st.lists(st.booleans(), min_size=length, max_size=length)
    return pa.array(draw(st.just([False] * length) | some), pa.bool_())


def _scalars(draw: Draw, length: int) -> pa.Array:
    arrow_type, pool = draw(st.sampled_from(POOLS))
    return pa.array(_cells(draw, pool, length), arrow_type)


def _dictionary(draw: Draw, length: int) -> pa.Array:
    """Words, or other values, behind indices, among the words perhaps a null."""
    words = st.sampled_from([(pa.string(), TEXTS), (pa.large_string(), TEXTS)])
    views = st.just((pa.string_view(), TEXTS))
    arrow_type, pool = draw(words | st.sampled_from(ENCODABLE) | views)
    size = draw(st.integers(1, 3))
    entries = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    if draw(st.integers(0, 3)) == 0:
        entries[0] = None
    indices = pa.array(_cells(draw, [*range(size)], length), draw(st.sampled_from(INTEGERS)))
    return pa.DictionaryArray.from_arrays(indices, pa.array(entries, arrow_type))


def _runs(draw: Draw, length: int) -> pa.Array:
    arrow_type, pool = draw(st.sampled_from(ENCODABLE))
    return pc.run_end_encode(pa.array(_cells(draw, pool, length), arrow_type))


def _struct(draw: Draw, length: int, depth: int) -> pa.Array:
    """A struct of a few fields, some of which have values where the struct is null."""
    names = draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=4))
    fields = [_array(draw, length, depth - 1) for _ in names]
    return pa.StructArray.from_arrays(fields, names, mask=_mask(draw, length))


def _lengths(draw: Draw, length: int) -> list[int]:
    return draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))


def _list(draw: Draw, length: int, depth: int, large: bool = False) -> pa.Array:
    """A list column, whose first elements nobody has, and whose nulls may have elements."""
    counts = [draw(st.integers(0, 2)), *_lengths(draw, length)]
    values = _array(draw, sum(counts), depth - 1)
    kind = pa.LargeListArray if large else pa.ListArray
    offsets = pa.array(np.cumsum(counts), pa.int64() if large else pa.int32())
    return kind.from_arrays(offsets, values, mask=_mask(draw, length))


def _large_list(draw: Draw, length: int, depth: int) -> pa.Array:
    return _list(draw, length, depth, large=True)


def _list_view(draw: Draw, length: int, depth: int) -> pa.Array:
    """Lists in any order, which may share elements."""
    counts = _lengths(draw, length)
    size = max([*counts, draw(st.integers(0, 6))])
    values = _array(draw, size, depth - 1)
    starts = [draw(st.integers(0, size - count)) for count in counts]
    large = draw(st.booleans())
    kind = pa.LargeListViewArray if large else pa.ListViewArray
    width = pa.int64() if large else pa.int32()
    return kind.from_arrays(
        pa.array(starts, width), pa.array(counts, width), values, mask=_mask(draw, length)
    )


def _fixed_list(draw: Draw, length: int, depth: int) -> pa.Array:
    size = draw(st.integers(1, 3))
    values = _array(draw, size * length, depth - 1)
    return pa.FixedSizeListArray.from_arrays(values, size, mask=_mask(draw, length))


def _extension(draw: Draw, length: int, depth: int) -> pa.Array:
    storage = _array(draw, length, depth - 1)
    return pa.ExtensionArray.from_storage(Tagged(storage.type), storage)


_FLAT = [_scalars, _scalars, _scalars, _dictionary, _runs]
_NESTED = [_struct, _struct, _list, _list, _large_list, _list_view, _fixed_list, _extension]


def _array(draw: Draw, length: int, depth: int) -> pa.Array:
    """An array of any type, half of them slices of longer ones."""
    front, back = draw(st.sampled_from([(0, 0), (0, 0), (1, 0), (2, 1), (9, 0)]))
    whole = front + length + back
    if depth <= 0 or draw(st.integers(0, 2)) == 0:
        made = draw(st.sampled_from(_FLAT))(draw, whole)
    else:
        made = draw(st.sampled_from(_NESTED))(draw, whole, depth)
    return made.slice(front, length)


@st.composite
def record_batches(draw: Draw, max_rows: int = 4, max_depth: int = 4) -> pa.RecordBatch:
    """A batch of a few columns, of which subscriptions ask for most."""
    length = draw(st.integers(0, max_rows))
    names = draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=4))
    columns = [_array(draw, length, max_depth) for _ in names]
    batch = pa.RecordBatch.from_arrays(columns, names)
    start = draw(st.integers(0, length)) if draw(st.booleans()) else 0
    return batch.slice(start)
