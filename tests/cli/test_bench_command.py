"""`tamis bench`: what there is, one figure of a paper, a former run, and no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
from benchmarks.papers import lesubscribe
from benchmarks.papers import run as papers
from benchmarks.papers.catalogue import PAPERS
from benchmarks.papers.results import Measurement, Results
from tests.cli.samples import Run

SOURCE = Path(tamis.__file__).parents[1]


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The folder of a run in which naive took a hundred times as long as quarantining."""
    times = {"naive": 4_000.0, "quarantining": 40.0}
    rows = [
        Measurement("naive", name, 400_000, 400_000, best=best, worst=best, evaluated=best)
        for name, best in times.items()
    ]
    machine = papers.begin_run(False, None)
    papers.end_run(machine)
    papers.keep(lesubscribe.PAPER, Results(rows), machine, tmp_path)
    return tmp_path


def process(*arguments: str, path: Path = SOURCE) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, with Tamis from some place."""
    return subprocess.run(
        [sys.executable, "-m", "tamis.cli.main", "bench", *arguments],
        env={**os.environ, "PYTHONPATH": str(path)},
        cwd=path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_it_lists_what_there_is(run: Run) -> None:
    result = run("bench")
    assert result.exit_code == 0
    for name in PAPERS:
        assert f"tamis bench papers --only {name} " in result.stdout
    assert "python -m benchmarks.sieve" in result.stdout


def test_a_former_run_is_shown(run: Run, former: Path) -> None:
    result = run("bench", "papers", "--only", "lesubscribe", "--show", str(former))
    assert result.exit_code == 0
    words = " ".join(result.stdout.replace("│", " ").split())
    assert "100 at 400k" in words
    assert "does not hold" in words
    assert "not measured" in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--only", "padre"],
            "unknown paper 'padre'; there are lesubscribe, operators, gtopss, padres, gryphon",
        ),
        (["--only", "gryphon", "--figure", "9a"], "unknown figure '9a'; there are "),
        (["--docs", "--quick"], "--docs needs a full run"),
        (["--docs", "--figure", "9a"], "--docs needs a full run"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], message: str) -> None:
    result = run("bench", "papers", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"tamis: {message}")


def test_a_folder_without_a_run(run: Run, tmp_path: Path) -> None:
    result = run("bench", "papers", "--only", "gryphon", "--show", str(tmp_path))
    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_outside_of_a_checkout_it_says_what_to_do(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.nbc", "*.nbi")
    shutil.copytree(SOURCE / "tamis", tmp_path / "lib" / "tamis", ignore=ignored)
    for arguments in ([], ["papers"]):
        result = process(*arguments, path=tmp_path / "lib")
        assert result.returncode == 2
        assert "clone the repository" in result.stderr
        assert "Traceback" not in result.stderr
    assert process("--help", path=tmp_path / "lib").returncode == 0


@pytest.mark.slow
def test_a_figure_is_measured(tmp_path: Path) -> None:
    options = "--only", "lesubscribe", "--quick", "--figure", "naive"
    result = process("papers", *options, "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {
        "lesubscribe.json",
        "lesubscribe-naive.csv",
        "lesubscribe-naive.svg",
    }
    assert f"measurements and pictures in {tmp_path}" in result.stderr
    assert "naive takes" in result.stdout
