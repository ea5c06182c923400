"""``tamis operators``: what it lists."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tamis.cli.main import app


def test_one_operator_is_shown_in_full() -> None:
    found = CliRunner().invoke(app, ["operators", "keywords"], env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert "keywords(word: string, *more: string)" in found.output
    assert "Whether the text has all these words" in found.output


def test_parameters_that_may_be_left_out_are_shown() -> None:
    found = CliRunner().invoke(app, ["operators"], env={"COLUMNS": "300"})
    assert "similar_to(phrase: string, [least: number])" in found.output


def test_an_unknown_operator(capfd: pytest.CaptureFixture[str]) -> None:
    found = CliRunner().invoke(app, ["operators", "keyword"])
    assert found.exit_code == 2
    assert "did you mean 'keywords'?" in found.output + capfd.readouterr().err
