"""``tamis pipeline check`` and ``run`` as a user calls them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.spark.pipeline.test_pipeline import RULES, documents, found, oracle, write_lines
from tests.spark.processes import PYTHON, environment

FILE = """
folder = "state"
[source]
format = "json"
path = "incoming"
[subscriptions]
format = "csv"
path = "rules.csv"
[sinks.matches]
format = "parquet"
path = "matches"
[spark]
"spark.master" = "local[2]"
"spark.ui.enabled" = false
"""


def tamis(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTHON, "-m", "tamis.cli.main", "pipeline", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_check_and_run(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(FILE)
    write_lines(tmp_path / "incoming" / "1.json", documents(30))
    rows = [f'{id},"{text}"' for id, text in RULES.items()]
    write_lines(tmp_path / "rules.csv", ["id,subscription", *rows, "typo,x betwen 1"])
    checked = tamis("check", str(path))
    assert checked.returncode == 2, checked.stderr
    assert f"tamis: {path}: subscriptions: 'typo': line 1, column 3: expected" in checked.stderr
    run = tamis("run", str(path), "--once", "--view", "--metrics", "0")
    assert run.returncode == 0, run.stderr
    assert "ended after 1 batches" in run.stderr
    assert "where the time goes" in run.stderr
    assert found(tmp_path / "matches") == sorted(oracle(documents(30), RULES))
