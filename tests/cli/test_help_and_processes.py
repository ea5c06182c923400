"""Help, its examples, and what only a real process shows: exit codes, pipes, interrupts."""

from __future__ import annotations

import errno
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tamis
from tamis.cli import bench, check, compare, demo, explain, match, schema
from tests.cli.samples import MATCHES, Run, pairs

COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("match",): match.EXAMPLES,
    ("explain",): explain.EXAMPLES,
    ("check",): check.EXAMPLES,
    ("compare",): compare.EXAMPLES,
    ("demo",): demo.EXAMPLES,
    ("bench", "papers"): bench.EXAMPLES,
    **{("schema", command.__name__): each for command, each in schema.COMMANDS.items()},
}
"""The examples by command."""
EXAMPLES = [example for several in COMMANDS.values() for example in several]
SLOW = pytest.mark.slow


def on_spark(example: str) -> bool:
    """Whether it starts Spark, which tests/demo/test_stream.py does in a process of its own."""
    return example.startswith("tamis demo") and "--in-process" not in example


TAMIS = (sys.executable, "-m", "tamis.cli.main")
PIPES = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes find this Tamis from any directory."""
    monkeypatch.setenv("PYTHONPATH", str(Path(tamis.__file__).parents[1]))


def process(*arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [*TAMIS, *arguments], input=input, capture_output=True, timeout=60, check=False
    )


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"tamis {tamis.__version__}\n"


def test_help_tells_the_exit_codes(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    for code in ("0 ", "1 ", "2 ", "130 "):
        assert any(line.strip().startswith(code) for line in result.stdout.splitlines())
    bare = run()
    assert bare.exit_code == 2
    assert "Usage: tamis" in bare.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_the_examples(run: Run, command: tuple[str, ...]) -> None:
    words = run(*command, "--help").stdout.split()
    for example in COMMANDS[command]:
        assert " ".join(example.split()) in " ".join(words)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, marks=SLOW if each == "tamis demo --in-process" else ())
        for each in EXAMPLES
        if not on_spark(each) and not each.startswith("tamis bench")  # minutes
    ],
)
def test_examples_run(folder: Path, run: Run, example: str) -> None:
    data = None
    command = shlex.split(example)
    if "|" in command:
        bar = command.index("|")
        assert command[0] == "cat"
        data = (folder / command[1]).read_bytes()
        command = command[bar + 1 :]
    assert command[0] == "tamis"
    result = run(*command[1:], input=data)
    assert result.exit_code == 0, result.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from tamis.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'pyarrow', 'numpy', 'pandas', 'polars', 're2'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_exit_codes_and_standard_error(folder: Path) -> None:
    lines = (folder / "events.ndjson").read_bytes()
    fine = process("match", "-", "-s", "subscriptions.csv", input=lines)
    assert fine.returncode == 0
    assert pairs(fine.stdout.decode()) == MATCHES
    assert fine.stderr.startswith(b"tamis: 3 events")
    bad = process("match", "-", "-s", "subscriptions.csv", input=b"{")
    assert (bad.returncode, bad.stdout) == (1, b"")
    assert bad.stderr.startswith(b"tamis: standard input: ")
    wrong = process("match", "nowhere.ndjson", "-s", "subscriptions.csv")
    assert wrong.returncode == 2
    assert wrong.stderr == b"tamis: cannot read nowhere.ndjson: no such file or directory\n"


def test_unreadable_file(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root, who may run this, reads everything
    result = run("check", "subscriptions.csv")
    assert result.exit_code == 2
    assert result.stderr == "tamis: cannot read subscriptions.csv: permission denied\n"


@pytest.mark.parametrize("form", ["ndjson", "table"])
def test_broken_pipe_is_no_error(folder: Path, form: str) -> None:
    command = [*TAMIS, "match", "-", "-s", "subscriptions.csv", "--format", form]
    with subprocess.Popen(command, **PIPES) as running:  # type: ignore[call-overload]
        running.stdin.write(b'{"price": 1}\n')
        running.stdin.flush()
        if form == "ndjson":
            running.stdout.readline()
        running.stdout.close()
        running.stdin.write(b'{"price": 2}\n')
        running.stdin.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk(folder: Path) -> None:
    command = [*TAMIS, "match", "events.ndjson", "-s", "subscriptions.csv"]
    with open("/dev/full", "wb") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert result.stderr == b"tamis: no space left on device\n"


def test_interrupt_is_quiet_and_lines_come_at_once(folder: Path) -> None:
    command = [*TAMIS, "match", "-", "-s", "subscriptions.csv"]
    with subprocess.Popen(command, **PIPES) as running:  # type: ignore[call-overload]
        running.stdin.write(b'{"price": 1}\n')
        running.stdin.flush()
        assert pairs(running.stdout.readline().decode()) == [(0, "cheap")]
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == b""
    assert running.returncode == 130
