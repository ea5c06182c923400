"""``tamis compare``: the relation in words, why, and events that prove it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.samples import Run
from tests.schemas import PAPER


def test_attribute_by_attribute(run: Run) -> None:
    result = run("compare", "price < 5", "price between 1 and 3 and category = 'toy'")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert words.startswith("A covers B: every event that matches B matches A attribute")
    assert "category category = 'toy' only B asks" in words
    assert "price price < 5 price between 1 and 3 A is wider" in words
    assert result.stdout.splitlines()[-2:] == [
        'both:   {"price": 1, "category": "toy"}',
        'only A: {"price": 0}',
    ]


def test_what_is_not_known_is_said(run: Run) -> None:
    result = run("compare", "x matches '^(a|b)$'", "x matches '^(b|a)$'")
    assert result.stdout.startswith("A and B overlap: neither covers the other, for all that is")


RELATIONS = [
    ("x = 1", "x in (1)", 0),
    ("x < 5", "x < 3", 3),
    ("x = 1 and y = 2", "x = 1", 4),
    ("x < 5", "x > 3", 5),
    ("x is missing", "x = 1", 6),
]


@pytest.mark.parametrize("a, b, code", RELATIONS)
def test_exit_codes(run: Run, a: str, b: str, code: int) -> None:
    assert run("compare", a, b).exit_code == 0
    assert run("compare", a, b, "--exit-code").exit_code == code


def test_facts(run: Run) -> None:
    assert run("compare", "x < 1", "x > 2").stdout.splitlines()[-3] == 'both:   {"x": [0, 3]}'
    unique = run("compare", "x < 1", "x > 2", "--unique", "x")
    assert unique.stdout.startswith("A and B are disjoint")
    whole = run("compare", "x in (4, 5)", "x between 4 and 5", "--integer", "x")
    assert whole.stdout.startswith("A and B match the same events")


def test_files_and_taxonomy(folder: Path, run: Run) -> None:
    arguments = ("compare", "@old.txt", "@new.txt", "--taxonomy", "taxonomy.json", "-f", "json")
    plain = json.loads(run(*arguments).stdout)
    assert (plain["verdict"], plain["certain"]) == ("covered", True)
    assert plain["attributes"] == [
        {
            "attribute": "category",
            "a": "category = 'chair'",
            "b": "category is a 'furniture'",
            "relation": "B is wider",
        }
    ]
    assert plain["witnesses"] == {
        "both": {"category": "chair"},
        "only B": {"category": "furniture"},
    }
    result = run("compare", "@-", "x = 1", input="x = 1 or y = 2\n")
    assert result.stdout.startswith("A covers B")


def test_problems(folder: Path, run: Run) -> None:
    bad = run("compare", "x <", "x = 1")
    assert bad.exit_code == 1
    assert bad.stderr.startswith("tamis: A: line 1, column 4")
    assert run("compare", "@nowhere.txt", "x = 1").exit_code == 2
    assert run("compare", "@-", "@-").exit_code == 2
    (folder / "bytes.txt").write_bytes(b"\xff")
    assert run("compare", "@bytes.txt", "x = 1").exit_code == 2
    assert run("compare", "x = 1", "x = 1", "--unique", "a b").exit_code == 1


def test_a_schema_knows_more(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "paper.json"
    file.write_text(json.dumps(PAPER))
    schema = ("--schema", str(file))
    assert run("compare", "price < 1", "price > 2", *schema).stdout.startswith(
        "A and B are disjoint"
    )
    orders = run("compare", "period <= 'XVII'", "period < 'XVII'", *schema)
    assert orders.stdout.startswith("A covers B")
    kinds = run(
        "compare", "furniture_category <= 'table'", "furniture_category < 'dining table'", *schema
    )
    assert kinds.stdout.startswith("A covers B")
    wrong = run("compare", "prise < 1", "price > 2", *schema)
    assert wrong.exit_code == 1
    assert "did you mean 'price'?" in wrong.stderr
    assert run("compare", "price < 1", "price > 2", *schema, "--unique", "price").exit_code == 2
