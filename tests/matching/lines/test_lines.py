"""Lines against the definition: a rank is the number of distinct cuts at or below a value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from tamis.arrays import arrow_buffers, string_search, thresholds
from tamis.arrays.string_search import Strings, hash_strings
from tamis.matching.lines.registry import (
    LINES,
    BooleanLine,
    Line,
    number_line,
    string_line,
    timestamp_line,
)
from tamis.model.kinds import Kind, to_value
from tamis.model.timestamp import Timestamp

COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]
Cut = tuple[Any, bool]

EDGES: list[int | float] = [
    *(0, 1, -1, 0.0, -0.0, 0.5, 2.5, 3, 5e-324, -5e-324, 0.1, 1.7976931348623157e308),
    *(2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2.0**53, -(2**53) - 1, 2**62 + 1, 2.0**62),
    *(2**63 - 1, 2**63, 2**63 + 1, 2.0**63, 2.0**63 + 2048, 2**63 - 512, 2**63 - 513, 2**63 + 1024),
    *(2**64 - 1, 2**64 - 1024, 2**64 - 1025, 2.0**64, 2.0**64 - 2048, 1e300, -1e300),
    *(-(2**63), -(2**63) + 1, -(2.0**63), -(2.0**63) - 2048, math.inf, -math.inf),
]
TEXTS = [
    *("", "\0", "\0\0", "a", "a\0", "a\0b", "ab", "abcdefgh", "abcdefg", "abcdefgh\0", "abcdefghi"),
    *("abcdefghijklmnop", "abcdefghijklmnopq", "abcdefghijklmnoq", "x" * 1000, "x" * 999 + "y"),
    *("é", "\uffff", "\ud7ff", "\ue000", "\U00010000", "\U0010ffff", "ß", "zzzzzzzzzzzzzzzzz"),
]

numbers = st.one_of(
    st.sampled_from(EDGES),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-20, 20),
    st.floats(allow_nan=False),
)
texts = st.sampled_from(TEXTS) | st.text(max_size=20) | st.text("ab\0", max_size=18)
instants = st.one_of(
    st.integers(-62135596800 * 10**9, 253402300799 * 10**9 + 999_999_999),
    st.integers(-(2**63) - 5, -(2**63) + 5),
    st.integers(2**63 - 5, 2**63 + 5),
    st.integers(-5, 5).map(lambda n: n * 86_400 * 10**9),
    st.integers(-2_000_000_001, 2_000_000_001),
).map(Timestamp)


def cuts_of(constants: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Cut]]:
    return st.lists(st.tuples(constants, st.booleans()), max_size=20)


def naive_rank(cuts: Iterable[Cut], value: Any) -> int:
    if value is None or value != value:
        return -1
    return sum(value > constant if after else value >= constant for constant, after in set(cuts))


def build(make: Callable[..., Any], cuts: list[Cut], **options: Any) -> Any:
    """The line of some cuts, after a look at their positions."""
    after = np.array([side for _, side in cuts], np.bool_)
    line, positions = make([constant for constant, _ in cuts], after, **options)
    in_order = sorted(set(cuts))
    assert positions.dtype == np.int32
    assert [in_order[position] for position in positions] == cuts
    assert line.size == len(in_order) + 1
    return line


def stored(line: Line) -> Line:
    """The line as it comes back from a file: read-only arrays."""
    arrays = {}
    for name, array in line.arrays().items():
        assert array.ndim == 1
        copy = np.frombuffer(array.tobytes(), array.dtype)
        assert len(copy) == len(array)
        arrays[name] = copy
    return type(line).from_arrays(arrays)


def sliced(values: list[Any], arrow_type: Any, start: int = 3) -> Any:
    """An array that begins within its buffers and ends before they do."""
    padding = [None, *values][: start + 1] * 4
    whole = pa.array([*padding[:start], *values, *padding], arrow_type)
    return whole.slice(len(padding[:start]), len(values))


def check(line: Line, cuts: list[Cut], array: Any, values: list[Any]) -> None:
    """The ranks of an array, one by one and encoded in other ways, before and after storing."""
    expected = [naive_rank(cuts, value) for value in values]
    for same in (line, stored(line)):
        ranks = same.ranks(array)
        assert ranks.dtype == np.int32
        assert ranks.flags.writeable
        assert ranks.tolist() == expected
        assert [-1 if value is None else same.rank(value) for value in values] == expected


@given(cuts_of(numbers), st.lists(numbers | st.none() | st.just(math.nan)))
def test_numbers_in_the_order_of_python(cuts: list[Cut], values: list[Any]) -> None:
    line = build(number_line, cuts)
    values = values + [constant for constant, _ in cuts]
    whole = [v for v in values if v is None or (isinstance(v, int) and v < 2**63)]
    check(line, cuts, sliced(whole, pa.int64()), whole)
    unsigned = [v for v in values if v is None or (isinstance(v, int) and v >= 0)]
    check(line, cuts, sliced(unsigned, pa.uint64()), unsigned)
    doubles = [v for v in values if v is None or isinstance(v, float)]
    check(line, cuts, sliced(doubles, pa.float64()), doubles)


@pytest.mark.parametrize("constants", [EDGES, EDGES[:12], [5], [-(2**63)], [math.inf], []])
def test_numbers_at_the_edges(constants: list[Any]) -> None:
    cuts = [(constant, after) for constant in constants for after in (True, False)]
    line = build(number_line, cuts)
    for value in [*EDGES, *(math.nextafter(v, w) for v in EDGES for w in (-math.inf, math.inf))]:
        assert line.rank(value) == naive_rank(cuts, value), value
        if isinstance(value, int) and value > 0:
            assert line.ranks(pa.array([value], pa.uint64()))[0] == naive_rank(cuts, value)
    for value in EDGES:
        for near in (value - 1, value + 1):
            if isinstance(near, int) and -(2**63) <= near < 2**64:
                assert line.rank(near) == naive_rank(cuts, near), near
    assert line.rank(math.nan) == -1


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
@given(data=st.data())
def test_arrays_of_constants_are_as_lists_of_them(dtype: type, data: st.DataObject) -> None:
    constants = data.draw(st.lists(st.sampled_from(EDGES) | numbers, max_size=30))
    if dtype is not np.float64:
        info = np.iinfo(dtype)
        constants = [c for c in constants if isinstance(c, int) and info.min <= c <= info.max]
    after = np.array([data.draw(st.booleans()) for _ in constants], np.bool_)
    array: Any = np.array(constants, dtype)
    line, positions = number_line(array, after)
    same, same_positions = number_line(array.tolist(), after)
    assert positions.tolist() == same_positions.tolist()
    assert line.size == same.size
    for name, stored_array in line.arrays().items():
        assert stored_array.tolist() == same.arrays()[name].tolist()


@pytest.mark.parametrize("values", [[math.nan, 1], [math.nan, 2**60 + 1], [-math.nan, math.inf]])
def test_no_cut_at_nan(values: list[Any]) -> None:
    for given_values in (values, np.array(values)):
        with pytest.raises(ValueError, match="NaN"):
            number_line(given_values, np.array([True, False]))


WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("arrow_type", [*WIDTHS, pa.int64()], ids=str)
@pytest.mark.parametrize("spread", [1, 2**40])
def test_integers_of_every_width(arrow_type: Any, spread: int) -> None:
    info = np.iinfo(arrow_type.to_pandas_dtype())
    cuts = [(c, after) for c in (-spread, 3, 5, 100, 200, spread) for after in (True, False)]
    values = [None, info.min, 0, 3, 4, 100, None, 101, info.max, info.max - 1]
    check(build(number_line, cuts), cuts, sliced(values, arrow_type), values)


@pytest.mark.parametrize("arrow_type", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_floats_of_every_width(arrow_type: Any) -> None:
    values = [0.1, None, -0.0, 0.0, math.nan, math.inf, -math.inf, 2.5, 1e-7, 65504.0]
    kept = pa.array(values, arrow_type).cast(pa.float64()).to_pylist()
    cuts = [(c, after) for c in (0, 0.1, 2.5, 65504, math.inf, kept[0]) for after in (True, False)]
    array = sliced(values, arrow_type)
    line = build(number_line, cuts)
    assert line.ranks(array).tolist() == [naive_rank(cuts, value) for value in kept]


DECIMALS = [pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)]
DECIMALS += [pa.decimal128(38, 30), pa.decimal256(76, 0), pa.decimal128(20, -3), pa.decimal64(3, 0)]


@pytest.mark.parametrize("arrow_type", DECIMALS, ids=str)
@given(data=st.data())
def test_decimals_are_exact_or_the_nearest_double(arrow_type: Any, data: st.DataObject) -> None:
    precision, scale = arrow_type.precision, arrow_type.scale
    limit = 10**precision - 1
    wanted = [2**53 + 1, 2**64 - 1, 2**63, 1, 10, 7 * 10**17]
    odd = [w * 10 ** max(scale, 0) + d for w in wanted for d in (0, 1, -1)]
    edge = st.sampled_from([o for o in (*odd, *wanted, 0) if o <= limit])
    raw = data.draw(st.lists(st.integers(-limit, limit) | edge | st.none(), max_size=8))
    values = [None if r is None else Decimal((int(r < 0), _digits(r), -scale)) for r in raw]
    plain = [None if v is None else to_value(v) for v in values]
    extra = data.draw(st.lists(numbers, max_size=3))
    cuts = [(v, after) for v in [*plain, *extra] if v is not None for after in (True, False)]
    check(build(number_line, cuts), cuts, sliced(values, arrow_type), plain)


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(number))))


def test_dense_and_searched_lines_agree() -> None:
    generator = np.random.default_rng(3)
    count = 20_000 if COMPILED else 200
    close = generator.integers(-5_000, 5_000, 700)
    values = generator.integers(-6_000, 6_000, count)
    for constants in (close, np.append(close, [2**40, -(2**40)])):
        line, _ = number_line(constants, np.zeros(len(constants), np.bool_))
        expected = np.searchsorted(np.unique(constants), values, "right")
        assert (line.ranks(pa.array(values)) == expected).all()
        assert (line.ranks(pa.array(values.astype(np.float64))) == expected).all()


def test_a_line_too_long_for_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "LISTED", 3)
    monkeypatch.setattr("tamis.matching.lines.strings.LISTED", 3)
    monkeypatch.setattr("tamis.matching.lines.timestamps.LISTED", 3)
    cuts = [(c, True) for c in EDGES]
    line = build(number_line, cuts)
    for value in EDGES:
        assert line.rank(value) == naive_rank(cuts, value)
    moments = [(Timestamp(n * 600_000_000), n % 2 == 0) for n in range(9)]
    line = build(timestamp_line, moments)
    for moment, _ in moments:
        assert line.rank(moment) == naive_rank(moments, moment)
    words = [(text, True) for text in TEXTS]
    line = build(string_line, words)
    for text in [*TEXTS, "b", "abcdefgg"]:
        assert line.rank(text) == naive_rank(words, text)


STRINGS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("arrow_type", STRINGS, ids=str)
@given(cuts=cuts_of(texts), values=st.lists(texts | st.none()))
def test_strings_by_code_point(arrow_type: Any, cuts: list[Cut], values: list[Any]) -> None:
    values = values + [constant for constant, _ in cuts]
    check(build(string_line, cuts), cuts, sliced(values, arrow_type), values)


@pytest.mark.parametrize("common", ["", "abcdefgh", "https://example.org/products/"])
def test_strings_with_a_common_beginning(common: str) -> None:
    constants = [f"{common}{n:05}" for n in range(0, 400 if COMPILED else 40, 2)]
    cuts = [(c, after) for c in constants for after in (True, False)]
    values = [f"{common}{n:05}" for n in range(-1, 42)]
    values += [common, common + "\uffff", common[:5], common[:5] + "\uffff", ""]
    check(build(string_line, cuts), cuts, sliced(values, pa.string()), values)


@pytest.mark.parametrize("arrow_type", STRINGS, ids=str)
def test_arrow_arrays_of_constants(arrow_type: Any) -> None:
    after = np.arange(len(TEXTS)) % 2 == 0
    line, positions = string_line(sliced(TEXTS, arrow_type), after)
    cuts = list(zip(TEXTS, after.tolist(), strict=True))
    assert [sorted(cuts)[position] for position in positions] == cuts
    check(line, cuts, pa.array(TEXTS), TEXTS)


@given(st.lists(texts), st.lists(texts | st.none()))
def test_alike_gaps(constants: list[str], values: list[Any]) -> None:
    cuts = [(c, after) for c in constants for after in (False, True)]
    line = build(string_line, cuts, gaps_alike=True)
    values = values + constants
    expected = [naive_rank(cuts, v) if v is None or v in constants else 0 for v in values]
    for same in (line, stored(line)):
        assert same.ranks(sliced(values, pa.string())).tolist() == expected
        assert [-1 if v is None else same.rank(v) for v in values] == expected


def test_strings_of_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_alike(strings: Strings) -> Any:
        return np.full(len(strings.offsets) - 1, 2**64 - 1, np.uint64)

    monkeypatch.setattr(string_search, "hash_strings", all_alike)
    monkeypatch.setattr(string_search, "NEAR", -1)  # few constants are hashed in the kernel
    cuts = [(text, index % 3 == 0) for index, text in enumerate(TEXTS)]
    values = [*TEXTS, "no", "none", "x" * 998]
    check(build(string_line, cuts), cuts, pa.array(values), values)


def test_hashes_spread() -> None:
    words = pa.array([f"{n}" for n in range(2_000)] + ["\0" * n for n in range(40)])
    hashes = hash_strings(Strings(*arrow_buffers.string_buffers(words)))
    assert len(np.unique(hashes)) == len(words)
    homes = (hashes >> np.uint64(54)).astype(np.int64)
    assert np.bincount(homes, minlength=1024).max() < 12
    assert len(np.unique(hashes & string_search.TAG)) > 2_030


UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", UNITS)
@given(cuts=cuts_of(instants), values=st.lists(instants | st.none()))
def test_timestamps_of_every_unit(
    unit: str, zone: str | None, cuts: list[Cut], values: list[Any]
) -> None:
    values = values + [constant for constant, _ in cuts]
    counts = [None if v is None else v.nanoseconds // UNITS[unit] for v in values]
    counts = [c for c in counts if c is None or -(2**63) <= c < 2**63]
    first, last = -62135596800 * 10**9, 253402300799 * 10**9 + 999_999_999
    counts = [c for c in counts if c is None or first <= c * UNITS[unit] <= last]
    moments = [None if c is None else Timestamp(c * UNITS[unit]) for c in counts]
    array = sliced(counts, pa.int64()).cast(pa.timestamp(unit, zone))
    check(build(timestamp_line, cuts), cuts, array, moments)


@given(cuts_of(instants), st.lists(st.dates() | st.none()))
def test_dates_are_midnights(cuts: list[Cut], days: list[Any]) -> None:
    days = [*days, date(1970, 1, 1), date(1969, 12, 31), date.min, date.max]
    moments = [None if day is None else Timestamp.of(day) for day in days]
    cuts = [*cuts, (Timestamp.of(date(1969, 12, 31)), True), (Timestamp(1), False)]
    line = build(timestamp_line, cuts)
    check(line, cuts, sliced(days, pa.date32()), moments)
    check(line, cuts, sliced(days, pa.date64()), moments)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.data())
def test_arrays_of_nanoseconds_are_as_lists_of_timestamps(
    counts: list[int], data: st.DataObject
) -> None:
    after = np.array([data.draw(st.booleans()) for _ in counts], np.bool_)
    line, positions = timestamp_line(np.array(counts, np.int64), after)
    same, same_positions = timestamp_line([Timestamp(count) for count in counts], after)
    assert positions.tolist() == same_positions.tolist()
    assert all((a == b).all() for a, b in zip(line.arrays().values(), same.arrays().values()))


@given(st.lists(st.booleans() | st.none()), st.integers(0, 12))
def test_booleans(values: list[Any], start: int) -> None:
    line = BooleanLine()
    expected = [-1 if value is None else int(value) for value in values]
    assert line.size == 2
    assert line.ranks(sliced(values, pa.bool_(), start)).tolist() == expected
    assert stored(line).ranks(pa.array(values, pa.bool_())).tolist() == expected
    assert (line.rank(False), line.rank(True)) == (0, 1)


MOMENT = datetime(2024, 5, 1, tzinfo=UTC)
COLUMNS: list[tuple[Kind | None, Any]] = [
    (Kind.NUMBER, pa.array([1, None, 2])),
    (Kind.NUMBER, pa.array([1.5, None, 2.5])),
    (Kind.NUMBER, pa.array([Decimal("1.5"), None, Decimal(2)])),
    (Kind.STRING, pa.array(["a", None, "b"])),
    (Kind.STRING, pa.array(["a", None, "b"], pa.large_string())),
    (Kind.STRING, pa.array(["a", None, "b"], pa.string_view())),
    (Kind.BOOLEAN, pa.array([True, None, False])),
    (Kind.TIMESTAMP, pa.array([MOMENT, None, MOMENT])),
    (Kind.TIMESTAMP, pa.array([MOMENT.date(), None, MOMENT.date()])),
    (None, pa.array([None, None, None])),
    (None, pa.array([b"a", None, b"b"])),
    (None, pa.array([timedelta(1), None, timedelta(2)])),
    (None, pa.array([[1], None, [2]])),
    (None, pa.array([{"a": 1}, None, {"a": 2}])),
]


def sample_lines() -> dict[Kind, Line]:
    both = np.array([True, False])
    return {
        Kind.NUMBER: number_line([1, 2], both)[0],
        Kind.STRING: string_line(["a", "b"], both)[0],
        Kind.TIMESTAMP: timestamp_line([Timestamp.of(MOMENT)] * 2, both)[0],
        Kind.BOOLEAN: BooleanLine(),
    }


@pytest.mark.parametrize(("kind", "array"), COLUMNS, ids=lambda x: str(getattr(x, "type", x)))
def test_a_line_sees_only_its_kind(kind: Kind | None, array: Any) -> None:
    lines = sample_lines()
    assert {kind: type(line) for kind, line in lines.items()} == LINES
    for other, line in lines.items():
        assert ((line.ranks(array) >= 0) == ([True, False, True] if kind is other else False)).all()
        assert line.ranks(array[:0]).tolist() == []


def encodings(array: Any) -> dict[str, Any]:
    """The same values in other forms."""
    indices = pa.array([2, None, 0, 1, 2, 0], pa.int8())
    sparse = pa.DictionaryArray.from_arrays(indices, array)
    return {
        "few rows": sparse[1:3],
        "rows": sparse,
        "slice": sparse[2:],
        "wide indices": pa.DictionaryArray.from_arrays(indices.cast(pa.uint64()), array),
        "no values": pa.DictionaryArray.from_arrays(pa.array([None] * 3, pa.int32()), array[:0]),
        "no rows": sparse[:0],
    }


@pytest.mark.parametrize(("kind", "array"), COLUMNS[:-2], ids=lambda x: str(getattr(x, "type", x)))
def test_dictionaries(kind: Kind | None, array: Any) -> None:
    for line in sample_lines().values():
        plain = [*line.ranks(array).tolist(), -1]
        for name, encoded in encodings(array).items():
            indices = encoded.indices.fill_null(3).to_pylist()
            assert line.ranks(encoded).tolist() == [plain[i] for i in indices], name


def test_runs_and_extensions() -> None:
    class Price(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "tests.price")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Price:
            return cls()

    line = sample_lines()[Kind.NUMBER]
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5], pa.array([1, None, 2]))
    assert line.ranks(runs).tolist() == line.ranks(pa.array([1, 1, None, 2, 2])).tolist()
    assert line.ranks(runs[1:4]).tolist() == line.ranks(pa.array([1, None, 2])).tolist()
    prices = pa.ExtensionArray.from_storage(Price(), pa.array([0, 1, None, 2]))
    assert line.ranks(prices[1:]).tolist() == line.ranks(pa.array([1, None, 2])).tolist()


def test_malformed_arrays_are_refused() -> None:
    line = sample_lines()[Kind.STRING]
    for offsets in ([0, 9, 2, 3], [0, 2, 1, 3]):
        buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abc")]
        array: Any = pa.Array.from_buffers(pa.string(), 3, buffers)
        array.validate()
        with pytest.raises(pa.ArrowInvalid):
            line.ranks(array)
    for index in (5, -1):
        buffers = [None, pa.py_buffer(np.array([0, index], np.int32))]
        indices = pa.Array.from_buffers(pa.int32(), 2, buffers)
        array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
        with pytest.raises(pa.ArrowInvalid):
            line.ranks(array)


def test_nulls_may_have_any_index() -> None:
    buffers = [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 99, 1], np.int32))]
    indices = pa.Array.from_buffers(pa.int32(), 3, buffers)
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    line = sample_lines()[Kind.STRING]
    assert line.ranks(array).tolist() == [line.rank("a"), -1, line.rank("b")]


def test_unaligned_and_writable_buffers() -> None:
    values = np.arange(-3, 4)
    line, _ = number_line(np.array([0, 2**40]), np.array([True, False]))
    for buffer in (pa.py_buffer(b"x" + values.tobytes()).slice(1), pa.py_buffer(bytearray(values))):
        array = pa.Array.from_buffers(pa.int64(), len(values), [None, buffer])
        assert line.ranks(array).tolist() == (values > 0).tolist()


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_kernels_are_compiled_once_for_each_type_of_number() -> None:
    test_unaligned_and_writable_buffers()
    for line in sample_lines().values():
        for _, array in COLUMNS:
            line.ranks(array)
            stored(line).ranks(array)
    line, _ = string_line(["a", "c"], np.array([True, False]))
    for arrow_type in STRINGS:
        line.ranks(pa.array(["b", None], arrow_type))
    counts = {
        name: len(getattr(module, name).signatures)
        for module, name in [
            *((string_search, name) for name in ("_hash", "_find", "_settle", "_insert")),
            (string_search, "_read_heads"),
            (thresholds, "search_sorted"),
            (thresholds, "_look_up"),
            (arrow_buffers, "_mark_unset"),
        ]
    }
    assert counts.pop("search_sorted") <= 3
    assert counts.pop("_hash") <= 2  # kernels for one string, if compiled just now, have their own
    assert set(counts.values()) <= {0, 1}, counts


def test_opening_a_stored_line_copies_nothing(tmp_path: Path) -> None:
    for line in sample_lines().values():
        mapped = {}
        for name, array in line.arrays().items():
            np.save(tmp_path / f"{name}.npy", array)
            mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        opened = type(line).from_arrays(mapped)
        assert opened.size == line.size
        for name, array in opened.arrays().items():
            if name not in ("size", "gaps_alike") and len(array):
                assert np.shares_memory(array, mapped[name]), name
        for _, array in COLUMNS:
            assert opened.ranks(array).tolist() == line.ranks(array).tolist()


def test_strings_without_offsets() -> None:
    empty = pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    line, positions = string_line(empty, np.empty(0, np.bool_))
    assert (line.size, len(positions)) == (1, 0)
    assert line.ranks(empty).tolist() == []
    assert line.ranks(pa.array(["", "a", None])).tolist() == [0, 0, -1]
