"""``tamis match``: every format in and out, and what it says of bad data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.cli.samples import MATCHES, Run, pairs, write_ndjson

FILES = ("events.ndjson", "events.jsonl", "events.json", "events.parquet")


@pytest.mark.parametrize("events", FILES)
@pytest.mark.parametrize("suffix", ["ndjson", "json", "csv", "parquet"])
def test_every_format(folder: Path, run: Run, events: str, suffix: str) -> None:
    result = run("match", events, "-s", f"subscriptions.{suffix}")
    assert result.exit_code == 0, result.stderr
    assert sorted(pairs(result.stdout)) == MATCHES
    assert re.fullmatch(r"tamis: 3 events, 3 matches in \d+\.\d\d s\n", result.stderr)


def test_cells_of_csv_are_strings_and_empty_ones_are_missing(folder: Path, run: Run) -> None:
    rows = [
        {"id": "number", "subscription": "price < 5"},
        {"id": "string", "subscription": "price = '3'"},
        {"id": "missing", "subscription": "price is missing"},
        {"id": "empty", "subscription": "note = ''"},
    ]
    write_ndjson(folder / "typed.ndjson", rows)
    (folder / "quoted.csv").write_text('price,note\n3,\n,""\n"a\nb",x\n', "utf-8")
    result = run("match", "quoted.csv", "-s", "typed.ndjson")
    assert sorted(pairs(result.stdout)) == [(0, "string"), (1, "empty"), (1, "missing")]
    assert "3 events" in result.stderr


def test_standard_input(folder: Path, run: Run) -> None:
    lines = (folder / "events.ndjson").read_bytes()
    assert pairs(run("match", "-", "-s", "subscriptions.csv", input=lines).stdout) == MATCHES
    for format in ("json", "parquet"):
        data = (folder / f"events.{format}").read_bytes()
        arguments = ("match", "-", "-s", "subscriptions.csv", "--input-format", format)
        assert pairs(run(*arguments, input=data).stdout) == MATCHES
    data = b"category\ntoy\n"
    arguments = ("match", "-", "-s", "subscriptions.csv", "--input-format", "csv")
    assert pairs(run(*arguments, input=data).stdout) == [(0, "toys")]
    rows = (folder / "subscriptions.ndjson").read_bytes()
    assert pairs(run("match", "events.json", "-s", "-", input=rows).stdout) == MATCHES


def test_single_object_as_json(folder: Path, run: Run) -> None:
    (folder / "one.json").write_text('\ufeff {"price": 1} ', "utf-8")
    assert pairs(run("match", "one.json", "-s", "subscriptions.csv").stdout) == [(0, "cheap")]


def test_outputs(folder: Path, run: Run) -> None:
    common = ("match", "events.ndjson", "-s", "subscriptions.csv")
    assert run(*common, "-o", "m.ndjson").stdout == ""
    assert pairs((folder / "m.ndjson").read_text("utf-8")) == MATCHES
    run(*common, "-f", "parquet", "-o", "m.parquet")
    table = parquet.read_table(folder / "m.parquet")
    assert table.schema.names == ["event", "subscription"]
    assert [tuple(row.values()) for row in table.to_pylist()] == MATCHES
    shown = run(*common, "-f", "table").stdout
    assert "category = 'toy'" in shown
    run(*common, "-f", "table", "-o", "m.txt")
    assert (folder / "m.txt").read_text("utf-8").split() == shown.split()
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("format", ["ndjson", "table", "parquet"])
def test_an_output_that_is_a_link_stays_one(folder: Path, run: Run, format: str) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "link").symlink_to("elsewhere/matches")
    common = ("match", "events.ndjson", "-s", "subscriptions.csv", "-f", format, "-o")
    for _ in range(2):
        assert run(*common, "link").exit_code == 0
        assert (folder / "link").is_symlink()
        assert [path.name for path in (folder / "elsewhere").iterdir()] == ["matches"]


def test_table_shows_the_first_matches(folder: Path, run: Run) -> None:
    write_ndjson(folder / "many.ndjson", [{"category": "toy"}] * 1_200)
    shown = run("match", "many.ndjson", "-s", "subscriptions.csv", "-f", "table").stdout
    assert shown.count("toys") == 1_000
    assert "and 200 matches more" in shown


def test_limit_is_of_all_matches(folder: Path, run: Run) -> None:
    result = run("match", "events.ndjson", "-s", "subscriptions.csv", "--limit", "1")
    assert pairs(result.stdout) == MATCHES[:1]
    assert "1 event, 1 match in" in result.stderr


def test_disabled_json_forms_and_taxonomy(folder: Path, run: Run) -> None:
    form = {"attribute": "category", "op": "is a", "value": "furniture"}
    rows = [
        {"id": "form", "subscription": form, "metadata": {"owner": None}},
        {"id": "off", "subscription": "true", "enabled": False},
    ]
    write_ndjson(folder / "rich.ndjson", rows)
    result = run("match", "events.ndjson", "-s", "rich.ndjson", "-t", "taxonomy.json")
    assert pairs(result.stdout) == [(1, "form")]
    text = 'id,subscription,metadata,enabled\na,true,"{""x"": 1}",TRUE\nb,true,,false\n'
    (folder / "flags.csv").write_text(text, "utf-8")
    result = run("match", "events.ndjson", "-s", "flags.csv")
    assert pairs(result.stdout) == [(0, "a"), (1, "a"), (2, "a")]


def test_subscription_that_never_matches_is_a_warning(folder: Path, run: Run) -> None:
    write_ndjson(folder / "never.ndjson", [{"id": "n", "subscription": "a < 1 and a > 2"}])
    result = run("match", "events.ndjson", "-s", "never.ndjson")
    assert result.exit_code == 0
    assert result.stderr.startswith("tamis: warning: never.ndjson: the subscription 'n'")


BAD_EVENTS = {
    "line.ndjson": (b'{"a": 1}\n{"a": }\n', "line 2, column 7"),
    "utf8.ndjson": (b'{"a": "\xff"}\n', "line 1: not valid UTF-8"),
    "utf8.json": (b'[{"a": "\xff"}]', "not valid UTF-8: invalid start byte at byte 8"),
    "utf8.csv": (b"a,b\n1,\xff\n", "UTF8"),
    "comma.json": (b'[{"a": 1},\n]', "line 1, column 10"),
    "glued.json": (b'[{"a": 1} {"a": 2}]', "expecting ',' or ']' at line 1, column 11"),
    "open.json": (b'[{"a": 1}', "expecting ',' or ']'"),
    "behind.json": (b"[{}] 1", "extra data after the array"),
    "value.json": (b"[{}, 1]", "row 1: a JSON event is an object, not a number"),
    "twice.json": (b'[{"a": 1, "a": 2}]', "row 0: the key 'a' stands twice"),
    "deep.json": (b"[" * 100_000, "levels deep"),
    "cells.csv": (b"a,b\n1,2\n1,2,3\n", "Expected 2 columns, got 3"),
    "columns.csv": (b"a,a\n1,2\n", "two columns are named 'a'"),
    "empty.csv": (b"", "Empty CSV file"),
    "foreign.parquet": (b"PAR0", "no PARQUET"),
}


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_bad_events(folder: Path, run: Run, name: str) -> None:
    data, said = BAD_EVENTS[name]
    (folder / name).write_bytes(data)
    result = run("match", name, "-s", "subscriptions.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"tamis: {name}: ")
    assert said in result.stderr


BAD_SUBSCRIPTIONS = {
    "text.csv": (
        b"id,subscription\na,price <\n",
        "line 2, id 'a': in the text, line 1, column 8",
    ),
    "column.csv": (
        b"id,text\na,b\n",
        "line 2, id 'a': no column 'subscription'; there are 'id', 'text'",
    ),
    "flag.csv": (b"id,subscription,enabled\na,true,maybe\n", "'enabled' is true or false"),
    "line.ndjson": (
        b'{"id": "a"\n',
        "line 1: not valid JSON: expecting ',' delimiter at line 1, column 11",
    ),
    "row.json": (b"[1]", "row 0, line 1: a row is an object"),
    "twice.json": (b'{"id": "a", "id": "b"}', "the key 'id' stands twice"),
    "utf8.ndjson": (b'\n{"id": "\xff"}', "line 2: not valid UTF-8"),
    "many.csv": (b"id,subscription\na,(\nb,(\n", "and 1 more faulty\n"),
    "id.json": (b'[{"id": 7, "subscription": "true"}]', "an id is a string"),
}


@pytest.mark.parametrize("name", BAD_SUBSCRIPTIONS)
def test_bad_subscriptions(folder: Path, run: Run, name: str) -> None:
    data, said = BAD_SUBSCRIPTIONS[name]
    (folder / name).write_bytes(data)
    result = run("match", "events.ndjson", "-s", name)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"tamis: {name}: ")
    assert said in result.stderr


def test_faulty_subscriptions_are_skipped_if_you_say_so(folder: Path, run: Run) -> None:
    (folder / "some.csv").write_text(
        "id,subscription\ncheap,price < 5\n\nbad,\"price <\n5 and (\"\ntoys,category = 'toy'\n"
        "cheap,true\n",
        "utf-8",
    )
    assert run("match", "events.ndjson", "-s", "some.csv").stdout == ""
    result = run("match", "events.ndjson", "-s", "some.csv", "--skip-faulty")
    assert result.exit_code == 1
    assert sorted(pairs(result.stdout)) == MATCHES
    said = result.stderr.splitlines()
    assert said[0].startswith(
        "tamis: skipped: some.csv: line 4, id 'bad': in the text, line 2, column 8: "
    )
    assert "tamis: skipped: some.csv: line 7, id 'cheap': " in result.stderr
    assert said[-1].endswith(" s; skipped 2 subscriptions")


def test_lines_that_are_no_rows_are_skipped_if_you_say_so(folder: Path, run: Run) -> None:
    lines = [b'{"id": "cheap", "subscription": "price < 5"}', b"", b"{", b"[1]", b'{"id": "x"}']
    (folder / "some.ndjson").write_bytes(b"\n".join(lines))
    result = run("match", "events.ndjson", "-s", "some.ndjson", "--skip-faulty")
    assert pairs(result.stdout) == MATCHES[:1]
    places = [line.split(": ")[3] for line in result.stderr.splitlines()[:-1]]
    assert places == ["line 3", "line 4", "line 5, id 'x'"]


def test_faulty_events_are_skipped_if_you_say_so(folder: Path, run: Run) -> None:
    lines = ['{"price": 1}', "", '{"price": 1e400}', '{"price": ', '{"price": 2}']
    (folder / "some.ndjson").write_text("\n".join(lines), "utf-8")
    assert run("match", "some.ndjson", "-s", "subscriptions.csv").exit_code == 1
    result = run("match", "some.ndjson", "-s", "subscriptions.csv", "--skip-faulty")
    assert result.exit_code == 1
    assert pairs(result.stdout) == [(0, "cheap"), (3, "cheap")]
    assert (
        "tamis: skipped: some.ndjson: not valid JSON: the number 1e400 is not a finite"
        in result.stderr
    )
    assert "at line 3, column 11" in result.stderr
    assert "at line 4, column" in result.stderr
    assert result.stderr.endswith(" s; skipped 2 events\n")
    (folder / "some.json").write_text('[{"price": 1}, 5, {"price": 2}]', "utf-8")
    result = run("match", "some.json", "-s", "subscriptions.csv", "--skip-faulty")
    assert pairs(result.stdout) == [(0, "cheap"), (2, "cheap")]
    assert "tamis: skipped: some.json: row 1: a JSON event is an object" in result.stderr


def test_an_event_that_cannot_be_matched_is_skipped_if_you_say_so(folder: Path, run: Run) -> None:
    many = list(range(400))
    write_ndjson(folder / "many.ndjson", [{"a": many, "b": many}, {"a": -1, "b": 0}])
    write_ndjson(folder / "pair.ndjson", [{"id": "p", "subscription": "a + b < 0"}])
    result = run("match", "many.ndjson", "-s", "pair.ndjson", "--skip-faulty")
    assert pairs(result.stdout) == [(1, "p")]
    assert (
        "tamis: skipped: many.ndjson: row 0: the subscription 'p' cannot be decided: the event has"
        in result.stderr
    )


def test_nothing_skipped_is_well(folder: Path, run: Run) -> None:
    result = run("match", "events.ndjson", "-s", "subscriptions.csv", "--skip-faulty")
    assert result.exit_code == 0
    assert "skipped" not in result.stderr


@pytest.mark.parametrize("data", [b"[1]", b'{"a": "b"}', b'{"a": ["b"], "b": ["a"]}', b"{"])
def test_bad_taxonomies(folder: Path, run: Run, data: bytes) -> None:
    (folder / "bad.json").write_bytes(data)
    result = run("match", "events.ndjson", "-s", "subscriptions.csv", "-t", "bad.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("tamis: bad.json: ")


WRONG_USAGE = (
    ("match", "nowhere.ndjson", "-s", "subscriptions.csv"),
    ("match", "events.ndjson", "-s", "nowhere.csv"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "-t", "nowhere.json"),
    ("match", ".", "-s", "subscriptions.csv", "--input-format", "json"),
    ("match", "nul\0.csv", "-s", "subscriptions.csv"),
    ("match", "events.xml", "-s", "subscriptions.csv"),
    ("match", "events", "-s", "subscriptions.csv"),
    ("match", "-", "-s", "-"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "-f", "parquet"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "-o", "events.ndjson"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "-o", "no/where.ndjson"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "--limit", "0"),
    ("match", "events.ndjson"),
    ("match", "events.ndjson", "-s", "subscriptions.csv", "--colour"),
    ("mtch",),
    ("--colour",),
)


@pytest.mark.parametrize("arguments", WRONG_USAGE)
def test_wrong_usage(folder: Path, run: Run, arguments: tuple[str, ...]) -> None:
    before = (folder / "events.ndjson").read_bytes()
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("tamis: ")
    assert result.stdout == ""
    assert (folder / "events.ndjson").read_bytes() == before


def test_unknown_suffix_is_told_with_a_hint(folder: Path, run: Run) -> None:
    result = run("match", "events.parqet", "-s", "subscriptions.csv")
    assert "did you mean '.parquet'?" in result.stderr


def test_nothing_is_left_of_a_parquet_file_that_failed(folder: Path, run: Run) -> None:
    (folder / "bad.ndjson").write_text('{"price": 1}\n{', "utf-8")
    arguments = (
        "match",
        "bad.ndjson",
        "-s",
        "subscriptions.csv",
        "-f",
        "parquet",
        "-o",
        "m.parquet",
    )
    assert run(*arguments).exit_code == 1
    assert not list(folder.glob("m.parquet*"))


def test_event_with_too_many_bindings_is_named(folder: Path, run: Run) -> None:
    many = list(range(400))
    write_ndjson(folder / "many.ndjson", [{}, {"a": many, "b": many}])
    write_ndjson(folder / "pair.ndjson", [{"id": "p", "subscription": "a + b < 0"}])
    result = run("match", "many.ndjson", "-s", "pair.ndjson")
    assert result.exit_code == 1
    assert "warning: pair.ndjson: the subscription 'p' costs about 283 ns" in result.stderr
    assert (
        "tamis: many.ndjson: row 1: the subscription 'p' cannot be decided: the event has 160,000"
        in result.stderr
    )
