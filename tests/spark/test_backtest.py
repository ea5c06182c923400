"""Backtests: what would have matched, and when."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tamis.errors import TamisError
from tamis.spark import backtest
from tests.spark.oracle import events_frame, oracle, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRST = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"id": n, "x": n % 7, "at": FIRST + timedelta(days=n // 10)} for n in range(50)
]
NEW = {"low": "x < 3", "one": "x = 1", "<none>": "x = 70"}
OLD = {"low": "x < 2 or x = 6", "one": "x = 1", "gone": "x = 5"}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    fields = {"x": pa.int64(), "at": pa.timestamp("us", "UTC")}
    return events_frame(spark, ROWS, fields).cache()


def test_matches_by_day(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    found = backtest(events, subscriptions_frame(spark, NEW), at="at")
    expected = oracle([{"id": row["id"], "x": row["x"]} for row in ROWS], NEW)
    assert found.events == 50
    assert len(found.periods) == 5
    assert [each.subscription for each in found.histories] == ["low", "one", "<none>"]
    for each in found.histories:
        own = {event for event, id in expected if id == each.subscription}
        assert each.matches == len(own) == sum(each.periods.values())
        assert (each.added, each.lost) == (0, 0)
        days = [len([event for event in own if event // 10 == day]) for day in range(5)]
        assert [each.periods.get(start, 0) for start in found.periods] == days
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "50 events, 3 subscriptions" in page
    assert "without any match: 1." in page
    assert "&lt;none&gt;" in page
    assert "<none>" not in page
    plots = re.findall(r"<svg.*?</svg>", page)
    assert len(plots) == 1 + len(NEW)
    bars = [len(ElementTree.fromstring(plot).findall("rect")) for plot in plots]
    assert bars == [5, 5, 5, 0]


def test_what_a_change_adds_and_takes_away(spark: SparkSession, events: DataFrame) -> None:
    old = subscriptions_frame(spark, OLD)
    found = backtest(events, subscriptions_frame(spark, NEW), at="at", before=old)
    changes = {each.subscription: (each.added, each.lost) for each in found.histories}
    twos, fives, sixes = (sum(row["x"] == x for row in ROWS) for x in (2, 5, 6))
    assert changes == {"low": (twos, sixes), "one": (0, 0), "<none>": (0, 0), "gone": (0, fives)}


def test_mistakes(spark: SparkSession, events: DataFrame) -> None:
    table = subscriptions_frame(spark, NEW)
    with pytest.raises(TamisError, match="must be a timestamp"):
        backtest(events, table, at="x")
    with pytest.raises(TamisError, match="no column 'when'"):
        backtest(events, table, at="when")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TamisError, match="not over a stream"):
        backtest(stream, table, at="timestamp", event_id="value")
