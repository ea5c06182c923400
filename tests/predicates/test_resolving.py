"""Expressions under a schema: refused with a hint, or rewritten without a change of meaning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.bindings.evaluation import Trial, World
from tamis.errors import SubscriptionError
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.expression import And, Between, Comparison, Expression, Not, Or
from tamis.predicates.normal import normalise
from tamis.predicates.resolving import is_settled, resolve
from tamis.predicates.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from tests.schemas import PAPER, paper_schema

SCHEMA = Schema(
    domains={
        **PAPER["domains"],
        "colour": {"kind": "enumerated", "values": ["red", "blue"]},
        "grade": {
            "kind": "enumerated",
            "values": ["poor", "fair", "good", "odd", "lost"],
            "order": [["poor", "fair", "good"], ["poor", "odd"]],
        },
        "score": {"kind": "numeric", "integer": True, "least": 0, "greatest": 10},
    },
    attributes={
        **PAPER["attributes"],
        "colour": "colour",
        "grade": "grade",
        "score": "score",
        "sold": "timestamp",
        "fresh": "boolean",
        "image": "bytes",
        "seller.name": "string",
        "cost": "number",
    },
    types=PAPER["types"],
)


def resolved(text: str) -> str:
    return str(resolve(tamis.parse(text), SCHEMA))


@pytest.mark.parametrize(
    "text",
    [
        "price < 5 and material = 'oak' or not quantity in (1, 2)",
        "event_type contains 'antiques'",
        "furniture_category is a 'table'",
        "furniture_category = 'table' and period != 'XVI'",
        "colour = 'RED' ignoring case",
        "score < 3.5 and score between -5 and 99",
        "seller is present and seller.name like 'a%' and event_type is present",
        "price < cost and price * 2 < cost + 1",
        "material matches 'x' and material in cidr '10.0.0.0/8' and period starts with 'X'",
        "sold > timestamp '2026-01-01'",
        "fresh = true and image is missing",
        "material = colour",
        "near('Bronx', ?d) and ?d < price",
        "{ ?s a ?t }",
        "true",
    ],
)
def test_what_stays_as_it_is(text: str) -> None:
    expression = tamis.parse(text)
    assert resolve(expression, SCHEMA) is expression


@pytest.mark.parametrize(
    "text, expected",
    [
        ("furniture_category <= 'table'", "furniture_category is a 'table'"),
        (
            "furniture_category < 'dining table'",
            "furniture_category is a 'dining table' and furniture_category != 'dining table'",
        ),
        (
            "furniture_category >= 'table'",
            "furniture_category in ('dining room', 'outdoor', 'table') or furniture_category < ''",
        ),
        ("furniture_category > 'outdoor'", "furniture_category < ''"),
        ("period > 'XVI'", "period in ('XVII', 'XVIII') or period < ''"),
        ("not period > 'XVIII'", "not period < ''"),
        ("grade <= 'odd'", "grade in ('odd', 'poor') or grade < ''"),
        (
            "grade between 'poor' and 'fair'",
            "(grade in ('fair', 'good', 'odd', 'poor') or grade < '') and (grade in ('fair', 'poor') or grade < '')",
        ),
        ("sold < '2026-01-01'", "sold < timestamp '2026-01-01T00:00:00Z'"),
        (
            "sold between '2026-01-01' and '2026-01-02' and price < 5",
            "sold between timestamp '2026-01-01T00:00:00Z' and timestamp '2026-01-02T00:00:00Z' and price < 5",
        ),
        ("sold in ('2026-01-01')", "sold in (timestamp '2026-01-01T00:00:00Z')"),
        ("sold contains '2026-01-01'", "sold contains timestamp '2026-01-01T00:00:00Z'"),
        ("price < 5 or period <= 'XVI'", "price < 5 or period in ('XVI') or period < ''"),
    ],
)
def test_what_is_rewritten(text: str, expected: str) -> None:
    assert resolved(text) == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("prise < 5", "unknown attribute 'prise'; did you mean 'price'?"),
        ("seller = 'ann'", "'seller' is a mapping, not a value; it holds seller.name"),
        ("selle is present", "unknown attribute 'selle'"),
        ("price < 'cheap'", "'price' has numbers, and 'cheap' is a string; write a number without"),
        ("material = 5", "'material' has strings, and 5 is a number; put it in quotes"),
        ("fresh = 'true'", "write true or false without quotes"),
        ("price in (1, 'x')", "'x' is a string"),
        ("price contains true", "true is a boolean"),
        ("period = 'XIX'", "'XIX' is not a value of 'period'; did you mean 'XVI"),
        ("period between 'XVI' and 'XX'", "'XX' is not a value of 'period'"),
        ("furniture_category < 'tabel'", "'tabel' is not a value of .*; did you mean 'table'?"),
        ("furniture_category is a 'tabel'", "did you mean 'table'?"),
        ("event_type contains 'antique'", "did you mean 'antiques'?"),
        ("event_type < 'antiques'", "asks for an order"),
        (
            "colour < 'red'",
            "'colour < 'red'' asks for an order, which the domain of 'colour' does not have",
        ),
        ("colour = 'GREEN' ignoring case", "'GREEN' is not a value of 'colour'"),
        ("score = 11", "11 is not a value of 'score'; it holds integers from 0 to 10"),
        ("score in (1, 1.5)", "1.5 is not a value of 'score'"),
        ("quantity = 1.5", "1.5 is not a value of 'quantity'; it holds integers"),
        ("material is a 'oak'", "needs a hierarchical domain; 'material' has strings"),
        ("period is a 'XVI'", "needs a hierarchical domain"),
        ("price like '1%'", "'price like '1%'' needs strings; 'price' has numbers"),
        ("price in cidr '10.0.0.0/8'", "needs strings"),
        (
            "sold > 'soon'",
            "'sold' has timestamps: 'soon' is not an ISO 8601 timestamp; write it as",
        ),
        (
            "sold = '2026-01-01' ignoring case",
            "'sold' has timestamps, and '2026-01-01' is a string",
        ),
        ("sold > 5", "'sold' has timestamps, and 5 is a number"),
        ("price < material", "'price < material' compares a number with a string"),
        ("price = sold", "compares a number with a timestamp"),
        ("fresh < fresh", "asks for an order, which a boolean does not have"),
        ("period < material", "'period' has an order of its own"),
        ("material > furniture_category", "'furniture_category' has an order of its own"),
        ("price + quantity < 'x'", "compares a number with a string"),
        ("price * material < 5", "calculates with 'material', which has strings"),
        ("prise + 1 < ?d", "unknown attribute 'prise'"),
        ("not (price < 5 and (prise > 1 or true))", "unknown attribute 'prise'"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message.replace("(", r"\(").replace("?", r"\?")):
        resolve(tamis.parse(text), SCHEMA)


@pytest.mark.parametrize(
    "text, settled",
    [
        ("price < 5 and material in ('a', 'b') and event_type is present", True),
        ("sold > timestamp '2026-01-01'", True),
        ("score < 5 and period starts with 'X' and price < cost", True),
        ("score = 5", False),
        ("quantity in (1, 2)", False),
        ("sold > '2026-01-01'", False),
        ("period = 'XVI'", False),
        ("price < 5 or furniture_category <= 'table'", False),
        ("event_type contains 'antiques'", False),
    ],
)
def test_what_depends_on_constants(text: str, settled: bool) -> None:
    assert is_settled(tamis.parse(text), SCHEMA) is settled


def test_the_subscription_of_the_paper() -> None:
    text = "event_type contains 'antiques' and furniture_category < 'dining table'"
    expression = resolve(tamis.parse(text), paper_schema())
    taxonomy = paper_schema().taxonomy(("furniture_category",))
    for category, expected in {"round table": True, "dining table": False, "table": False}.items():
        event = Event({"event_type": ["antiques", "furniture"], "furniture_category": category})
        assert Trial(event, World(Taxonomies(taxonomy))).matches(expression) is expected


# The truth of comparisons by an order, straight from what the order is.

LESS = {
    "grade": {("poor", "fair"), ("poor", "good"), ("fair", "good"), ("poor", "odd")},
    "period": {("XVI", "XVII"), ("XVI", "XVIII"), ("XVII", "XVIII")},
    "furniture_category": {
        ("table", "dining room"),
        ("table", "outdoor"),
        ("chair", "dining room"),
        ("chair", "outdoor"),
        ("bed", "bedroom"),
        ("dining table", "table"),
        ("dining table", "dining room"),
        ("dining table", "outdoor"),
        ("round table", "dining table"),
        ("round table", "table"),
        ("round table", "dining room"),
        ("round table", "outdoor"),
    },
}
VALUES = {name: sorted({value for pair in pairs for value in pair}) for name, pairs in LESS.items()}
OPERATORS = ["<", "<=", ">", ">="]


def direct(node: Expression, event: dict[str, Any]) -> Truth:
    """The truth of an expression, by the orders themselves."""
    if isinstance(node, Not):
        return negation(direct(node.part, event))
    if isinstance(node, And):
        return conjunction(direct(part, event) for part in node.parts)
    if isinstance(node, Or):
        return disjunction(direct(part, event) for part in node.parts)
    if isinstance(node, Between):
        low, high = (
            compared(node.attribute.path[0], operator, each.value, event)
            for operator, each in ((">=", node.low), ("<=", node.high))
        )
        return conjunction([low, high])
    assert isinstance(node, Comparison)
    return compared(node.left.path[0], node.operator, node.right.value, event)


def compared(name: str, operator: str, constant: Any, event: dict[str, Any]) -> Truth:
    value = event.get(name)
    if value is None:
        return UNKNOWN
    if operator in ("=", "!="):
        return int((value == constant) is (operator == "="))
    if not isinstance(value, str):
        return UNKNOWN
    less, same = (value, constant) in LESS[name], value == constant
    more = (constant, value) in LESS[name]
    return int({"<": less, "<=": less or same, ">": more, ">=": more or same}[operator])


def cases() -> Iterator[tuple[str, str, str, Any]]:
    for name, values in VALUES.items():
        for operator, constant in product(OPERATORS, values):
            for value in [*values, None, "unheard of", "", 5, True]:
                yield name, operator, constant, value


def test_every_comparison_and_its_negation() -> None:
    for name, operator, constant, value in cases():
        event = {} if value is None else {name: value}
        trial = Trial(Event(event), World(Taxonomies(SCHEMA.taxonomy((name,)))))
        comparison = tamis.parse(f"{name} {operator} '{constant}'")
        for expression in (comparison, Not(comparison)):
            expected = direct(expression, event)
            found = resolve(expression, SCHEMA)
            assert trial.truth_of(found) == expected, (expression, event)


def _leaves(name: str) -> st.SearchStrategy[Expression]:
    attribute, values = tamis.attr(name), st.sampled_from(VALUES[name])
    compare = st.builds(
        lambda operator, value: tamis.parse(f"{name} {operator} '{value}'"),
        st.sampled_from([*OPERATORS, "=", "!="]),
        values,
    )
    return compare | st.builds(lambda a, b: attribute.between(a, b), values, values)


EXPRESSIONS = st.recursive(
    st.one_of(*map(_leaves, LESS)),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(tamis.all_of, inner, inner)
        | st.builds(tamis.any_of, inner, inner)
    ),
    max_leaves=6,
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={name: st.sampled_from([*values, "odd one", 5]) for name, values in VALUES.items()},
)
TAXONOMIES = Taxonomies(SCHEMA.taxonomy(("furniture_category",)))


@given(EXPRESSIONS, EVENTS)
def test_expressions_keep_their_meaning(expression: Expression, event: dict[str, Any]) -> None:
    found = resolve(expression, SCHEMA)
    assert Trial(Event(event), World(TAXONOMIES)).truth_of(found) == direct(expression, event)
    assert resolve(found, SCHEMA) is found
    normalise(found)
