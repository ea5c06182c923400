"""A pipeline that is stopped and killed while subscriptions change, that loses executors, and whose
disk is full for a while: every match exactly once.

Which version a micro-batch saw is in ``state/batches``, which file it had in the checkpoint. What it
had to find follows from the two, by the oracle. The files are read as any reader sees them.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tamis
from tamis.spark import Index
from tests.spark.processes import PYTHON, Program, environment, running, session_of

KILLS = int(os.environ.get("TAMIS_SOAK", "3"))
SEED = int(os.environ.get("SEED", "1"))
FILES = 6 + 3 * KILLS
ROWS = 40
DRIVER = (*PYTHON, str(Path(__file__).with_name("pipeline_driver.py")))

Match = tuple[int, str, int]
"""Event, subscription, version."""


class Scene:
    """A folder with documents and changing subscriptions, and a witness of all versions."""

    def __init__(self, folder: Path, numbers: random.Random, files: int = FILES) -> None:
        self.folder = folder
        self.numbers = numbers
        self.files = files
        self.changes: dict[str, list[dict[str, Any]]] = {}
        self.broken = 0
        self.seen = folder / "seen"
        for name in ("events", "changes", "seen"):
            (folder / name).mkdir()
        for file in range(files):
            lines = [
                json.dumps({"id": file * ROWS + place, "x": numbers.randrange(20)})
                for place in range(ROWS)
            ]
            lines[numbers.randrange(ROWS)] = f'{{"file": {file}, "x": '
            path = folder / "events" / f"{file:03}.json"
            path.write_text("\n".join(lines) + "\n")
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

    @contextmanager
    def witnessed(self) -> Iterator[None]:
        """A block whose versions are kept, and in which subscriptions change."""
        ended = threading.Event()
        thread = threading.Thread(target=self.witness, args=[ended], daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def witness(self, ended: threading.Event) -> None:
        """Link every version, for old ones are deleted, and change something now and then."""
        last = time.monotonic()
        while not ended.wait(0.01):
            for path in (self.folder / "state" / "snapshots").glob("*.index"):
                with suppress(FileExistsError, FileNotFoundError):
                    os.link(path, self.seen / path.name)
            if time.monotonic() - last > 0.4:
                self.change()
                last = time.monotonic()

    def rules(self, number: int) -> dict[str, tuple[str, int]]:
        """The subscriptions of a version, by the change files that it took."""
        index = Index.open(self.seen / f"{number:06}.index")
        state = json.loads(bytes(index.engine.attachments["state"]))
        rules: dict[str, tuple[str, int]] = {}
        for name in state["taken"]:
            for row in self.changes[name]:
                if row["subscription"] is None:
                    rules.pop(row["id"], None)
                else:
                    rules[row["id"]] = row["subscription"], row["version"]
        return rules

    def expected(self) -> Counter[Match]:
        """Every match that the recorded versions of the micro-batches imply."""
        found: Counter[Match] = Counter()
        for batch in range(self.files):
            record = json.loads((self.folder / "state" / "batches" / str(batch)).read_text())
            rules = self.rules(record["snapshot"])
            scan = tamis.Engine(matcher="scan")
            scan.subscribe_many({id: text for id, (text, _) in rules.items()})
            for line in (self.folder / "events" / f"{batch:03}.json").read_text().splitlines():
                if line.endswith("}"):
                    event = json.loads(line)
                    for id in scan.match(event):
                        found[event["id"], id, rules[id][1]] += 1
        return found

    def found(self) -> Counter[Match]:
        """The matches in the Parquet files, as any reader sees them."""
        rows: list[dict[str, Any]] = []
        for path in (self.folder / "found").glob("batch=*/*.parquet"):
            rows += pq.read_table(path, partitioning=None).to_pylist()
        return Counter((row["event_id"], row["subscription_id"], row["version"]) for row in rows)

    def found_json(self) -> Counter[Match]:
        """The matches in the JSON files."""
        rows = self.lines("found-json")
        return Counter((row["event_id"], row["subscription_id"], row["version"]) for row in rows)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The rows of JSON files."""
        paths = (self.folder / name).glob("batch=*/*.json")
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def committed(self) -> int:
        """How many micro-batches are done."""
        folder = self.folder / "state" / "checkpoint" / "commits"
        names = [path.name for path in folder.glob("*")] if folder.exists() else []
        return sum(name.isdigit() for name in names)

    def check(self) -> None:
        """Each match is there once, none is missing, none is made up, nor is a broken document."""
        expected = self.expected()
        assert set(expected.values()) == {1}
        assert self.found() == expected
        assert self.found_json() == expected
        texts = sorted(row["text"] for row in self.lines("rejected"))
        assert texts == sorted(f'{{"file": {file}, "x": ' for file in range(self.files))
        assert len({version for _, _, version in expected}) > 3  # they did change meanwhile


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, random.Random(SEED))


