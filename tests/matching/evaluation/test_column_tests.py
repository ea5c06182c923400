"""Texts that are sought and tests on columns: the sieve decides them without the oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.matching.boxes import compiler as sides
from tamis.matching.setting import Setting

pytestmark = pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning")

TEXTS = [
    "x contains text 'oak'",
    "x contains text 'oak' and x contains text 'table'",
    "not x contains text 'oak'",
    "x contains text 'OAK' ignoring case",
    "x like '%oak%'",
    "x like '%oak%t_ble%'",
    "not x like '%oak%t_ble%'",
    "x like '%OAK_T%' ignoring case",
    "x matches 'oak (table|chair)'",
    "x matches '^[a-z]+$'",
    "not x matches 'oak'",
    "x matches 'OAK' ignoring case",
    "x contains 'oak'",
    "x contains 'oak' and x contains 'elm'",
    "not x contains 'oak'",
    "x contains 5 or x contains text 'oak'",
    "x = y",
    "x < y and x contains text 'a'",
    "not x < y",
    "x != y",
    "x = y ignoring case",
    "x.a contains text 'oak' and x.b = 2",
    "x contains text 'é' or y contains text '😀'",
]
ROWS: list[dict[str, Any]] = [
    {"x": "oak", "y": "oak"},
    {"x": "OAK table", "y": "oak TABLE"},
    {"x": "an oak table", "y": "zebra"},
    {"x": "oak chair", "y": None},
    {"x": "oaktuble", "y": "a"},
    {"x": "", "y": ""},
    {"x": "é and 😀", "y": "😀"},
    {"x": None, "y": "oak"},
]
NUMBERS: list[dict[str, Any]] = [
    {"x": 1, "y": 2},
    {"x": 5, "y": 5},
    {"x": 2**53 + 1, "y": 2**53},
    {"x": None, "y": 1},
]
LISTS: list[dict[str, Any]] = [
    {"x": ["oak", "elm"], "y": ["elm"]},
    {"x": ["an oak", "table"], "y": []},
    {"x": [], "y": ["oak"]},
    {"x": ["oak table", None], "y": ["oak table", "x"]},
]
STRUCTS: list[dict[str, Any]] = [
    {"x": [{"a": "oak", "b": 1}, {"a": "elm", "b": 2}]},
    {"x": [{"a": "an oak", "b": 2}]},
    {"x": []},
]


def engines() -> tuple[tamis.Engine, tamis.Engine]:
    sieve, scan = tamis.Engine(), tamis.Engine(matcher="scan")
    for number, text in enumerate(TEXTS):
        sieve.subscribe(text, id=str(number))
        scan.subscribe(text, id=str(number))
    return sieve, scan


def pairs(engine: tamis.Engine, source: Any) -> list[tuple[int, str]]:
    found = sorted(engine.match_batch(source).pairs())
    assert len(found) == len(set(found))
    return found


def refuse_oracle(engine: tamis.Engine, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(slot: int) -> Any:
        raise AssertionError(f"the oracle was asked about {texts[slot]}")

    matcher = engine.subscriptions.index.matcher
    setting: Setting = matcher._setting
    monkeypatch.setattr(matcher, "_setting", setting._replace(expressions=refuse))


@pytest.mark.parametrize(
    "rows", [ROWS, NUMBERS, LISTS, STRUCTS], ids="text numbers lists structs".split()
)
def test_columns_and_events_as_the_oracle_says(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sieve, scan = engines()
    expected = pairs(scan, rows)
    table = pa.Table.from_pylist(rows)
    refuse_oracle(sieve, TEXTS, monkeypatch)
    assert pairs(sieve, rows) == expected
    assert pairs(sieve, table) == expected
    assert pairs(sieve, table.slice(1)) == [(row - 1, id) for row, id in expected if row]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (pa.array([1.5, float("nan"), 2.0**53, 3.0]), pa.array([2, 1, 2**53 + 1, 3])),
        (pa.array([2**53 + 1, -5, 7, 0]), pa.array([2.0**53, -5.0, float("nan"), -0.0])),
        (pa.array([True, False]), pa.array([True, True])),
        (pa.array(["a", "b"]), pa.array([1, 2])),
        (pa.array([b"a", b"b"]), pa.array([b"a", b"c"])),
        (pa.array([b"a", b"b"], pa.binary_view()), pa.array([b"a", b"c"], pa.binary_view())),
        (pa.array([1, 2], pa.uint64()), pa.array([2, 2], pa.int8())),
        (pa.array(["a", "b"], pa.string_view()), pa.array(["a", "a"]).dictionary_encode()),
        (
            pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", "b"], pa.string_view())),
            pa.array(["a", "c"]),
        ),
        (
            pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("s", "UTC")),
            pa.array([datetime(2026, 1, 1) + timedelta(microseconds=n) for n in (0, 1)]),
        ),
    ],
)
def test_columns_of_two_types(x: Any, y: Any) -> None:
    sieve, scan = engines()
    table = pa.table({"x": x, "y": y})
    assert pairs(sieve, table) == pairs(scan, table)


def test_what_a_missing_list_does_not_contain_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is no axis left that would tell whether it is there."""
    monkeypatch.setattr(sides, "MAX_AXES", 0)
    engine = tamis.Engine()
    engine.subscribe("not tags contains 'a'", id="x")
    lists: list[list[str] | None] = [None, [], ["a"], ["b"]]
    rows: list[dict[str, Any]] = [{"tags": tags} for tags in lists]
    table = pa.table({"tags": pa.array(lists, pa.list_(pa.string()))})
    for events in (rows, table):
        assert list(engine.match_batch(events).pairs()) == [(1, "x"), (3, "x")]
    assert [engine.match(row) for row in rows] == [[], ["x"], [], ["x"]]


def test_more_tests_than_there_was_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for two tests per candidate, and these two candidates need five, so they are
    collected twice. The formulas share parts: what is remembered of these is about the last row."""
    texts = ["k = 1 and (a < b or c < d or e < f)", "k = 2 and (a < b or c < d)"]
    sieve, scan = tamis.Engine(), tamis.Engine(matcher="scan")
    for engine in (sieve, scan):
        engine.subscribe_many({text: text for text in texts})
        engine.settle()
    numbers = {"a": 2, "b": 1, "c": 2, "d": 1, "e": 2, "f": 1}  # all tests must be made
    rows: list[dict[str, Any]] = [{"k": 1, **numbers}, {"k": 2, **numbers, "d": 3}]
    expected = pairs(scan, rows)
    assert expected == [(1, texts[1])]
    refuse_oracle(sieve, texts, monkeypatch)
    assert pairs(sieve, rows) == expected
    assert pairs(sieve, pa.Table.from_pylist(rows)) == expected


def test_after_save_and_load(tmp_path: Any) -> None:
    sieve, scan = engines()
    sieve.save(tmp_path / "x")
    loaded = tamis.Engine.load(tmp_path / "x")
    for rows in (ROWS, NUMBERS, LISTS, STRUCTS):
        assert pairs(loaded, pa.Table.from_pylist(rows)) == pairs(scan, rows)
        loaded.unsubscribe("0")
        loaded.subscribe(TEXTS[0], id="0")
