"""Schemas to and from Arrow, and from a sample of events."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SchemaError
from tamis.model.events.event import Event
from tamis.model.schema.arrow_form import METADATA
from tamis.model.schema.schema import Schema
from tests.schemas import E1, E2, paper_schema, schemas


@given(schemas())
def test_there_and_back(schema: Schema) -> None:
    assert Schema.from_arrow(schema.to_arrow()) == schema


def test_columns_of_the_paper() -> None:
    columns = paper_schema().to_arrow()
    assert columns.names == [
        "event_type",
        "price",
        "period",
        "quantity",
        "furniture_category",
        "material",
    ]
    assert columns.field("price") == pa.field("price", pa.float64(), nullable=False)
    assert columns.field("quantity").type == pa.int64()
    assert columns.field("period") == pa.field("period", pa.string())
    assert METADATA in columns.metadata
    table = pa.Table.from_pylist([E1], columns)
    assert table.num_rows == 1


def test_nested_columns() -> None:
    schema = Schema(
        attributes={
            "bids.by": "string",
            "bids.at": "timestamp",
            "seller.name": "string",
            "seller.tags": "string",
            "image": "bytes",
            "sold": "boolean",
        },
        types={
            "t": {
                "bids.by": "mandatory multiple",
                "bids.at": "optional multiple",
                "seller.name": "mandatory unique",
                "seller.tags": "optional multiple",
                "image": "optional unique",
                "sold": "optional unique",
            }
        },
    )
    columns = schema.to_arrow().remove_metadata()
    bid = pa.struct([("by", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    seller = pa.struct(
        [pa.field("name", pa.string(), nullable=False), ("tags", pa.list_(pa.string()))]
    )
    assert columns.field("bids") == pa.field("bids", pa.list_(bid), nullable=False)
    assert columns.field("seller") == pa.field("seller", seller, nullable=False)
    again = Schema.from_arrow(columns, type="t")
    assert again.attributes == schema.attributes
    words = {path: str(each) for path, each in again.types["t"].annotations.items()}
    assert words[("bids", "by")] == "optional multiple"  # the list may be empty
    assert words[("seller", "name")] == "mandatory unique"


def test_other_columns() -> None:
    columns = pa.schema(
        [
            pa.field("event_type", pa.string()),
            pa.field("n", pa.uint8(), nullable=False),
            pa.field("d", pa.decimal128(5)),
            pa.field("c", pa.dictionary(pa.int8(), pa.string())),
            pa.field("day", pa.date32()),
            pa.field("l", pa.list_(pa.list_(pa.float32())), nullable=False),
        ]
    )
    schema = Schema.from_arrow(columns, type="row")
    assert {path[0]: name for path, name in schema.attributes.items()} == {
        "n": "integer",
        "d": "number",
        "c": "string",
        "day": "timestamp",
        "l": "number",
    }
    assert str(schema.types["row"].annotations[("l",)]) == "mandatory multiple"
    assert str(schema.types["row"].annotations[("n",)]) == "mandatory unique"


@pytest.mark.parametrize("kind", [pa.null(), pa.duration("s"), pa.map_(pa.string(), pa.string())])
def test_types_without_a_domain(kind: Any) -> None:
    with pytest.raises(SchemaError, match="which no domain has; cast or drop it"):
        Schema.from_arrow(pa.schema([("x", kind)]))
    with pytest.raises(SchemaError, match="two columns are named 'x'"):
        Schema.from_arrow(pa.schema([("x", pa.int8()), ("x", pa.int8())]))


# Inference.


def test_infer_from_the_paper() -> None:
    lone: dict[str, Any] = {
        "event_type": "furniture",
        "price": 1.5,
        "quantity": 1,
        "furniture_category": "bed",
    }
    schema = Schema.infer([E1, lone])
    assert schema.types["furniture"].mandatory == {
        ("price",),
        ("quantity",),
        ("furniture_category",),
    }
    assert ("period",) in schema.types["antiques"].mandatory
    assert ("period",) not in schema.types["furniture"].attributes
    assert schema.attributes[("price",)] == "number"
    assert schema.attributes[("quantity",)] == "integer"
    for event in (E1, lone):
        schema.check(event)
    assert [violation.rule for violation in schema.violations(E2)] == ["R2"]


def test_infer_domains() -> None:
    events = [
        {
            "s": "a",
            "at": "2026-01-01",
            "b": True,
            "tags": ["x", "y"],
            "none": [],
            "in": {"n": 1, "e": []},
        },
        {"s": "b", "at": "2026-01-02T10:00Z", "b": False, "tags": "x", "in": [{"n": 2}], "m": {}},
    ]
    schema = Schema.infer(events, type="row", enumerate=2)
    assert schema.attributes == {
        ("s",): "s values",
        ("at",): "timestamp",
        ("b",): "boolean",
        ("tags",): "tags values",
        ("none",): "string",
        ("in", "n"): "integer",
        ("in", "e"): "string",
    }
    assert schema.domains["s values"].values == ("a", "b")
    assert str(schema.types["row"].annotations[("tags",)]) == "mandatory multiple"
    assert str(schema.types["row"].annotations[("none",)]) == "optional multiple"
    assert Schema.infer(events, type="row").attributes[("s",)] == "string"


def test_what_cannot_be_inferred() -> None:
    with pytest.raises(SchemaError, match="'a' has values of several kinds, number and string"):
        Schema.infer([{"a": 1}, {"a": "x"}])
    with pytest.raises(SchemaError, match="which is not the name of an event type"):
        Schema.infer([{"event_type": 5}])
    with pytest.raises(SchemaError, match="'event_type' is empty"):
        Schema.infer([{"event_type": []}])
    with pytest.raises(SchemaError, match="cannot have others inside"):
        Schema.infer([{"a": 1}, {"a": {"b": 1}}])
    assert Schema.infer([]).types == {}


CELLS = st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=3)
SAMPLES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "event_type": st.lists(st.sampled_from("stu"), min_size=1, max_size=3),
            "a": CELLS,
            "b": CELLS,
            "c": st.lists(st.fixed_dictionaries({"x": CELLS}, optional={"y": CELLS}), min_size=1),
        },
    ),
    max_size=6,
)


@given(SAMPLES, st.sampled_from([0, 3]))
def test_the_whole_sample_is_valid(sample: list[dict[str, Any]], enumerate: int) -> None:
    schema = Schema.infer(sample, type="s", enumerate=enumerate)
    for event in sample:
        assert schema.violations(schema.typed(Event(event)), types=["s"]) == []
