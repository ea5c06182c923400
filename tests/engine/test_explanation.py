"""Explanations: each clause with its truth, the values it saw, and why."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from rich.console import Console

from tamis import Engine, Event, Explanation, Expression, Subscription, parse
from tamis.bindings.evaluation import Trial, World
from tamis.engine.explanation import explain
from tamis.graphs.reader import read_graph
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.truth import FAILED, FALSE, TRUE, UNKNOWN, Truth
from tests.contract.operators import OPERATORS
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
        ("a < 5", {"a": 3}, TRUE, "a is 3"),
        ("a < 5", {"a": [7, 3]}, TRUE, "a is 7 ✗, a is 3 ✓"),
        ("a < 5", {}, UNKNOWN, "a is missing"),
        ("a < 5", {"a": []}, UNKNOWN, "a has no values"),
        ("a < 5", {"a": {"b": 1}}, UNKNOWN, "a is a mapping, not a value"),
        ("a < 5", {"a": "x"}, UNKNOWN, "a is 'x'"),
        ("a.b < c", {"a": {"b": 1}, "c": 2}, TRUE, "a.b is 1, c is 2"),
        ("a contains 1", {"a": [2, 1]}, TRUE, "a is 2 ✗, a is 1 ✓"),
        ("a is missing", {"a": 1}, FALSE, ""),
        ("a is present", {}, FALSE, "a is missing"),
        ("a < 5", {"a": list(range(20))}, TRUE, "and 10 more"),
        ("true", {}, TRUE, "always"),
        ("a = true", {"a": [True, 1]}, TRUE, "a is true ✓, a is 1 ✗"),
    ],
)
def test_evidence(text: str, event: dict[str, object], truth: Truth, evidence: str) -> None:
    explanation = explained(text, event)
    assert explanation.truth == truth
    assert evidence in explanation.evidence if evidence else explanation.evidence == ""


def test_parts_that_are_true_of_different_values_are_told() -> None:
    items = [{"color": "red", "price": 9}, {"color": "blue", "price": 1}]
    explanation = explained("items.color = 'red' and items.price < 5", {"items": items})
    assert explanation.truth == FALSE
    assert [part.truth for part in explanation.parts] == [TRUE, TRUE]
    assert "not of the same" in explanation.note


def test_negation_of_lists() -> None:
    explanation = explained("not a = 1", {"a": [1, 2]})
    assert explanation.truth == TRUE
    assert explanation.parts[0].truth == TRUE
    assert "of another value" in explanation.note


def test_a_truth_test_of_a_list() -> None:
    explanation = explained("(a = 1) is false", {"a": [1, 2]})
    assert explanation.truth == TRUE
    assert explanation.parts[0].truth == TRUE
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
    assert explanation.matches == trial.matches(expression)
    assert str(explanation)
    assert explanation._repr_html_()


# Variables, calls and patterns.

GRAPH = '@prefix ex: <http://x/> . ex:a ex:born 1890 ; ex:name "Anna"@de ; ex:knows _:b .'


def explained_alone(text: str, event: Event) -> Explanation:
    expression = parse(text)
    world = World(TAXONOMIES, operators=OPERATORS)
    explanation = explain(Subscription("x", text, expression), event, world)
    assert explanation.truth == Trial(event, world).truth_of(expression)
    assert str(explanation)
    return explanation


@pytest.mark.parametrize(
    ("text", "truth", "evidence"),
    [
        ("one(?x)", TRUE, "?x = 1; ?x = 2; ?x = 3"),
        ("none(?x)", FALSE, "no rows"),
        ("unsure()", UNKNOWN, ""),
        ("broken(?x)", FAILED, "broken(?x) raised ValueError: no connection"),
        ("{ ?a <http://x/born> ?year }", TRUE, "?a = 'http://x/a', ?year = 1890"),
        ("{ ?a <http://x/born> ?year FILTER(?year > 1900) }", FALSE, "no rows"),
        ("{ ?a <http://x/name> ?name }", TRUE, "?a = 'http://x/a', ?name = \"Anna\"@de"),
        ("{ ?a <http://x/knows> _:c }", TRUE, "?a = 'http://x/a'"),
    ],
)
def test_calls_and_patterns(text: str, truth: Truth, evidence: str) -> None:
    explanation = explained_alone(text, Event({}, graph=read_graph(GRAPH)))
    assert explanation.truth == truth
    assert explanation.evidence == evidence


def test_a_pattern_without_a_graph() -> None:
    explanation = explained_alone("{ ?a <http://x/born> ?year }", Event({}))
    assert explanation.truth == UNKNOWN
    assert explanation.evidence == "the event has no graph"


def test_what_makes_it_true() -> None:
    explanation = explained_alone("one(?x) and ?x > a", Event({"a": 2}))
    assert explanation.evidence == "by ?x = 3"
    assert [part.evidence for part in explanation.parts] == [
        "?x = 1; ?x = 2; ?x = 3",
        "a is 2, ?x = 1; ?x = 2; ?x = 3",
    ]
    assert [part.truth for part in explanation.parts] == [TRUE, TRUE]


def test_constraints_that_no_one_row_meets() -> None:
    explanation = explained_alone("pairs(?x, ?y) and ?x = 3 and ?y = 2", Event({}))
    assert explanation.truth == FALSE
    assert [part.truth for part in explanation.parts] == [TRUE, TRUE, TRUE]
    assert "not of the same" in explanation.note


def test_a_negated_call_given_what_is_bound() -> None:
    explanation = explained_alone("one(?x) and not other(?x)", Event({}))
    assert explanation.note == "by ?x = 1"
    explanation = explained_alone(
        "near('Bronx', ?x) and price * ?x < 100", Event({"price": [9, 1]})
    )
    assert explanation.parts[1].evidence == "price is 9, price is 1, ?x = 12"


def test_a_failure_is_told_where_it_is() -> None:
    explanation = explained_alone("one(?x) and not broken(?x) and a = 1", Event({"a": 1}))
    assert explanation.truth == FAILED
    assert explanation.to_dict()["truth"] == "failed"
    assert [part.truth for part in explanation.parts] == [TRUE, FAILED, TRUE]
    assert "no connection" in explanation.note
