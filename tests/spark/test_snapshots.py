"""Snapshots of tables: when there is a new one, and what goes wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis.spark import Index, Snapshots, match
from tests.spark.oracle import events_frame, pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = {"a": "x = 1", "b": "x = 2"}


def texts(index: Index) -> dict[str, str]:
    """What an index holds, by id."""
    return {subscription.id: subscription.text for subscription in index.engine}


def wait_for(claim: Callable[[], bool]) -> None:
    """Wait until something that a thread does has happened."""
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Sources.


@pytest.mark.parametrize("form", ["mapping", "arrow", "rows", "pandas", "frame"])
def test_every_kind_of_table(spark: SparkSession, tmp_path: Path, form: str) -> None:
    current = dict(TABLE)

    def source() -> Any:
        rows = [{"id": id, "subscription": text} for id, text in current.items()]
        made: dict[str, Callable[[], Any]] = {
            "mapping": lambda: current,
            "arrow": lambda: pa.Table.from_pylist(rows),
            "rows": lambda: iter(rows),
            "pandas": lambda: pa.Table.from_pylist(rows).to_pandas(),
            "frame": lambda: spark.createDataFrame(rows, "id string, subscription string"),
        }
        return made[form]()

    snapshots = Snapshots(tmp_path, source)
    assert (snapshots.number, texts(snapshots.index)) == (1, TABLE)
    assert snapshots.refresh() == 1  # nothing has changed
    current.update(b="x = 20", c="x = 3")
    del current["a"]
    assert snapshots.refresh() == 2
    assert texts(snapshots.index) == texts(Index.open(snapshots.file)) == current
    assert repr(snapshots) == f"Snapshots({str(tmp_path)!r}, number 2, Index(2 subscriptions))"
    again = Snapshots(tmp_path, source)
    assert (again.number, texts(again.index)) == (2, current)


def test_a_table_of_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS rules")
    spark.sql("CREATE TABLE rules (id BIGINT, subscription STRING, version INT) USING parquet")
    spark.sql("INSERT INTO rules VALUES (1, 'x = 1', 1), (2, 'x = ', 1)")
    snapshots = Snapshots.from_table(tmp_path, spark, "rules")
    assert texts(snapshots.index) == {"1": "x = 1"}
    assert snapshots.index.id_type == pa.int64()
    (line,) = (tmp_path / "000001.rejected.ndjson").read_text().splitlines()
    assert line.startswith('{"id": 2, "subscription": "x = ", "error": "line 1')
    spark.sql("INSERT INTO rules VALUES (3, 'x = 3', 7)")
    assert snapshots.refresh() == 2
    events = events_frame(spark, [{"id": 1, "x": 1}, {"id": 2, "x": 3}], {"x": pa.int64()})
    found = {tuple(row) for row in match(events, snapshots).collect()}
    assert found == {(1, 1, 1), (2, 3, 7)}
    spark.sql("DROP TABLE rules")


def test_settings_and_columns(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"id": "t", "subscription": "x is a 'toy'", "version": 1, "owner": "ada"}]
    taxonomy = {"doll": ["toy"]}

    def source() -> list[dict[str, Any]]:
        return rows

    for _ in range(2):  # the second goes on with the first one's folder
        snapshots = Snapshots(tmp_path, source, taxonomy=taxonomy, columns=["owner"])
        events = events_frame(spark, [{"id": 1, "x": "doll"}], {"x": pa.string()})
        matches = match(events, snapshots, subscription_columns=["owner"])
        assert [tuple(row) for row in matches.collect()] == [(1, "t", 1, "ada")]
    rows[0]["owner"] = "ben"  # alone
    assert snapshots.refresh() == 2
    assert Index.open(snapshots.file).columns["owner"].to_pylist() == ["ben"]


@pytest.mark.parametrize("given", [5, [1, 2], {"a": 5}, [{"id": "a"}]], ids=str)
def test_sources_that_give_no_table(tmp_path: Path, given: Any) -> None:
    with pytest.raises(tamis.TamisError):
        Snapshots(tmp_path, lambda: given)


# Writers.


def test_two_writers(tmp_path: Path) -> None:
    tables = [dict(TABLE), dict(TABLE)]
    first = Snapshots(tmp_path, lambda: tables[0])
    second = Snapshots(tmp_path, lambda: tables[1])
    tables[0]["c"] = tables[1]["d"] = "x = 3"
    first.refresh()
    for _ in range(2):  # it is no better the second time
        with pytest.raises(tamis.StorageError, match="another process writes to this folder"):
            second.refresh()
    assert texts(Index.open(first.file)) == tables[0]


def test_what_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    table = dict(TABLE)
    snapshots = Snapshots(tmp_path / "folder", lambda: table)
    table["c"] = "x = 3"
    (tmp_path / "folder").rename(tmp_path / "away")
    with pytest.raises(tamis.StorageError, match="cannot write"):
        snapshots.refresh()
    (tmp_path / "away").rename(tmp_path / "folder")
    assert snapshots.refresh() == 2
    assert texts(Index.open(snapshots.file)) == table
    assert snapshots.refresh() == 2


def test_few_files_are_kept(tmp_path: Path) -> None:
    table = dict(TABLE)
    snapshots = Snapshots(tmp_path, lambda: table)
    for number in range(20):
        table["c"] = f"x = {number}" if number % 2 else "x ="
        snapshots.refresh()
    assert snapshots.number == 21
    assert len(list(tmp_path.iterdir())) <= 3 + 2 + 1


# In the background.


def test_changes_are_looked_for(tmp_path: Path) -> None:
    table = dict(TABLE)
    with Snapshots(tmp_path, lambda: table, every=0.02) as snapshots:
        table["c"] = "x = 3"
        wait_for(lambda: snapshots.number == 2)
    table["d"] = "x = 4"
    time.sleep(0.1)
    assert snapshots.number == 2  # nobody looks any more
    with snapshots:
        wait_for(lambda: snapshots.number == 3)
    assert texts(Index.open(snapshots.file)) == table


def test_an_error_is_kept_until_it_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table: dict[str, str] = dict(TABLE)
    broken = ""

    def source() -> dict[str, str]:
        if broken:
            raise RuntimeError(broken)
        return table

    with Snapshots(tmp_path, source, every=0.02) as snapshots:
        assert snapshots.error is None
        with caplog.at_level(logging.WARNING, "tamis"):
            broken = "the database is away"
            wait_for(lambda: snapshots.error is not None)
            assert str(snapshots.error) == broken
            assert texts(snapshots.index) == TABLE
            time.sleep(0.2)
        (record,) = (record for record in caplog.records if record.name == "tamis")
        assert record.getMessage() == f"the last snapshot stays in use: {broken}"
        table["c"], broken = "x = 3", ""
        wait_for(lambda: snapshots.error is None and snapshots.number == 2)
    assert texts(Index.open(snapshots.file)) == table


def test_matching_a_static_table_while_they_change(spark: SparkSession, tmp_path: Path) -> None:
    """What a batch sees is one snapshot, whole, whatever the thread does meanwhile."""
    turn = 0

    def source() -> dict[str, str]:
        nonlocal turn
        turn += 1
        return {f"{turn} {place}": "true" for place in range(50)}

    events = events_frame(spark, [{"id": 1}], {})
    with Snapshots(tmp_path, source, every=0.001) as snapshots:
        for _ in range(3):
            found = pairs(match(events, snapshots))
            assert len({id.split()[0] for _, id in found}) == 1
            assert len(found) == 50


def test_other_settings_make_another_snapshot(tmp_path: Path) -> None:
    table = {"t": "x is a 'toy'"}
    for taxonomy in ({"doll": ["toy"]}, {"doll": ["toy"], "bear": ["toy"]}):
        snapshots = Snapshots(tmp_path, lambda: table, taxonomy=taxonomy)
    assert snapshots.number == 2
    assert Index.open(snapshots.file).engine.match({"x": "bear"}) == ["t"]
    assert Snapshots(tmp_path, lambda: table, taxonomy=tamis.Taxonomy(taxonomy)).number == 2
