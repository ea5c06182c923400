"""Throttling: what is held back follows from times alone, also when a batch runs again."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import TamisError
from tamis.spark.pipeline import (
    Call,
    EventForm,
    EventSource,
    Parquet,
    Pipeline,
    PipelineError,
    Throttle,
)
from tamis.spark.pipeline.throttle import _Filter
from tests.spark.pipeline.test_pipeline import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2020, 3, 1, tzinfo=UTC)
RULES = {"all": "x >= 0", "low": "x < 3", "five": "x = 5"}
HOLDS = {"all": range(10), "low": range(3), "five": [5]}

Event = tuple[str, int, int]
"""Id, seconds after the start, x."""


def events(file: int, count: int, minutes: tuple[int, int]) -> list[Event]:
    numbers = random.Random(file)
    return [
        (
            f"{file}-{number:03}",
            numbers.randrange(60 * minutes[0], 60 * minutes[1]),
            numbers.randrange(10),
        )
        for number in range(count)
    ]


def write_events(folder: Path, file: int, rows: list[Event]) -> None:
    lines = [
        {"id": id, "x": x, "at": (START + timedelta(seconds=at)).isoformat()} for id, at, x in rows
    ]
    write_lines(folder / "incoming" / f"{file}.json", lines)


def plainly(files: list[list[Event]], pause: int, delay: int) -> dict[str, list[str]]:
    """The events that each subscription is told of, micro-batch by micro-batch."""
    last: dict[str, int] = {}
    told: dict[str, list[str]] = {id: [] for id in RULES}
    watermark = 0
    for rows in files:
        late = {id: max(at, watermark) for id, at, _ in rows}
        for subscription, holds in HOLDS.items():
            for id, _, x in sorted(rows, key=lambda row: (late[row[0]], row[0])):
                free = subscription not in last or late[id] >= last[subscription] + pause
                if x in holds and free:
                    told[subscription].append(id)
                    last[subscription] = late[id]
        watermark = max(watermark, *(at - delay for at in late.values()))
    return {id: sorted(each) for id, each in told.items()}


def found(folder: Path) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {id: [] for id in RULES}
    for path in folder.glob("batch=*/*.parquet"):
        for row in pq.read_table(path, partitioning=None).to_pylist():
            assert "tamis_time" not in row
            told[row["subscription_id"]].append(row["event_id"])
    return {id: sorted(each) for id, each in told.items()}


def pipeline(folder: Path, throttle: Throttle, **more: Any) -> Pipeline:
    settings: dict[str, Any] = {
        "source": EventSource(
            "json", str(folder / "incoming"), options={"maxFilesPerTrigger": "1"}
        ),
        "subscriptions": lambda: RULES,
        "sinks": {
            "few": Parquet(str(folder / "few")),
            "every": Parquet(str(folder / "every")),
        },
        "folder": str(folder / "state"),
        "throttle": throttle,
    }
    return Pipeline(**settings | more)


TIME = "get_json_object(document, '$.at')"


def test_a_subscription_is_quiet_for_a_while(spark: SparkSession, tmp_path: Path) -> None:
    """Times come late and in disorder; the last sink takes part in a batch that fails and repeats."""
    files = [
        events(0, 60, (1, 120)),
        events(1, 60, (60, 200)),  # some of them late, some later than the delay
        events(2, 60, (150, 300)),
    ]
    throttle = Throttle(every=30 * 60, time=TIME, delay=20 * 60, sinks=("few", "third"))
    failing = [True]

    def third(frame: Any, batch: int) -> None:
        if batch == 1 and failing[0]:
            raise RuntimeError("killed here")

    sinks = pipeline(tmp_path, throttle).sinks
    assert isinstance(sinks, dict)
    made = pipeline(tmp_path, throttle, sinks={**sinks, "third": Call(third)}, patience=0)
    write_events(tmp_path, 0, files[0])
    reports: list[Any] = []
    made.run(spark, once=True, told=reports.append)
    write_events(tmp_path, 1, files[1])
    with pytest.raises(TamisError, match="killed here"):
        made.run(spark, once=True)
    failing[0] = False
    write_events(tmp_path, 2, files[2])
    made.run(spark, once=True, told=reports.append)
    expected = plainly(files, 30 * 60, 20 * 60)
    assert found(tmp_path / "few") == expected
    assert [each.number for each in reports] == [0, 1, 2]
    total = sum(each.matches for each in reports)
    assert sum(each.throttled for each in reports) == total - sum(map(len, expected.values()))
    every = found(tmp_path / "every")
    assert every["all"] == sorted(id for rows in files for id, _, _ in rows)
    assert sum(map(len, every.values())) == total
    # What is no longer quiet is forgotten, and so is the state of old batches.
    state = tmp_path / "state" / "throttle"
    mark = json.loads((state / "2.json").read_text())["watermark"]
    assert all(
        row.tamis_last + 30 * 60 * 10**6 > mark
        for row in spark.read.parquet(str(state / "2")).collect()
    )
    assert sorted(path.name for path in state.glob("*.json")) == ["0.json", "1.json", "2.json"]


def test_once_and_again_when_it_changes(spark: SparkSession, tmp_path: Path) -> None:
    """Without a time, that of the batch counts; another version begins anew."""
    from tests.spark.pipeline.test_pipeline import found as pairs

    rows = [
        {"id": "low", "subscription": "x < 3", "version": 1},
        {"id": "all", "subscription": "x >= 0", "version": 1},
    ]
    made = pipeline(tmp_path, Throttle(once=True), subscriptions=lambda: rows)
    write_events(tmp_path, 0, [("b", 1, 5), ("a", 2, 7)])
    made.run(spark, once=True)
    write_events(tmp_path, 1, [("c", 3, 1), ("d", 4, 1)])
    made.run(spark, once=True)
    rows[1] = {"id": "all", "subscription": "x >= 1", "version": 2}
    write_events(tmp_path, 2, [("e", 5, 1), ("f", 6, 1)])
    made.run(spark, once=True)
    write_events(tmp_path, 3, [("g", 7, 1)])
    made.run(spark, once=True)
    assert pairs(tmp_path / "few") == [("a", "all"), ("c", "low"), ("e", "all")]


def test_a_time_that_cannot_be_read_is_that_of_the_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nor does one in the future silence everything that comes after."""
    made = pipeline(tmp_path, Throttle(every=60, time=TIME))
    write_lines(
        tmp_path / "incoming" / "0.json",
        ['{"id": "a", "x": 5, "at": "9999-01-01"}', '{"id": "b", "x": 1, "at": "soon"}'],
    )
    made.run(spark, once=True)
    assert found(tmp_path / "few") == {"all": ["a"], "five": ["a"], "low": ["b"]}
    mark = json.loads((tmp_path / "state" / "throttle" / "0.json").read_text())["watermark"]
    assert mark < datetime.now(UTC).timestamp() * 1e6


