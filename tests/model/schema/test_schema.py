"""The integrated event schema: its sets, its facts by attribute, its table, what it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tamis.errors import LimitError, SchemaError
from tamis.model.kinds import Kind
from tamis.model.schema.domains import BUILT_IN, EnumeratedDomain, NumericDomain
from tamis.model.schema.schema import Schema
from tamis.model.timestamp import Timestamp
from tests.schemas import PAPER, paper_schema

PRICE, PERIOD, QUANTITY = ("price",), ("period",), ("quantity",)
CATEGORY, MATERIAL = ("furniture_category",), ("material",)


def test_the_sets_of_the_paper() -> None:
    furniture = paper_schema().types["furniture"]
    assert furniture.attributes == {PRICE, QUANTITY, CATEGORY, MATERIAL}
    assert furniture.mandatory == {PRICE, QUANTITY, CATEGORY}
    assert furniture.unique == {PRICE, QUANTITY, CATEGORY, MATERIAL}


def test_facts_by_attribute() -> None:
    schema: Any = paper_schema()
    assert schema.kind(PRICE) is Kind.NUMBER
    assert schema.kind(CATEGORY) is schema.kind(("event_type",)) is Kind.STRING
    assert schema.is_integer(QUANTITY)
    assert not schema.is_integer(PRICE)
    assert schema.unique(PRICE)
    assert schema.taxonomy(CATEGORY).is_a("dining table", "outdoor")
    assert not schema.unique(("event_type",))
    assert list(schema.domain(("event_type",)).values) == ["antiques", "furniture"]
    unknown = ("prise",)
    assert (schema.unique(unknown), schema.is_integer(unknown)) == (False, False)
    assert (schema.kind(unknown), schema.taxonomy(unknown)) == (None, None)


def test_unique_in_every_type_that_has_it() -> None:
    types = {"s": {"a": "optional unique", "b": "optional unique"}, "t": {"a": "optional multiple"}}
    schema = Schema(attributes={"a": "number", "b": "number", "c": "number"}, types=types)
    assert not schema.unique(("a",))
    assert schema.unique(("b",))
    assert not schema.unique(("c",))  # of no type


@pytest.mark.parametrize(
    "domain, inside, outside",
    [
        ("number", [1, 1.5, -(2**63), float("inf")], [float("nan"), True, "1", Timestamp(1)]),
        ("integer", [1, 2.0, 1e300], [1.5, float("inf"), float("nan"), False]),
        ("string", ["", "é"], [1, b""]),
        ("boolean", [True], [1, "true"]),
        ("timestamp", [Timestamp(0)], ["2026-01-01", 0]),
        ("bytes", [b""], [""]),
    ],
)
def test_built_in_domains(domain: str, inside: list[Any], outside: list[Any]) -> None:
    assert all(value in BUILT_IN[domain] for value in inside)
    assert not any(value in BUILT_IN[domain] for value in outside)


def test_bounds_count() -> None:
    domain = NumericDomain(least=0, greatest=2.5)
    assert [value in domain for value in (-1, 0, 2.5, 2.6)] == [False, True, True, False]
    assert str(domain) == "numbers from 0 to 2.5"
    assert str(NumericDomain(True, least=0)) == "integers from 0"
    assert str(NumericDomain(greatest=9)) == "numbers up to 9"


def test_a_partial_order() -> None:
    domain = EnumeratedDomain(("a", "b", "c", "d"), (("a", "b", "d"), ("a", "c", "d")))
    assert set(domain.at_least("b")) == {"b", "d"}
    assert set(domain.at_most("b")) == {"a", "b"}
    assert set(domain.at_most("d")) == {"a", "b", "c", "d"}


def test_the_table() -> None:
    lines = str(paper_schema()).splitlines()
    assert lines[0] == "version 1, types in 'event_type'"
    assert lines[6].split() == "furniture_category category - mandatory unique".split()
    assert lines[-1] == "period     3 values, ordered: XVI, XVII, XVIII"
    assert repr(paper_schema()) == "Schema(version 1: 2 types, 5 attributes, 2 domains)"


def test_equality_and_copies() -> None:
    schema = paper_schema()
    assert schema == paper_schema() == pickle.loads(pickle.dumps(schema))
    assert schema != Schema(**PAPER, version=2)
    assert schema != 1
    with pytest.raises(TypeError):
        hash(schema)


@pytest.mark.parametrize(
    "parts, message",
    [
        ({"attributes": {"a": "numbr"}}, "unknown domain 'numbr'; did you mean 'number'"),
        ({"domains": {"number": {"kind": "string"}}}, "'number' is built in"),
        ({"attributes": {"event_type": "string"}}, "has the types of an event"),
        ({"attributes": {"event_type.x": "string"}}, "has the types of an event"),
        ({"attributes": {"a": "string", "a.b": "string"}}, "cannot have others inside"),
        ({"attributes": {"a": "string", "`a`": "string"}}, "'a' stands twice"),
        ({"types": {"t": {"a": "mandatory unique"}}}, "'t' has the unknown attribute 'a'"),
        ({"attributes": {"a": "string"}, "types": {"t": {"a": "mandatory"}}}, "'optional unique'"),
        ({"attributes": {"a": "string"}, "types": {"t": {"a": 1}}}, "at types/t"),
        ({"attributes": {"a b": "string"}}, "is not an attribute path"),
        ({"attributes": {1: "string"}}, "dotted path"),
        ({"attributes": {"a": 1}}, "the name of a domain is a string"),
        ({"types": {"": {}}}, "the name of an event type"),
        ({"types": {"\ud800": {}}}, "lone surrogate"),
        ({"version": 0}, "a version is a number from 1 on"),
        ({"version": True}, "a version is a number from 1 on"),
        ({"domains": {"d": {"kind": "enumerated", "values": ["a", "a"]}}}, "'a' stands twice"),
        (
            {"domains": {"d": {"kind": "enumerated", "values": ["a", "b"], "order": [["a", "c"]]}}},
            "unknown value 'c'",
        ),
        (
            {"domains": {"d": {"kind": "enumerated", "values": ["a", "b"], "order": ["aba"]}}},
            "a chain is a list",
        ),
        (
            {
                "domains": {
                    "d": {"kind": "enumerated", "values": ["a", "b"], "order": [["a", "b", "a"]]}
                }
            },
            "the order has a cycle",
        ),
        (
            {"domains": {"d": {"kind": "hierarchical", "parents": {"a": ["b"], "b": ["a"]}}}},
            "cycle.* at domains/d",
        ),
        ({"domains": {"d": {"kind": "numeric", "least": 2, "greatest": 1}}}, "no number lies"),
        ({"domains": {"d": {"kind": "numeric", "least": "0"}}}, "a bound is a finite number"),
        ({"domains": {"d": {"kind": "numeric", "least": 10**400}}}, "an integer beyond 64 bits"),
        ({"domains": {"d": {"kind": "numeric", "integer": 1}}}, "'integer' is true or false"),
        ({"domains": {"d": {"kind": "enumrated"}}}, "did you mean 'enumerated'"),
        ({"domains": {"d": {"kind": "string", "values": []}}}, "unknown key 'values' at domains/d"),
        ({"domains": {"d": 5}}, "expected an object"),
        ({"domains": {"d": {"kind": "enumerated", "values": [""]}}}, "empty string is not a value"),
        ({"domains": {"d": {"kind": "hierarchical", "parents": {"": []}}}}, "empty string"),
    ],
)
def test_what_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(**parts)


def test_limits() -> None:
    with pytest.raises(LimitError, match="attributes of a schema"):
        Schema(attributes={f"a{n}": "string" for n in range(10_001)})
    with pytest.raises(LimitError, match="values of an enumerated domain"):
        EnumeratedDomain(tuple(map(str, range(10_001))))
    with pytest.raises(LimitError, match="characters in the name"):
        Schema(types={"t" * 1_001: {}})
    with pytest.raises(LimitError, match="keys in an attribute"):
        Schema(attributes={".".join("a" * 51): "string"})


def test_another_attribute_of_types() -> None:
    schema = Schema(
        attributes={"a": "string"}, types={"t": {"a": "optional unique"}}, event_type="kind"
    )
    schema.check({"kind": "t", "a": "x"})
    assert schema.names == {"kind", "a"}
