"""Subscriptions that change while streams run."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.engine.engine import Engine
from tamis.spark.index.index import Index
from tamis.spark.snapshots.folder import Folder, SnapshotSource
from tamis.spark.snapshots.sources import Changes, Source, State, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("tamis")
_STATE = "state"


class Snapshots:
    """Subscriptions that change while a stream runs; pass it to ``match`` instead of a table.

        with Snapshots("snapshots", lambda: spark.read.parquet("rules")) as subscriptions:
            matches = match(events, subscriptions)
            matches.writeStream…

    ``source`` is a callable that returns all subscriptions: a DataFrame, an Arrow table, a mapping
    from id to subscription, or rows. ``from_table`` and ``from_changes`` read other sources. In a
    ``with`` block, a thread checks for changes ``every`` so many seconds; ``refresh`` checks now.
    All nodes must see ``folder`` (folder.py). When you restart a stream, use the same folder. The
    settings are those of ``Index.of``.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        source: Callable[[], Any] | Source,
        *,
        initial: Index | None = None,
        every: float = 1.0,
        **settings: Any,
    ) -> None:
        self._folder = Folder(Path(folder).absolute())
        self._source = Tables(source, settings) if callable(source) else source
        self._every = every
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None
        """The error of the last check for changes, if it failed; the last snapshot stays in use."""
        (self._folder.path / "batches").mkdir(parents=True, exist_ok=True)
        self.number = max(self._folder.numbers(), default=0)
        """The number of the latest snapshot."""
        self.index, self._state = self._last() if self.number else (initial or Index(Engine()), {})
        self._published = self.number > 0
        self.refresh()

    @classmethod
    def from_table(
        cls, folder: str | os.PathLike[str], session: SparkSession, name: str, **settings: Any
    ) -> Snapshots:
        """Read the subscriptions from a table of the catalog."""

        def table() -> DataFrame:
            session.catalog.refreshTable(name)
            return session.table(name)

        return cls(folder, table, **settings)

    @classmethod
    def from_changes(
        cls,
        folder: str | os.PathLike[str],
        changes: str | os.PathLike[str],
        *,
        initial: Index | None = None,
        every: float = 1.0,
    ) -> Snapshots:
        """Start from ``initial``, and apply the files in the folder ``changes``.

        A file, ``*.ndjson`` or ``*.parquet``, has rows with ``id``, ``subscription`` (null removes
        it) and optionally ``version``. Each file is read once, in the order of their names. Write
        it elsewhere and rename it into the folder, so that it is complete. You may delete a file
        once it has been read. If snapshots exist already, ``initial`` is ignored.
        """
        return cls(folder, Changes(Path(changes)), initial=initial, every=every)

    def _last(self) -> tuple[Index, State]:
        index = Index.open(self._folder.index(self.number))
        return index, json.loads(bytes(index.engine.attachments[_STATE]))

    @property
    def file(self) -> Path:
        """The file of the latest snapshot."""
        return self._folder.index(self.number)

    def source(self) -> SnapshotSource:
        """Where workers find their snapshot."""
        return SnapshotSource(str(self._folder.path))

    def refresh(self) -> int:
        """Apply changes now; return the number of the snapshot that the next micro-batch sees."""
        with self._lock:
            found = self._source.look(self.index, self._state)
            if found is not None:
                self.index, self._state = found
                self._published = False
            if not self._published:  # also if it failed the last time, on a full disk, say
                self._publish()
            return self.number

    def _publish(self) -> None:
        self.index.engine.attachments[_STATE] = json.dumps(self._state).encode()
        self._folder.publish(self.number + 1, self.index.save)
        self.number += 1
        self._published = True
        rejected = self.index.rejected.to_pylist()
        if rejected:
            _LOG.warning("snapshot %d: %s", self.number, self.index.complaint())
            lines = "".join(json.dumps(row) + "\n" for row in rejected)
            self._folder.rejected(self.number).write_text(lines, "utf-8")
        self._folder.prune()

    def seen_by(self, query: str, batch: int) -> int | None:
        """The number of the snapshot that a micro-batch saw; None if it had no events."""
        for name, batches in self._folder.claims():
            if name == query and batch in batches:
                return int(batches[batch].read_text())
        return None

    def __enter__(self) -> Snapshots:
        self._ended.clear()
        self._thread = threading.Thread(target=self._watch, name="tamis-snapshots", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        self._ended.set()
        self._thread.join()
        self._thread = None

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self.refresh()
            except Exception as error:  # a source may raise anything: keep it, log it, try again
                if str(error) != str(self.error):
                    _LOG.warning("the last snapshot stays in use: %s", error)
                self.error = error
            else:
                self.error = None

    def __repr__(self) -> str:
        return f"Snapshots({str(self._folder.path)!r}, number {self.number}, {self.index!r})"