def test_with_a_schema_and_columns(spark: SparkSession, tmp_path: Path) -> None:
    import tamis

    frame = spark.createDataFrame(
        [("a", 1, 3.0), ("b", 2, 3.0), ("c", 70, 3.0), ("d", 80, None)],
        "id string, minute long, price double",
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "events"))
    schema = tamis.Schema(
        attributes={"price": "number", "minute": "number"},
        types={"offer": {"price": "mandatory unique", "minute": "optional unique"}},
    )
    (tmp_path / "schema.json").write_text(json.dumps(schema.to_json()))
    made = pipeline(
        tmp_path,
        Throttle(every=3600, time="timestamp_seconds(60 * minute)"),
        source=EventSource("parquet", str(tmp_path / "events")),
        subscriptions=lambda: {"all": "price > 0"},
        events=EventForm(schema=str(tmp_path / "schema.json"), types=("offer",)),
        rejected_events=Parquet(str(tmp_path / "rejected")),
    )
    made.run(spark, once=True)
    assert found(tmp_path / "few")["all"] == ["a", "c"]
    (rejected,) = spark.read.parquet(str(tmp_path / "rejected")).collect()
    assert (rejected.event_id, rejected.text) == ("d", '{"id":"d","minute":80}')


@pytest.mark.parametrize("pause", [None, 5, 20])
def test_the_filter_across_record_batches(pause: int | None) -> None:
    """However Spark cuts the rows, those of a subscription are seen as one series."""
    kinds = {"id": pa.string(), "at": pa.int64(), "last": pa.int64()}
    for seed in range(100):
        numbers = random.Random(seed)
        rows = sorted((numbers.choice("abc"), numbers.randrange(60)) for _ in range(40))
        known = {id: numbers.choice([None, numbers.randrange(-30, 30)]) for id in "abc"}
        expected, last = [], dict(known)
        for id, at in rows:
            former = last[id]
            if former is None or (pause is not None and at >= former + pause):
                expected.append((id, at))
                last[id] = at
        cuts = [0, *sorted(numbers.randrange(41) for _ in range(3)), 40]
        batches = [
            pa.RecordBatch.from_pylist(
                [{"id": id, "at": at, "last": known[id]} for id, at in rows[start:end]],
                pa.schema(kinds),
            )
            for start, end in pairwise(cuts)
        ]
        found = _Filter(pause, "id", "at", "last")(iter(batches))
        assert [(row["id"], row["at"]) for each in found for row in each.to_pylist()] == expected


@pytest.mark.parametrize(
    ("throttle", "problem"),
    [
        (Throttle(), "throttle: needs either every, such as '1 hour', or once = true"),
        (Throttle(every=5, once=True), "throttle: needs either every"),
        (Throttle(every=5, sinks=("fewer",)), "throttle: there is no sink 'fewer'; did you mean"),
    ],
)
def test_mistakes(tmp_path: Path, throttle: Throttle, problem: str) -> None:
    (tmp_path / "incoming").mkdir()
    assert [each[: len(problem)] for each in pipeline(tmp_path, throttle).problems()] == [problem]


def test_a_time_that_spark_does_not_know(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "incoming").mkdir()
    with pytest.raises(PipelineError, match=r"UNRESOLVED_COLUMN"):
        pipeline(tmp_path, Throttle(every=5, time="nothing")).run(spark, once=True)
