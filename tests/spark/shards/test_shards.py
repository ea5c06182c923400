"""Shards give what one index gives, to the row."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tamis.errors import RejectedWarning, StorageError, TamisError
from tamis.spark import Shards, divided, match
from tests.contract.reading import Case
from tests.spark.oracle import drained, events_frame, pairs, subscriptions_frame
from tests.spark.test_contract_spark import NUMBER, as_json, by_taxonomy, check, table_of
from tests.spark.test_rejected import DOCUMENTS, MATCHES, SUBSCRIPTIONS, check_rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.errors.NeverMatchesWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.CostlyWarning"),
    pytest.mark.filterwarnings("ignore::tamis.errors.IncompleteWarning"),
]


@pytest.mark.parametrize("cases", by_taxonomy(), ids=len)
def test_contract(spark: SparkSession, cases: list[Case], tmp_path: Path) -> None:
    """All events of a taxonomy as JSON against all its subscriptions, in four shards."""
    taxonomy = cases[0].taxonomy
    table = spark.createDataFrame(table_of(cases))
    shards = Shards.build(table, tmp_path / "shards", count=4, taxonomy=taxonomy)
    texts = {number: as_json(case.event) for number, case in enumerate(cases)}
    rows = [(number, text) for number, text in texts.items() if text is not None]
    events = spark.createDataFrame(rows, f"`{NUMBER}` long, document string")
    found = match(events, shards, event_id=NUMBER, column="document")
    check(pairs(found), {number: cases[number].event for number, _ in rows}, cases)


FIELDS = {"city": pa.string(), "price": pa.int64(), "tags": pa.list_(pa.string())}


def some_events(count: int, seed: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)

    def drawn(chance: float, value: Any) -> Any:
        return value if random.random() < chance else None

    return [
        {
            "id": number,
            "city": drawn(0.8, f"city-{random.integers(40)}"),
            "price": drawn(0.8, int(random.integers(100))),
            "tags": drawn(0.5, [f"t{each}" for each in random.integers(9, size=3)]),
        }
        for number in range(count)
    ]


def some_subscriptions(count: int, seed: int) -> dict[str, str]:
    random = np.random.default_rng(seed)
    forms = (
        "city = 'city-{0}' and price < {1}",
        "city in ('city-{0}', 'city-{1}') and price > {1}",
        "price between {0} and {0}.5",
        "city = 'city-{0}' or tags = 't1' and price = {1}",
        "tags contains 't{0}' and price < 9",
        "not city = 'city-{0}' and price = {1}",
        "(city = 'city-{0}') is not true and price < {1}",
    )
    chosen = random.choice(len(forms), count, p=[0.4, 0.2, 0.2, 0.1, 0.04, 0.04, 0.02])
    return {
        f"s{n}": forms[form].format(*random.integers(40, size=2)) for n, form in enumerate(chosen)
    }


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return some_subscriptions(600, 1)


@pytest.fixture(scope="module")
def shards(
    spark: SparkSession, texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Shards:
    table = subscriptions_frame(spark, texts).selectExpr("*", "7L AS version", "'me' AS owner")
    folder = tmp_path_factory.mktemp("division") / "shards"
    return Shards.build(table.repartition(3), folder, count=4, columns=["owner"])


def test_columns(spark: SparkSession, texts: dict[str, str], shards: Shards) -> None:
    rows = some_events(400, 2)
    events = events_frame(spark, rows, FIELDS)
    options: dict[str, Any] = {"keep": ["price"], "subscription_columns": ["owner"]}
    found = match(events, shards, **options)
    table = subscriptions_frame(spark, texts).selectExpr("*", "7L AS version", "'me' AS owner")
    whole = match(events, table, **options)
    assert found.schema == whole.schema
    assert sorted(found.collect()) == sorted(whole.collect())
    assert found.count() > 1_000
    assert sum(shards.sizes) == len(texts)
    assert max(shards.sizes) < 2 * min(shards.sizes)
    visits = shards.visits(rows)
    assert 1 <= visits < 3
    assert len(shards.always) <= visits


def test_a_stream(
    spark: SparkSession, texts: dict[str, str], shards: Shards, tmp_path: Path
) -> None:
    events = events_frame(spark, some_events(200, 3), FIELDS)
    events.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "events"))
    found = drained(match(stream, shards), tmp_path)
    assert pairs(found) == pairs(match(events, subscriptions_frame(spark, texts)))


def test_opened_again(spark: SparkSession, shards: Shards) -> None:
    again = Shards.open(shards.folder.uri)
    assert (again.axes, again.keys, again.sizes) == (shards.axes, shards.keys, shards.sizes)
    events = events_frame(spark, some_events(50, 4), FIELDS)
    assert pairs(match(events, again)) == pairs(match(events, shards))


@pytest.mark.parametrize("on_error", ["collect", "skip"])
def test_rejected_events(spark: SparkSession, tmp_path: Path, on_error: Any) -> None:
    """Also one beyond a limit in an attribute of which only another shard speaks."""
    rows = [(id, text, f"offset {id}") for id, (text, _) in DOCUMENTS.items()]
    events = spark.createDataFrame(rows, "id long, raw string, place string").repartition(2)
    table = subscriptions_frame(spark, SUBSCRIPTIONS)
    limits = tamis.Limits(string=100)
    shards = Shards.build(table, tmp_path / "shards", count=2, limits=limits)
    found = match(events, shards, on_error=on_error, column="raw", keep=["place"])
    if on_error == "skip":
        assert pairs(found) == MATCHES
        return
    matches, rejected = divided(found, keep=["place"])
    assert pairs(matches) == MATCHES
    check_rejected(rejected)


def test_an_event_that_cannot_be_read_fails_the_job(spark: SparkSession, shards: Shards) -> None:
    events = spark.createDataFrame([(2, '{"price": 3')], "id long, raw string")
    with pytest.raises(Exception, match="the event 2: not valid JSON: expecting"):
        match(events, shards, column="raw").count()


def faulty(spark: SparkSession) -> DataFrame:
    rows = [(1, "x = 1"), (2, "x betwen 1"), (1, "x = 2"), (None, "x = 3"), (3, None), (2, "x = 4")]
    return spark.createDataFrame(rows, "id long, subscription string").coalesce(1)


def test_rejected_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    """A repeated id counts once, as in one index, wherever its rows would be."""
    events = events_frame(spark, [{"id": n, "x": n} for n in range(5)], {"x": pa.int64()})
    with pytest.warns(RejectedWarning, match="4 subscriptions were rejected"):
        found = match(events, faulty(spark), how="shard", shards=3, folder=tmp_path / "a")
    assert pairs(found) == {(1, 1), (4, 2)}
    index = tamis.spark.Index.of(faulty(spark))
    shards = Shards.build(faulty(spark), tmp_path / "b", count=3)

    def told(rejected: pa.Table) -> list[Any]:
        return sorted((str(row["id"]), row["error"]) for row in rejected.to_pylist())

    assert told(shards.rejected) == told(index.rejected)
    with pytest.raises(tamis.SubscriptionError, match="4 subscriptions were rejected"):
        Shards.build(faulty(spark), tmp_path / "c", count=3, errors="raise")


def test_auto_says_what_it_does(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = subscriptions_frame(spark, {"a": "x = 1", "b": "x = 2"})
    events = events_frame(spark, [{"id": 1, "x": 2}], {"x": pa.int64()})
    with caplog.at_level(logging.INFO, "tamis"):
        found = match(events, table, how="auto", folder=tmp_path / "small")
    assert "every executor gets them all" in caplog.text
    assert not (tmp_path / "small").exists()
    assert pairs(found) == {(1, "b")}
    monkeypatch.setattr("tamis.spark.shards.matching.BROADCAST", 100)
    found = match(events, table, how="auto", shards=2, folder=tmp_path / "large")
    assert "they are divided into shards" in caplog.text
    assert pairs(found) == {(1, "b")}
    assert (tmp_path / "large" / "shards.json").exists()


def test_mistakes(spark: SparkSession, shards: Shards, tmp_path: Path) -> None:
    events = events_frame(spark, [{"id": 1, "x": 2}], {"x": pa.int64()})
    table = subscriptions_frame(spark, {"a": "x = 1"})
    with pytest.raises(TamisError, match="how must be"):
        match(events, table, how="shards")  # type: ignore[arg-type]
    with pytest.raises(TamisError, match="needs a folder"):
        match(events, table, how="shard")
    with pytest.raises(TamisError, match="limit= counts the matches"):
        match(events, shards, limit=3)
    with pytest.raises(TamisError, match="divides a DataFrame, not Engine"):
        match(events, tamis.Engine(), how="shard")
    with pytest.raises(StorageError, match="is not empty"):
        Shards.build(table, shards.folder.uri, count=2)
    with pytest.raises(StorageError, match="has no shards"):
        Shards.open(tmp_path)
    with pytest.raises(TamisError, match="from 1 to 1,000"):
        Shards.build(table, tmp_path / "none", count=0)
    pattern = subscriptions_frame(spark, {"p": "{ ?a <http://x> ?b }"})
    with pytest.raises(TamisError, match="graph patterns cannot be sharded"):
        match(events, Shards.build(pattern, tmp_path / "patterns", count=2))
