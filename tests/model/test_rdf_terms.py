"""RDF terms, and the values that they stand for outside a pattern."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, value_of_term
from tamis.model.timestamp import Timestamp


@pytest.mark.parametrize(
    ("lexical", "datatype", "value"),
    [
        ("x", "string", "x"),
        ("5", "integer", 5),
        ("+05", "integer", 5),
        (str(2**64), "integer", float(2**64)),
        ("300", "int", 300),
        ("-1", "long", -1),
        ("1.0", "decimal", 1),
        (".5", "decimal", 0.5),
        ("0.1", "double", 0.1),
        ("1e3", "double", 1000.0),
        ("-INF", "double", -math.inf),
        ("0.1", "float", 0.10000000149011612),
        ("1e300", "float", math.inf),
        ("true", "boolean", True),
        ("0", "boolean", False),
        ("2026-01-01T01:00:00+01:00", "dateTime", Timestamp.parse("2026-01-01")),
        ("2026-01-01T00:00:00", "dateTime", Timestamp.parse("2026-01-01")),
    ],
)
def test_values(lexical: str, datatype: str, value: Any) -> None:
    found = value_of_term(RdfLiteral(lexical, XSD + datatype))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "term",
    [
        BlankNode("b"),
        RdfLiteral("x", language="en"),
        RdfLiteral("five", XSD + "integer"),
        RdfLiteral("300", XSD + "byte"),
        RdfLiteral("-1", XSD + "nonNegativeInteger"),
        RdfLiteral("1e3", XSD + "decimal"),
        RdfLiteral("inf", XSD + "double"),
        RdfLiteral("yes", XSD + "boolean"),
        RdfLiteral("2026-01-01", XSD + "date"),
        RdfLiteral("2026-13-01T00:00:00", XSD + "dateTime"),
        RdfLiteral("2026-01-01", XSD + "dateTime"),
        RdfLiteral("x", "http://x/type"),
        RdfLiteral("9" * 401, XSD + "integer"),
    ],
)
def test_terms_that_stand_for_themselves(term: Any) -> None:
    assert value_of_term(term) is term


def test_iris_and_nan() -> None:
    assert value_of_term(Iri("http://x/a")) == "http://x/a"
    found = value_of_term(RdfLiteral("NaN", XSD + "double"))
    assert isinstance(found, float)
    assert math.isnan(found)


def test_text() -> None:
    assert str(BlankNode("b")) == "_:b"
    assert str(RdfLiteral('say "x"', language="en")) == '"say \\"x\\""@en'
    assert str(RdfLiteral("5", XSD + "integer")) == f'"5"^^<{XSD}integer>'
