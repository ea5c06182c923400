"""A pipeline between a broker's subscriptions and its delivery."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.client import Client
from tamis.spark.pipeline import Broker, EventForm, EventSource, Pipeline, broker_subscriptions
from tests.server.conftest import Served, serve, served
from tests.spark.pipeline.test_pipeline import RULES, documents, oracle, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["serve", "served"]
pytestmark = pytest.mark.slow


def test_from_the_subscriptions_of_a_broker_to_its_delivery(
    spark: SparkSession, served: Served, tmp_path: Path
) -> None:
    events = documents(200)
    write_lines(tmp_path / "events" / "1.json", events)
    for id, text in RULES.items():
        served.subscribe(text, id=id)
    served.subscribe("x >= 0", id="off")
    served.http.post("/v1/subscriptions/off/disable")
    made = Pipeline(
        EventSource("json", str(tmp_path / "events")),
        broker_subscriptions(served.address, served.key),
        [Broker(served.address, served.key, event="document")],
        str(tmp_path / "state"),
        name="spark",
        patience=60.0,
        events=EventForm(keep=("document",)),
    )
    made.run(spark, once=True)
    (tmp_path / "again").mkdir()
    made.folder = str(tmp_path / "again")
    made.run(spark, once=True)  # as if the state was lost: all is delivered again
    with Client(served.address, key=served.key) as client:
        found = [
            note for id in (*RULES, "off") for note in client.read(id, limit=1000).notifications
        ]
    pairs = [(note.event_id, note.subscription) for note in found]
    assert len(pairs) == len(set(pairs)), "a delivery that is repeated changes nothing"
    assert set(pairs) == oracle(events, RULES)
    known = {event["id"]: event for event in events}
    assert all(note.event == known[note.event_id] for note in found if note.event_id)
    assert {note.source for note in found} == {"spark"}


def test_mistakes_are_named() -> None:
    assert list(Broker("127.0.0.1:80", "k").problems()) == [
        "address must begin with 'http://' or 'https://', not '127.0.0.1:80'"
    ]
    assert "secret" not in repr(Broker("http://x", "secret"))
