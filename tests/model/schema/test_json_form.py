"""Schemas in JSON: there and back, and whatever is wrong with a document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import LimitError, SchemaError, TamisError
from tamis.model.limits import Limits
from tamis.model.schema.schema import Schema
from tests.schemas import PAPER, paper_schema, schemas


@given(schemas())
def test_there_and_back(schema: Schema) -> None:
    assert Schema.from_json(schema.to_json()) == schema
    assert Schema.from_json(json.dumps(schema.to_json())) == schema


def test_odd_names_survive() -> None:
    schema = Schema(
        attributes={("a.b", "c d"): "string", ("and",): "number"},
        types={"t`\n": {("a.b", "c d"): "optional unique"}},
        version=7,
        event_type="@type",
    )
    assert Schema.from_json(json.dumps(schema.to_json()).encode()) == schema


def test_the_form_of_the_paper() -> None:
    form = paper_schema().to_json()
    assert form["version"] == 1
    assert form["types"] == PAPER["types"]
    assert form["domains"]["period"] == PAPER["domains"]["period"]
    assert form["attributes"] == PAPER["attributes"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "not valid JSON: expecting value at line 1, column 1"),
        ("[]", "a schema is an object, not a list"),
        ("{", "not valid JSON"),
        (b"\xff", "not valid UTF-8"),
        ('{"typs": {}}', "unknown key 'typs'; did you mean 'types'"),
        ('{"types": {"t": {}, "t": {}}}', "the key 't' stands twice"),
        ('{"types": []}', "types: expected an object"),
        ('{"attributes": {"a": NaN}}', "the constant NaN"),
        ('{"domains": {"d": {"kind": "numeric", "least": ' + "9" * 5_000 + "}}}", "beyond all"),
        ('{"domains": {"d": {"kind": "numeric", "least": 1e999}}}', "a finite number"),
        ("[" * 100_000, "levels deep"),
        ('{"types": {"t": {"a": "\\ud800"}}}', "'optional unique'"),
        ('{"domains": {"d": {"kind": "hierarchical", "parents": {"a": "b"}}}}', "is a list"),
        ('{"domains": {"d": {"kind": "hierarchical"}}}', "expected an object"),
        ('{"domains": {"d": {"kind": "enumerated"}}}', "'values' is a list"),
        ('{"domains": {"d": {"kind": "enumerated", "values": [1]}}}', "strings only, not a int"),
        ('{"domains": {"d": {"kind": {}}}}', "unknown kind of domain"),
        ('{"version": null}', "a version is a number"),
        ('{"event_type": 5}', "the name of an attribute is a string"),
    ],
)
def test_hostile_documents(text: str | bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_json(text)


def test_a_document_may_be_too_long() -> None:
    with pytest.raises(LimitError, match="characters in the JSON form of a schema"):
        Schema.from_json(json.dumps(PAPER), Limits(schema=100))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["domains", "attributes", "types", "kind", "values", "a"])
            | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["domains", "attributes", "types", "version", "x"]), JUNK))
def test_junk_gets_an_error_of_ours(form: dict[str, Any]) -> None:
    try:
        schema = Schema.from_json(form)
    except TamisError as error:
        assert str(error)
    else:
        assert Schema.from_json(schema.to_json()) == schema
