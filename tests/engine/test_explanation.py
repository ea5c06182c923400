"""Explanations: each clause with its truth, the values it saw, and why."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from rich.console import Console

from tamis import Engine, Event, Explanation, Expression, Subscription
from tamis.bindings.evaluation import Trial, World
from tamis.engine.explanation import explain
from tamis.model.taxonomy.taxonomies import Taxonomies
from tests.strategies import attribute_expressions, events

FURNITURE = {"chair": ["furniture"]}
TAXONOMIES = Taxonomies({"red": ["color"], "blue": ["color"]})


def explained(text: str, event: dict[str, object]) -> Explanation:
    engine = Engine(taxonomy=FURNITURE)
    engine.subscribe(text, id="x")
    explanation = engine.explain("x", event)
    assert explanation.matches == (engine.match(event) == ["x"])
    return explanation


def test_text() -> None:
    explanation = explained(
        "category is a 'furniture' and price < 100", {"category": "chair", "price": 250}
    )
    assert str(explanation).splitlines() == [
        "✗ category is a 'furniture' and price < 100",
        "├── ✓ category is a 'furniture'                category is 'chair'",
        "└── ✗ price < 100                              price is 250",
    ]


@pytest.mark.parametrize(
    ("text", "event", "truth", "evidence"),
    [
        ("a < 5", {"a": 3}, True, "a is 3"),
        ("a < 5", {"a": [7, 3]}, True, "a is 7 ✗, a is 3 ✓"),
        ("a < 5", {}, None, "a is missing"),
        ("a < 5", {"a": []}, None, "a has no values"),
        ("a < 5", {"a": {"b": 1}}, None, "a is a mapping, not a value"),
        ("a < 5", {"a": "x"}, None, "a is 'x'"),
        ("a.b < c", {"a": {"b": 1}, "c": 2}, True, "a.b is 1, c is 2"),
        ("a contains 1", {"a": [2, 1]}, True, "a is 2 ✗, a is 1 ✓"),
        ("a is missing", {"a": 1}, False, ""),
        ("a is present", {}, False, "a is missing"),
        ("a < 5", {"a": list(range(20))}, True, "and 10 more"),
        ("true", {}, True, "always"),
        ("a = true", {"a": [True, 1]}, True, "a is true ✓, a is 1 ✗"),
    ],
)
def test_evidence(text: str, event: dict[str, object], truth: bool | None, evidence: str) -> None:
    explanation = explained(text, event)
    assert explanation.truth is truth
    assert evidence in explanation.evidence if evidence else explanation.evidence == ""


def test_parts_that_are_true_of_different_values_are_told() -> None:
    items = [{"color": "red", "price": 9}, {"color": "blue", "price": 1}]
    explanation = explained("items.color = 'red' and items.price < 5", {"items": items})
    assert explanation.truth is False
    assert [part.truth for part in explanation.parts] == [True, True]
    assert "not of the same" in explanation.note


def test_negation_of_lists() -> None:
    explanation = explained("not a = 1", {"a": [1, 2]})
    assert explanation.truth is True
    assert explanation.parts[0].truth is True
    assert "of another value" in explanation.note


def test_a_truth_test_of_a_list() -> None:
    explanation = explained("(a = 1) is false", {"a": [1, 2]})
    assert explanation.truth is True
    assert explanation.parts[0].truth is True
    assert explanation.note == "of another value it is"
    assert explained("(a = 1) is false", {"a": 2}).note == ""


def test_disabled() -> None:
    engine = Engine()
    engine.subscribe("true", id="x", enabled=False)
    assert "disabled" in str(engine.explain("x", {}))


def test_forms() -> None:
    explanation = explained("a = '<b>' and b < 5", {"a": "<b>", "b": 7})
    html = explanation._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(explanation)
    assert "b is 7" in console.export_text()
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert plain["truth"] == "false"
    assert [part["truth"] for part in plain["parts"]] == ["true", "false"]


@given(attribute_expressions(), events())
def test_explanations_agree_with_matching(expression: Expression, event: dict[str, object]) -> None:
    trial = Trial(Event(event), World(TAXONOMIES))
    explanation = explain(
        Subscription("x", str(expression), expression), trial.event, World(TAXONOMIES)
    )
    assert explanation.matches == (trial.verdict(expression) is True)
    assert str(explanation)
    assert explanation._repr_html_()
