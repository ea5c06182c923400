"""What ``learn`` tells of events, and who uses it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import StorageError, TamisError
from tamis.spark import Index, Shards, Statistics, learn, match
from tests.spark.oracle import events_frame, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS = {"kind": pa.string(), "user": pa.string(), "at": pa.timestamp("us", "UTC")}
SUBSCRIPTIONS = {f"s{n}": f"kind = 'k{n % 4}' and user = 'u{n}'" for n in range(200)}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """Every event has a kind, of four; half of them a user, of fifty."""
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    rows = [
        {"id": n, "kind": f"k{n % 4}", "user": f"u{n % 50}" if n % 2 else None, "at": moment}
        for n in range(400)
    ]
    return events_frame(spark, rows, FIELDS).cache()


@pytest.fixture(scope="module")
def learned(spark: SparkSession, events: DataFrame) -> Statistics:
    return learn(events, subscriptions_frame(spark, SUBSCRIPTIONS))


def attributes(statistics: Statistics) -> dict[str, dict[str, Any]]:
    return {row["attribute"]: row for row in statistics.attributes.to_pylist()}


def test_attributes(learned: Statistics) -> None:
    assert learned.events == 400
    found = attributes(learned)
    assert found.keys() == {"kind", "user", "at"}
    assert found["kind"]["presence"] == 1.0
    assert found["user"]["presence"] == 0.5
    assert found["user"]["distinct"] == 25
    assert dict(found["kind"]["frequent"]) == {f"k{n}": 0.25 for n in range(4)}
    assert found["kind"]["quantiles"][0] == "k0"
    assert found["kind"]["quantiles"][-1] == "k3"
    assert found["at"]["kind"] == "timestamp"


def test_matches(spark: SparkSession, events: DataFrame, learned: Statistics) -> None:
    found = match(events, subscriptions_frame(spark, SUBSCRIPTIONS)).groupBy("subscription_id")
    expected = {row[0]: row[1] for row in found.count().collect()}
    assert expected
    assert {row["subscription"]: row["matches"] for row in learned.matches.to_pylist()} == expected


def test_predicates(learned: Statistics) -> None:
    texts = ["kind = 'k1' and user = 'u1'", "kind = 'k1' or not user = 'u3'", "kind = 'none'"]
    rows = learned.predicates(map(tamis.parse, texts)).to_pylist()
    assert rows[0] == {"predicate": "kind = 'k1'", "popularity": 2, "selectivity": 0.25}
    found = {row["predicate"]: row["selectivity"] for row in rows}
    assert found == {
        "kind = 'k1'": 0.25,
        "user = 'u1'": 8 / 400,
        "user = 'u3'": 8 / 400,
        "kind = 'none'": 0.0,
    }


def test_saved_and_merged(learned: Statistics, tmp_path: Path) -> None:
    learned.save(tmp_path / "day")
    again = Statistics.open(tmp_path / "day")
    assert (again.events, again.sample, again.matches) == (400, learned.sample, learned.matches)
    both = learned.merged(again)
    assert both.events == 800
    assert attributes(both)["user"]["presence"] == 0.5
    ours = {row["subscription"]: row["matches"] for row in learned.matches.to_pylist()}
    assert {row["subscription"]: row["matches"] for row in both.matches.to_pylist()} == {
        id: 2 * count for id, count in ours.items()
    }
    with pytest.raises(StorageError, match="has no statistics"):
        Statistics.open(tmp_path / "other")


def test_documents(spark: SparkSession) -> None:
    rows = [(n, json.dumps({"bids": [{"by": "ada"}, {"by": "ben"}], "n": n})) for n in range(10)]
    events = spark.createDataFrame([*rows, (11, "{broken")], "id long, raw string")
    found = attributes(learn(events, column="raw"))
    assert found["bids.by"]["presence"] == 1.0
    assert found["n"]["distinct"] == 10


def test_an_index_learns(events: DataFrame, learned: Statistics, tmp_path: Path) -> None:
    """Its plan is about these events, also when it is opened again; its matches are the same."""
    texts = {id: f"{text} and at is present" for id, text in SUBSCRIPTIONS.items()}
    table = pa.table({"id": [*texts], "subscription": [*texts.values()]})
    index = Index.of(table)
    before = pairs(match(events, index))
    learned.teach(index)
    assert pairs(match(events, index)) == before
    index.save(tmp_path / "taught.index")
    assert pairs(match(events, tmp_path / "taught.index")) == before


def test_shards_are_divided_by_what_events_have(
    spark: SparkSession, events: DataFrame, learned: Statistics, tmp_path: Path
) -> None:
    """Half of the events have no user: they visit no shard if that is the key."""
    table = subscriptions_frame(spark, SUBSCRIPTIONS)
    shards = Shards.build(table, tmp_path / "shards", count=4, statistics=learned)
    assert [axis.path for axis in shards.axes] == [("user",)]
    assert pairs(match(events, shards)) == pairs(match(events, table))


def test_mistakes(spark: SparkSession, events: DataFrame, learned: Statistics) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TamisError, match="not from a stream"):
        learn(stream, event_id="value")
    other = learn(events.select("id", "kind"))
    with pytest.raises(TamisError, match="different columns"):
        learned.merged(other)
