"""Pipelines on tables of Delta and Iceberg, and events in Avro, as a program on Spark 4.1.

    python lakes_driver.py FOLDER

Prints a line for each part that went well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import tamis
from tamis.errors import TamisError
from tamis.spark import session_builder
from tamis.spark.index.index import Index
from tamis.spark.pipeline import (
    Call,
    Delta,
    EventForm,
    EventSource,
    Json,
    Parquet,
    Pipeline,
    SubscriptionSource,
)
from tests.jars import LAKES, jars

Rules = dict[str, str]
_DELTA, _ICEBERG = "io.delta.sql.DeltaSparkSessionExtension", "org.apache.iceberg.spark"
COLUMNS = "id string, subscription string, version int, owner string"


def session_in(folder: Path) -> SparkSession:
    settings = {
        "spark.jars": ",".join(jars(LAKES)),
        "spark.sql.extensions": f"{_DELTA},{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": f"{_ICEBERG}.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = session_builder("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def expected(first: int, rules: Rules) -> set[tuple[int, str]]:
    engine = tamis.Engine(matcher="scan")
    engine.subscribe_many(rules)
    return {(number, id) for number in numbers(first) for id in engine.match({"x": number % 10})}


def numbers(first: int) -> range:
    return range(first, first + 20)


def compilations(work: Callable[[], Any]) -> int:
    """How often a whole table is compiled meanwhile."""
    count, whole = 0, Index.of.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Index], *arguments: Any, **settings: Any) -> Index:
        nonlocal count
        count += 1
        found: Index = whole(cls, *arguments, **settings)
        return found

    Index.of = classmethod(counted)  # type: ignore[method-assign,assignment]
    try:
        work()
    finally:
        Index.of = classmethod(whole)  # type: ignore[method-assign]
    return count


def follows_changes(session: SparkSession, folder: Path, format: str) -> None:
    """The pipeline compiles what has changed, and each version is seen by the events after it."""
    rules, events = (f"lake.db.{each}" for each in ("rules", "events"))
    if format == "delta":
        rules, events = "rules", f"delta.`{folder}/events`"
    property = "TBLPROPERTIES (delta.enableChangeDataFeed = true)" if format == "delta" else ""
    session.sql(f"CREATE TABLE {rules} ({COLUMNS}) USING {format} {property}")
    session.sql(f"CREATE TABLE {events} (id int, x int) USING {format}")
    source = EventSource(format, table=events)
    if format == "delta":
        source = EventSource(format, str(folder / "events"))
    made = Pipeline(
        source,
        SubscriptionSource(format, table=rules, change_feed=True, columns=("owner",)),
        [Parquet(str(folder / "found"))],
        str(folder / "state"),
    )
    wanted: Counter[tuple[int, str]] = Counter()

    def turn(first: int, known: Rules, compiled: int) -> None:
        rows = ", ".join(f"({number}, {number % 10})" for number in numbers(first))
        session.sql(f"INSERT INTO {events} VALUES {rows}")
        found = compilations(lambda: made.run(session, once=True))
        assert found == compiled, (format, first, found)
        wanted.update(expected(first, known))
        rows_found = session.read.parquet(str(folder / "found")).collect()
        assert Counter((row.event_id, row.subscription_id) for row in rows_found) == wanted
        assert {row.owner for row in rows_found} == {"ada"}

    session.sql(
        f"INSERT INTO {rules} VALUES ('low', 'x < 3', 1, 'ada'), ('one', 'x = 1', 1, 'ada')"
    )
    turn(0, {"low": "x < 3", "one": "x = 1"}, 1)
    session.sql(f"UPDATE {rules} SET subscription = 'x < 5', version = 2 WHERE id = 'low'")
    session.sql(f"DELETE FROM {rules} WHERE id = 'one'")
    session.sql(f"INSERT INTO {rules} VALUES ('two', 'x = 2', 1, 'ada'), ('bad', 'x <', 1, 'ada')")
    turn(100, {"low": "x < 5", "two": "x = 2"}, 0)
    session.sql(f"UPDATE {rules} SET id = 'few' WHERE id = 'two'")
    turn(200, {"low": "x < 5", "few": "x = 2"}, 0)
    turn(300, {"low": "x < 5", "few": "x = 2"}, 0)
    session.sql(f"INSERT OVERWRITE {rules} VALUES ('low', 'x < 5', 3, 'ada')")
    turn(400, {"low": "x < 5"}, 0)
    session.sql(f"DROP TABLE {rules}")
    session.sql(f"CREATE TABLE {rules} ({COLUMNS}) USING {format} {property}")
    for number in range(8):  # as many versions as the former table had
        session.sql(f"INSERT INTO {rules} VALUES ('s{number}', 'x = {number}', 1, 'ada')")
    turn(500, {f"s{number}": f"x = {number}" for number in range(8)}, 1)


def delta_from_end_to_end(session: SparkSession, folder: Path) -> None:
    """The change feed of a table as events; a batch that runs again is in the sink once."""
    events = f"delta.`{folder}/events`"
    session.sql(
        f"CREATE TABLE {events} (id string, x int) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    session.sql(f"INSERT INTO {events} VALUES ('a', 1), ('b', 2), ('c', 3)")
    session.sql(f"UPDATE {events} SET x = 9 WHERE id = 'b'")
    session.sql(f"DELETE FROM {events} WHERE id = 'c'")
    failing = [True]

    def fail(frame: Any, batch: int) -> None:
        if failing[0]:
            raise RuntimeError("killed here")

    options = {"readChangeFeed": "true", "startingVersion": "0"}
    made = Pipeline(
        EventSource("delta", str(folder / "events"), options=options),
        lambda: {"all": "x > 0", "nine": "x = 9"},
        {"matches": Delta(str(folder / "found")), "fail": Call(fail)},
        str(folder / "state"),
        events=EventForm(
            id="concat(id, '-', _commit_version)",
            where="_change_type IN ('insert', 'update_postimage')",
            keep=("_change_type",),
        ),
        patience=0,
    )
    try:
        made.run(session, once=True)
        raise AssertionError("it must fail")
    except TamisError as error:
        assert "killed here" in str(error), error
    failing[0] = False
    made.run(session, once=True)
    rows = session.read.format("delta").load(str(folder / "found")).collect()
    found = Counter((row.event_id, row.subscription_id) for row in rows)
    assert found == Counter(
        [("a-1", "all"), ("b-1", "all"), ("c-1", "all"), ("b-2", "all"), ("b-2", "nine")]
    )


def avro(session: SparkSession, folder: Path) -> None:
    """Records of Avro, and one that is broken."""
    schema = (
        '{"type": "record", "name": "Order", "fields": ['
        '{"name": "id", "type": "string"}, {"name": "price", "type": "double"},'
        '{"name": "tags", "type": {"type": "array", "items": "string"}}]}'
    )
    orders = session.sql(
        "SELECT * FROM VALUES ('a', 3.0D, array('new')), ('b', 30.0D, array()) AS o(id, price, tags)"
    )
    orders.createOrReplaceTempView("orders")
    records = session.sql(f"SELECT to_avro(struct(*), '{schema}') AS value FROM orders")
    records = records.union(session.sql("SELECT X'0199' AS value"))
    records.coalesce(1).write.parquet(str(folder / "records"))
    made = Pipeline(
        EventSource("parquet", str(folder / "records")),
        lambda: {"cheap": "price < 5", "new": "tags contains 'new'", "dear": "price > 5"},
        [Json(str(folder / "found"))],
        str(folder / "state"),
        events=EventForm(
            select=(f"from_avro(value, '{schema}', map('mode', 'PERMISSIVE')) AS event",),
            id="event.id",
            column="event",
        ),
        rejected_events=Json(str(folder / "rejected")),
    )
    run = made.run(session, once=True)
    rows = session.read.json(str(folder / "found")).collect()
    found = sorted((row.event_id, row.subscription_id) for row in rows)
    assert found == [("a", "cheap"), ("a", "new"), ("b", "dear")]
    assert run.summary.events == 3


def main(folder: Path) -> None:
    session = session_in(folder)
    for format in ("delta", "iceberg"):
        follows_changes(session, folder / format, format)
        print(format, flush=True)
    delta_from_end_to_end(session, folder / "end")
    print("end to end", flush=True)
    avro(session, folder / "avro")
    print("avro", flush=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
