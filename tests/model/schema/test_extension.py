"""The four extension rules: what each allows and refuses, whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SchemaError
from tamis.model.schema.schema import Schema
from tests.schemas import E1, PATHS, TYPES, WORDS, paper_schema, schemas


def test_all_four_rules_at_once() -> None:
    old = paper_schema()
    new = old.extend(
        {
            "domains": {"wood": {"kind": "enumerated", "values": ["oak", "ash"]}},
            "attributes": {"wood": "wood", "wheels": "integer"},
            "types": {
                "furniture": {"wood": "optional multiple"},
                "cart": {"price": "mandatory unique", "wheels": "mandatory unique"},
            },
        }
    )
    assert new.version == 2
    assert old == paper_schema()
    new.check({**E1, "wood": ["oak", "ash"]})
    new.check({"event_type": "cart", "price": 1, "wheels": 2})
    new.check({**E1, "event_type": ["antiques", "furniture", "cart"], "wheels": 4})
    assert new.types["furniture"].mandatory == old.types["furniture"].mandatory


@pytest.mark.parametrize(
    "extension, said",
    [
        ({"domains": {"period": {"kind": "string"}}}, "domain creation: 'period' exists"),
        (
            {"domains": {"period": {"kind": "enumerated", "values": ["XVI"]}}},
            "domain creation: 'period' exists",
        ),
        ({"attributes": {"price": "integer"}}, "attribute creation: 'price' exists"),
        ({"attributes": {"price.gross": "number"}}, "cannot have others inside"),
        ({"attributes": {"colour": "color"}}, "unknown domain 'color'"),
        (
            {"types": {"antiques": {"material": "mandatory unique"}}},
            "event schema extension: 'material' of 'antiques' can only be optional",
        ),
        (
            {"types": {"antiques": {"price": "optional unique"}}},
            "'price' of 'antiques' is mandatory unique, and stays so",
        ),
        (
            {"types": {"furniture": {"material": "optional multiple"}}},
            "'material' of 'furniture' is optional unique, and stays so",
        ),
        ({"types": {"cart": {"wheels": "mandatory unique"}}}, "unknown attribute 'wheels'"),
        ({"version": 2}, "unknown key 'version'"),
        ([], "an extension is an object"),
    ],
)
def test_what_would_change_or_narrow_is_refused(extension: Any, said: str) -> None:
    schema = paper_schema()
    with pytest.raises(SchemaError, match=said):
        schema.extend(extension)
    assert schema == paper_schema()


def test_an_extension_is_applied_whole_or_not_at_all() -> None:
    with pytest.raises(SchemaError) as caught:
        paper_schema().extend(
            {
                "attributes": {"wheels": "integer", "price": "string"},
                "types": {"cart": {}, "antiques": {"material": "mandatory unique"}},
            }
        )
    assert "attribute creation" in str(caught.value)
    assert "event schema extension" in str(caught.value)


def test_a_repetition_changes_nothing() -> None:
    schema = paper_schema()
    assert schema.extend(schema) is schema
    assert schema.extend({}) is schema
    assert schema.extend('{"attributes": {"price": "number"}}') is schema


def test_the_union_of_publishers() -> None:
    one = Schema(attributes={"a": "number"}, types={"s": {"a": "mandatory unique"}})
    two = Schema(attributes={"a": "number", "b": "string"}, types={"t": {"b": "optional unique"}})
    assert set(one.extend(two).types) == {"s", "t"}


@given(
    schemas(),
    st.dictionaries(
        st.sampled_from([*TYPES, "v"]),
        st.dictionaries(st.sampled_from(PATHS), st.sampled_from(WORDS)),
    ),
)
def test_what_is_there_stays(schema: Schema, types: dict[str, dict[str, str]]) -> None:
    try:
        new = schema.extend({"types": types})
    except SchemaError:
        return
    for name, old in schema.types.items():
        assert new.types[name].mandatory == old.mandatory
        assert old.annotations.items() <= new.types[name].annotations.items()
    for name, attributes in types.items():
        assert {
            path: str(new.types[name].annotations[tuple(path.split("."))]) for path in attributes
        } == attributes
    assert new.version == schema.version + (new != schema)
