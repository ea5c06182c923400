"""Subscriptions in every form, and those that cannot be taken."""

from __future__ import annotations

import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tamis.errors import RejectedWarning
from tests.spark.oracle import events_frame, oracle, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS = {
    "toys": "category = 'Toy' and price < 5",
    "dear": "price >= 100",
    "odd": "title matches r'\\bodd\\b' or price < category",
    "never": "price < 1 and price > 2",
    "all": "true",
}
ROWS: list[dict[str, Any]] = [
    {"id": 1, "category": "Toy", "price": 3.0},
    {"id": 2, "category": "Toy", "price": 300.0, "title": "an odd toy"},
    {"id": 3, "category": None, "price": None, "title": "oddly"},
]
FIELDS = {"category": pa.string(), "price": pa.float64(), "title": pa.string()}
FAULTY = pa.table(
    {
        "id": ["a", "b", "a", None, "c", "d", "", "e", "f"],
        "subscription": [
            *("x = 1", "x betwen 1 and 2", "x = 2", "x = 3", None, "x = 4", "x = 5"),
            *("near('x', 5)", "x is a 'term'"),
        ],
    }
)
"""Only the first a and d can be taken."""


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return events_frame(spark, ROWS, FIELDS)


def engine_of(subscriptions: dict[str, str], **settings: Any) -> tamis.Engine:
    engine = tamis.Engine(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tamis.NeverMatchesWarning)
        warnings.simplefilter("ignore", tamis.CostlyWarning)
        engine.subscribe_many(subscriptions)
    return engine


@pytest.mark.parametrize(
    "form", ["frame", "index", "arrow index", "engine", "scan", "index path", "engine path"]
)
@pytest.mark.filterwarnings("ignore::tamis.NeverMatchesWarning")
def test_every_form(spark: SparkSession, events: DataFrame, form: str, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    given: Any = subscriptions_frame(spark, SUBSCRIPTIONS)
    if form == "engine path":
        engine_of(SUBSCRIPTIONS).save(path)
        given = str(path)
    elif form in ("engine", "scan"):
        given = engine_of(SUBSCRIPTIONS, matcher="sieve" if form == "engine" else "scan")
    elif form == "arrow index":
        given = tamis.spark.Index.of(given.toArrow())
    elif form in ("index", "index path"):
        given = tamis.spark.Index.of(given)
        assert len(given) == len(SUBSCRIPTIONS)
    if form == "index path":
        given.save(path)
        given = path
    assert pairs(tamis.spark.match(events, given)) == oracle(ROWS, SUBSCRIPTIONS)


def test_a_saved_index_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.sql("SELECT 7L AS id, 'true' AS subscription, 3S AS version, 'ada' AS owner")
    tamis.spark.Index.of(table, columns=["owner"]).save(tmp_path / "saved")
    index = tamis.spark.Index.open(tmp_path / "saved")
    assert repr(index) == "Index(1 subscriptions)"
    assert index.rejected.num_rows == 0
    events = events_frame(spark, [{"id": 1}], {})
    matches = tamis.spark.match(events, tmp_path / "saved", subscription_columns=["owner"])
    assert [tuple(row) for row in matches.collect()] == [(1, 7, 3, "ada")]
    assert matches.dtypes[1:3] == [("subscription_id", "bigint"), ("version", "smallint")]


def test_a_changed_engine_is_sent_anew(spark: SparkSession, events: DataFrame) -> None:
    engine = engine_of({"all": "true"})
    before = tamis.spark.match(events, engine)
    engine.unsubscribe("all")
    engine.subscribe("price = 3", id="three")
    assert pairs(tamis.spark.match(events, engine)) == {(1, "three")}
    assert pairs(before) == {(id, "all") for id in (1, 2, 3)}


def test_several_threads_at_once(spark: SparkSession, events: DataFrame) -> None:
    def found(number: int) -> set[tuple[Any, Any]]:
        return pairs(tamis.spark.match(events, engine_of({f"s{number % 3}": "price = 3"})))

    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(found, range(12)))
    assert results == [{(1, f"s{number % 3}")} for number in range(12)]


def test_a_taxonomy_reaches_the_executors(spark: SparkSession) -> None:
    taxonomy = {"toy": ["thing"], "doll": ["toy"]}
    subscriptions = {"toys": "category is a 'toy'", "things": "category is a 'thing'"}
    rows = [{"id": 1, "category": "doll"}, {"id": 2, "category": "thing"}]
    events = events_frame(spark, rows, {"category": pa.string()})
    for given in (taxonomy, tamis.Taxonomy(taxonomy)):
        table = subscriptions_frame(spark, subscriptions)
        found = pairs(tamis.spark.match(events, table, taxonomy=given))
        assert found == oracle(rows, subscriptions, taxonomy)


# Rejected ones.


def check_rejected(index: tamis.spark.Index) -> None:
    assert len(index) == 2
    rejected = index.rejected.to_pylist()
    assert index.rejected.schema.names == ["id", "subscription", "error"]
    assert index.rejected.schema.field("id").type == pa.large_string()
    found = {(row["id"], row["subscription"]): row["error"] for row in rejected}
    assert len(found) == len(rejected) == 7
    assert "did you mean 'between'?" in found["b", "x betwen 1 and 2"]
    assert "stands in an earlier row" in found["a", "x = 2"]
    assert "an id is a string" in found[None, "x = 3"]
    assert "not null" in found["c", None]
    assert "an id is a string" in found["", "x = 5"]
    assert "near() takes the arguments" in found["e", "near('x', 5)"]
    assert "needs a taxonomy" in found["f", "x is a 'term'"]


