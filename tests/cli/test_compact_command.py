"""``tamis compact``: a report of what is covered and merged."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.samples import Run, write_ndjson

ROWS = [
    {"id": "cheap", "subscription": "price < 9"},
    {"id": "cheaper", "subscription": "price < 5 and color = 'red'"},
    {"id": "nine", "subscription": "price = 9"},
    {"id": "blue", "subscription": "color = 'blue'"},
]


def test_a_report(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "table.ndjson"
    write_ndjson(file, ROWS)
    result = run("compact", str(file))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "cheaper: covered by cheap",
        "cheap, nine: merged into price <= 9",
    ]
    assert result.stderr == (
        "tamis: 4 subscriptions: 1 covered, 2 merged into 1, 1 remain; 2 entries are enough\n"
    )
    result = run("compact", str(file), "--format", "json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": "cheaper", "covered_by": "cheap"},
        {"members": ["cheap", "nine"], "subscription": "price <= 9"},
    ]


def test_a_file_that_is_not_there(run: Run) -> None:
    result = run("compact", "nowhere.csv")
    assert result.exit_code == 2
    assert "nowhere.csv" in result.stderr
