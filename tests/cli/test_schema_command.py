"""``tamis schema``: show, check, extend, infer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis import Schema
from tests.cli.samples import EVENTS, SCHEMA, Run, pairs, write_ndjson
from tests.schemas import E1, E2, PAPER


def test_show(folder: Path, run: Run) -> None:
    (folder / "paper.json").write_text(json.dumps(PAPER))
    result = run("schema", "show", "paper.json")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:8] == str(Schema(**PAPER)).splitlines()[:8]
    assert lines[lines.index("category") + 1 :] == [
        "  bedroom",
        "  └── bed",
        "  dining room",
        "  ├── chair",
        "  └── table",
        "      └── dining table",
        "          └── round table",
        "  outdoor",
        "  ├── chair",
        "  └── table …",
    ]


def test_check(folder: Path, run: Run) -> None:
    (folder / "paper.json").write_text(json.dumps(PAPER))
    write_ndjson(folder / "paper.ndjson", [E1, E2])
    result = run("schema", "check", "paper.json", "paper.ndjson")
    assert result.exit_code == 1
    assert result.stdout == (
        "paper.ndjson: row 1: R2: 'furniture_category' is missing; it is mandatory in furniture\n"
    )
    assert result.stderr == "tamis: paper.ndjson: 2 checked, 1 rejected\n"
    result = run("schema", "check", "paper.json", "paper.ndjson", "--format", "json")
    assert json.loads(result.stdout) == {
        "row": 1,
        "rule": "R2",
        "attribute": "furniture_category",
        "types": ["furniture"],
        "reason": "'furniture_category' is missing; it is mandatory in furniture",
    }


@pytest.mark.parametrize("suffix", ["ndjson", "json", "csv", "parquet"])
def test_check_every_format(folder: Path, run: Run, suffix: str) -> None:
    result = run("schema", "check", "schema.json", f"events.{suffix}", "--type", "auction")
    assert (result.exit_code, result.stdout) == (0, "")
    result = run("schema", "check", "schema.json", f"events.{suffix}")
    assert result.exit_code == 1
    assert result.stdout.count("R1: 'event_type' is missing") == 3


def test_an_unknown_type(folder: Path, run: Run) -> None:
    result = run("schema", "check", "schema.json", "events.ndjson", "--type", "auctoin")
    assert result.exit_code == 1
    assert "did you mean 'auction'?" in result.stderr


def test_extend_in_place(folder: Path, run: Run) -> None:
    result = run("schema", "extend", "schema.json", "extension.json")
    assert (result.exit_code, result.stderr) == (0, "tamis: version 2\n")
    new = Schema.from_json((folder / "schema.json").read_bytes())
    assert new.version == 2
    assert set(new.types) == {"auction", "lot"}
    result = run("schema", "extend", "schema.json", "extension.json")
    assert result.stderr == "tamis: nothing new: the version stays\n"


def test_a_refused_extension_changes_nothing(folder: Path, run: Run) -> None:
    before = (folder / "schema.json").read_bytes()
    data = json.dumps({"attributes": {"price": "string"}})
    result = run("schema", "extend", "schema.json", "-", input=data)
    assert result.exit_code == 1
    assert "attribute creation: 'price' exists, with the domain 'number'" in result.stderr
    assert (folder / "schema.json").read_bytes() == before
    result = run("schema", "extend", "schema.json", "extension.json", "-o", "-")
    assert Schema.from_json(result.stdout).version == 2
    assert (folder / "schema.json").read_bytes() == before


def test_infer(folder: Path, run: Run) -> None:
    result = run("schema", "infer", "events.ndjson", "--type", "auction", "--enumerate", "5")
    assert result.exit_code == 0
    schema = Schema.from_json(result.stdout)
    assert set(schema.types) == {"auction"}
    for event in EVENTS:
        schema.check(event, types=["auction"])
    assert schema.attributes[("category",)] == "category values"
    few = Schema.from_json(run("schema", "infer", "events.ndjson", "--limit", "1").stdout)
    assert {path[0] for path in few.attributes} == {"category", "price", "tags"}


def test_standard_input_serves_once(folder: Path, run: Run) -> None:
    assert run("schema", "check", "-", "-").exit_code == 2
    assert run("schema", "extend", "-", "-").exit_code == 2
    data = json.dumps(SCHEMA)
    assert run("schema", "show", "-", input=data).exit_code == 0


@pytest.mark.parametrize("text", ["", "[]", '{"types": 5}'])
def test_a_file_that_is_no_schema(folder: Path, run: Run, text: str) -> None:
    (folder / "bad.json").write_text(text)
    result = run("schema", "show", "bad.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("tamis: bad.json: ")
    assert run("schema", "show", "nowhere.json").exit_code == 2


def test_subscriptions_are_checked_by_a_schema(folder: Path, run: Run) -> None:
    result = run("check", "--text", "prise < 5", "--schema", "schema.json")
    assert result.exit_code == 1
    assert "did you mean 'price'?" in result.stdout
    assert (
        run("check", "--text", "category < 'furniture'", "--schema", "schema.json").exit_code == 0
    )
    result = run("check", "--text", "true", "--schema", "schema.json", "-t", "taxonomy.json")
    assert result.exit_code == 2


def test_matching_by_a_schema(folder: Path, run: Run) -> None:
    rows = [
        {"id": "f", "subscription": "category < 'furniture'"},
        {"id": "p", "subscription": "price < 5"},
    ]
    write_ndjson(folder / "rows.ndjson", rows)
    for suffix in ("ndjson", "csv"):
        result = run("match", f"events.{suffix}", "-s", "rows.ndjson", "--schema", "schema.json")
        assert pairs(result.stdout) == [(0, "p"), (1, "f")]
    arguments = ("--subscription", "category < 'furniture'", "--schema", "schema.json")
    assert "✓" in run("explain", '{"category": "chair"}', *arguments).stdout
    assert "✗" in run("explain", "events.csv", *arguments).stdout
