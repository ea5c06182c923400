"""Hypothesis strategies: Arrow columns of every layout, and subscriptions that look into them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tamis.model.timestamp import Timestamp
from tamis.predicates.expression import Expression
from tamis.predicates.operands import Attribute, Constant
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


# Arrays of a length, from the buffers up: what ``pa.array`` would never make is made here too. They
# come from a seed, since a draw for each cell takes longer than all that is tested.


def _cells(rng: Random, pool: list[Any], length: int) -> list[Any]:
    return [rng.choice(pool) if rng.random() < 0.8 else None for _ in range(length)]


def _mask(rng: Random, length: int) -> pa.Array:
    """Which rows are null: in half of all columns none."""
    share = rng.choice([0, 0, 0.3, 0.8])
    return pa.array([rng.random() < share for _ in range(length)], pa.bool_())


def _scalars(rng: Random, length: int) -> pa.Array:
    arrow_type, pool = rng.choice(POOLS)
    return pa.array(_cells(rng, pool, length), arrow_type)


def _dictionary(rng: Random, length: int) -> pa.Array:
    """Values behind indices, among the values perhaps a null."""
    words = [(kind, TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    others = [(pa.int64(), [0, 1, 2]), (pa.float64(), FLOATS), (pa.binary(), BYTES)]
    arrow_type, pool = rng.choice([*words, *others])
    entries = [rng.choice(pool) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        entries[0] = None
    indices = pa.array(_cells(rng, [*range(len(entries))], length), rng.choice(INTEGERS))
    return pa.DictionaryArray.from_arrays(indices, pa.array(entries, arrow_type))


def _runs(rng: Random, length: int) -> pa.Array:
    arrow_type, pool = rng.choice(ENCODABLE)
    return pc.run_end_encode(pa.array(_cells(rng, pool, length), arrow_type))


def _struct(rng: Random, length: int, depth: int, tagged: bool) -> pa.Array:
    """A struct of a few fields, some of which have values where the struct is null."""
    names = rng.sample(FIELDS, rng.randint(1, 4))
    fields = [_array(rng, length, depth - 1, tagged) for _ in names]
    return pa.StructArray.from_arrays(fields, names, mask=_mask(rng, length))


def _lengths(rng: Random, length: int) -> list[int]:
    return [rng.choice([0, 1, 1, 2, 3]) for _ in range(length)]


def _list(rng: Random, length: int, depth: int, tagged: bool) -> pa.Array:
    """A list column, whose first elements nobody has, and whose nulls may have elements."""
    counts = [rng.randint(0, 2), *_lengths(rng, length)]
    values = _array(rng, sum(counts), depth - 1, tagged=False)
    kind, width = rng.choice([(pa.ListArray, pa.int32()), (pa.LargeListArray, pa.int64())])
    offsets = pa.array(np.cumsum(counts), width)
    return kind.from_arrays(offsets, values, mask=_mask(rng, length))


def _list_view(rng: Random, length: int, depth: int, tagged: bool) -> pa.Array:
    """Lists in any order, which may share elements."""
    counts = _lengths(rng, length)
    size = max([*counts, rng.randint(0, 6)])
    values = _array(rng, size, depth - 1, tagged=False)
    starts = [rng.randint(0, size - count) for count in counts]
    kinds = [(pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())]
    kind, width = rng.choice(kinds)
    mask = _mask(rng, length)
    return kind.from_arrays(pa.array(starts, width), pa.array(counts, width), values, mask=mask)


def _fixed_list(rng: Random, length: int, depth: int, tagged: bool) -> pa.Array:
    size = rng.randint(1, 3)
    values = _array(rng, size * length, depth - 1, tagged=False)
    return pa.FixedSizeListArray.from_arrays(values, size, mask=_mask(rng, length))


def _extension(rng: Random, length: int, depth: int, tagged: bool) -> pa.Array:
    storage = _array(rng, length, depth - 1, tagged=False)
    return pa.ExtensionArray.from_storage(Tagged(storage.type), storage)


_FLAT = [_scalars, _scalars, _scalars, _dictionary, _runs]
_NESTED = [_struct, _struct, _list, _list, _list_view, _fixed_list]


def _array(rng: Random, length: int, depth: int, tagged: bool = True) -> pa.Array:
    """An array of any type, half of them slices of longer ones.

    No extension type is below a list: where the lists are not one behind the other, Arrow cannot
    put its elements together.
    """
    front, back = rng.choice([(0, 0), (0, 0), (1, 0), (2, 1), (9, 0)])
    whole = front + length + back
    if depth <= 0 or rng.random() < 0.3:
        made = rng.choice(_FLAT)(rng, whole)
    else:
        nested = [*_NESTED, _extension] if tagged else _NESTED
        made = rng.choice(nested)(rng, whole, depth, tagged)
    return made.slice(front, length)


def record_batch(seed: int, columns: int, rows: int, depth: int) -> pa.RecordBatch:
    """Some columns, of which subscriptions ask for most; half of all batches are slices."""
    rng = Random(seed)
    front = rng.choice([0, 0, 1, 7])
    names = rng.sample(KEYS, columns)
    arrays = [_array(rng, front + rows, depth) for _ in names]
    return pa.RecordBatch.from_arrays(arrays, names).slice(front)


def record_batches(max_rows: int = 4, max_depth: int = 4) -> st.SearchStrategy[pa.RecordBatch]:
    """Batches of every layout."""
    seeds, rows = st.integers(0, 2**32), st.integers(0, max_rows)
    return st.builds(record_batch, seeds, st.integers(1, 4), rows, st.integers(0, max_depth))
