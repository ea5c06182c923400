"""What a Python worker makes of record batches, without a session around it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.spark import Index
from tamis.spark.columns import Form
from tamis.spark.worker import MatchTask, OnError
from tests.variants import column_of

SUBSCRIPTIONS = {1: "price < 5", 2: "tags = 'a'", 3: "price is missing"}
EVENTS: list[dict[str, Any]] = [{"price": 3, "tags": "a"}, {"price": 7}, {"tags": "b"}]
EXPECTED = [(10, 1), (10, 2), (12, 3)]
COLUMNS: dict[Form, Any] = {
    "json": pa.array(map(json.dumps, EVENTS), pa.string()),
    "variant": column_of(EVENTS),
    "struct": pa.array(EVENTS, pa.struct({"price": pa.int64(), "tags": pa.string()})),
}


def index() -> Index:
    ids = pa.array(SUBSCRIPTIONS, pa.int64())
    return Index.of(pa.table({"id": ids, "subscription": list(SUBSCRIPTIONS.values())}))


def task(form: Form, on_error: OnError = "fail", limit: int | None = None) -> MatchTask:
    kinds: dict[str, Any] = {
        "event_id": pa.int64(),
        "place": pa.string(),
        "subscription_id": pa.int64(),
        "version": pa.int64(),
    }
    if on_error != "fail":
        kinds |= {"text": pa.string(), "reason": pa.string()}
    names = ("event", "id", "place")
    source: Any = None
    schema = pa.schema(kinds)
    return MatchTask(
        source, names, "id", ("event",), form, ("place",), schema, limit, on_error=on_error
    )


def batch(column: Any) -> pa.RecordBatch:
    ids = pa.array(range(10, 10 + len(column)), pa.int64())
    places = pa.array([f"at {id}" for id in ids.to_pylist()])
    return pa.record_batch([column, ids, places], names=["c0", "c1", "c2"])


def rows(found: Any) -> list[dict[str, Any]]:
    return [row for each in found for row in each.to_pylist()]


@pytest.mark.parametrize("form", COLUMNS)
def test_forms(form: Form) -> None:
    found = rows(task(form).matches(batch(COLUMNS[form]), index()))
    assert sorted((row["event_id"], row["subscription_id"]) for row in found) == EXPECTED
    assert all(row["place"] == f"at {row['event_id']}" for row in found)
    sliced = pa.concat_arrays([COLUMNS[form]] * 3).slice(2, 4)
    again = rows(task(form).matches(batch(sliced), index()))
    assert [row["event_id"] for row in again].count(11) == 2


BROKEN: dict[Form, tuple[Any, str, str]] = {
    "json": (
        pa.array(['{"price": 1', '{"price": 1}', None, "{}"]),
        '{"price": 1',
        "not valid JSON: expecting ',' delimiter at line 1, column 12",
    ),
    "variant": (
        column_of([[1], {"price": 1}, None, {}]),
        "[1]",
        "an event is an object, but the variant has a list",
    ),
}


@pytest.mark.parametrize("form", BROKEN)
def test_events_that_cannot_be_read(form: Form) -> None:
    column, text, reason = BROKEN[form]
    with pytest.raises(tamis.EventError, match="the event 10: "):
        rows(task(form).matches(batch(column), index()))
    found = rows(task(form, "collect").matches(batch(column), index()))
    matches = [(row["event_id"], row["subscription_id"]) for row in found if not row["reason"]]
    assert sorted(matches) == [(11, 1), (12, 3), (13, 3)]
    (rejected,) = [row for row in found if row["reason"]]
    assert rejected == {
        "event_id": 10,
        "place": "at 10",
        "subscription_id": None,
        "version": None,
        "text": text,
        "reason": reason,
    }


def test_a_limit() -> None:
    found = rows(task("json", limit=1).matches(batch(COLUMNS["json"]), index()))
    assert sorted(row["event_id"] for row in found) == [10, 12]
