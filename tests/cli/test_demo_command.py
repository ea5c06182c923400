"""``tamis demo --in-process`` and its auctions."""

from __future__ import annotations

import warnings
from itertools import islice
from pathlib import Path

import pytest

from tamis import CostlyWarning, Engine, Event, parse
from tamis.demo import auctions
from tamis.predicates import expression
from tamis.predicates.expression import Expression, nodes_within
from tamis.predicates.operands import Arithmetic, Attribute, operands_within
from tests.cli.samples import Run

PARSED = [parse(text) for _, text in auctions.subscriptions(300)]
NODES = [node for tree in PARSED for node in nodes_within(tree)]


def test_every_subscription_is_valid_and_can_match() -> None:
    engine = Engine(taxonomy=auctions.TAXONOMY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CostlyWarning)
        engine.subscribe_many(auctions.subscriptions(300))
    assert len(engine) == 300
    assert len({str(tree) for tree in PARSED}) > 250


def test_every_kind_of_node_occurs() -> None:
    named = [kind for kind in vars(expression).values() if isinstance(kind, type)]
    kinds = {kind for kind in named if issubclass(kind, Expression)} - {Expression}
    others = {expression.Call, expression.Pattern, expression.TermTest}  # no event has graphs
    assert {type(node) for node in NODES} == kinds - others


def test_every_form_of_a_test_occurs() -> None:
    texts = [node for node in NODES if isinstance(node, expression.TextTest)]
    assert {node.operator for node in texts} == set(expression.TextTest.OPERATORS)
    comparisons = [node for node in NODES if isinstance(node, expression.Comparison)]
    assert {node.operator for node in comparisons} == set(expression.FLIPPED)
    for kind in (expression.Comparison, expression.In, expression.Contains, expression.TextTest):
        assert {node.ignore_case for node in NODES if isinstance(node, kind)} == {True, False}
    terms = [
        term for node in comparisons for side in node.operands() for term in operands_within(side)
    ]
    arithmetic = {term.operator for term in terms if isinstance(term, Arithmetic)}
    assert arithmetic == {"+", "-", "*", "/"}
    assert any(isinstance(node.right, Attribute) for node in comparisons)


def test_same_seed_same_data() -> None:
    assert list(auctions.events(20, 3)) == list(auctions.events(20, 3))
    assert list(auctions.events(20, 3)) != list(auctions.events(20, 4))
    assert list(islice(auctions.events(20, 3), 10)) == list(auctions.events(10, 3))
    assert list(auctions.subscriptions(50, 3)) == list(auctions.subscriptions(50, 3))
    assert list(auctions.subscriptions(50, 3)) != list(auctions.subscriptions(50, 4))


def test_auctions_are_events_with_all_kinds_of_values() -> None:
    paths = {
        "price": float,
        "bids.amount": float,
        "title": str,
        "shipping.country": str,
        "charity": bool,
    }
    events = [Event(event) for event in auctions.events(100)]
    for path, kind in paths.items():
        keys = tuple(path.split("."))
        assert {type(value) for event in events for value in event.values(keys)} == {kind}
    assert any(not event.present(("bids",)) for event in events)
    categories = {value for event in events for value in event.values(("category",))}
    assert categories <= set(auctions.TAXONOMY)


@pytest.fixture
def output(run: Run, tmp_path: Path) -> str:
    arguments = ("--events", "60", "--subscriptions", "40", "--save", str(tmp_path / "saved"))
    result = run("demo", "--in-process", *arguments)
    assert result.exit_code == 0
    return result.stdout


def test_demo_shows_table_throughput_explanations_and_hints(output: str) -> None:
    parts = (
        "60 auctions, 40 subscriptions",
        "The busiest subscriptions",
        "evaluations/s",
        "A match of ",
        "No match of ",
        "What to try next",
    )
    places = [output.index(part) for part in parts]
    assert places == sorted(places)
    assert "\n✓ " in output
    assert "\n✗ " in output


def test_its_hints_run(output: str, run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    common = ("-s", f"{saved}/subscriptions.ndjson", "-t", f"{saved}/taxonomy.json")
    matched = run("match", f"{saved}/events.parquet", *common, "--limit", "5")
    assert matched.exit_code == 0
    assert len(matched.stdout.splitlines()) == 5
    assert run("explain", f"{saved}/events.parquet", *common, "--id", "dealer-1").exit_code == 0
    assert "tamis match" in output


def test_folder_that_cannot_be_made(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("demo", "--in-process", "--events", "1", "--save", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert result.stderr.startswith("tamis: cannot write")


@pytest.mark.parametrize("count", [1, 3])
def test_tiny_demo(run: Run, count: int) -> None:
    result = run("demo", "--in-process", "--events", str(count), "--subscriptions", str(count))
    assert result.exit_code == 0
    assert "What to try next" in result.stdout