@pytest.mark.timeout(200 + 90 * KILLS)
def test_every_match_exactly_once(scene: Scene) -> None:
    killed, points = 0, random.Random(-SEED)
    with scene.witnessed():
        stop_cleanly(scene)
        for _ in range(KILLS):
            with running(*DRIVER, str(scene.folder)) as program:
                killed += killed_in_time(program, scene, points)
        with running(*DRIVER, str(scene.folder)) as program:
            assert program.wait() == 0, program.output
            assert program.lines[-1].startswith("ended after "), program.output
    assert killed >= KILLS / 2  # others came when all was done
    scene.check()


def stop_cleanly(scene: Scene) -> None:
    """SIGTERM finishes the micro-batch: what was written is committed."""
    with running(*DRIVER, str(scene.folder)) as program:
        program.wait_for("batch 0:")
        os.kill(program.process.pid, signal.SIGTERM)
        assert program.wait(60) == 0, program.output
        assert program.lines[-1].startswith("stopped after "), program.output
    done = scene.committed()
    assert 1 <= done < FILES
    assert len(list((scene.folder / "found").glob("batch=*"))) == done


def killed_in_time(program: Program, scene: Scene, points: random.Random) -> bool:
    """Kill a pipeline at a random point, mostly within a micro-batch; whether it was running."""
    done = scene.committed()
    if points.random() < 0.8:
        program.wait_for("started")
        deadline = time.monotonic() + 90
        wanted = done + points.randrange(3)
        while scene.committed() < wanted and program.process.poll() is None:
            assert time.monotonic() < deadline, program.output
            time.sleep(0.005)
        time.sleep(points.random() * 2)
    else:
        time.sleep(points.random() * 12)
    running = program.process.poll() is None
    program.kill()
    return running


# Executors that are killed.

CLUSTER = ("spark.master=local-cluster[2,1,1024]", "spark.driver.host=127.0.0.1")
LOST = max(2, KILLS // 2)
"""Executors that are killed."""


@pytest.mark.timeout(300 + 60 * KILLS)
def test_executors_are_killed(tmp_path: Path) -> None:
    numbers = random.Random(SEED)
    (tmp_path / "scene").mkdir()
    scene = Scene(tmp_path / "scene", numbers, 4 + 3 * LOST)
    env = environment(SPARK_WORKER_DIR=str(tmp_path / "work"))
    command = (*DRIVER, str(scene.folder), *CLUSTER)
    with scene.witnessed(), running(*command, env=env) as program:
        for lost in range(LOST):
            program.wait_for(f"batch {3 * lost}:", 200)
            time.sleep(numbers.random())  # any point of the next micro-batches
            kill_executor(program, numbers)
        assert program.wait() == 0, program.output
        assert program.lines[-1].startswith("ended after "), program.output
    scene.check()


def kill_executor(program: Program, numbers: random.Random) -> None:
    """Kill one of the executors; Spark starts another one."""
    deadline = time.monotonic() + 60
    while not (found := executors(program)):
        assert program.process.poll() is None, program.output
        assert time.monotonic() < deadline, program.output
        time.sleep(0.05)
    os.kill(numbers.choice(found), signal.SIGKILL)


def executors(program: Program) -> list[int]:
    return [pid for pid in session_of(program.process.pid) if b"ExecutorBackend" in command_of(pid)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


# A disk that is full for a while. A limit of the size of files does the same to all writers of a
# process, in the middle of a file too, and needs no file system of its own.

FULL = max(2, KILLS)
"""How often the disk is full."""
ROOM = (0, 100, 3_000)
"""Bytes that a file may have meanwhile."""


@pytest.mark.timeout(300 + 60 * KILLS)
def test_the_disk_is_full_for_a_while(tmp_path: Path) -> None:
    numbers = random.Random(SEED)
    scene = Scene(tmp_path, numbers, 4 + 3 * FULL)
    command = (*DRIVER, str(scene.folder))
    full = ended = 0
    with scene.witnessed():
        while True:
            with running(*command) as program:
                while full < FULL and fill(program, scene, numbers):
                    full += 1
                if program.wait() == 0:
                    break
                ended += 1
                assert ended <= full, program.output  # each time for this reason
    assert full == FULL
    scene.check()


def fill(program: Program, scene: Scene, numbers: random.Random) -> bool:
    """Let the disk be full until the pipeline notices: it tries again, or it ends. False if it had
    ended before."""
    wanted, said = scene.committed() + 1, len(program.lines)
    deadline = time.monotonic() + 120
    while scene.committed() < wanted and program.process.poll() is None:
        assert time.monotonic() < deadline, program.output
        time.sleep(0.01)
    time.sleep(numbers.random())  # any point of the next micro-batch
    if program.process.poll() is not None:
        return False
    limit_files(program, numbers.choice(ROOM))
    while program.process.poll() is None and not noticed(program, said):
        assert time.monotonic() < deadline, program.output
        time.sleep(0.01)
    limit_files(program, resource.RLIM_INFINITY)
    return True


def noticed(program: Program, since: int) -> bool:
    return any("trying again" in line for line in program.lines[since:])


def limit_files(program: Program, size: int) -> None:
    """Limit the size of files that the processes of a program may write."""
    for pid in session_of(program.process.pid):
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
