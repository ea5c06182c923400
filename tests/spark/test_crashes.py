"""A stream that is stopped and killed while subscriptions change: every match exactly once.

Which snapshot a micro-batch saw is in the folder of claims, which files it had is in the
checkpoint. What it had to find follows from the two, by the oracle.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis.spark import Index
from tests.spark.processes import PYTHON, Program, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = int(os.environ.get("TAMIS_SOAK", "2"))
SEED = int(os.environ.get("SEED", "1"))
FILES = 8 + 3 * KILLS
ROWS = 40
DRIVER = (*PYTHON, str(Path(__file__).with_name("stream_driver.py")))

Rule = tuple[str, int]
"""Text and version of a subscription."""


class Scene:
    """A folder with events and changing subscriptions, and a witness of all snapshots.

    Old snapshots are deleted. The witness keeps a link to each, to know what it was made of.
    """

    def __init__(self, folder: Path, numbers: random.Random) -> None:
        self.folder = folder
        self.numbers = numbers
        self.changes: dict[str, list[dict[str, Any]]] = {}
        self.seen = folder / "seen"
        for name in ("events", "changes", "seen", "snapshots"):
            (folder / name).mkdir()
        for file in range(FILES):
            rows = [
                {"id": file * ROWS + place, "x": numbers.randrange(20)} for place in range(ROWS)
            ]
            path = folder / "events" / f"{file:03}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            os.utime(path, (1_700_000_000 + file,) * 2)
        self.change()

    def change(self) -> None:
        """Add, replace and remove some subscriptions."""
        name = f"{len(self.changes):05}.ndjson"
        rows = []
        for id in self.numbers.sample(range(12), 3):
            low = self.numbers.randrange(20)
            text = self.numbers.choice([f"x = {low}", f"x < {low}", f"x in ({low}, 3)", None])
            rows.append({"id": f"s{id}", "subscription": text, "version": len(self.changes)})
        self.changes[name] = rows
        temporary = self.folder / "changes" / f".{name}"
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows))
        temporary.rename(self.folder / "changes" / name)

    def witness(self, ended: threading.Event) -> None:
        """Link every snapshot, and change something now and then."""
        last = time.monotonic()
        while not ended.wait(0.01):
            for path in (self.folder / "snapshots").glob("*.index"):
                with suppress(FileExistsError, FileNotFoundError):
                    os.link(path, self.seen / path.name)
            if time.monotonic() - last > 0.4:
                self.change()
                last = time.monotonic()

    # What must be found.

    def rules(self, number: int) -> dict[str, Rule]:
        """The subscriptions of a snapshot, by the change files that it took."""
        index = Index.open(self.seen / f"{number:06}.index")
        state = json.loads(bytes(index.engine.attachments["state"]))
        rules: dict[str, Rule] = {}
        for name in state["taken"]:
            for row in self.changes[name]:
                if row["subscription"] is None:
                    rules.pop(row["id"], None)
                else:
                    rules[row["id"]] = row["subscription"], row["version"]
        assert {each.id: each.text for each in index.engine} == {
            id: text for id, (text, _) in rules.items()
        }
        return rules

    def expected(self) -> Counter[tuple[int, str, int, int]]:
        """Every match that the recorded snapshots of the micro-batches imply."""
        (claims,) = (self.folder / "snapshots" / "batches").iterdir()
        found: Counter[tuple[int, str, int, int]] = Counter()
        files = self.files()
        assert sorted(name for names in files.values() for name in names) == sorted(
            path.name for path in (self.folder / "events").iterdir()
        )
        for batch, names in files.items():
            rules = self.rules(int((claims / str(batch)).read_text()))
            scan = tamis.Engine(matcher="scan")
            scan.subscribe_many({id: text for id, (text, _) in rules.items()})
            for name in names:
                for line in (self.folder / "events" / name).read_text().splitlines():
                    event = json.loads(line)
                    for id in scan.match(event):
                        found[event["id"], id, rules[id][1], event["x"]] += 1
        return found

    def files(self) -> dict[int, list[str]]:
        """The files of each micro-batch, by the logs of the checkpoint."""
        entries: dict[str, int] = {}
        for log in (self.folder / "checkpoint" / "sources" / "0").iterdir():
            if not log.name.startswith("."):
                for line in log.read_text().splitlines()[1:]:
                    entry = json.loads(line)
                    entries[Path(entry["path"]).name] = entry["batchId"]
        batches: dict[int, list[str]] = {}
        before = -1
        offsets = (self.folder / "checkpoint" / "offsets").iterdir()
        for log in sorted(
            (each for each in offsets if each.name.isdigit()), key=lambda p: int(p.name)
        ):
            last = json.loads(log.read_text().splitlines()[-1])["logOffset"]
            taken = [name for name, offset in entries.items() if before < offset <= last]
            batches[int(log.name)] = taken
            before = last
        return batches


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, random.Random(SEED))


def check(spark: SparkSession, scene: Scene) -> None:
    """Each match is there once, none is missing, none is made up."""
    frame = spark.read.parquet(str(scene.folder / "found"))
    rows = frame.select("event_id", "subscription_id", "version", "x").collect()
    found = Counter(tuple(row) for row in rows)
    expected = scene.expected()
    assert found == expected
    assert set(expected.values()) == {1}
    assert len({version for _, _, version, _ in expected}) > 3  # they did change meanwhile


def batches_done(scene: Scene) -> int:
    folder = scene.folder / "checkpoint" / "commits"
    return len([1 for path in folder.glob("*") if path.name.isdigit()]) if folder.exists() else 0


@pytest.mark.timeout(120 + 60 * KILLS)
def test_every_match_exactly_once(spark: SparkSession, scene: Scene) -> None:
    ended = threading.Event()
    witness = threading.Thread(target=scene.witness, args=[ended], daemon=True)
    witness.start()
    killed, points = 0, random.Random(-SEED)
    try:
        stop_cleanly(scene)
        for _ in range(KILLS):
            with running(*DRIVER, str(scene.folder)) as program:
                killed += killed_in_time(program, scene, points)
        with running(*DRIVER, str(scene.folder)) as program:
            assert program.wait() == 0, program.output
            assert program.lines[-1].startswith("ended after "), program.output
    finally:
        ended.set()
        witness.join()
    assert killed >= KILLS / 2  # others came when all was done
    check(spark, scene)


def stop_cleanly(scene: Scene) -> None:
    """End a stream by a signal: it says what it has done, and the rest is left for the next."""
    with running(*DRIVER, str(scene.folder)) as program:
        program.wait_for("batch 1:")
        os.kill(program.process.pid, signal.SIGTERM)
        assert program.wait(60) == 0, program.output
        assert program.lines[-1].startswith("stopped after "), program.output
        assert " matches (" in program.lines[-1]
    assert 2 <= batches_done(scene) < FILES


def killed_in_time(program: Program, scene: Scene, points: random.Random) -> bool:
    """Kill a stream at a random point, mostly within a micro-batch; whether it was running."""
    done = batches_done(scene)
    if points.random() < 0.8:
        program.wait_for("started")
        deadline = time.monotonic() + 60
        wanted = done + points.randrange(4)
        while batches_done(scene) < wanted and program.process.poll() is None:
            assert time.monotonic() < deadline, program.output
            time.sleep(0.005)
        time.sleep(points.random() * 0.8)
    else:
        time.sleep(points.random() * 10)
    running = program.process.poll() is None
    program.kill()
    return running
