"""Pipelines on a local session: sources, sinks, changes, rejected rows, repeated batches."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import tamis
from tamis.errors import TamisError
from tamis.spark.pipeline import (
    Call,
    EventForm,
    EventSource,
    Json,
    Parquet,
    Pipeline,
    PipelineError,
    SubscriptionSource,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = {
    "low": "x < 5",
    "tags": "tags contains 'a'",
    "both": "items.kind = 'k' and items.price > 3",
    "some": "x in (3, 7) or name = 'zoe'",
}


def documents(count: int, seed: int = 1) -> list[dict[str, Any]]:
    numbers = random.Random(seed)
    return [
        {
            "id": f"e{seed}-{number}",
            "x": numbers.randrange(20),
            "name": numbers.choice(["ann", "zoe"]),
            "tags": numbers.sample(["a", "b", "c"], numbers.randrange(3)),
            "items": [
                {"kind": numbers.choice("kj"), "price": numbers.randrange(6)} for _ in range(2)
            ],
        }
        for number in range(count)
    ]


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def oracle(events: Iterable[dict[str, Any]], rules: dict[str, str]) -> set[tuple[str, str]]:
    engine = tamis.Engine(matcher="scan")
    engine.subscribe_many(rules)
    return {(event["id"], id) for event in events for id in engine.match(event)}


def found(folder: Path) -> list[tuple[Any, ...]]:
    """Rows of Parquet as any reader sees them."""
    rows = []
    for path in sorted(folder.glob("batch=*/*.parquet")):
        rows += [
            (row["event_id"], row["subscription_id"])
            for row in pq.read_table(path, partitioning=None).to_pylist()
        ]
    return sorted(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "incoming").mkdir()
    return tmp_path


def pipeline(folder: Path, **more: Any) -> Pipeline:
    settings: dict[str, Any] = {
        "source": EventSource(
            "json", str(folder / "incoming"), options={"maxFilesPerTrigger": "1"}
        ),
        "subscriptions": lambda: RULES,
        "sinks": [Parquet(str(folder / "matches"))],
        "folder": str(folder / "state"),
    }
    return Pipeline(**settings | more)


def test_documents_some_of_them_broken(spark: SparkSession, folder: Path) -> None:
    events = documents(200)
    rows = [*events[:100], '{"id": "broken", "x": ', *events[100:], "[1, 2]"]
    write_lines(folder / "incoming" / "1.json", rows)
    rules = RULES | {"faulty": "x betwen 1 and 2"}
    made = pipeline(
        folder,
        subscriptions=lambda: rules,
        rejected_events=Json(str(folder / "rejected" / "events")),
        rejected_subscriptions=Json(str(folder / "rejected" / "subscriptions")),
    )
    run = made.run(spark, once=True)
    assert found(folder / "matches") == sorted(oracle(events, RULES))
    assert (run.summary.events, run.rejected) == (202, 2)
    assert run.summary.matches == len(oracle(events, RULES))
    rejected = spark.read.json(str(folder / "rejected" / "events")).collect()
    assert {row.text for row in rejected} == {'{"id": "broken", "x": ', "[1, 2]"}
    assert all(row.reason for row in rejected)
    (faulty,) = spark.read.json(str(folder / "rejected" / "subscriptions")).collect()
    assert (faulty.id, faulty.subscription) == ("faulty", "x betwen 1 and 2")
    assert "did you mean 'between'?" in faulty.error


def test_it_continues_where_it_stopped_and_sees_changes(spark: SparkSession, folder: Path) -> None:
    first, second = documents(50, 1), documents(50, 2)
    write_lines(folder / "incoming" / "1.json", first)
    source = SubscriptionSource(changes=str(folder / "changes"))
    write_lines(
        folder / "changes" / "1.ndjson",
        [{"id": id, "subscription": text, "version": 1} for id, text in RULES.items()],
    )
    reports: list[Any] = []
    made = pipeline(folder, subscriptions=source)
    made.run(spark, once=True, told=reports.append)
    changed = [
        {"id": "low", "subscription": "x < 2", "version": 2},
        {"id": "tags", "subscription": None},
        {"id": "new", "subscription": "name = 'ann'", "version": 2},
    ]
    write_lines(folder / "changes" / "2.ndjson", changed)
    write_lines(folder / "incoming" / "2.json", second)
    made.run(spark, once=True, told=reports.append)
    later = {"low": "x < 2", "both": RULES["both"], "some": RULES["some"], "new": "name = 'ann'"}
    expected = sorted(oracle(first, RULES) | oracle(second, later))
    assert found(folder / "matches") == expected
    assert [(each.version, each.events, each.subscriptions) for each in reports] == [
        (1, 50, 4),
        (2, 50, 4),
    ]
    made.run(spark, once=True)  # nothing is new
    assert found(folder / "matches") == expected


@pytest.mark.parametrize("point", ["before the sinks", "between the sinks", "before the commit"])
def test_a_repeated_batch_sees_what_it_saw(spark: SparkSession, folder: Path, point: str) -> None:
    """The batch fails at a point, subscriptions change, and the next start runs it again."""
    events, rules = documents(60), dict(RULES)
    write_lines(folder / "incoming" / "1.json", events)
    failing = [True]

    def fail(frame: Any, batch: int) -> None:
        if failing[0]:
            raise RuntimeError("killed here")

    parquet, call = Parquet(str(folder / "matches")), Call(fail)
    orders = {
        "before the sinks": {"fail": call, "matches": parquet},
        "between the sinks": {"matches": parquet, "fail": call, "second": Json(str(folder / "b"))},
        "before the commit": {"matches": parquet, "fail": call},
    }
    made = pipeline(folder, subscriptions=lambda: rules, sinks=orders[point], patience=0)
    with pytest.raises(
        TamisError, match=r"the sink 'fail' cannot take batch 0: killed here; nothi"
    ):
        made.run(spark, once=True)
    rules["low"] = "x < 19"
    del rules["some"]
    failing[0] = False
    made.run(spark, once=True)
    assert found(folder / "matches") == sorted(oracle(events, RULES))
    write_lines(folder / "incoming" / "2.json", documents(30, 2))
    made.run(spark, once=True)
    expected = oracle(events, RULES) | oracle(documents(30, 2), rules)
    assert found(folder / "matches") == sorted(expected)


def test_a_folder_takes_the_batches_of_one_pipeline(spark: SparkSession, folder: Path) -> None:
    """Without its own folder a pipeline begins at batch 0 again, which is there already."""
    write_lines(folder / "incoming" / "1.json", documents(20))
    pipeline(folder).run(spark, once=True)
    shutil.rmtree(folder / "state")
    write_lines(folder / "incoming" / "0.json", documents(20, 2))
    with pytest.raises(PipelineError, match="matches holds the batches of another pipeline"):
        pipeline(folder).run(spark, once=True)
    pipeline(folder, sinks=[Parquet(str(folder / "other"))]).run(spark, once=True)
    every = oracle(documents(20), RULES) | oracle(documents(20, 2), RULES)
    assert found(folder / "other") == sorted(every)


def test_a_sink_that_is_unavailable_for_a_while(spark: SparkSession, folder: Path) -> None:
    write_lines(folder / "incoming" / "1.json", documents(20))
    calls: list[int] = []

    def take(frame: Any, batch: int) -> None:
        calls.append(frame.count())
        if len(calls) < 3:
            raise ConnectionError("nobody there")

    pipeline(folder, sinks=[Call(take)]).run(spark, once=True)
    assert calls == [len(oracle(documents(20), RULES))] * 3


def test_columns_keep_and_a_schema(spark: SparkSession, folder: Path) -> None:
    frame = spark.createDataFrame(
        [(1, "toy", 3.0), (2, "boat", 3.0), (3, "car", 9.0), (4, "toy", None)],
        "id long, category string, price double",
    )
    frame.coalesce(1).write.parquet(str(folder / "events"))
    schema = tamis.Schema(
        domains={"kinds": {"kind": "enumerated", "values": ["toy", "car"]}},
        attributes={"category": "kinds", "price": "number"},
        types={"offer": {"category": "mandatory unique", "price": "mandatory unique"}},
    )
    (folder / "schema.json").write_text(json.dumps(schema.to_json()))
    made = pipeline(
        folder,
        source=EventSource("parquet", str(folder / "events")),
        events=EventForm(keep=("price",), schema=str(folder / "schema.json"), types=("offer",)),
        subscriptions=lambda: {"cheap": "price < 5", "cars": "category = 'car'"},
        rejected_events=Json(str(folder / "rejected")),
    )
    run = made.run(spark, once=True)
    assert found(folder / "matches") == [(1, "cheap"), (3, "cars")]
    rejected = spark.read.json(str(folder / "rejected")).collect()
    assert {row.event_id: row.reason[:3] for row in rejected} == {2: "R2:", 4: "R2:"}
    assert run.summary.events == 4


def test_a_table_is_read_again_if_its_files_change(spark: SparkSession, folder: Path) -> None:
    rules = folder / "rules.csv"
    rules.write_text('id,subscription,email\na,x < 5,ada\nb,"x in (1, 2)",ben\n')
    write_lines(folder / "incoming" / "1.json", documents(20))
    source = SubscriptionSource("csv", str(rules), columns=("email",))
    made = pipeline(folder, subscriptions=source)
    made.run(spark, once=True)
    rules.write_text("id,subscription,email\na,x < 9,ada\n")
    write_lines(folder / "incoming" / "2.json", documents(20, 2))
    made.run(spark, once=True)
    first = oracle(documents(20), {"a": "x < 5", "b": "x in (1, 2)"})
    assert found(folder / "matches") == sorted(first | oracle(documents(20, 2), {"a": "x < 9"}))
    assert {row.email for row in spark.read.parquet(str(folder / "matches")).collect()} <= {
        "ada",
        "ben",
    }


def test_mistakes_that_only_spark_can_find(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(PipelineError) as error:
        pipeline(folder, events=EventForm(keep=("docment",))).run(spark, once=True)
    assert "did you mean 'document'?" in str(error.value)
    with pytest.raises(PipelineError, match=r"events: .*UNRESOLVED_COLUMN"):
        pipeline(folder, events=EventForm(id="upper(nothing)")).run(spark, once=True)
    kafka = EventSource("kafka", options={"kafka.bootstrap.servers": "x", "subscribe": "y"})
    with pytest.raises(PipelineError, match=r"no format 'kafka': add 'org.apache.spark:spark-sql"):
        pipeline(folder, source=kafka).run(spark, once=True)
    wrong = EventSource("jsonn", str(folder / "incoming"))
    with pytest.raises(PipelineError, match=r"no format 'jsonn'; did you mean 'json'\?"):
        pipeline(folder, source=wrong).run(spark, once=True)
    made = pipeline(folder, subscriptions=lambda: {"a": "x betwen 1"})
    assert next(made.try_out(spark)).startswith("subscriptions: 'a': line 1, column 3: ")


def test_a_broken_change_file_does_not_stop_it(spark: SparkSession, folder: Path) -> None:
    write_lines(folder / "incoming" / "1.json", documents(20))
    write_lines(folder / "changes" / "1.ndjson", [{"id": "a", "subscription": "x < 5"}])
    write_lines(folder / "changes" / "2.ndjson", ["not json"])
    made = pipeline(folder, subscriptions=SubscriptionSource(changes=str(folder / "changes")))
    made.run(spark, once=True)
    assert found(folder / "matches") == sorted(oracle(documents(20), {"a": "x < 5"}))
