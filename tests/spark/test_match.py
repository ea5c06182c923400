"""Events in every form that a DataFrame can give them, against the oracle."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark
from tests.spark.oracle import events_frame, oracle, pairs, subscriptions_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1, 12)

# A type, values of it, and tests of them that tell the values apart.
TYPES: dict[str, tuple[Any, list[Any], list[str]]] = {
    "byte": (pa.int8(), [-128, 0, 127], ["< 0", "= 0", ">= 127", "!= 0"]),
    "short": (pa.int16(), [-(2**15), 7, 2**15 - 1], ["between 0 and 8", "= -32768", "> 7"]),
    "int": (pa.int32(), [-(2**31), 7, 2**31 - 1], ["in (7, 8)", "= 2147483647", "< 7"]),
    "long": (
        pa.int64(),
        [-(2**63), 2**53, 2**53 + 1, 2**63 - 1],
        ["= 9007199254740992", "> 9007199254740992", "= 9223372036854775807", "< 0"],
    ),
    "float": (pa.float32(), [0.5, -1.25, math.nan, math.inf], ["= 0.5", "!= 0.5", "> 0", "< 0"]),
    "double": (pa.float64(), [0.1, -0.0, math.nan, -math.inf], ["= 0.1", "= 0", "<= 0", "!= 1"]),
    "boolean": (pa.bool_(), [True, False], ["= true", "!= true", "= 1"]),
    "string": (
        pa.string(),
        ["Toy", "toy", "", "Tölz 😀"],
        ["= 'Toy'", "= 'toy' ignoring case", "starts with 'T'", "ends with '😀'", "< 'a'", "= ''"],
    ),
    "binary": (pa.binary(), [b"Toy", b""], ["= 'Toy'", "!= 'Toy'", "is present"]),
    "date": (
        pa.date32(),
        [date(2026, 1, 1), date(1969, 12, 31)],
        ["= timestamp '2026-01-01'", "< timestamp '1970-01-01'", "> timestamp '1900-01-01T01:00Z'"],
    ),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [NOON, NOON.replace(microsecond=1)],
        ["= timestamp '2026-01-01T12:00:00Z'", "> timestamp '2026-01-01T12:00:00Z'"],
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [NAIVE, NAIVE.replace(microsecond=1)],
        ["= timestamp '2026-01-01T12:00:00Z'", "> timestamp '2026-01-01T12:00:00Z'"],
    ),
    "decimal": (
        pa.decimal128(10, 2),
        [Decimal("1.50"), Decimal("2.00"), Decimal("-0.01")],
        ["= 1.5", "= 2", "< 0", "> 1"],
    ),
    "large decimal": (
        pa.decimal128(38, 0),
        [Decimal(2**53 + 1), Decimal(2**63 - 1), Decimal(-(2**63))],
        ["= 9007199254740993", "> 9007199254740993", "= 9223372036854775807"],
    ),
    "void": (pa.null(), [None, None], ["is missing", "= 1"]),
}


def test_columns_of_every_type(spark: SparkSession) -> None:
    subscriptions = {
        f"{name} {test}": f"`{name}` {test}"
        for name, (_, _, tests) in TYPES.items()
        for test in [*tests, "is missing", "contains 'Toy'"]
    }
    rows: list[dict[str, Any]] = [{"id": 0}]
    for place in range(max(len(values) for _, values, _ in TYPES.values())):
        given = {name: values[place % len(values)] for name, (_, values, _) in TYPES.items()}
        rows.append({"id": len(rows), **given})
    frame = events_frame(spark, rows, {name: kind for name, (kind, _, _) in TYPES.items()})
    kinds = [field.dataType.typeName() for field in frame.schema]
    assert kinds[1:7] == ["byte", "short", "integer", "long", "float", "double"]
    assert kinds[11:13] == ["timestamp", "timestamp_ntz"]
    assert kinds[-1] == "void"
    expected = oracle(rows, subscriptions)
    assert pairs(tamis.spark.match(frame, subscriptions_frame(spark, subscriptions))) == expected
    assert {id for _, id in expected} > {f"{name} is missing" for name in TYPES}


NESTED = {
    "red and cheap": "items.color = 'red' and items.price < 5",
    "no red": "not items.color = 'red'",
    "any red": "items.color contains 'red'",
    "north": "place.at.north > 50 and place.name starts with 'B'",
    "no place": "place is missing",
    "place": "place.at is present",
    "tags": "tags = 'new' and tags != 'old'",
    "empty": "tags is present and not tags contains 'new'",
    "deep": "deep.grid = 4",
    "facts": "facts.size = 3 or facts.weight > 10",
    "id": "id >= 3",
}
NESTED_FIELDS = {
    "items": pa.list_(pa.struct({"color": pa.string(), "price": pa.float64()})),
    "place": pa.struct(
        {
            "name": pa.string(),
            "at": pa.struct({"north": pa.float64(), "east": pa.float64()}),
        }
    ),
    "tags": pa.list_(pa.string()),
    "deep": pa.struct({"grid": pa.list_(pa.list_(pa.int32()))}),
    "facts": pa.map_(pa.string(), pa.int32()),
}
NESTED_ROWS: list[dict[str, Any]] = [
    {"id": 1, "items": [{"color": "red", "price": 9.0}, {"color": "blue", "price": 1.0}]},
    {"id": 2, "items": [{"color": "red", "price": 1.0}, None], "tags": ["new", None]},
    {"id": 3, "place": {"name": "Bonn", "at": {"north": 50.7}}, "tags": []},
    {"id": 4, "place": {"name": "Bern", "at": None}, "tags": ["old", "new"]},
    {"id": 5, "deep": {"grid": [[1, 2], None, [3, 4]]}, "facts": {"size": 3}},
    {"id": 6, "deep": {"grid": [[]]}, "facts": {"weight": 11, "size": None}},
    {"id": 7, "items": [{"color": None, "price": 2.0}], "facts": {}},
]


def test_structs_lists_and_maps_in_columns(spark: SparkSession) -> None:
    frame = events_frame(spark, NESTED_ROWS, NESTED_FIELDS)
    expected = oracle(NESTED_ROWS, NESTED)
    assert {id for _, id in expected} == set(NESTED)
    assert pairs(tamis.spark.match(frame, subscriptions_frame(spark, NESTED))) == expected


def test_events_in_a_struct_column(spark: SparkSession) -> None:
    packed = [{"id": row["id"], "event": row} for row in NESTED_ROWS]
    inner = pa.struct({"id": pa.int64(), **NESTED_FIELDS})
    frame = events_frame(spark, packed, {"event": inner})
    subscriptions = subscriptions_frame(spark, NESTED)
    expected = oracle(NESTED_ROWS, NESTED)
    assert pairs(tamis.spark.match(frame, subscriptions, column="event")) == expected


@pytest.mark.parametrize("form", ["json", "struct", "map"])
def test_a_null_in_the_column_of_events_is_an_empty_event(spark: SparkSession, form: str) -> None:
    kinds = {
        "json": (pa.string(), '{"a": 1}'),
        "struct": (pa.struct({"a": pa.int64()}), {"a": 1}),
        "map": (pa.map_(pa.string(), pa.int64()), {"a": 1}),
    }
    kind, event = kinds[form]
    frame = events_frame(spark, [{"id": 1, "e": event}, {"id": 2, "e": None}], {"e": kind})
    subscriptions = subscriptions_frame(spark, {"m": "a is missing", "p": "a = 1", "all": "true"})
    found = pairs(tamis.spark.match(frame, subscriptions, column="e"))
    assert found == {(1, "p"), (1, "all"), (2, "m"), (2, "all")}


def test_events_as_json(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "a": {"b": [1, "x", {"c": None}]}},
        {"id": 2, "a": 9007199254740993, "name": "Zoë 😀"},
        {"id": 3, "a": [True, 1.5], "b": "2026-01-01"},
    ]
    subscriptions = {
        1: "a.b = 'x'",
        2: "a = 9007199254740993",
        3: "a = 9007199254740992",
        4: "name ends with '😀'",
        5: "a = true and b < 'a'",
        6: "b < timestamp '2027-01-01'",
        7: "not a.b = 1",
        8: "c is missing",
    }
    documents = [{"id": row["id"], "document": json.dumps(row)} for row in rows]
    frame = events_frame(spark, documents, {"document": pa.string()})
    table = subscriptions_frame(spark, subscriptions)
    found = pairs(tamis.spark.match(frame, table, column="document"))
    assert found == oracle(rows, subscriptions)
    assert found >= {(1, 1), (2, 2), (2, 4), (3, 5), (1, 7)}


def test_a_faulty_document_is_told_by_its_event(spark: SparkSession) -> None:
    documents = [{"id": 7, "document": '{"a": 1,}'}]
    frame = events_frame(spark, documents, {"document": pa.string()})
    matches = tamis.spark.match(
        frame, subscriptions_frame(spark, {"s": "a = 1"}), column="document"
    )
    with pytest.raises(Exception, match=r"the event 7: not valid JSON: .* at line 1, column \d"):
        matches.collect()


@pytest.mark.parametrize(
    "values",
    [
        (pa.string(), {"a": "1", "b": "x"}, {"a": None}),
        (pa.float64(), {"a": 1.0, "b": 2.0}, {"b": 1.0}),
        (pa.timestamp("us", "UTC"), {"a": NOON}, {"b": NOON}),
        (pa.struct({"x": pa.int64()}), {"a": {"x": 1}}, {"b": {"x": 1}}),
        (pa.list_(pa.string()), {"a": ["1", "2"]}, {"a": [], "b": ["x"]}),
    ],
    ids=["strings", "numbers", "timestamps", "structs", "lists"],
)
def test_events_in_a_map_column(spark: SparkSession, values: Any) -> None:
    kind, *events = values
    subscriptions = {
        "text": "a = '1'",
        "number": "a = 1",
        "missing": "a is missing",
        "present": "b is present",
        "moment": "a = timestamp '2026-01-01T12:00:00Z'",
        "nested": "a.x = 1",
        "list": "not a = '1'",
        "both": "a = 1 and b = 2",
        "all": "true",
    }
    rows: list[dict[str, Any]] = [{"id": place, "m": event} for place, event in enumerate(events)]
    frame = events_frame(spark, [*rows, {"id": 9}], {"m": pa.map_(pa.string(), kind)})
    found = pairs(tamis.spark.match(frame, subscriptions_frame(spark, subscriptions), column="m"))
    given = [{"id": row["id"], **row["m"]} for row in rows]
    assert found == oracle([*given, {"id": 9}], subscriptions)


def test_a_map_column_without_attributes(spark: SparkSession) -> None:
    frame = events_frame(
        spark, [{"id": 1, "m": {"a": "1"}}], {"m": pa.map_(pa.string(), pa.string())}
    )
    found = tamis.spark.match(frame, subscriptions_frame(spark, {"all": "true"}), column="m")
    assert pairs(found) == {(1, "all")}
    engine = tamis.Engine(matcher="scan")  # of which nobody knows what attributes it asks for
    engine.subscribe_many({"all": "true", "a": "a = '1'"})
    assert pairs(tamis.spark.match(frame, engine, column="m")) == {(1, "all"), (1, "a")}


def test_odd_names_of_columns(spark: SparkSession) -> None:
    names = ["a.b", "a b", "tick`s", "é", "select", "event_id", "version"]
    subscriptions = {name: f"`{name.replace('`', '``')}` = 1" for name in names}
    rows = [{"id": place, name: 1} for place, name in enumerate(names)]
    frame = events_frame(spark, rows, dict.fromkeys(names, pa.int32()))
    found = pairs(
        tamis.spark.match(frame, subscriptions_frame(spark, subscriptions), keep=["a.b", "tick`s"])
    )
    assert found == {(place, name) for place, name in enumerate(names)}


def test_attributes_that_no_column_has(spark: SparkSession) -> None:
    frame = events_frame(spark, [{"id": 1}, {"id": 2}], {})
    subscriptions = {"all": "true", "missing": "x is missing", "x": "x = 1", "not": "not x = 1"}
    found = pairs(tamis.spark.match(frame, subscriptions_frame(spark, subscriptions)))
    assert found == {(1, "all"), (2, "all"), (1, "missing"), (2, "missing")}


def test_no_events_and_no_subscriptions(spark: SparkSession) -> None:
    events = events_frame(spark, [{"id": 1, "a": 1}], {"a": pa.int64()})
    subscriptions = subscriptions_frame(spark, {1: "a = 1"})
    nothing = tamis.spark.match(events.limit(0), subscriptions)
    assert nothing.collect() == []
    assert nothing.schema == tamis.spark.match(events, subscriptions.limit(0)).schema
    assert tamis.spark.match(events, subscriptions.limit(0)).collect() == []


def test_only_columns_that_are_asked_for_reach_the_workers(spark: SparkSession) -> None:
    fields = {"a": pa.int64(), "b": pa.int64(), "c": pa.struct({"d": pa.int64(), "e": pa.int64()})}
    events = events_frame(spark, [{"id": 1, "a": 1}], {**fields, "kept": pa.int64()})
    matches = tamis.spark.match(
        events, subscriptions_frame(spark, {"s": "a = 1 or c.d = 2"}), keep=["kept"]
    )
    plan = matches._jdf.queryExecution().executedPlan().toString()
    (sent,) = re.findall(r"MapInArrow tamis_match\((.*?)\)", plan)
    named = dict(re.findall(r"(\w+)#\d+L? AS (c\d+#\d+L?)", plan))
    assert set(named) == {"a", "c", "id", "kept"}
    assert set(sent.split(", ")) == set(named.values())
