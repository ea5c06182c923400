"""Readers: the same data gives the same event, and bad data an error with its place."""

import json
import subprocess
import sys
import tracemalloc
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.events.readers import read_arrow, read_events, read_frame, read_json, read_ndjson
from tamis.model.limits import MAX_DEPTH, Limits
from tamis.model.timestamp import Timestamp

ALPHABET = 'aZ é"\\/\n\t\x00\u2028\uffff\U0001f600'

# For each column its Arrow type and what it may hold.
COLUMNS = {
    "count": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "price": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "title": (pa.string(), st.text(ALPHABET, max_size=6)),
    "used": (pa.bool_(), st.booleans()),
    "tags": (
        pa.list_(pa.string()),
        st.lists(st.none() | st.text(ALPHABET, max_size=3), max_size=3),
    ),
    "a.b": (
        pa.struct({"x": pa.int64(), "y": pa.list_(pa.float64())}),
        st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(-9, 9),
                "y": st.none() | st.lists(st.none() | st.floats(-9, 9), max_size=3),
            }
        ),
    ),
}
SCHEMA = pa.schema({name: arrow_type for name, (arrow_type, _) in COLUMNS.items()})
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | cells for name, (_, cells) in COLUMNS.items()}),
    max_size=5,
)


@settings(deadline=None)
@given(ROWS)
def test_the_same_data_gives_the_same_events(rows):
    events = [Event(row) for row in rows]
    texts = [json.dumps(row) for row in rows]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    assert [read_json(text) for text in texts] == events
    assert [read_json(text.encode()) for text in texts] == events
    raw = [json.dumps(row, ensure_ascii=False) for row in rows]
    assert list(read_ndjson("\n".join(raw))) == events
    assert list(read_ndjson("\r\n\n".join(raw).encode())) == events
    objects = pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=object) for name in COLUMNS}
    )
    for source in (
        rows,
        iter(rows),
        events,
        table,
        table.to_reader(),
        objects,
        table.to_pandas(types_mapper=pd.ArrowDtype),
        pl.from_arrow(table),
    ):
        assert list(read_events(source)) == events
    for batch in table.to_batches():
        assert list(read_arrow(batch)) == events


MOMENTS = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(st.lists(st.none() | MOMENTS, max_size=5), st.lists(st.binary(max_size=4), max_size=5))
def test_nanoseconds_and_bytes_are_exact(moments, blobs):
    size = min(len(moments), len(blobs))
    moments, blobs = moments[:size], blobs[:size]
    events = [
        Event({"at": None if moment is None else Timestamp(moment), "blob": blob})
        for moment, blob in zip(moments, blobs, strict=True)
    ]
    smallest = -(2**63)  # NumPy's NaT
    for zone in (None, "UTC", "America/New_York"):
        at = pa.array(moments, pa.timestamp("ns", zone))
        table = pa.table({"at": at, "blob": pa.array(blobs, pa.binary())})
        assert list(read_events(table)) == events
        assert list(read_events(pl.from_arrow(table))) == events
        if smallest not in moments:
            assert list(read_events(table.to_pandas())) == events


def of(values, arrow_type):
    """One column of the type as an array."""
    return pa.array(values, arrow_type)


DAY = Timestamp.parse("2024-01-02")
SECOND = Timestamp.parse("0001-01-01T00:00:01")
RUNS = pa.RunEndEncodedArray.from_arrays(of([2, 3], pa.int32()), pa.array(["a", None]))
VIEWS = pa.array(["x", "y"], pa.string_view())

