"""Metrics for Prometheus, and the live view."""

from __future__ import annotations

import io
import urllib.request

import pyarrow as pa
import pytest
from rich.console import Console

from tamis.errors import TamisError
from tamis.spark import Index
from tamis.spark.pipeline import BatchReport
from tamis.spark.pipeline.metrics import Metrics
from tamis.spark.pipeline.run import _behind
from tamis.spark.pipeline.versions import Expensive
from tamis.spark.pipeline.view import View

RULES = {f"s{n}": f"x = {n}" for n in range(200)} | {"odd": "(x = 1) is not true"}
INDEX = Index.of(pa.table({"id": [*RULES], "subscription": [*RULES.values()]}))


def report(number: int) -> BatchReport:
    times = {"subscriptions": 0.1, "match": 0.5, "parquet": 0.25}
    counts = {"matches": 20, "throttled": 5, "rejected": 2, "events": 1_000}
    found = BatchReport(number, 3, 7, **counts, seconds=1.0, times=times, behind=40)
    found.expensive = Expensive.of(INDEX)
    return found


def test_metrics_are_served() -> None:
    with Metrics("alerts") as metrics:
        metrics.tell(report(0))
        metrics.tell(report(1))
        address = f"http://127.0.0.1:{metrics.port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            text = answer.read().decode()
        for line in (
            'tamis_pipeline_events_total{pipeline="alerts"} 2000.0',
            'tamis_pipeline_matches_total{pipeline="alerts"} 40.0',
            'tamis_pipeline_throttled_matches_total{pipeline="alerts"} 10.0',
            'tamis_pipeline_rejected_events_total{pipeline="alerts"} 4.0',
            'tamis_pipeline_batch_seconds_count{pipeline="alerts"} 2.0',
            'tamis_pipeline_step_seconds_total{pipeline="alerts",step="match"} 1.0',
            'tamis_pipeline_subscriptions_version{pipeline="alerts"} 3.0',
            'tamis_pipeline_subscriptions{pipeline="alerts"} 7.0',
            'tamis_pipeline_behind_records{pipeline="alerts"} 40.0',
            'tamis_pipeline_unserved_subscriptions{pipeline="alerts"} 1.0',
        ):
            assert line in text.splitlines(), line
        expected = 'tamis_pipeline_expected_nanoseconds{access_key="x = ?",pipeline="alerts"} '
        assert any(line.startswith(expected) for line in text.splitlines()), text
        with pytest.raises(TamisError, match=f"cannot serve metrics on port {metrics.port}: "):
            Metrics("other", metrics.port).__enter__()


def test_the_view_shows_batches_and_where_the_time_goes() -> None:
    out = io.StringIO()
    with View("alerts", Console(file=out, width=120)) as view:
        for number in range(12):
            view.tell(report(number))
        shown = Console(width=120, record=True, file=io.StringIO())
        shown.print(view.shown())
    text = shown.export_text()
    assert "alerts: 12,000 events, 240 matches, 24 rejected" in text
    rows = [line.replace("│", " ").split() for line in text.splitlines()]
    assert ["11", "1,000", "1,000", "20", "2", "1.00", "3", "40"] in rows
    assert not any(row[:2] == ["1", "1,000"] for row in rows)  # only the last ten
    assert ["match", "5.00", "s", "50%"] in rows
    assert ["Spark", "1.50", "s", "15%"] in rows
    assert ["x", "=", "?", "200"] in [row[:4] for row in rows]
    assert "without an access key: 1 (odd)" in text


def test_records_of_kafka_that_wait() -> None:
    latest, end = '{"t": {"0": 50, "1": 9}}', '{"t": {"0": 20, "1": 9}}'
    assert _behind({"sources": [{"latestOffset": latest, "endOffset": end}]}) == 30
    files = {"latestOffset": None, "endOffset": '{"logOffset": 3}'}
    assert _behind({"sources": [files]}) is None
