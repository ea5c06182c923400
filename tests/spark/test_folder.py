"""Folders of snapshots: what is claimed stays, for all who ask, and nothing piles up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tamis
from tamis.spark.snapshots.folder import Folder

RACER = """
import sys, time
from pathlib import Path
from tamis.spark.snapshots.folder import Folder
folder = Folder(Path(sys.argv[1]))
print("ready", flush=True)
while not (folder.path / "go").exists():
    time.sleep(0.001)
print([folder.claim("query", batch) for batch in range(200)])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "batches").mkdir()
    return Folder(tmp_path)


def saver(content: str) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        path.write_text(content)

    return save


def files(folder: Folder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir() if path.is_file())


# Claims.


def test_many_processes_agree(folder: Folder) -> None:
    folder.publish(1, saver("one"))
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(folder.path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        (folder.path / "go").touch()
        for number in range(2, 40):
            folder.publish(number, saver(str(number)))
            time.sleep(0.002)
        found = {racer.communicate(timeout=60)[0] for racer in racers}
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    (said,) = found
    seen = [int(number) for number in said.strip("[]\n").split(", ")]
    assert seen == sorted(seen)
    assert len(set(seen)) > 1  # they changed under the race
    assert [folder.claim("query", batch) for batch in range(200)] == seen
    assert len(list((folder.path / "batches" / "query").iterdir())) == 200  # nothing beside them


def test_a_replay_sees_the_same(folder: Folder) -> None:
    folder.publish(1, saver("one"))
    assert folder.claim("query", 0) == 1
    folder.publish(2, saver("two"))
    assert folder.claim("query", 0) == 1
    assert folder.claim("query", 1) == 2
    assert folder.claim("another", 0) == 2
    assert Folder(folder.path).claim("query", 0) == 1
    found = {query: sorted(batches) for query, batches in folder.claims()}
    assert found == {"query": [0, 1], "another": [0]}


def test_without_snapshots(folder: Folder) -> None:
    with pytest.raises(tamis.StorageError, match=r"no snapshots in .*: all nodes must see"):
        folder.claim("query", 0)
    assert list(folder.claims()) == []


# Publishing.


def test_two_writers(folder: Folder) -> None:
    folder.publish(1, saver("ours"))
    with pytest.raises(tamis.StorageError, match=r"000001\.index already exists: another"):
        folder.publish(1, saver("theirs"))
    assert folder.index(1).read_text() == "ours"
    assert files(folder) == ["000001.index"]


def test_what_cannot_be_written_is_not_there(folder: Folder) -> None:
    def save(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        folder.publish(1, save)
    assert files(folder) == []
    assert folder.numbers() == []


def test_numbers_beyond_six_digits(folder: Folder) -> None:
    for number in (999_999, 1_000_000):
        folder.publish(number, saver(str(number)))
    (folder.path / "notes.index").touch()
    assert folder.numbers() == [999_999, 1_000_000]
    assert folder.claim("query", 0) == 1_000_000


# Pruning.


def test_what_is_claimed_is_kept(folder: Folder) -> None:
    for number in range(1, 11):
        folder.publish(number, saver(str(number)))
        folder.rejected(number).touch()
        if number in (1, 3, 4):
            folder.claim("slow", number)
        if number == 2:
            folder.claim("other", 0)
    folder.prune()
    assert folder.numbers() == [2, 3, 4, 8, 9, 10]
    assert len(files(folder)) == 12
    assert folder.claim("slow", 1) == 1  # the number is known still, the file is not


def test_what_a_killed_process_has_left_is_deleted(folder: Folder) -> None:
    folder.publish(1, saver("one"))
    for name in ("fresh.new", "fresh.new.tmp", "old.new", "old.new.tmp"):
        (folder.path / name).touch()
        if name.startswith("old"):
            os.utime(folder.path / name, (time.time() - 7_200,) * 2)
    folder.prune()
    assert files(folder) == ["000001.index", "fresh.new", "fresh.new.tmp"]


def test_files_stay_few(folder: Folder) -> None:
    most = 0
    for number in range(1, 301):
        folder.publish(number, saver(str(number)))
        folder.claim("query", number - 1)
        folder.prune()
        most = max(most, len(files(folder)))
        assert folder.index(number - 1).exists() or number == 1  # what a replay needs
    assert most <= 5
    ((_, batches),) = folder.claims()
    assert sorted(batches) == list(range(200, 300))
