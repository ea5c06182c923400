"""``tamis check``: located problems as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import Result

from tests.cli.samples import Run, write_ndjson

FORM = {"attribute": "prise", "op": "<", "value": 5}
ROWS = [
    {"id": "good", "subscription": "price < 5"},
    {"id": "typo", "subscription": "prise < 5"},
    {"id": "syntax", "subscription": "price < 5\nand ("},
    {"id": "never", "subscription": "price < 1 and price > 2"},
    {"id": "good", "subscription": "true"},
    {"id": "form", "subscription": FORM},
    {"id": "kind", "subscription": "category is a 'chiar'"},
    {"id": "", "subscription": "true"},
]


def problems(result: Result) -> list[dict[str, Any]]:
    """The problems of a report in JSON."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_all_is_well(folder: Path, run: Run) -> None:
    for suffix in ("ndjson", "json", "csv", "parquet"):
        result = run("check", f"subscriptions.{suffix}", "--events", f"events.{suffix}")
        assert result.exit_code == 0
        assert result.stdout == ""
        assert result.stderr.endswith(": 2 checked, 0 faulty, 0 with a warning\n")


def test_report_as_json(folder: Path, run: Run) -> None:
    write_ndjson(folder / "rows.ndjson", ROWS)
    arguments = ("check", "rows.ndjson", "-t", "taxonomy.json", "--format", "json")
    result = run(*arguments, "--events", "events.ndjson")
    assert result.exit_code == 1
    found = {problem["row"]: problem for problem in problems(result)}
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7]
    assert found[1] == {
        "row": 1,
        "file_line": 2,
        "id": "typo",
        "line": 1,
        "column": 1,
        "severity": "error",
        "message": "unknown attribute 'prise'",
        "hint": "did you mean 'price'?",
    }
    assert (found[2]["line"], found[2]["column"]) == (2, 6)
    assert found[3]["severity"] == "warning"
    assert found[4]["message"] == "line 1 has the same id"
    assert "did you mean 'price'?" in found[5]["message"]
    assert "did you mean 'chair'?" in found[6]["message"]
    assert "8 checked, 6 faulty, 1 with a warning" in result.stderr


def test_without_a_sample_every_attribute_is_known(folder: Path, run: Run) -> None:
    write_ndjson(folder / "rows.ndjson", ROWS[:2])
    assert run("check", "rows.ndjson").exit_code == 0


def test_attributes_inside_mappings_and_lists_are_known(folder: Path, run: Run) -> None:
    text = "bids.amount > 5 and bids is present and tags contains 'new'"
    assert run("check", "--text", text, "--events", "events.ndjson").exit_code == 0
    result = run("check", "--text", "bids.amuont > 5", "--events", "events.ndjson")
    assert "did you mean 'bids.amount'?" in result.stdout


def test_report_as_text_shows_place_and_caret(folder: Path, run: Run) -> None:
    write_ndjson(folder / "rows.ndjson", ROWS[:2])
    result = run("check", "rows.ndjson", "--events", "events.ndjson")
    message, *shown = result.stdout.splitlines()
    assert message.startswith(
        "rows.ndjson: line 2, id 'typo': error: in the text, line 1, column 1: unknown"
    )
    assert message.endswith("'prise'; did you mean 'price'?")
    assert shown == ["  prise < 5", "  ^"]


def test_lines_are_those_of_the_file(folder: Path, run: Run) -> None:
    text = (
        '"id\r\nof it",id,subscription\r\n'  # lines 1 and 2
        "x,a,true\n"
        "\n"
        'x,b,"price <\n5\nand ("\n'  # lines 5 to 7
        'x,c,"a ""quoted"" text"\n'
        'x,"d\n","("'
    )
    for mark in ("", "\ufeff"):
        (folder / "rows.csv").write_bytes((mark + text).encode())
        found = problems(run("check", "rows.csv", "--format", "json"))
        assert [(each["row"], each["file_line"]) for each in found] == [(1, 5), (2, 8), (3, 9)]
    shown = run("check", "rows.csv").stdout
    assert "rows.csv: line 5, id 'b': error: in the text, line 3, column 6: " in shown


def test_a_cell_that_is_longer_than_most_leaves_rows_without_lines(folder: Path, run: Run) -> None:
    note = "x" * 200_000
    (folder / "rows.csv").write_text(f"id,subscription,note\na,(,\nb,(,{note}\n", "utf-8")
    lines = run("check", "rows.csv").stdout.splitlines()
    places = [line.split(":")[1] for line in lines if line.startswith("rows.csv")]
    assert places == [" line 2, id 'a'", " row 1, id 'b'"]


def test_elements_of_json_are_named_by_row_and_line(folder: Path, run: Run) -> None:
    (folder / "rows.json").write_text(
        '[\n{"id": "a", "subscription": "true"}, {"id": "b",\n"subscription": "("}\n\n,{}, 5]',
        "utf-8",
    )
    result = run("check", "rows.json")
    places = [line.split(":")[1] for line in result.stdout.splitlines() if "rows.json" in line]
    assert places == [" row 1, line 2, id 'b'", " row 2, line 5", " row 3, line 5"]
    assert "4 checked, 3 faulty" in result.stderr


def test_rows_of_parquet_are_numbered(folder: Path, run: Run) -> None:
    rows = pa.table({"id": ["a", "b"], "subscription": ["true", "("]})
    parquet.write_table(rows, folder / "rows.parquet")
    assert run("check", "rows.parquet").stdout.startswith("rows.parquet: row 1, id 'b': error: ")


def test_a_line_that_is_no_row_does_not_hide_the_others(folder: Path, run: Run) -> None:
    lines = [b"{", b'{"id": "a", "subscription": "("}', b"\xff", b'{"id": "b"}', b"[]"]
    (folder / "rows.ndjson").write_bytes(b"\n".join(lines))
    result = run("check", "rows.ndjson", "--format", "json")
    assert [each["file_line"] for each in problems(result)] == [1, 2, 3, 4, 5]
    assert "5 checked, 5 faulty" in result.stderr


def test_a_text_needs_no_place(run: Run) -> None:
    assert run("check", "--text", "(").stdout.startswith("the text: error: line 1, column 2: ")


def test_warnings_are_allowed(run: Run) -> None:
    result = run("check", "--text", "price < 1 and price > 2")
    assert result.exit_code == 0
    assert "warning: the subscription contradicts itself" in result.stdout
    result = run("check", "--text", "price + shipping < 5")
    assert result.exit_code == 0
    assert "warning: the subscription costs about 283 ns an event (no key: " in result.stdout


def test_standard_input(folder: Path, run: Run) -> None:
    data = (folder / "subscriptions.csv").read_bytes()
    assert run("check", "-", "--input-format", "csv", input=data).exit_code == 0
    result = run("check", "-", input=b'{"id": "a", "subscription": "("}')
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "standard input: line 1, id 'a': error: in the text, line 1, column 2"
    )


@pytest.mark.parametrize("text", ["near('Bronx', ?d)", "category is a 'toy'", "price = now()"])
def test_what_the_engine_refuses_is_an_error(run: Run, text: str) -> None:
    assert run("check", "--text", text).exit_code == 1


@pytest.mark.parametrize("arguments", [(), ("a.csv", "--text", "true"), ("-", "--events", "-")])
def test_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("tamis: ")