def test_rejected_rows_are_kept_and_told(spark: SparkSession) -> None:
    check_rejected(tamis.spark.Index.of(FAULTY))
    table = spark.createDataFrame(FAULTY).coalesce(1)
    index = tamis.spark.Index.of(table)
    check_rejected(index)
    assert repr(index) == "Index(2 subscriptions, 7 rejected)"
    events = events_frame(spark, [{"id": x, "x": x} for x in range(6)], {"x": pa.int64()})
    with pytest.warns(RejectedWarning) as caught:
        found = pairs(tamis.spark.match(events, table))
    assert found == {(1, "a"), (4, "d")}
    warning = caught.pop(RejectedWarning)
    assert warning.filename == __file__
    first, *lines, last = str(warning.message).splitlines()
    assert first == "7 subscriptions were rejected:"
    assert lines[0].startswith("  id 'b': line 1, column 3: ")
    assert (len(lines), last) == (3, "  and 4 more")


def test_rejected_rows_can_be_an_error(spark: SparkSession) -> None:
    table = spark.createDataFrame(FAULTY)
    events = events_frame(spark, [{"id": 1, "x": 1}], {"x": pa.int64()})
    with pytest.raises(tamis.SubscriptionError, match="7 subscriptions were rejected"):
        tamis.spark.match(events, table, errors="raise")
    with pytest.raises(tamis.SubscriptionError, match="and 4 more"):
        tamis.spark.Index.of(FAULTY, errors="raise")


def test_an_id_that_stands_in_two_partitions(spark: SparkSession) -> None:
    table = spark.range(0, 8, 1, 4).selectExpr(
        "id % 4 AS id", "concat('x = ', id) AS subscription", "id AS version"
    )
    index = tamis.spark.Index.of(table)
    assert sorted(row["id"] for row in index.rejected.to_pylist()) == [0, 1, 2, 3]
    assert index.rejected.schema.field("id").type == pa.int64()
    events = events_frame(spark, [{"id": x, "x": x} for x in range(8)], {"x": pa.int64()})
    found = {tuple(row) for row in tamis.spark.match(events, index).collect()}
    assert found == {(x, x, x) for x in range(4)}


def test_a_table_of_repetitions(spark: SparkSession) -> None:
    """More slots are given back than stay, and each keeps its own columns."""
    table = spark.range(0, 4_000, 1, 2).selectExpr(
        "id % 300 AS id", "concat('x = ', id % 300) AS subscription", "id AS version"
    )
    index = tamis.spark.Index.of(table)
    assert (len(index), index.rejected.num_rows) == (300, 3_700)
    events = events_frame(spark, [{"id": x, "x": x} for x in range(300)], {"x": pa.int64()})
    found = {tuple(row) for row in tamis.spark.match(events, index).collect()}
    assert found == {(x, x, x) for x in range(300)}


# A large table.


def large_table(count: int) -> dict[str, str]:
    """Subscriptions of several templates, and some without a shape."""
    numbers = random.Random(5)
    colors = ["red", "green", "blue", "l'azur"]
    found = {}
    for place in range(count):
        low, color = numbers.randrange(100), numbers.choice(colors).replace("'", "''")
        found[f"s{place}"] = [
            f"a = {numbers.randrange(50)} and b = {numbers.randrange(50)}",
            f"color = '{color}' and a between {low} and {low + numbers.randrange(5)}",
            f"a < {-numbers.random():.4f} or b > {90 + numbers.random() * 20:.3f}",
            f"color in ('{color}', 'none') and at > timestamp '2026-01-{1 + low % 28:02d}'",
            f"c.d = {low} and not a = {numbers.randrange(50)}",
            f"title ends with '{low}' and b < {numbers.randrange(20)}",
            f"a + b = {2 * low} and color starts with '{color[0]}'",
        ][numbers.randrange(7) if place % 50 else 6]
    return found


def test_a_large_table_is_built_in_executors(spark: SparkSession) -> None:
    from datetime import UTC, datetime

    numbers = random.Random(6)
    subscriptions = large_table(20_000)
    rows = [
        {
            "id": id,
            "a": numbers.randrange(-5, 110),
            "b": numbers.randrange(110) + numbers.choice([0, 0.5]),
            "color": numbers.choice(["red", "green", "l'azur", None]),
            "at": datetime(2026, 1, numbers.randrange(1, 29), tzinfo=UTC),
            "c": {"d": numbers.randrange(100)},
            "title": f"lot {numbers.randrange(100)}",
        }
        for id in range(200)
    ]
    fields = {
        "a": pa.int32(),
        "b": pa.float64(),
        "color": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "c": pa.struct({"d": pa.int16()}),
        "title": pa.string(),
    }
    table = subscriptions_frame(spark, subscriptions).repartition(4)
    found = pairs(tamis.spark.match(events_frame(spark, rows, fields), table))
    engine = engine_of(subscriptions)
    assert found == {(rows[row]["id"], id) for row, id in engine.match_batch(rows).pairs()}
    some = dict(list(subscriptions.items())[:700])
    sample = {pair for pair in found if pair[1] in some and pair[0] < 40}
    assert sample == oracle(rows[:40], some)
    assert len(sample) > 100
