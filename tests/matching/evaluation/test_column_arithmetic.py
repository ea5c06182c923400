"""Arithmetic on columns: the same numbers as the oracle's, or the oracle decides."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis

pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning")

TEXTS = [
    "a * 2 > b",
    "a / b > 0.5",
    "not a / b > 0.5",
    "not (a - b < c * 2)",
    "a + 1 = b",
    "a * 1.0 = 9007199254740993",
    "a * b = c / 2",
    "(a + b) * 0.1 >= c",
    "a - b > 1000 and c = 1",
    "a / (b - c) != 3",
    "a * 2 != b",
    "a * 2 = 'x' or a * 2 != 'y'",
    "1 / a <= b",
    "a + b * 18446744073709551615 > 0",
    "(a * a > 9) is not true",
    "a * 2 > 7 unless b + c = 3",
]
WHOLE = [0, 1, 2, 3, -1, 7, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 10**18 + 7]
REAL = [0.0, -0.0, 0.5, 0.1, 7.0, 1e300, 5e-324, 2.0**53, 2.0**60, float("nan"), float("inf")]
OTHER = ["x", "y", True, 2**64 - 1, None]


def engine_of(matcher: str) -> tamis.Engine:
    engine = tamis.Engine(matcher=matcher)
    engine.subscribe_many({text: text for text in TEXTS})
    if matcher == "sieve":
        engine.settle()
    return engine


@pytest.fixture(scope="module")
def sieve() -> tamis.Engine:
    return engine_of("sieve")


@pytest.fixture(scope="module")
def scan() -> tamis.Engine:
    return engine_of("scan")


def _values(*values: Any) -> Any:
    return st.sampled_from([each for some in values for each in some])


def _rows(a: Any, b: Any, c: Any) -> Any:
    return st.lists(st.fixed_dictionaries({"a": a, "b": b, "c": c}), min_size=1, max_size=20)


def _check(sieve: tamis.Engine, scan: tamis.Engine, rows: list[Any], events: Any) -> None:
    assert sorted(sieve.match_batch(events).pairs()) == sorted(scan.match_batch(rows).pairs())


@given(_rows(*[_values(WHOLE, REAL, OTHER)] * 3))
def test_events_of_any_kind(sieve: Any, scan: Any, rows: list[Any]) -> None:
    _check(sieve, scan, rows, rows)
    assert sorted(sieve.match(rows[0])) == sorted(scan.match(rows[0]))


@given(_rows(_values(WHOLE), _values(REAL), _values(WHOLE)))
def test_columns_of_integers_and_doubles(sieve: Any, scan: Any, rows: list[Any]) -> None:
    _check(sieve, scan, rows, pa.Table.from_pylist(rows))


@given(_rows(_values(WHOLE, [None]), _values(WHOLE, [None]), _values(REAL, [None])))
def test_columns_with_nulls(sieve: Any, scan: Any, rows: list[Any]) -> None:
    types = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.float64()})
    table = pa.Table.from_pylist([{"a": 1}, *rows], types)
    _check(sieve, scan, rows, table.slice(1))


@given(_rows(st.lists(_values(WHOLE, REAL), max_size=3), _values(WHOLE), _values(REAL)))
def test_lists(sieve: Any, scan: Any, rows: list[Any]) -> None:
    _check(sieve, scan, rows, rows)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 5, 250], pa.uint8()),
        pa.array([1, 5, 2**64 - 1], pa.uint64()),
        pa.array([0.5, 2.5, None], pa.float32()),
        pa.array(["1", "5", "x"]),
        pa.array([True, False, None]),
        pa.array([1, 2, 3], pa.timestamp("us")),
        pa.array([1, 2, 1]).dictionary_encode(),
        pa.array([1, 2, 3]).cast(pa.decimal128(30, 2)),
        pa.chunked_array([[1], [], [5, 9]]),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_other_types(sieve: Any, scan: Any, column: Any) -> None:
    table = pa.table({"a": column, "b": [3, 2, 1], "c": column})
    _check(sieve, scan, table, table)


def test_columns_that_are_not_there(sieve: Any, scan: Any) -> None:
    for names in ("a", "b", "ac", "x"):
        table = pa.table({name: [0, 3, 9] for name in names})
        _check(sieve, scan, table, table)
        part = table.slice(1, 1)
        _check(sieve, scan, part, part)


def test_the_oracle_is_not_asked_about_ordinary_numbers(
    sieve: Any, scan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nanoseconds since 1970 are ordinary, too."""
    now = 1_700_000_000_000_000_000
    rows: list[dict[str, Any]] = [
        {"a": now + n * 100, "b": now, "c": n % 2} for n in range(0, 50, 7)
    ]
    rows += [{"a": n, "b": n % 3, "c": 0.25 * n} for n in range(-5, 20)]
    expected = sorted(scan.match_batch(rows).pairs())

    def refuse(slot: int) -> Any:
        raise AssertionError(f"the oracle was asked about {texts[slot]}")

    engine = tamis.Engine()
    texts = [text for text in TEXTS if "." not in text and "18446744073709551615" not in text]
    texts = [text for text in texts if "/" not in text and "a * a" not in text]
    engine.subscribe_many({text: text for text in texts})
    engine.settle()
    matcher = engine.subscriptions.index.matcher
    monkeypatch.setattr(matcher, "_setting", matcher._setting._replace(expressions=refuse))
    assert len(texts) > 5
    found = engine.match_batch(pa.Table.from_pylist(rows[:8])).pairs()
    assert sorted(found) == [pair for pair in expected if pair[0] < 8 and pair[1] in texts]
    found = engine.match_batch(pa.Table.from_pylist(rows[8:])).pairs()
    kept = [(row - 8, id) for row, id in expected if row >= 8 and id in texts]
    assert sorted(found) == kept


def test_after_save_and_load(sieve: Any, scan: Any, tmp_path: Any) -> None:
    sieve.save(tmp_path / "x")
    rows = [{"a": n, "b": n % 3, "c": 0.25 * n} for n in range(-5, 20)]
    _check(tamis.Engine.load(tmp_path / "x"), scan, rows, pa.Table.from_pylist(rows))