ARROW_COLUMNS = [
    *((of([1, None, 3], kind), [1, None, 3]) for kind in (pa.int8(), pa.int16(), pa.int32())),
    *((of([1, None, 3], kind), [1, None, 3]) for kind in (pa.uint8(), pa.uint16(), pa.uint32())),
    (of([-(2**63), 2**63 - 1], pa.int64()), [-(2**63), 2**63 - 1]),
    (of([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
    *((of([0.5, None], kind), [0.5, None]) for kind in (pa.float16(), pa.float32(), pa.float64())),
    *((of([3, None], kind), [3, None]) for kind in (pa.decimal32(5, 2), pa.decimal64(9, 2))),
    (of([1, None], pa.decimal128(38, 4)), [1, None]),
    (of([2**64 - 1], pa.decimal256(60, 2)), [2**64 - 1]),
    (pa.array([1.25]).cast(pa.decimal128(10, 2)), [1.25]),
    (of([True, None, False], pa.bool_()), [True, None, False]),
    *(
        (of(["é", None, ""], kind), ["é", None, ""])
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    ),
    (of(["a", None, "a"], pa.string()).dictionary_encode(), ["a", None, "a"]),
    (pa.array([1, None, 1]).dictionary_encode(), [1, None, 1]),
    (pa.DictionaryArray.from_arrays([1, None, 0], VIEWS), ["y", None, "x"]),  # type: ignore
    (pa.DictionaryArray.from_arrays([0, 0], pa.array([[1, 2]])), [[1, 2], [1, 2]]),
    (
        pa.DictionaryArray.from_arrays([0, 0], pa.array([{"k": VIEWS[0].as_py()}])),
        [{"k": "x"}, {"k": "x"}],
    ),
    *(
        (of([b"\xff", None], kind), [b"\xff", None])
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
    ),
    (pa.nulls(2), [None, None]),
    (of([DAY.nanoseconds + 1, None], pa.timestamp("ns")), [Timestamp(DAY.nanoseconds + 1), None]),
    (of([-1], pa.timestamp("ns", "Asia/Tokyo")), [Timestamp(-1)]),
    (of([-1], pa.timestamp("us")), [Timestamp(-1_000)]),
    (of([-1], pa.timestamp("ms", "+02:00")), [Timestamp(-1_000_000)]),
    (of([SECOND.nanoseconds // 10**9], pa.timestamp("s")), [SECOND]),
    (of([date(2024, 1, 2), None], pa.date32()), [DAY, None]),
    (of([date(2024, 1, 2), None], pa.date64()), [DAY, None]),
    (of([date(1, 1, 1)], pa.date32()), [Timestamp.parse("0001-01-01")]),
    *(
        (of([[1, None, 2], None, []], kind), [[1, 2], None, []])
        for kind in (
            pa.list_(pa.int64()),
            pa.large_list(pa.int64()),
            pa.list_view(pa.int64()),
            pa.large_list_view(pa.int64()),
        )
    ),
    (of([[1, 2], None, [3, None]], pa.list_(pa.int64(), 2)), [[1, 2], None, [3]]),
    (of([["x"], None, ["y"]], pa.list_(pa.string_view())), [["x"], None, ["y"]]),
    (of([[["a"]], None, [None, []]], pa.list_(pa.list_(pa.string()))), [[["a"]], None, [[]]]),
    (of([[date(2024, 1, 2)]], pa.list_(pa.date32())), [[DAY]]),
    (
        of(
            [{"k": 1, "l": None}, None, {"k": None, "l": "x"}],
            pa.struct({"k": pa.int8(), "l": pa.string_view()}),
        ),
        [{"k": 1}, None, {"l": "x"}],
    ),
    (of([{}, None], pa.struct([])), [{}, None]),
    (
        of([[{"k": DAY.to_datetime()}, None]], pa.list_(pa.struct({"k": pa.timestamp("us")}))),
        [[{"k": DAY}]],
    ),
    *(
        (of([[("k", 1), ("l", None)], None, []], pa.map_(kind, pa.int64())), [{"k": 1}, None, {}])
        for kind in (pa.string(), pa.large_string())
    ),
    (of([[("k", [1, None])]], pa.map_(pa.string(), pa.list_(pa.int64()))), [{"k": [1]}]),
    (
        of([[("k", 1)], [("l", 2), ("m", 3)], [("n", 4)]], pa.map_(pa.string(), pa.int64())),
        [{"k": 1}, {"l": 2, "m": 3}, {"n": 4}],
    ),
    (RUNS, ["a", "a", None]),
    (
        pa.StructArray.from_arrays([RUNS], names=["k"], mask=pa.array([True, False, False])),
        [None, {"k": "a"}, {}],
    ),
    (pa.ListArray.from_arrays([0, 2, 3], RUNS), [["a", "a"], []]),
    (
        pa.ExtensionArray.from_storage(pa.uuid(), of([b"0" * 16, None], pa.binary(16))),
        [b"0" * 16, None],
    ),
    (
        pa.ListArray.from_arrays(
            [0, 1], pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))
        ),
        [["{}"]],
    ),
    (
        pa.StructArray.from_arrays(
            [pa.ExtensionArray.from_storage(pa.bool8(), of([1], pa.int8()))], names=["k"]
        ),
        [{"k": 1}],
    ),
]


@pytest.mark.parametrize(
    ("array", "values"), ARROW_COLUMNS, ids=[str(array.type)[:50] for array, _ in ARROW_COLUMNS]
)
def test_arrow_types(array, values):
    events = [Event({"n": n, "c": value}) for n, value in enumerate(values)]
    table = pa.table({"n": range(len(values)), "c": array})
    assert list(read_arrow(table)) == events
    assert list(read_arrow(table.to_batches()[0])) == events
    assert list(read_arrow(table.slice(1))) == events[1:]
    doubled = pa.concat_tables([table, table.slice(1), table.slice(0, 0)])
    assert list(read_arrow(doubled)) == events + events[1:]
    assert list(read_events(Stream(table))) == events


class Stream:
    """A foreign table that only offers Arrow's stream interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


UNION = pa.UnionArray.from_sparse(of([0, 1], pa.int8()), [of([1, 2], None), of(["a", "b"], None)])


@pytest.mark.parametrize(
    ("arrow_type", "place"),
    [
        (pa.duration("ns"), "'c'"),
        (pa.time32("s"), "'c'"),
        (pa.time64("ns"), "'c'"),
        (pa.month_day_nano_interval(), "'c'"),
        (UNION.type, "'c'"),
        (pa.map_(pa.int64(), pa.int64()), "'c'"),
        (pa.map_(pa.binary(), pa.int64()), "'c'"),
        (pa.list_(pa.duration("s")), "'c'"),
        (pa.struct({"k.l": pa.list_(pa.time64("us"))}), "'c.`k.l`'"),
        (pa.map_(pa.string(), pa.duration("s")), "'c'"),
        (pa.dictionary(pa.int8(), pa.duration("s")), "'c'"),
        (pa.run_end_encoded(pa.int16(), pa.time32("s")), "'c'"),
    ],
    ids=str,
)
def test_refused_types_are_named_with_place_and_remedy(arrow_type, place):
    if arrow_type == UNION.type:
        column = UNION
    elif pa.types.is_dictionary(arrow_type):
        column = pa.DictionaryArray.from_arrays([0], pa.array([1], arrow_type.value_type))  # type: ignore
    else:
        column = pa.array([], arrow_type)
    with pytest.raises(EventError, match=r"cast or drop it") as caught:
        read_arrow(pa.table({"c": column}))
    assert f"column {place} is of type" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pa.table({"s": pa.StructArray.from_arrays([[1], [2]], names=["a", "a"])}),  # type: ignore
    ],
    ids=["columns", "fields"],
)
def test_two_columns_of_one_name(table):
    with pytest.raises(EventError, match=r"two columns are named '(s\.)?a'"):
        read_arrow(table)


@pytest.mark.parametrize("layer", [pa.list_, lambda inner: pa.struct({"k": inner})])
def test_types_that_are_too_deep(layer):
    deep = pa.int64()
    for _ in range(MAX_DEPTH - 1):
        deep = layer(deep)
    assert list(read_arrow(pa.table({"c": pa.array([None], deep)}))) == [Event({})]
    with pytest.raises(LimitError, match="levels deep"):
        read_arrow(pa.table({"c": pa.array([], layer(deep))}))


def test_a_map_with_a_key_twice():
    pairs = [[("k", 1)], [("k", 1), ("k", 2)]]
    table = pa.table({"m": of(pairs, pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(EventError, match=r"rows 0 to 1, column 'm'.*twice, at 'm'"):
        list(read_arrow(table))
    assert list(read_arrow(table.slice(0, 1))) == [Event({"m": {"k": 1}})]


def test_timestamps_beyond_the_calendar():
    table = pa.table({"t": of([0, 10**15], pa.timestamp("s"))})
    with pytest.raises(EventError, match=r"column 't'.*9999"):
        list(read_arrow(table))
    nested = pa.table({"s": of([{"t": 2**31 - 1}], pa.struct({"t": pa.date32()}))})
    with pytest.raises(EventError, match=r"9999, at 's\.t'"):
        list(read_arrow(nested))


def test_what_a_null_hides_is_not_read():
    hidden = of([10**15, 0], pa.timestamp("s"))
    struct = pa.StructArray.from_arrays([hidden], names=["t"], mask=pa.array([True, False]))
    assert list(read_arrow(pa.table({"s": struct}))) == [
        Event({}),
        Event({"s": {"t": Timestamp(0)}}),
    ]


def test_invalid_arrow_data():
    offsets = pa.py_buffer(np.array([0, 1], "i4").tobytes())
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    with pytest.raises(EventError, match=r"invalid Arrow data: .*UTF8"):
        list(read_arrow(pa.table({"a": text})))
    wild = pa.DictionaryArray.from_arrays(of([5], pa.int8()), pa.array(["a"]), safe=False)
    with pytest.raises(EventError, match="invalid Arrow data"):
        list(read_arrow(pa.table({"a": wild})))


def test_rows_are_counted_over_slices_and_batches():
    numbers = pa.array(range(10_000))
    strings = pa.array(["x"] * 9_999 + ["xxxx"])
    table = pa.concat_tables([pa.table({"n": numbers, "s": strings})] * 2)
    events = read_arrow(table, Limits(string=3))
    assert [next(events).attributes["n"] for _ in range(9_999)] == list(range(9_999))
    with pytest.raises(LimitError, match=r"^row 9999: a string of 4 at 's'"):
        next(events)


def test_large_cells_are_read_in_small_slices():
    cells = pa.ListArray.from_arrays(range(0, 5_000_001, 5_000), pa.array(np.arange(5_000_000)))
    events = read_arrow(pa.table({"v": cells}))
    tracemalloc.start()
    first = next(events)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert list(first.values(("v",))) == list(range(5_000))
    assert peak < 60_000_000  # all of them as Python's integers take 200 MB


def test_rows_without_columns():
    table = pa.table({"a": [1, 2, 3]}).select([])
    assert list(read_arrow(table)) == [Event({})] * 3
    assert list(read_arrow(pa.table({}))) == []


def test_pandas_columns():
    frame = pd.DataFrame(
        {
            "f": [1.5, float("nan")],
            "i": pd.array([2**63 - 1, None], "Int64"),
            "u": np.array([2**64 - 1, 0], "u8"),
            "b": pd.array([True, None], "boolean"),
            "s": ["a", None],
            "c": pd.Categorical(["x", None]),
            "mixed": pd.Series(["a", b"b"], dtype=object),
            "numbers": pd.Series([2**63 - 1, 0.5], dtype=object),
            "truth": pd.Series([True, 1], dtype=object),
            "t": pd.to_datetime(["2024-01-02", None]).as_unit("ns"),
            "z": pd.to_datetime(["2024-01-02", None]).tz_localize("UTC").as_unit("s"),
            "lists": pd.Series([[1, None], np.array([2])], dtype=object),
            "nest": pd.Series([{"a": 1}, {"a": "x"}], dtype=object),
            "sparse": pd.arrays.SparseArray([1, 0]),
            "swapped": np.array([1, 2], ">i4"),
            "half": np.array([0.5, 1.5], "f2"),
        }
    ).set_axis(["p", "q"])
    assert list(read_frame(frame)) == [
        Event({"f": 1.5, "i": 2**63 - 1, "u": 2**64 - 1, "b": True, "s": "a", "c": "x",
               "mixed": "a", "numbers": 2**63 - 1, "truth": True, "t": DAY, "z": DAY,
               "lists": [1], "nest": {"a": 1}, "sparse": 1, "swapped": 1, "half": 0.5}),
        Event({"u": 0, "mixed": b"b", "numbers": 0.5, "truth": 1, "lists": [2],
               "nest": {"a": "x"}, "sparse": 0, "swapped": 2, "half": 1.5}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([pd.Timedelta(1)]), "duration"),
        (pd.Series([pd.Period("2024-01")]), "row 0: a Period.* at 'c'"),
        (pd.Series([pd.Interval(1, 2)]), "row 0: a Interval"),
        (pd.Series([1j]), "row 0: a complex"),
        (pd.Series([object()], dtype=object), "row 0: a object.* at 'c'"),
        (pd.Series([2**64], dtype=object), "row 0: an integer beyond 64 bits"),
    ],
    ids=["timedelta", "period", "interval", "complex", "object", "integer"],
)
def test_refused_pandas_columns(column, message):
    with pytest.raises(EventError, match=message):
        list(read_frame(pd.DataFrame({"c": column})))


def test_names_of_pandas_columns():
    with pytest.raises(EventError, match="column 0 is named by a int"):
        read_frame(pd.DataFrame([[1]]))
    with pytest.raises(EventError, match="two columns are named 'a'"):
        read_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_polars_columns():
    thing = datetime(2024, 1, 2, tzinfo=UTC)
    frame = pl.DataFrame(
        {"e": ["x", None], "c": ["y", "y"], "a": [[1, 2], None], "n": [float("inf"), None],
         "d": [date(2024, 1, 2), None], "t": [thing, None], "w": [5, 2**63]},
        schema_overrides={"e": pl.Enum(["x"]), "c": pl.Categorical,
                          "a": pl.Array(pl.Int8, 2), "w": pl.Int128},
    ).with_columns(o=pl.Series([b"q", "q"], dtype=pl.Object))  # fmt: skip
    assert list(read_frame(frame)) == [
        Event({"e": "x", "c": "y", "a": [1, 2], "n": float("inf"), "d": DAY, "t": DAY, "w": 5,
               "o": b"q"}),
        Event({"c": "y", "w": 2**63, "o": "q"}),
    ]  # fmt: skip
    with pytest.raises(EventError, match="'c' is of type duration"):
        list(read_frame(pl.DataFrame({"c": [thing - thing]})))
    with pytest.raises(EventError, match="row 0: a time"):
        list(read_frame(pl.DataFrame({"c": pl.Series([thing.time()], dtype=pl.Object)})))


def test_not_a_number_is_null_in_pandas_and_a_value_elsewhere():
    nan = float("nan")
    [event] = read_events(pd.DataFrame({"f": [nan]}))
    assert not event.present(("f",))
    for source in ([{"f": nan}], pa.table({"f": [nan]}), pl.DataFrame({"f": [nan]})):
        [event] = read_events(source)
        assert event.present(("f",))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": 1}, "put the mapping in a list"),
        ('{"a": 1}', "read_ndjson"),
        (b"{}", "read_ndjson"),
        (5, "a int holds no events"),
        (None, "a NoneType holds no events"),
        (pl.LazyFrame({"a": [1]}), r"collect\(\)"),
        (pl.Series([1]), "give a frame"),
        (pd.Series([1]), "give a frame"),
        (pa.chunked_array([[1]]), "not give a stream of rows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_source(source, message):
    with pytest.raises(EventError, match=message):
        read_events(source)


def test_other_sources():
    event = Event({"a": 1})
    assert list(read_events(event)) == [event]
    assert list(read_events({"a": row}["a"] for row in [event, {"a": 1}])) == [event, event]
    with pytest.raises(EventError, match="row 1: an event is a mapping, not a int"):
        list(read_events([{}, 5]))
    with pytest.raises(EventError, match="a list is not a frame"):
        read_frame([{}])

    class Subclass(pd.DataFrame):
        pass

    assert list(read_events(Subclass({"a": [1]}))) == [event]


def test_the_import_is_light():
    program = (
        "import sys, tamis.model.events.readers as r; list(r.read_events([{'a': r.read_json('{}')"
        ".attributes}])); print({'pyarrow', 'pandas', 'polars', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "set()", run.stderr


def test_a_schema_types_strings() -> None:
    schema = tamis.Schema(attributes={"at": "timestamp"})
    moment = tamis.Timestamp.parse("2026-01-01T00:00Z")
    expected = [tamis.Event({"at": moment, "s": "2026-01-01"})]
    row = {"at": "2026-01-01", "s": "2026-01-01"}
    assert list(tamis.read_events([row], schema=schema)) == expected
    assert list(tamis.read_events(pa.Table.from_pylist([row]), schema=schema)) == expected
    assert [tamis.read_json(json.dumps(row), schema=schema)] == expected
    assert list(tamis.read_ndjson([json.dumps(row)], schema=schema)) == expected


INSIDE = pa.struct({"x": pa.int64()})
# What stands at ``a``, a type of Arrow for it, and whether ``a`` and ``a.x`` are present.
PRESENCE = [
    (None, pa.int64(), (False, False)),
    (0, pa.int64(), (True, False)),
    ("", pa.string(), (True, False)),
    (b"", pa.binary(), (True, False)),
    ([], pa.list_(pa.int64()), (True, False)),
    ([None], pa.list_(pa.int64()), (True, False)),
    ([[]], pa.list_(pa.list_(pa.int64())), (True, False)),
    ({}, INSIDE, (True, False)),
    ({}, pa.map_(pa.string(), pa.int64()), (True, False)),
    ({"x": None}, INSIDE, (True, False)),
    ({"x": None}, pa.map_(pa.string(), pa.int64()), (True, False)),
    ({"x": 1}, INSIDE, (True, True)),
    ({"x": []}, pa.struct({"x": pa.list_(pa.int64())}), (True, True)),
    ({"x": {}}, pa.struct({"x": INSIDE}), (True, True)),
    ([{}], pa.list_(INSIDE), (True, False)),
    ([{"x": None}], pa.list_(INSIDE), (True, False)),
    ([{"x": None}, {"x": 1}], pa.list_(INSIDE), (True, True)),
    ([{"x": []}], pa.list_(pa.struct({"x": pa.list_(pa.int64())})), (True, True)),
]


@pytest.mark.parametrize(("value", "arrow_type", "present"), PRESENCE, ids=repr)
def test_every_reader_agrees_on_what_is_present(value, arrow_type, present):
    plain = list(value.items()) if pa.types.is_map(arrow_type) else value
    table = pa.table({"a": pa.array([plain], arrow_type)})
    sources = [
        [{"a": value}],
        table,
        table.to_batches()[0],
        table.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame({"a": pd.Series([value], dtype=object)}),
    ]
    if not pa.types.is_map(arrow_type):  # Polars makes a list of pairs of a map
        sources.append(pl.from_arrow(table))
    events = [event for source in sources for event in read_events(source)]
    if not isinstance(value, bytes):
        events.append(read_json(json.dumps({"a": value})))
    assert len(events) >= len(sources)
    for event in events:
        assert (event.present(("a",)), event.present(("a", "x"))) == present
