"""What is made of a change feed (test_lakes.py has those of Delta and Iceberg)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from tamis.engine.engine import Engine
from tamis.spark.index.index import Index
from tamis.spark.pipeline import change_feeds
from tamis.spark.pipeline.change_feeds import ChangeFeed, ChangeLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "VALUES ('a', 'x = 1', 1, 'insert'), ('b', 'x = 2', 1, 'insert')"
CHANGES = (
    "VALUES ('a', 'x = 1', 2, 'delete'), ('c', 'x = 3', 2, 'insert'), ('a', 'x = 4', 3, 'insert')"
)


class Table:
    """A table with two versions."""

    def __init__(self, session: SparkSession, changes: str) -> None:
        self.session = session
        self.version = "1"
        self.read: list[str] = []
        self._changes = changes

    def latest(self) -> str:
        return self.version

    def at(self, version: str) -> DataFrame:
        self.read.append(version)
        return self.session.sql(f"SELECT * FROM ({ROWS}) AS t(id, subscription, version, kind)")

    def changes(self, since: str, until: str) -> ChangeLog:
        rows = self.session.sql(
            f"SELECT * FROM ({self._changes}) AS t(id, subscription, commit, kind)"
        )
        return ChangeLog(rows, "commit", "kind", ("delete",))


def looked(table: Any) -> tuple[Index, list[str]]:
    feed = ChangeFeed(table, {})
    found = feed.look(Index(Engine()), {})
    assert found is not None
    index, state = found
    assert feed.look(index, state) is None
    table.version = "2"
    found = feed.look(index, state)
    assert found is not None
    return found[0], table.read


def test_only_what_has_changed_is_read(spark: SparkSession) -> None:
    index, read = looked(Table(spark, CHANGES))
    assert (read, index.engine.match({"x": 3}), index.engine.match({"x": 4})) == (
        ["1"],
        ["c"],
        ["a"],
    )
    assert index.engine.match({"x": 1}) == []


def test_too_many_changes_are_the_whole_table(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feeds, "MOST", 2)
    index, read = looked(Table(spark, CHANGES))
    assert (read, sorted(index.columns["subscription_id"].to_pylist())) == (["1", "2"], ["a", "b"])


def test_a_feed_that_cannot_be_read_is_the_whole_table(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tamis"):
        index, read = looked(Table(spark, "VALUES (1, raise_error('vacuumed'), 2, 'insert')"))
    assert (read, sorted(index.columns["subscription_id"].to_pylist())) == (["1", "2"], ["a", "b"])
    assert "the whole table of subscriptions is compiled again" in caplog.text
