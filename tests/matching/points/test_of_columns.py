"""Points made from Arrow's columns are those made from the events of the same columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tamis
from tamis.errors import EventError
from tamis.matching.axes.axis import Axis
from tamis.matching.batch import Batch
from tamis.matching.covers.covers import cover_of
from tamis.matching.lines.taxonomy import TermLines
from tamis.matching.points import of_columns as module
from tamis.matching.points.of_columns import TooManyPointsError, UnsupportedTypeError, arrow_points
from tamis.matching.points.of_events import MAX_POINTS, Points, points_of
from tamis.matching.segments.builder import SegmentBuilder
from tamis.matching.segments.view import pointed
from tamis.model.events.readers import read_arrow
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.expression import Expression
from tests.matching.strategies import PARENTS, POOLS, Tagged, record_batches, subscriptions

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
TERMS = TermLines(Taxonomies(PARENTS))
EXAMPLES = settings().max_examples // (2 if PLAIN else 1) * 2

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

Rows = dict[int, Counter[tuple[int, ...]]]


def axes_of(expressions: Sequence[Expression | str]) -> list[Axis]:
    builder = SegmentBuilder(TERMS)
    for slot, expression in enumerate(expressions):
        read = tamis.parse(expression) if isinstance(expression, str) else expression
        builder.add(slot, cover_of(read))
    return [each.finish()[0] for each in builder.axes.builders]


ASKING = (
    *("{0} < 1.5", "{0} != 'red'", "{0} > 're'", "not {0} = true", "{0} is a 'warm'"),
    *("{0} >= timestamp '2026-01-01'", "{0} is present", "{0} = false", "{0} in (1, 'blue')"),
)


@cache
def asking(*paths: str) -> list[Axis]:
    """Axes of every sort about each path."""
    return axes_of([each.format(path) for path in paths for each in ASKING])


def rows_of(points: Points, count: int) -> Rows:
    """The points of each row, in no order."""
    rows = range(count) if points.row is None else points.row.tolist()
    assert len(points.ranks) == len(rows)
    found: Rows = {row: Counter() for row in range(count)}
    for row, ranks in zip(rows, points.ranks.tolist(), strict=True):
        found[row][tuple(ranks)] += 1
    return found


def read(batch: pa.RecordBatch, axes: Sequence[Axis]) -> Rows:
    """The points of the events of a batch."""
    points = points_of(list(read_arrow(batch)), axes)
    assert points.left == []
    return rows_of(points, batch.num_rows)


def check(batch: pa.RecordBatch, axes: Sequence[Axis]) -> None:
    found = arrow_points(batch, axes)
    assert found.left == []
    assert found.ranks.dtype == np.int32
    assert found.row is None or (np.diff(found.row) >= 0).all()
    for number, axis in enumerate(axes):
        assert found.ranks[:, number].max(initial=-1) < axis.size
    assert rows_of(found, batch.num_rows) == read(batch, axes)


def batch_of(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(c) for c in columns.values()], [*columns])


def has_runs(arrow_type: Any) -> bool:
    if isinstance(arrow_type, pa.BaseExtensionType):
        return has_runs(arrow_type.storage_type)
    children = [arrow_type.field(number).type for number in range(arrow_type.num_fields)]
    return pa.types.is_run_end_encoded(arrow_type) or any(map(has_runs, children))


# Random batches.


@settings(max_examples=EXAMPLES)
@given(batch=record_batches(), expressions=st.lists(subscriptions(), min_size=1, max_size=6))
def test_the_points_of_columns_are_those_of_events(
    batch: pa.RecordBatch, expressions: list[Expression]
) -> None:
    axes = axes_of(expressions)
    try:
        check(batch, axes)
    except TooManyPointsError:
        assume(False)
    except EventError as error:  # what Arrow cannot flatten, nobody can read
        assert "unify dictionaries" in str(error)
    except UnsupportedTypeError as unsupported:
        if "unify dictionaries" in str(unsupported.__cause__):
            assume(False)
        # runs in a null struct, of which Arrow makes invalid ones
        assert any(map(has_runs, batch.schema.types))
        ((_, _, points),) = pointed(Batch(batch), axes)
        assert rows_of(points, batch.num_rows) == read(batch, axes)


@given(batch=record_batches(max_rows=12, max_depth=2), data=st.data())
def test_slices_have_the_points_of_their_rows(batch: pa.RecordBatch, data: st.DataObject) -> None:
    axes = asking("a", "items", "items.color", "n.m", "`x.y`")
    start = data.draw(st.integers(0, batch.num_rows))
    part = batch.slice(start, data.draw(st.integers(0, batch.num_rows - start)))
    try:
        whole = rows_of(arrow_points(batch, axes), batch.num_rows)
        found = rows_of(arrow_points(part, axes), part.num_rows)
    except (TooManyPointsError, UnsupportedTypeError):
        assume(False)
    assert found == {row: whole[start + row] for row in range(part.num_rows)}


# Types one by one.


@pytest.mark.parametrize("arrow_type, pool", POOLS, ids=lambda each: str(each)[:40])
def test_every_type(arrow_type: Any, pool: list[Any]) -> None:
    array = pa.array([None, *pool, None], arrow_type)
    nested = pa.StructArray.from_arrays(
        [array], ["b"], mask=pa.array([i % 3 == 0 for i in range(len(array))])
    )
    lists = pa.ListArray.from_arrays([0, 2, 2, len(array)], array)
    axes = asking("a", "a.b")
    check(batch_of(a=array), axes)
    check(batch_of(a=array.slice(1, 2)), axes)
    check(batch_of(a=array.slice(0, 0)), axes)
    check(batch_of(a=nested), axes)
    check(batch_of(a=nested.slice(1)), axes)
    check(batch_of(a=lists), axes)
    check(batch_of(a=lists.slice(2)), axes)
    tagged = pa.ExtensionArray.from_storage(Tagged(arrow_type), array)
    check(batch_of(a=tagged), axes)
    check(batch_of(a=pa.ListArray.from_arrays([0, 2, 2, len(array)], tagged)), axes)


@pytest.mark.parametrize("arrow_type, pool", POOLS, ids=lambda each: str(each)[:40])
def test_every_type_behind_a_dictionary(arrow_type: Any, pool: list[Any]) -> None:
    indices = pa.array([None, 0, len(pool), *range(len(pool))], pa.int8())
    array = pa.DictionaryArray.from_arrays(indices, pa.array([*pool, pool[0]], arrow_type))
    lists = pa.ListArray.from_arrays([0, 2, 2, len(array)], array)
    axes = axes_of([each.format("a") for each in ASKING if "present" not in each])
    check(batch_of(a=array), axes)
    check(batch_of(a=array.slice(2)), axes)
    check(batch_of(a=lists), axes)


@pytest.mark.parametrize("text", ASKING)
@pytest.mark.parametrize(
    "values", [["red", None, None, "r"], [1, None, 2, 2], [None, None, None, True], [None] * 4]
)
def test_nulls_behind_an_encoding_are_nulls(text: str, values: list[Any]) -> None:
    """A null in a dictionary, and one in a run, which Arrow does not count."""
    plain = pa.array(values)
    entries = pa.array([values[0], None])
    encoded = [
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), plain),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), entries),
    ]
    for array in encoded:
        lists = pa.ListArray.from_arrays([0, 0, 2, 4], array)
        for column in (array, array.slice(1), lists):
            for path in ("a", "a.b"):
                axes = axes_of([text.format(path)])
                ((_, _, points),) = pointed(Batch(batch_of(a=column)), axes)
                assert rows_of(points, len(column)) == read(batch_of(a=column), axes)


def test_words_of_an_encoding_are_terms() -> None:
    """``is a`` reads every layout of strings."""
    words = pa.array(["red", None, "no term", "warm", "warm", ""])
    axes = axes_of(["a is a 'warm'", "not a is a 'blue'"])
    plain = rows_of(arrow_points(batch_of(a=words), axes), len(words))
    arrays = [
        *(words.cast(each) for each in (pa.large_string(), pa.string_view())),
        *(words.dictionary_encode(), pc.run_end_encode(words)),
        pc.run_end_encode(words.cast(pa.large_string())),
        pa.ExtensionArray.from_storage(Tagged(pa.string()), words),
    ]
    for array in arrays:
        assert rows_of(arrow_points(batch_of(a=array), axes), len(words)) == plain, array.type


# Structs and lists.


def test_a_null_struct_has_no_values() -> None:
    inner = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3])], ["b"], mask=pa.array([True, False, False])
    )
    outer = pa.StructArray.from_arrays([inner], ["a"], mask=pa.array([False, True, False]))
    batch = batch_of(n=outer)
    axes = asking("n", "n.a", "n.a.b", "n.b")
    check(batch, axes)
    present = [number for number, axis in enumerate(axes) if str(axis.key) == "n.a.b (presence)"]
    assert arrow_points(batch, axes).ranks[:, present].ravel().tolist() == [1, 1, 0]


def test_runs_under_a_null_struct_are_left_to_the_reader() -> None:
    """Also where an extension type hides them."""
    runs = pc.run_end_encode(pa.array([1, 1, 2]))
    for field in (runs, pa.ExtensionArray.from_storage(Tagged(runs.type), runs)):
        struct = pa.StructArray.from_arrays([field], ["a"], mask=pa.array([False, True, False]))
        with pytest.raises(UnsupportedTypeError, match="columns of struct"):
            arrow_points(batch_of(n=struct), asking("n.a"))


def test_an_empty_list_is_one_point_that_binds_nothing() -> None:
    item = pa.struct([("color", pa.string()), ("sizes", pa.list_(pa.int64()))])
    rows = [
        [{"color": "red", "sizes": [1, 2]}, {"color": "blue", "sizes": []}],
        [],
        None,
        [None, None],
        [None, {"color": None, "sizes": [None]}],
    ]
    batch = batch_of(items=pa.array(rows, pa.list_(item)))
    axes = asking("items", "items.color", "items.sizes")
    check(batch, axes)
    found = rows_of(arrow_points(batch, axes), len(rows))
    assert [found[row].total() for row in found] == [3, 1, 1, 1, 1]


def test_lists_within_lists() -> None:
    rows = [[[1, 2], [], None, [3]], [], [[]], None, [[None, 4]]]
    batch = batch_of(a=pa.array(rows, pa.list_(pa.list_(pa.int64()))))
    axes = asking("a")
    check(batch, axes)
    found = rows_of(arrow_points(batch, axes), len(rows))
    assert [found[row].total() for row in found] == [4, 1, 1, 1, 1]


def test_lists_side_by_side_are_combined() -> None:
    batch = batch_of(a=[[1, 2], [], [3]], b=[["x", "y", "z"], ["x", "y"], []], c=[1, 2, 3])
    axes = asking("a", "b", "c")
    check(batch, axes)
    found = rows_of(arrow_points(batch, axes), 3)
    assert [found[row].total() for row in found] == [6, 2, 1]


def test_lists_that_nobody_asks_for_are_not_opened() -> None:
    batch = batch_of(a=[1, 2], b=[[1, 2, 3], [4, 5]], m=[{"k": [1, 2]}, {"k": [3, 4]}])
    axes = asking("a", "m.other")
    assert arrow_points(batch, axes).row is None
    check(batch, axes)
    presence = axes_of(["b is present", "m.k is missing"])
    assert arrow_points(batch, presence).row is None


def test_a_key_with_a_dot_is_one_key() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1, 2]), pa.array([{"y": "red"}, None]), pa.array([{"p.q": 1}, {"p.q": 5}])],
        ["x.y", "x", "n"],
    )
    axes = asking("`x.y`", "x.y", "n.`p.q`", "n.p.q")
    check(batch, axes)


def test_no_rows_no_columns_no_axes() -> None:
    axes = asking("a", "a.b")
    empty = batch_of(a=pa.array([], pa.list_(pa.struct([("b", pa.int64())]))))
    assert arrow_points(empty, axes).ranks.shape == (0, len(axes))
    assert arrow_points(batch_of(z=[1, 2]), axes).ranks[:, 0].tolist() == [-1, -1]
    check(batch_of(z=[1, 2]), axes)
    check(pa.RecordBatch.from_arrays([pa.array([{}, None], pa.struct([]))], ["a"]), axes)
    assert arrow_points(batch_of(a=[1, 2]), []).ranks.shape == (2, 0)


# What the columns do not give.

MAP = pa.map_(pa.string(), pa.int64())
STRUCTS = pa.array([{"b": 1}, None])
LEFT_TO_THE_READER = {
    "map": pa.array([[("b", 1)], None], MAP),
    "list of maps": pa.array([[[("b", 1)]], []], pa.list_(MAP)),
    "map in a struct": pa.array([{"b": [("b", 1)]}, None], pa.struct([("b", MAP)])),
    "map under another name": pa.ExtensionArray.from_storage(
        Tagged(MAP), pa.array([[("b", 1)], None], MAP)
    ),
    "encoded struct": pa.DictionaryArray.from_arrays(pa.array([0, 1]), STRUCTS),
}


@pytest.mark.parametrize("name", LEFT_TO_THE_READER)
def test_left_to_the_reader(name: str) -> None:
    batch = batch_of(a=LEFT_TO_THE_READER[name], z=[1, 2])
    for path in ("a", "a.b", "a.b.b"):
        for text in (f"{path} > 0", f"{path} is present"):
            axes = axes_of([text])
            if path == "a.b.b" or name not in ("map in a struct", "list of maps"):
                with pytest.raises(UnsupportedTypeError):
                    arrow_points(batch, axes)
            ((_, _, points),) = pointed(Batch(batch), axes)
            assert rows_of(points, 2) == read(batch, axes)
    check(batch, asking("z"))  # of which nobody asks for the column


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.duration("s")),
        pa.array([1], pa.time32("s")),
        pa.array([1], pa.time64("us")),
        pa.array([None], pa.month_day_nano_interval()),
        pa.array([{"b": 1}], pa.struct([("b", pa.duration("s"))])),
        pa.array([[1]], pa.list_(pa.time32("s"))),
        pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64())),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    ],
    ids=lambda column: str(column.type)[:40],
)
def test_refused_types(column: pa.Array) -> None:
    """Also in a column that no axis asks for, as the reader refuses them."""
    for axes in (asking("a"), asking("z")):
        with pytest.raises(EventError, match="column 'a"):
            arrow_points(batch_of(a=column), axes)
    with pytest.raises(EventError, match="column 'a"):
        list(read_arrow(batch_of(a=column)))


def test_two_columns_of_one_name() -> None:
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(EventError, match="two columns"):
        arrow_points(twice, asking("b"))
    inner = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["b", "b"])
    with pytest.raises(EventError, match="two columns"):
        arrow_points(batch_of(a=inner), asking("z"))


INVALID = {
    "an index beyond its dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, 7], pa.int8()), pa.array(["red", None]), safe=False
    ),
    "a string that is no UTF-8": pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_data_is_an_error_of_the_reader(name: str) -> None:
    batch = batch_of(a=INVALID[name])
    lists = batch_of(a=pa.ListArray.from_arrays([0, len(batch)], INVALID[name]))
    for each in (batch, lists):
        with pytest.raises(EventError, match="invalid Arrow data"):
            list(pointed(Batch(each), axes_of(["a is a 'warm'"])))
    if "index" in name:
        for text in ASKING:
            with pytest.raises(EventError, match="invalid Arrow data"):
                list(pointed(Batch(batch), axes_of([text.format("a")])))


# Too many points.


def test_an_event_with_too_many_points() -> None:
    axes = asking("a", "b")
    side = 16
    assert side * side == MAX_POINTS
    fits = batch_of(a=[[*range(side)], [1]], b=[[*range(side)], [1]])
    assert len(arrow_points(fits, axes).ranks) == MAX_POINTS + 1
    beyond = batch_of(a=[[1], [*range(side)], [2]], b=[[1], [*range(side + 1)], [2]])
    points = arrow_points(beyond, axes)
    assert points.left == [1]
    own = points_of(list(read_arrow(beyond)), axes)
    assert own.left == [1]
    assert rows_of(points, 3) == rows_of(own, 3)


def test_a_list_with_too_many_elements() -> None:
    axes = asking("a")
    fits = batch_of(a=[[*range(MAX_POINTS)]])
    assert len(arrow_points(fits, axes).ranks) == MAX_POINTS
    assert arrow_points(batch_of(a=[[1], [*range(MAX_POINTS + 1)]]), axes).left == [1]
    ((start, _, points),) = pointed(Batch(batch_of(a=[[*range(MAX_POINTS + 1)]])), axes)
    assert (start, points.left, len(points.ranks)) == (0, [0], 0)


@pytest.mark.parametrize("several", [False, True], ids=["one list", "two lists"])
def test_a_batch_with_too_many_points(monkeypatch: pytest.MonkeyPatch, several: bool) -> None:
    monkeypatch.setattr(module, "MAX_ALTERNATIVES", 100)
    lists = [[1, 2, 3], [], [4], [5, 6, 7, 8, 9]] * 10
    columns = {"a": lists, "b": lists if several else [1] * len(lists)}
    batch = batch_of(**columns)
    axes = asking("a", "b")
    expected = read(batch, axes)
    total = sum(points.total() for points in expected.values())
    if total > 100:
        with pytest.raises(TooManyPointsError):
            arrow_points(batch, axes)
    pieces = list(pointed(Batch(batch), axes))
    assert len(pieces) == 1 if total <= 100 else len(pieces) > 1
    found: Rows = {}
    for start, piece, points in pieces:
        assert len(points.ranks) <= 100
        assert points.left == []
        assert start == len(found)
        own = rows_of(points, len(piece))
        found |= {start + row: counts for row, counts in own.items()}
    assert found == expected


def test_combinations_are_counted_before_they_are_made() -> None:
    """Ten lists of a thousand would be 10^30 points."""
    names = "abcdefghij"
    batch = batch_of(**{name: [[*range(1_000)]] * 3 for name in names})
    axes = axes_of([" and ".join(f"{name} > 1" for name in names)])
    assert arrow_points(batch, axes).left == [0, 1, 2]
    pieces = list(pointed(Batch(batch), axes))
    assert [start + row for start, _, points in pieces for row in points.left] == [0, 1, 2]
