"""Which snapshot of the subscriptions a micro-batch sees, written down before it runs.

    snapshots/
        000007.index                     an index, whole or not there; the greatest number holds
        000008.index
        batches/<query>/<batch>          the number that a micro-batch saw: "7"

The driver writes indices. The first worker of a micro-batch writes down the number of the last
one, *create-exclusive*: of several workers one succeeds, the others read what it wrote, and so does
every replay of the batch, whatever has changed since. So a stream sees a change from the next
micro-batch on, all of a batch sees the same, and no sink gets a batch in two versions.

Files are linked into place with their content (``link`` fails if the name exists): a reader never
finds one that is empty yet. The folder must be on a file system that driver and executors share, as
Spark asks it of checkpoints, and that has hard links: local disks on one machine, NFS or the like
on a cluster.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tamis.errors import StorageError

_NEWEST = 3
"""Indices that are kept because a worker may be about to open one."""
_REPLAYED = 2
"""Batches of a query whose indices are kept: Spark replays the last one only."""
_BATCHES = 100
"""Batches of a query whose numbers are kept."""
_ABANDONED = 3_600
"""Seconds after which a file that is still being written belongs to a process that was killed."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of snapshots."""

    path: Path

    def index(self, number: int) -> Path:
        """The file of a snapshot."""
        return self.path / f"{number:06d}.index"

    def rejected(self, number: int) -> Path:
        """The file with the subscriptions that a snapshot leaves out, if there are any."""
        return self.path / f"{number:06d}.rejected.ndjson"

    def numbers(self) -> list[int]:
        """The numbers of all snapshots, ascending."""
        return sorted(int(path.stem) for path in self.path.glob("*.index") if path.stem.isdigit())

    def publish(self, number: int, save: Callable[[Path], None]) -> None:
        """Write a snapshot under a number that is free; micro-batches see it from now on."""
        temporary = self.path / f"{secrets.token_hex(8)}.new"
        try:
            save(temporary)
            os.link(temporary, self.index(number))
        except FileExistsError as error:
            raise StorageError(
                f"{self.index(number)} exists: another process writes snapshots to this folder"
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    def claim(self, query: str, batch: int) -> int:
        """The snapshot of a micro-batch: what is written down, or else the last, written down."""
        place = self.path / "batches" / query / str(batch)
        with contextlib.suppress(FileNotFoundError):
            return int(place.read_text())
        found = self.numbers()
        if not found:
            raise StorageError(
                f"no snapshots in {self.path} on this executor: do all nodes see it?"
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f".{secrets.token_hex(8)}")
        with open(temporary, "x") as file:
            file.write(str(found[-1]))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, place)
        except FileExistsError:
            return int(place.read_text())  # another worker was first
        finally:
            temporary.unlink()
        return found[-1]

    def claims(self) -> Iterator[tuple[str, dict[int, Path]]]:
        """What is written down, by query and batch."""
        for query in (self.path / "batches").iterdir():
            files = (path for path in query.iterdir() if path.name.isdigit())
            yield query.name, {int(path.name): path for path in files}

    def prune(self) -> None:
        """Delete what no micro-batch can ask for any more."""
        numbers = self.numbers()
        kept = set(numbers[-_NEWEST:])
        for _, batches in self.claims():
            ordered = sorted(batches)
            kept.update(int(batches[batch].read_text()) for batch in ordered[-_REPLAYED:])
            for batch in ordered[:-_BATCHES]:
                batches[batch].unlink()
        for number in numbers:
            if number not in kept:
                self.index(number).unlink()
                self.rejected(number).unlink(missing_ok=True)
        for path in (*self.path.glob("*.new"), *self.path.glob("*.tmp")):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()


class SnapshotSource(NamedTuple):
    """Tells a worker which index its micro-batch sees."""

    folder: str

    def path(self) -> str:
        """The file of the index."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context and context.getLocalProperty("sql.streaming.queryId")
        batch = context and context.getLocalProperty("streaming.sql.batchId")
        if not query or not batch:
            raise StorageError("snapshots are for the micro-batches of a stream")
        folder = Folder(Path(self.folder))
        path = folder.index(folder.claim(query, int(batch)))
        if not path.exists():
            raise StorageError(
                f"no snapshot {path} on this executor: all nodes must see the folder, and files "
                "in it are deleted by Tamis alone"
            )
        return str(path)
