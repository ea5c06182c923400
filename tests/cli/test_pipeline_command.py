"""``tamis pipeline``: a file to begin with, and the mistakes in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tamis.cli.main import app

pytest.importorskip("pyspark")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["pipeline", *arguments])
    return result.exit_code, result.output


def test_a_file_to_begin_with(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    code, said = run("init", str(path))
    assert (code, said.strip()) == (
        0,
        f"tamis: {path}: edit it, then run 'tamis pipeline check {path}'",
    )
    code, said = run("check", str(path), "--offline")
    assert code == 2
    lines = said.strip().splitlines()
    assert lines[0].startswith(f"tamis: {path}: source: there is no directory {tmp_path}/incoming")
    assert lines[1].startswith(f"tamis: {path}: subscriptions: there is no {tmp_path}/subscript")
    (tmp_path / "incoming").mkdir()
    (tmp_path / "subscriptions.csv").write_text("id,subscription\n")
    assert run("check", str(path), "--offline") == (0, f"tamis: {path}: all is well\n")


def test_init_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text("mine")
    code, said = run("init", str(path))
    assert code == 2
    assert "exists: name another file" in said
    assert path.read_text() == "mine"


def test_mistakes_have_places(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text("foldr = 'state'\n[source]\nformat = 'rate'\n")
    code, said = run("run", str(path))
    assert code == 2
    assert f"tamis: {path}: unknown key 'foldr'; did you mean 'folder'?" in said
    assert f"tamis: {path}: the table [subscriptions] is missing" in said
