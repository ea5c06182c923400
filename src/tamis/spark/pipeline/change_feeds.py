"""Tables that tell what has changed in them: Delta's change data feed, Iceberg's table of changes.

    state: {"at": "7", "mark": …}      the version that the index is of

    7 ─ 8 ─ 9    what was committed since: deleted and inserted rows, in the order of commits;
                 for each id, the last insertion counts, or the removal if there is none after it

Only the changed subscriptions are compiled. The whole table is compiled again if the feed does not
reach back to that version, if the table was replaced, or if more than ``MOST`` rows have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tamis.spark.columns import ID, SUBSCRIPTION, VERSION, quoted
from tamis.spark.index.index import Index
from tamis.spark.snapshots.sources import State, Tables, first_index, settings_mark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("tamis")
MOST = 500_000
"""Changed rows that are compiled in the driver; beyond, executors compile the whole table."""


class ChangeLog(NamedTuple):
    """Changed rows, and the columns that order them and say what kind of change they are."""

    rows: DataFrame
    order: str
    kind: str
    removals: tuple[str, ...]
    """The kinds of rows that are not in the table any more."""


class VersionedTable(Protocol):
    """A table whose versions have names, and that tells what has changed between two of them."""

    def latest(self) -> str | None:
        """The name of the latest version; None if the table has none yet."""

    def at(self, version: str) -> DataFrame:
        """The rows of a version."""

    def changes(self, since: str, until: str) -> ChangeLog | None:
        """What was committed after a version, up to another; None if that is not known."""


class DeltaTable(NamedTuple):
    """A Delta table, whose property ``delta.enableChangeDataFeed`` must be true.

    A version is named by its number and the time of its commit, so that one of a table that was
    replaced is told from its namesake.
    """

    session: SparkSession
    name: str

    def latest(self) -> str | None:
        """The name of the latest version."""
        return next(iter(self._history(" LIMIT 1")), None)

    def at(self, version: str) -> DataFrame:
        """The rows of a version."""
        return self.session.sql(f"SELECT * FROM {self.name} VERSION AS OF {_number(version)}")

    def changes(self, since: str, until: str) -> ChangeLog | None:
        """What was committed after a version; None if the table was replaced."""
        if since not in self._history():
            return None
        reader = self.session.read.option("readChangeFeed", "true")
        reader = reader.option("startingVersion", _number(since) + 1)
        reader = reader.option("endingVersion", _number(until))
        removals = ("delete", "update_preimage")
        return ChangeLog(reader.table(self.name), "_commit_version", "_change_type", removals)

    def _history(self, end: str = "") -> list[str]:
        rows = self.session.sql(f"DESCRIBE HISTORY {self.name}{end}")
        found = rows.selectExpr("version", "unix_millis(timestamp) AS time").collect()
        return [f"{row.version} {row.time}" for row in found]


def _number(version: str) -> int:
    return int(version.split()[0])


class IcebergTable(NamedTuple):
    """An Iceberg table of a catalog; a version is a snapshot."""

    session: SparkSession
    name: str

    def latest(self) -> str | None:
        """The current snapshot."""
        refs = self.session.sql(f"SELECT snapshot_id FROM {self.name}.refs WHERE name = 'main'")
        return next((str(row.snapshot_id) for row in refs.collect()), None)

    def at(self, version: str) -> DataFrame:
        """The rows of a snapshot."""
        return self.session.sql(f"SELECT * FROM {self.name} VERSION AS OF {version}")

    def changes(self, since: str, until: str) -> ChangeLog | None:
        """What was committed after a snapshot."""
        reader = self.session.read.option("start-snapshot-id", since)
        rows = reader.option("end-snapshot-id", until).table(f"{self.name}.changes")
        return ChangeLog(rows, "_change_ordinal", "_change_type", ("DELETE", "UPDATE_BEFORE"))


class ChangeFeed(NamedTuple):
    """The subscriptions of a table that tells what has changed in it."""

    table: VersionedTable
    settings: Mapping[str, Any]

    def look(self, index: Index, state: State) -> tuple[Index, State] | None:
        """The index of the latest version."""
        latest, mark = self.table.latest(), settings_mark(self.settings)
        if latest is None:
            empty = {"at": None, "mark": mark}
            return None if state == empty else (first_index(None, self.settings), empty)
        since = state.get("at") if state.get("mark") == mark else None
        if since == latest:
            return None
        changed = None if since is None else self._changed(since, latest)
        if changed is None:
            index = Tables(lambda: self.table.at(latest), self.settings).compiled()
        else:
            index.change(changed)
        return index, {"at": latest, "mark": mark}

    def _changed(self, since: str, latest: str) -> pa.Table | None:
        """The changes as rows, null for what was removed; None if they are too many or unknown."""
        from pyspark.errors import PySparkException

        try:
            log = self.table.changes(since, latest)
            if log is None:
                return None
            own = [ID, SUBSCRIPTION, VERSION, *self.settings.get("columns", ())]
            names = [name for name in own if name in log.rows.columns]
            rows = log.rows.select(*map(quoted, names), log.order, log.kind).limit(MOST + 1)
            table = rows.toArrow()
        except PySparkException as error:
            reason = str(error).strip().splitlines()[0]
            _LOG.warning("the whole table of subscriptions is compiled again: %s", reason)
            return None
        return None if table.num_rows > MOST else net_changes(table, log, names)


def net_changes(table: pa.Table, log: ChangeLog, names: Sequence[str]) -> pa.Table:
    """Changed rows in their order, those of a commit with what it removes first."""
    removed = pc.is_in(table[log.kind], pa.array(log.removals))
    order = {"order": table[log.order], "kept": pc.invert(removed).cast(pa.int8())}
    keys = [("order", "ascending"), ("kept", "ascending")]
    places = pc.sort_indices(pa.table(order), sort_keys=keys)  # type: ignore[arg-type]
    texts = pc.if_else(removed, pa.scalar(None, table[SUBSCRIPTION].type), table[SUBSCRIPTION])
    place = table.column_names.index(SUBSCRIPTION)
    return table.set_column(place, SUBSCRIPTION, texts).select(list(names)).take(places)
