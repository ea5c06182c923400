"""``tamis explain``: where event and subscription come from, and the forms of the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.samples import Run, write_ndjson

INLINE = '{"price": 3, "bids": [{"by": "ada", "amount": 9}, {"by": "ben", "amount": 4}]}'


def test_inline_event_and_text(run: Run) -> None:
    text = "bids.by = 'ben' and bids.amount > 5"
    result = run("explain", INLINE, "--subscription", text)
    assert result.exit_code == 0
    top, *clauses = result.stdout.splitlines()
    assert top.startswith(f"✗ {text}")
    assert "not of the same" in top
    assert clauses[0].startswith("├── ✓ bids.by = 'ben'")
    assert len(clauses) == 2


@pytest.mark.parametrize("suffix", ["ndjson", "json", "csv", "parquet"])
def test_files(folder: Path, run: Run, suffix: str) -> None:
    arguments = ("-s", f"subscriptions.{suffix}", "--id", "toys")
    assert run("explain", f"events.{suffix}", *arguments).stdout.startswith("✓ category = 'toy'")
    later = run("explain", f"events.{suffix}", "--row", "1", *arguments)
    assert later.stdout.startswith("✗ category = 'toy'")
    assert "category is 'chair'" in later.stdout


def test_standard_input(folder: Path, run: Run) -> None:
    lines = (folder / "events.ndjson").read_bytes()
    result = run("explain", "-", "--row", "2", "--subscription", "price = 30", input=lines)
    assert result.stdout.startswith("✓ price = 30")


def test_forms(run: Run) -> None:
    common = ("explain", INLINE, "--subscription", "price < 5 and missing > 1", "--format")
    plain = json.loads(run(*common, "json").stdout)
    assert plain["truth"] == "unknown"
    assert [part["truth"] for part in plain["parts"]] == ["true", "unknown"]
    assert "<code>price &lt; 5</code>" in run(*common, "html").stdout


def test_taxonomy(folder: Path, run: Run) -> None:
    arguments = ("--subscription", "category is a 'furniture'", "-t", "taxonomy.json")
    result = run("explain", "events.ndjson", "--row", "1", *arguments)
    assert result.stdout.startswith("✓")


def test_other_subscriptions_of_the_file_may_be_faulty(folder: Path, run: Run) -> None:
    rows = [{"id": "bad", "subscription": "("}, {"id": "good", "subscription": "price = 3"}]
    write_ndjson(folder / "mixed.ndjson", rows)
    assert run("explain", INLINE, "-s", "mixed.ndjson", "--id", "good").exit_code == 0
    result = run("explain", INLINE, "-s", "mixed.ndjson", "--id", "bad")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "tamis: mixed.ndjson: line 1, id 'bad': in the text, line 1, column 2"
    )


def test_contradiction_is_a_warning(run: Run) -> None:
    result = run("explain", INLINE, "--subscription", "price < 1 and price > 2")
    assert result.exit_code == 0
    assert result.stderr.startswith("tamis: warning: ")


PROBLEMS = {
    ("{", "--subscription", "true"): "tamis: the event: not valid JSON",
    (INLINE, "--subscription", "price <"): "tamis: the subscription: line 1, column 8",
    (INLINE, "-s", "subscriptions.csv", "--id", "chep"): "did you mean 'cheap'?",
}


@pytest.mark.parametrize("arguments", PROBLEMS)
def test_problems(folder: Path, run: Run, arguments: tuple[str, ...]) -> None:
    result = run("explain", *arguments)
    assert result.exit_code == 1
    assert PROBLEMS[arguments] in result.stderr


WRONG_USAGE = (
    (INLINE,),
    (INLINE, "--subscription", "true", "-s", "subscriptions.csv", "--id", "cheap"),
    (INLINE, "-s", "subscriptions.csv"),
    (INLINE, "--subscription", "true", "--id", "cheap"),
    ("-", "-s", "-", "--id", "cheap"),
    ("events.ndjson", "--row", "3", "--subscription", "true"),
)


@pytest.mark.parametrize("arguments", WRONG_USAGE)
def test_wrong_usage(folder: Path, run: Run, arguments: tuple[str, ...]) -> None:
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("tamis: ")
