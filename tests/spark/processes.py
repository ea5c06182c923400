"""Programs that tests start, and how they end together with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable, "-W", "ignore")
PYTHONPATH = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


def environment(**more: str) -> dict[str, str]:
    """This process's variables, with the repository on Python's path and no session's own."""
    own = ("PYSPARK_", "SPARK_", "_PYSPARK")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    return {**kept, "PYTHONPATH": PYTHONPATH, "SPARK_LOCAL_IP": "127.0.0.1", **more}


class Program:
    """A program in a session of processes of its own, whose lines are kept."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed by kill)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=dict(environment() if env is None else env),
            cwd="/",
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line)

    @property
    def output(self) -> str:
        """What it has said, on both channels."""
        self._errors.seek(0)
        return "".join(self.lines) + self._errors.read()[-10_000:]

    def wait_for(self, line: str, seconds: float = 120) -> None:
        """Wait until it has said a line that begins so."""
        deadline = time.monotonic() + seconds
        while not any(each.startswith(line) for each in list(self.lines)):
            assert self.process.poll() is None, f"it ended:\n{self.output}"
            assert time.monotonic() < deadline, f"no {line!r}:\n{self.output}"
            time.sleep(0.02)

    def wait(self, seconds: float = 240) -> int:
        """Wait for its end, and return its exit code."""
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def kill(self) -> None:
        """Kill it and whatever it has started, at once."""
        while living := session_of(self.process.pid):
            for pid in living:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.poll()
        self.process.wait(10)
        self._reader.join(10)
        self._errors.close()


def session_of(leader: int) -> list[int]:
    """The living processes of the session that a process was started in, by its id.

    Not its group: Spark's daemon of Python workers makes a group of its own.
    """
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            state, _, _, session = _fields(int(entry))
            if session == str(leader) and state not in "ZX":
                found.append(int(entry))
    return found


def _fields(pid: int) -> list[str]:
    """State, parent, group and session of a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:  # it has just ended
        return ["X", "", "", ""]


def children_of(parent: int) -> list[int]:
    """The living processes that a process has started."""
    return [pid for pid in session_of(parent) if _fields(pid)[1] == str(parent)]


@contextmanager
def running(*command: str, env: Mapping[str, str] | None = None) -> Iterator[Program]:
    """A program, of which nothing is left at the end of the block."""
    program = Program(command, env)
    try:
        yield program
    finally:
        program.kill()
