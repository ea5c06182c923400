"""The examples of docs/broker.md run, by curl and in Python, and its tables are complete."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tomllib
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path

import pytest

from tamis.server.app import OPERATIONS
from tamis.server.operator_settings import FIELDS
from tamis.server.serve import broker_settings
from tamis.server.settings import ServerSettings, filled
from tests.server.conftest import Served

PAGE = (Path(__file__).parents[2] / "docs" / "broker.md").read_text()
DEFAULT = "http://127.0.0.1:8080"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_curl_examples_run(served: Served, tmp_path: Path) -> None:
    assert shutil.which("curl"), "install curl, as .ci/run does"
    script = "set -euo pipefail\n" + "\n".join(blocks("sh")).replace(DEFAULT, served.address)
    script = script.replace("curl -s", "curl --fail-with-body -s")
    run = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "KEY": served.key},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("event: notification") == 0, "they were acknowledged"
    assert served.http.get("/v1/subscriptions").json()["items"] == [], "the last one ends it"


def test_python_examples_run(served: Served) -> None:
    first, second = blocks("python")
    expected = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert expected is not None
    names: dict[str, object] = {"KEY": served.key}
    with redirect_stdout(io.StringIO()) as output:
        exec(first.replace(DEFAULT, served.address), names)
    assert output.getvalue() == expected[1]
    exec(second, names)


def test_the_table_of_the_api_has_every_operation() -> None:
    table = PAGE.split("## The API")[1].split("**Who may.**")[0]
    for operation in OPERATIONS:
        path = operation.path.replace("{number:int}", "{number}")
        last = "/" + path.rpartition("/")[2]
        assert path in table or last in table, f"{operation.method} {path} is not in docs/broker.md"


def test_the_table_of_settings_has_every_setting_with_its_default() -> None:
    for field in fields(ServerSettings):
        default = getattr(ServerSettings(), field.name)
        if isinstance(default, bool):
            shown = str(default).lower()
        elif isinstance(default, int | float):
            shown = f"{default:,}" if field.name != "port" else str(default)
        else:
            shown = default or "none"
        assert re.search(rf"\| `{field.name}` \| {re.escape(shown)} \|", PAGE), field.name


def test_the_examples_of_settings_are_valid(tmp_path: Path) -> None:
    links, example, operators = blocks("toml")
    assert broker_settings(tomllib.loads(links)["broker"]).links["south"] == ""
    given = tomllib.loads(example)
    assert filled(ServerSettings, given["server"]).port == 8443
    assert set(given) == {"server", "broker"}
    assert {*FIELDS} < set(tomllib.loads(operators)["broker"]), "tests/server/test_settings.py"


def test_screenshots_are_small() -> None:
    pictures = re.findall(r"!\[.*?\]\((.+?\.png)\)", PAGE)
    assert len(pictures) >= 3
    for picture in pictures:
        assert (Path(__file__).parents[2] / "docs" / picture).stat().st_size < 150_000


@pytest.mark.parametrize("name", ["broker.md"])
def test_the_page_is_linked(name: str) -> None:
    assert f"docs/{name}" in (Path(__file__).parents[2] / "README.md").read_text()
