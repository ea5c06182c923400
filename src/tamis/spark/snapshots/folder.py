"""The snapshot that each micro-batch sees, recorded before the batch runs.

    snapshots/
        000007.index                     an index, complete or absent; the highest number is current
        000008.index
        batches/<query>/<batch>          the number of the snapshot that a micro-batch saw: "7"

The driver writes indices. The first worker of a micro-batch records the number of the latest one,
*create-exclusive*: one of several workers succeeds. The others read its record, and so does every
replay of the batch, whatever has changed since. So a stream sees a change from the next micro-batch
on, all workers of a batch see the same snapshot, and no sink gets a batch in two versions.

Files are linked into place with their content (``link`` fails if the name exists), so a reader
never finds an empty one. The folder must be on a file system that driver and executors share, as
Spark requires for checkpoints, and that has hard links: a local disk on one machine, NFS or the
like on a cluster.
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
"""Latest indices to keep, because a worker may be about to open one."""
_REPLAYED = 2
"""Latest batches of a query whose indices to keep; Spark replays only the last one."""
_BATCHES = 100
"""Latest batches of a query whose records to keep."""
_ABANDONED = 3_600
"""Age in seconds at which an unfinished file must belong to a killed process."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of snapshots."""

    path: Path

    def index(self, number: int) -> Path:
        """The file of a snapshot."""
        return self.path / f"{number:06d}.index"

    def rejected(self, number: int) -> Path:
        """The file with the subscriptions that a snapshot rejected, if any."""
        return self.path / f"{number:06d}.rejected.ndjson"

    def numbers(self) -> list[int]:
        """The numbers of all snapshots, in ascending order."""
        return sorted(int(path.stem) for path in self.path.glob("*.index") if path.stem.isdigit())

    def publish(self, number: int, save: Callable[[Path], None]) -> None:
        """Write a snapshot under a new number; micro-batches see it from now on."""
        temporary = self.path / f"{secrets.token_hex(8)}.new"
        try:
            save(temporary)
            os.link(temporary, self.index(number))
        except FileExistsError as error:
            raise StorageError(
                f"{self.index(number)} already exists: another process writes to this folder; "
                "use one Snapshots at a time"
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    def claim(self, query: str, batch: int) -> int:
        """The recorded snapshot of a micro-batch; if there is no record, record the latest."""
        place = self.path / "batches" / query / str(batch)
        with contextlib.suppress(FileNotFoundError):
            return int(place.read_text())
        found = self.numbers()
        if not found:
            raise StorageError(
                f"this executor finds no snapshots in {self.path}: all nodes must see this folder"
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
        """The records, by query and batch."""
        for query in (self.path / "batches").iterdir():
            files = (path for path in query.iterdir() if path.name.isdigit())
            yield query.name, {int(path.name): path for path in files}

    def prune(self) -> None:
        """Delete the files that no micro-batch can need any more."""
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
    """Knows which index the micro-batch of a worker sees."""

    folder: str

    def path(self) -> str:
        """The path of the index."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context and context.getLocalProperty("sql.streaming.queryId")
        batch = context and context.getLocalProperty("streaming.sql.batchId")
        if not query or not batch:
            raise StorageError("Snapshots work only in the micro-batches of a stream")
        folder = Folder(Path(self.folder))
        path = folder.index(folder.claim(query, int(batch)))
        if not path.exists():
            raise StorageError(
                f"this executor finds no snapshot {path}: all nodes must see this folder, and only "
                "Tamis may delete files in it"
            )
        return str(path)
