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
    """Subscriptions that change; hand it to ``match`` in place of a table.

        with Snapshots("snapshots", lambda: spark.read.parquet("rules")) as subscriptions:
            matches = match(events, subscriptions)
            matches.writeStream…

    ``source`` is called now and then and gives all subscriptions: a DataFrame, an Arrow table, a
    mapping from id to subscription, or rows. ``from_table`` and ``from_changes`` are others. In a
    ``with`` block a thread looks for changes ``every`` so many seconds; ``refresh`` does so now.
    The folder must be one that all nodes see (folder.py); a stream that is started again goes
    on with the same one. The settings are those of ``Index.of``.
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
        """What went wrong when changes were last looked for; the last snapshot holds meanwhile."""
        (self._folder.path / "batches").mkdir(parents=True, exist_ok=True)
        self.number = max(self._folder.numbers(), default=0)
        """The number of the last snapshot."""
        self.index, self._state = self._last() if self.number else (initial or Index(Engine()), {})
        self._published = self.number > 0
        self.refresh()

    @classmethod
    def from_table(
        cls, folder: str | os.PathLike[str], session: SparkSession, name: str, **settings: Any
    ) -> Snapshots:
        """The subscriptions of a table of the catalog."""

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
        """What comes of the files in the folder ``changes``, upon ``initial`` the first time.

        A file, ``*.ndjson`` or ``*.parquet``, has rows of ``id``, ``subscription`` (null removes)
        and, if there is one, ``version``. Files are taken in the order of their names, each once
        and as a whole, so put them there by renaming; one that was taken may be deleted.
        """
        return cls(folder, Changes(Path(changes)), initial=initial, every=every)

    def _last(self) -> tuple[Index, State]:
        index = Index.open(self._folder.index(self.number))
        return index, json.loads(bytes(index.engine.attachments[_STATE]))

    @property
    def file(self) -> Path:
        """The file of the last snapshot."""
        return self._folder.index(self.number)

    def source(self) -> SnapshotSource:
        """What workers need to know."""
        return SnapshotSource(str(self._folder.path))

    def refresh(self) -> int:
        """Take in what has changed; the number of the snapshot that micro-batches see from now."""
        with self._lock:
            found = self._source.look(self.index, self._state)
            if found is not None:
                self.index, self._state = found
                self._published = False
            if not self._published:  # or it failed the last time: a full disk, say
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
        """The number of the snapshot that a micro-batch saw, if it had any event."""
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
            except (
                Exception
            ) as error:  # whatever a source raises: it is kept, told, and tried again
                if str(error) != str(self.error):
                    _LOG.warning("the subscriptions stay as they are: %s", error)
                self.error = error
            else:
                self.error = None

    def __repr__(self) -> str:
        return f"Snapshots({str(self._folder.path)!r}, number {self.number}, {self.index!r})"
