"""FILTERs by SPARQL's rules."""

from __future__ import annotations

import pytest

from tamis import parse
from tamis.bindings.filters import filter_truth
from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, RdfTerm
from tamis.predicates.expression import Pattern
from tamis.predicates.operands import Variable
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN, Truth

INTEGER, DOUBLE, STRING = (XSD + name for name in ("integer", "double", "string"))
ANNA, NODE = Iri("http://x/anna"), BlankNode("b")
FIVE, WORD, TAGGED = RdfLiteral("5", INTEGER), RdfLiteral("x"), RdfLiteral("x", language="en")
ODD = RdfLiteral("x", "http://x/type")


def of(text: str, a: RdfTerm, b: RdfTerm = FIVE) -> Truth:
    pattern = parse(f"{{ ?a ?p ?b FILTER({text}) }}")
    assert isinstance(pattern, Pattern)
    return filter_truth(pattern.filters[0], {Variable("a"): a, Variable("b"): b})


@pytest.mark.parametrize(
    ("text", "a", "b", "truth"),
    [
        ("?a = ?b", FIVE, RdfLiteral("5.0", DOUBLE), TRUE),
        ("?a < ?b", FIVE, RdfLiteral("5.5", XSD + "decimal"), TRUE),
        ("?a = ?b", WORD, RdfLiteral("x", STRING), TRUE),
        ("?a != ?b", WORD, FIVE, UNKNOWN),
        ("?a = ?b", WORD, FIVE, UNKNOWN),
        ("?a < ?b", WORD, FIVE, UNKNOWN),
        ("?a = ?b", ANNA, ANNA, TRUE),
        ("?a != ?b", ANNA, WORD, TRUE),
        ("?a < ?b", ANNA, ANNA, UNKNOWN),
        ("?a = ?b", NODE, NODE, TRUE),
        ("?a = ?b", NODE, BlankNode("c"), FALSE),
        ("?a = ?b", TAGGED, TAGGED, TRUE),
        ("?a != ?b", TAGGED, RdfLiteral("y", language="en"), TRUE),
        ("?a = ?b", TAGGED, WORD, UNKNOWN),
        ("?a = ?b", ODD, ODD, TRUE),
        ("?a = ?b", ODD, RdfLiteral("y", "http://x/type"), UNKNOWN),
        ("?a = ?b", RdfLiteral("five", INTEGER), FIVE, UNKNOWN),
        ("?a < ?b", RdfLiteral("false", XSD + "boolean"), RdfLiteral("1", XSD + "boolean"), TRUE),
        ("?a = ?b", RdfLiteral("NaN", DOUBLE), RdfLiteral("NaN", DOUBLE), FALSE),
        ("?a < ?b", RdfLiteral("NaN", DOUBLE), FIVE, FALSE),
    ],
)
def test_comparisons(text: str, a: RdfTerm, b: RdfTerm, truth: Truth) -> None:
    assert of(text, a, b) == truth


def test_errors_in_and_or_not() -> None:
    assert of("?a < 'x' || ?a = 5", FIVE) == TRUE
    assert of("?a < 'x' && ?a = 6", FIVE) == FALSE
    assert of("?a < 'x' && ?a = 5", FIVE) == UNKNOWN
    assert of("!(?a < 'x')", FIVE) == UNKNOWN


def test_arithmetic() -> None:
    assert of("?a * 2 = ?b + 5", FIVE) == TRUE
    assert of("?a / 0 = 1", FIVE) == UNKNOWN
    assert of("?a + 1 = 6", WORD) == UNKNOWN
