"""Noise and change are told apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks.compare import alone, compare, main
from benchmarks.report import Row, Run

TIME = Row("W2, time", 1_000_000, "match_batch", "µs an event", 0.20, 0.20, 0.22)
RATIO = Row("W2, times the scan", 1_000_000, "match_batch", "x", 9_000, 8_500, 9_100, more=True)
BYTES = Row("W2, index", 1_000_000, "engine", "bytes each", 26.0, 26.0, 26.0)


def run_of(*rows: Row) -> Run:
    return Run({"processor": "p", "cores": 2}, {}, "2026-01-01T00:00", False, list(rows))


def verdict(before: Row, after: Row) -> str:
    [change] = compare(run_of(before), run_of(after))
    return change.verdict


def times(row: Row, factor: float) -> Row:
    parts = {name: getattr(row, name) * factor for name in ("value", "low", "high")}
    return dataclasses.replace(row, **parts)


@pytest.mark.parametrize(
    ("row", "factor", "expected"),
    [
        (TIME, 1.0, ""),
        (TIME, 1.09, ""),
        (TIME, 1.2, "slower"),
        (TIME, 0.93, ""),
        (TIME, 0.8, "faster"),
        (RATIO, 0.95, ""),
        (RATIO, 0.8, "slower"),
        (RATIO, 1.2, "faster"),
        (BYTES, 1.01, ""),
        (BYTES, 1.1, "larger"),
        (BYTES, 0.9, "smaller"),
    ],
)
def test_a_change_counts_beyond_the_spread(row: Row, factor: float, expected: str) -> None:
    assert verdict(row, times(row, factor)) == expected


@pytest.mark.parametrize("noisy_first", [True, False])
def test_the_noisier_run_decides(noisy_first: bool) -> None:
    noisy = dataclasses.replace(TIME, high=0.40)
    worse = times(TIME, 1.5)
    assert verdict(TIME, worse) == "slower"
    if noisy_first:
        assert verdict(noisy, worse) == ""
    else:
        assert verdict(TIME, times(noisy, 1.5)) == ""


def test_only_the_same_figure_is_compared() -> None:
    smaller = dataclasses.replace(TIME, subscriptions=100_000)
    other = dataclasses.replace(TIME, through="core")
    before, after = run_of(TIME, smaller), run_of(TIME, other)
    assert [change.after.key for change in compare(before, after)] == [TIME.key]
    assert alone(before, after) == [
        "only in the first: W2, time, 100k, match_batch",
        "only in the second: W2, time, 1M, core",
    ]


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (run_of(TIME, BYTES), 0),
        (run_of(times(TIME, 0.5), BYTES), 0),
        (run_of(times(TIME, 2.0), BYTES), 1),
        (run_of(TIME, times(BYTES, 1.5)), 1),
        (run_of(RATIO), 2),
    ],
    ids=["same", "faster", "slower", "larger", "nothing in common"],
)
def test_the_exit_code_tells_a_regression(
    after: Run, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run_of(TIME, BYTES).save(first)
    after.save(second)
    assert main([str(first), str(second)]) == code
    assert "W2" in capsys.readouterr().out


def test_a_run_survives_its_file(tmp_path: Path) -> None:
    run = run_of(TIME, RATIO, BYTES)
    run.skipped["W2, open"] = "no reason"
    run.save(tmp_path / "run.json")
    assert Run.load(tmp_path / "run.json") == run
