"""Record batches: validated by columns as their rows are, one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.model.events.arrow_events import read_arrow
from tamis.model.limits import Limits
from tamis.model.schema.arrow_coercion import timestamps_of, typed_columns
from tamis.model.schema.arrow_conformity import rejected_rows
from tamis.model.schema.schema import Schema
from tamis.model.timestamp import Timestamp
from tests.schemas import E1, E2, paper_schema, schemas

TEXTS = ["poor", "good", "p", "r", "2026-01-01", "2026-01-01T10:00:00.5+01:00", "x"]
LEAVES: list[tuple[Any, list[Any]]] = [
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.int64(), [-1, 0, 1, 3, 4, 2**62]),
    (pa.uint64(), [0, 3, 4, 2**64 - 1]),
    (pa.float64(), [0.0, 1.5, 3.0, float("nan"), float("inf"), -0.0]),
    (pa.float32(), [0.0, 1.5, 3.0, float("nan")]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.00")]),
    (pa.bool_(), [True, False]),
    (pa.timestamp("us", "UTC"), [datetime(2026, 1, 1, tzinfo=UTC)]),
    (pa.date32(), [date(2026, 1, 1)]),
    (pa.binary(), [b"", b"x"]),
]
ROWS = 6


@st.composite
def columns(draw: Any) -> Any:
    """A column of values, of lists, of structs, or of lists of structs."""
    kind, values = draw(st.sampled_from(LEAVES))
    cell = st.none() | st.sampled_from(values)
    form = draw(st.sampled_from(["plain", "plain", "list", "struct", "list of structs", "null"]))
    if form == "null":
        return pa.nulls(ROWS)
    if form == "list":
        kind, cell = pa.list_(kind), st.none() | st.lists(cell, max_size=3)
    if "struct" in form:
        kind = pa.struct([("x", kind), ("z", kind)])
        cell = st.none() | st.fixed_dictionaries({"x": cell, "z": st.none() | cell})
    if form == "list of structs":
        kind, cell = pa.list_(kind), st.none() | st.lists(cell, max_size=2)
    return pa.array(draw(st.lists(cell, min_size=ROWS, max_size=ROWS)), kind)


NAMED = st.sampled_from(["s", "t", "u", "v"])
TYPE_COLUMNS = st.one_of(
    st.lists(st.none() | NAMED, min_size=ROWS, max_size=ROWS).map(
        lambda c: pa.array(c, pa.string())
    ),
    st.lists(st.none() | st.lists(st.none() | NAMED, max_size=3), min_size=ROWS, max_size=ROWS).map(
        lambda c: pa.array(c, pa.list_(pa.string()))
    ),
    st.just(pa.array(range(ROWS))),
)


@given(
    schemas(),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e"]), columns(), min_size=1),
    st.none() | TYPE_COLUMNS,
    st.sampled_from([(), ("s",), ("s", "t")]),
)
def test_columns_as_rows(schema: Schema, table: dict[str, Any], named: Any, types: Any) -> None:
    if named is not None:
        table = {"event_type": named, **table}
    batch = pa.record_batch(table)
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:  # Arrow makes dictionaries without values, to which indices point
        return
    found = rejected_rows(batch, schema, types)
    for row, event in enumerate(read_arrow(batch)):
        expected = schema.violations(schema.typed(event), types=types)
        assert found.get(row) == (expected[0] if expected else None)


def test_the_events_of_the_paper() -> None:
    batch = pa.RecordBatch.from_pylist([E1, E2, {**E1, "event_type": None}])
    found = rejected_rows(batch, paper_schema())
    assert {row: violation.rule for row, violation in found.items()} == {1: "R2", 2: "R1"}
    assert rejected_rows(batch.slice(0, 0), paper_schema()) == {}


def test_valid_rows_are_not_read_as_events(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("tamis.model.schema.arrow_conformity.violations", refuse)
    schema = Schema(
        domains={"grade": {"kind": "enumerated", "values": ["a", "b"]}},
        attributes={"n": "integer", "x.y": "grade", "tags": "string", "at": "timestamp"},
        types={
            "t": {
                "n": "mandatory unique",
                "x.y": "mandatory unique",
                "tags": "mandatory multiple",
                "at": "mandatory unique",
            }
        },
    )
    row = {"event_type": ["t"], "n": 1.0, "x": {"y": "a"}, "tags": ["p", "q"], "at": "2026-01-01"}
    assert rejected_rows(pa.RecordBatch.from_pylist([row, row]), schema) == {}


def test_rows_that_are_no_events() -> None:
    schema = Schema(
        attributes={"at": "timestamp", "s": "string"},
        types={"t": {"at": "optional unique", "s": "optional unique"}},
    )
    batch = pa.record_batch(
        {
            "event_type": ["t"] * 3,
            "at": pa.array([0, 10**15, 0]).cast(pa.timestamp("s")),
            "s": ["a", "a", "long"],
        }
    )
    found = rejected_rows(batch, schema, limits=Limits(string=3))
    assert {row: violation.rule for row, violation in found.items()} == {
        1: "unreadable",
        2: "unreadable",
    }
    assert "between the years 1 and 9999" in found[1].reason
    few = rejected_rows(batch.slice(0, 1), schema, limits=Limits(values=2))
    assert few[0].rule == "unreadable"
    with pytest.raises(EventError, match="of type duration"):
        rejected_rows(pa.record_batch({"d": pa.array([1], pa.duration("s"))}), schema)


def test_bounds_that_doubles_cannot_hold() -> None:
    schema = Schema(
        domains={"d": {"kind": "numeric", "greatest": 2**53 + 1}},
        attributes={"x": "d"},
        types={"t": {"x": "optional unique"}},
    )
    for values in ([2**53 + 2], [float(2**53 + 2)]):
        assert rejected_rows(pa.record_batch({"x": values}), schema, ["t"])
    assert not rejected_rows(pa.record_batch({"x": [2**53 + 1, -(2**63)]}), schema, ["t"])


def test_many_sets_of_types() -> None:
    names = [f"t{n}" for n in range(200)]
    schema = Schema(
        attributes={"a": "string"}, types={name: {"a": "optional unique"} for name in names}
    )
    batch = pa.record_batch({"event_type": names, "a": ["x"] * 200})
    assert rejected_rows(batch, schema) == {}


# Timestamps in columns of strings.


def test_timestamps_of_strings() -> None:
    read: Any = timestamps_of(pa.array(["2026-01-01", None, "2026-01-01T00:00:00.000000001Z"]))
    assert str(read.type) == "timestamp[ns, tz=UTC]"
    assert read.cast(pa.int64()).to_pylist() == [1767225600 * 10**9, None, 1767225600 * 10**9 + 1]
    wide: Any = timestamps_of(pa.array(["0001-01-01", "9999-12-31"]))
    assert str(wide.type) == "timestamp[us, tz=UTC]"
    assert timestamps_of(pa.array(["0001-01-01T00:00:00.000000001"])) is None
    assert timestamps_of(pa.array(["2026-01-01", "soon"])) is None
    assert len(timestamps_of(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize(
    "column, complete",
    [
        (pa.array(["2026-01-01"]), True),
        (pa.array(["2026-01-01"]).dictionary_encode(), True),
        (pa.array([5]), True),
        (pa.array(["soon"]), False),
        (pa.array([["2026-01-01"]]), False),
        (pa.array([{"at": "2026-01-01"}]), True),  # of no attribute
    ],
)
def test_columns_that_can_be_read_whole(column: Any, complete: bool) -> None:
    schema = Schema(attributes={"at": "timestamp", "in.at": "timestamp"})
    typed, done = typed_columns(pa.record_batch({"at": column}), schema)
    assert done is complete
    events = list(read_arrow(typed))
    raw = [schema.typed(event) for event in read_arrow(pa.record_batch({"at": column}))]
    assert not done or events == raw


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("at", pa.string())]),
        pa.list_(pa.struct([("at", pa.string())])),
        pa.map_(pa.string(), pa.string()),
    ],
)
def test_nested_columns_are_left(kind: Any) -> None:
    schema = Schema(attributes={"in.at": "timestamp"})
    assert typed_columns(pa.record_batch({"in": pa.nulls(1, kind)}), schema)[1] is False
    other = pa.record_batch({"in": pa.nulls(1, pa.struct([("at", pa.timestamp("s"))]))})
    assert typed_columns(other, schema)[1] is True


def test_typed_events() -> None:
    from tamis.model.events.event import Event

    schema = Schema(
        attributes={
            "at": "timestamp",
            "in.at": "timestamp",
            "n": "number",
            "b": "boolean",
            "s": "string",
        }
    )
    event = Event(
        {
            "at": ["2026-01-01", "soon", 5],
            "in": [{"at": "2026-01-02"}, 3],
            "n": "7",
            "b": "TRUE",
            "s": "7",
        }
    )
    moment = Timestamp.parse("2026-01-01")
    typed = schema.typed(event)
    assert typed == Event(
        {
            "at": [moment, "soon", 5],
            "in": [{"at": Timestamp.parse("2026-01-02")}, 3],
            "n": "7",
            "b": "TRUE",
            "s": "7",
        }
    )
    assert typed.multiple == event.multiple
    assert event.attributes["at"] == ["2026-01-01", "soon", 5]
    assert schema.typed(Event({"n": "7"})).attributes == {"n": "7"}
    texts = schema.typed(event, texts=True)
    assert (texts.attributes["n"], texts.attributes["b"], texts.attributes["s"]) == (7, True, "7")
    for text, value in {
        "1.5": 1.5,
        " -3 ": -3,
        "1e3": 1000.0,
        "9" * 30: 1e30,
        "1e400": "1e400",
        "x": "x",
        "1_0": "1_0",
    }.items():
        assert schema.typed(Event({"n": text}), texts=True).attributes["n"] == value
    assert schema.typed(Event({"b": "yes"}), texts=True).attributes["b"] == "yes"
