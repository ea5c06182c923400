"""``tamis demo`` on Spark, in processes of its own, and the data that it generates."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tamis
from tamis.demo import data, nested_loop
from tamis.demo.picture import picture
from tamis.demo.shares import Passes, shares
from tamis.demo.stream import DemoPlan
from tamis.spark.pipeline import BatchReport
from tests.cli.samples import Run

pytest.importorskip("pyspark")
SLOW = pytest.mark.slow
SOURCE = str(Path(tamis.__file__).parents[1])
TAMIS = (sys.executable, "-m", "tamis.cli.main", "demo")
SMALL = ("--events", "40000", "--subscriptions", "3000", "--seed", "3")


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """The demo in a process of its own."""
    return subprocess.Popen(
        [*TAMIS, *arguments],
        env={**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "120", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# The data.


def test_every_subscription_and_every_change_is_valid() -> None:
    from tamis.demo.stream import compiled

    generated = data.Subscriptions(2_000)
    index = compiled(generated.first)
    assert index.rejected.num_rows == 0
    for version in range(2, 6):
        change = generated.change()
        ids = [row.id for row in change.rows()]
        assert len(ids) == len(set(ids))
        assert not any(row.id in index.engine for row in change.new)
        assert all(row.id in index.engine for row in (*change.replaced, *change.removed))
        assert {row.version for row in change.rows()} == {version}
        index.change(data.table(change.rows()))
        assert index.rejected.num_rows == 0
        assert len(index) == 2_000
        assert index.engine[data.STAR].text == data.star(version).text


def test_same_seed_same_subscriptions() -> None:
    first, same = (data.Subscriptions(500, 3) for _ in range(2))
    assert first.first == same.first
    assert first.change() == same.change()
    assert data.Subscriptions(500, 4).first != same.first


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_subscriptions_can_change_too(count: int) -> None:
    generated = data.Subscriptions(count)
    assert len(generated.first) == count
    for _ in range(3):
        assert data.STAR in {row.id for row in generated.change().replaced}


@pytest.mark.parametrize(
    "events, batch, batches",
    [(1, 1, 1), (3, 1, 3), (10, 2, 5), (40_000, 10_000, 4), (2_000_000, 200_000, 10)],
)
def test_events_come_in_batches(events: int, batch: int, batches: int) -> None:
    plan = DemoPlan(events, 10, 0.0, 0, Path("nowhere"))
    assert (plan.batch, plan.batches) == (batch, batches)


@pytest.mark.parametrize("events, broken", [(7, 0), (8, 1), (5_007, 1), (5_008, 2), (20_000, 4)])
def test_broken_documents_are_counted(events: int, broken: int) -> None:
    found = sum(n % data.BROKEN == 7 for n in range(events))
    assert found == data.broken(events) == broken


def test_rules_of_the_nested_loop_have_the_constants_of_the_subscriptions() -> None:
    generated = data.Subscriptions(2_000)
    rows = [*generated.first, *generated.change().new]
    rules = {row["id"]: row for row in nested_loop.rule_table(rows).to_pylist()}
    for row in rows:
        rule = rules[row.id]
        for text in rule["texts"]:
            assert text in str(row.text)
        for number in rule["numbers"]:
            assert f" {number:.0f}" in str(row.text)
    assert set(rules[data.STAR]["kinds"]) == {"rocking chair", "radio"}


# The picture.


def test_the_picture_shows_every_micro_batch() -> None:
    times = {"subscriptions": 0.1, "match": 0.5, "matches": 0.25}
    reports = [
        BatchReport(n, 1 + n // 2, 7, events=1_000, seconds=1.0, times=times, at=100.0 + n)
        for n in range(4)
    ]
    shown = ElementTree.fromstring(picture("auctions & more", reports))
    bars = shown.findall("{*}rect[@height]")
    assert len(bars) == 1 + 4 + 4 * 4 + 4  # background, throughput, steps, legend
    texts = [each.text for each in shown.iter("{http://www.w3.org/2000/svg}text")]
    assert "auctions & more" in texts
    assert {"subscriptions version 1", "2", "match", "Spark"} <= {*texts}
    assert picture("nothing", []).startswith("<svg")


def test_the_shares_add_up_to_the_whole() -> None:
    times = {"subscriptions": 0.1, "match": 2.0, "matches": 0.25, "rejected events": 0.05}
    reports = [BatchReport(n, events=1_000, seconds=3.0, times=times) for n in range(2)]
    found = shares(reports, Passes(0.0002, 0.0005))
    assert list(found.values()) == pytest.approx([0.4, 0.6, 3.0, 0.2, 0.6, 1.2])


# Errors.


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--save", "x"), "--save is for --in-process; on Spark it is --output"),
        (("--in-process", "--output", "x"), "--output is for the demo on Spark"),
        (("--output", "file"), "cannot write .*: file exists"),
        (("--output", "."), "is not empty: name a folder that is, or a new one"),
    ],
)
def test_wrong_usage(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    result = run("demo", *arguments)
    assert result.exit_code == 2
    assert re.search(message, result.stderr)


def test_without_pyspark_both_remedies_are_named() -> None:
    code = (
        "import sys\nsys.modules['pyspark'] = None\n"
        "from tamis.cli.main import app\napp(['demo'], prog_name='tamis')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "pip install 'tamis[spark]'" in result.stderr
    assert "tamis demo --in-process" in result.stderr
    assert "Traceback" not in result.stderr


@SLOW
def test_java_that_does_not_start(tmp_path: Path) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
    java.chmod(0o755)
    folder = tmp_path / "demo"
    with started(*SMALL, "--output", str(folder), JAVA_HOME=str(tmp_path / "java")) as running:
        _, said = running.communicate(timeout=120)
    assert running.returncode == 1
    assert "tamis: Spark did not start: [JAVA_GATEWAY_EXITED]" in said
    assert "Traceback" not in said
    assert "out of order" not in said
    assert "out of order" in (folder / "spark.log").read_text()


# The whole.


@SLOW
def test_demo(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with started(*SMALL, "--output", str(folder)) as running:
        shown, said = running.communicate(timeout=280)
    assert running.returncode == 0, said
    for foreign in ("WARN", "FutureWarning", "Traceback", "Stage"):
        assert foreign not in said
    batches = re.findall(r"^batch (\d): .* subscriptions version \d+$", said, re.MULTILINE)
    assert batches == ["0", "1", "2", "3"]
    found = re.search(r"ended after 4 batches .*: 40,000 events .*, ([\d,]+) matches", said)
    assert found
    parts = (
        "40,000 auctions as JSON against 3,000 subscriptions",
        f"{found[1]} matches",
        "Where the time goes",
        "A nested-loop join of 100 of these auctions with the same subscriptions took",
        "8 documents were broken on purpose, and set aside:",
        "4 × a JSON event is an object, not an array",
        "The busiest subscriptions",
        f"How {data.STAR} changed",
        "A match of bidder-",
        "No match of bidder-",
        "What the stream wrote",
        "What to try next",
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert {path.name for path in folder.iterdir()} == {
        "changes",
        "events",
        "matches",
        "rejected",
        "spark.log",
        "state",
        "subscriptions.parquet",
        "taxonomy.json",
        "throughput.svg",
    }
    assert "<svg" in (folder / "throughput.svg").read_text()


@SLOW
def test_a_signal_stops_it_cleanly(tmp_path: Path) -> None:
    arguments = ("--events", "3000000", "--subscriptions", "300", "--output", str(tmp_path / "d"))
    with started(*arguments) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("batch 0"):
                break
        asked = time.monotonic()
        running.send_signal(signal.SIGTERM)
        shown, said = running.communicate(timeout=120)
        assert time.monotonic() - asked < 60
    assert running.returncode == 130, said
    assert "stopped after" in said
    assert f"what it wrote is in {tmp_path / 'd' / 'matches'}" in said.replace("\n", "")
    assert "Traceback" not in said
    assert shown == ""
