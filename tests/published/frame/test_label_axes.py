"""Labels: many at once, and the way from ranks to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.axes import live as live_axes
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.live import LiveAxis, LiveLine, NoRoomError
from tamis.matching.axes.sort import AxisSort
from tamis.matching.lines.taxonomy import NO_TERMS
from tamis.model.kinds import Kind
from tamis.published.frame.label_axes import LabelAxes, finished
from tests.matching.segments.test_live import numbers


def is_in_order(line: LiveLine) -> bool:
    """Whether labels ascend with constants, and leave one for what lies between two."""
    labels = [line.labels[value] for value in line.values]
    low, high = line.begin, line._end
    gaps = np.diff([low - 1, *labels, high])
    return line.values == sorted(line.values) and bool((gaps >= 2).all())


@given(
    loads=st.lists(st.lists(numbers(), max_size=12), min_size=1, max_size=6),
    one_by_one=st.booleans(),
)
def test_labels_of_many_are_in_order(loads: list[list[Any]], one_by_one: bool) -> None:
    line = LiveLine(Kind.NUMBER, 0, 1 << 60)
    given_before: dict[Any, int] = {}
    for load in loads:
        line.label_all(load)
        if one_by_one:
            for value in load:
                line.label(value + 1)
        assert is_in_order(line)
        assert given_before.items() <= line.labels.items()
        assert set(load) <= set(line.values)
        given_before = dict(line.labels)


def test_many_loads_that_ascend_or_descend_find_room() -> None:
    for step in (1, -1):
        line = LiveLine(Kind.NUMBER, 0, 1 << 60)
        for load in range(200):
            line.label_all(range(step * 1_000 * load, step * 1_000 * (load + 1), step))
        assert is_in_order(line)
        assert len(line.values) == 200_000


def test_where_there_is_no_room_nothing_is_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    line = LiveLine(Kind.NUMBER, 0, 1_000)
    monkeypatch.setattr(live_axes, "_STEP", 4)
    line.label_all([0, 1])
    before = dict(line.labels)
    with pytest.raises(NoRoomError):
        line.label_all([2, *(each / 1_000 for each in range(1, 1_000))])
    assert line.labels == before
    assert line.values == [0, 1]


WORDS = ["", "a", "ab", "b", "é", "z"]
COLUMNS: list[tuple[AxisSort, list[Any], list[Any]]] = [
    (AxisSort.NUMBER, [0, 3, 2.5, 2**53 + 1, -7], [-8, -7, 0, 1, 2.5, 3, 2**53, 2**53 + 1, 1e300]),
    (AxisSort.STRING, ["a", "b", "é"], WORDS),
    (AxisSort.BOOLEAN, [False], [True, False]),
    (AxisSort.BOOLEAN, [], [True, False]),
    (AxisSort.MIXED, ["a", "b", 3, False], WORDS),
    (AxisSort.MIXED, ["a", "b", 3, False], [2, 3, 4]),
    (AxisSort.MIXED, ["a", "b", 3, False], [True, False]),
    (AxisSort.MIXED, ["a", "b", 3], [True, False]),
    (AxisSort.MIXED, ["a"], [float("nan"), 1.5]),
]


@pytest.mark.parametrize(("sort", "constants", "values"), COLUMNS)
def test_columns_have_the_labels_of_their_values(
    sort: AxisSort, constants: list[Any], values: list[Any]
) -> None:
    axis = LiveAxis(AxisKey(("x",), sort), NO_TERMS)
    axis.tell_gaps()
    for constant in constants:
        kind = (
            "boolean"
            if isinstance(constant, bool)
            else "string"
            if isinstance(constant, str)
            else "number"
        )
        next(line for line in axis.lines if line.kind == kind).label(constant)
    of_column, table = finished(axis, NO_TERMS)
    for column in {
        type(value): [v for v in values if type(v) is type(value)] for value in values
    }.values():
        ranks = of_column.ranks(pa.array([*column, None]))
        assert table[ranks].tolist() == [*(axis.rank(value) for value in column), -1]


def test_an_axis_is_finished_again_when_it_has_other_constants() -> None:
    axes = LabelAxes(NO_TERMS, compares=False)
    for name in "ab":
        assert axes.number(AxisKey((name,), AxisSort.NUMBER)) is not None
    axes.builders[0].lines[0].label(5)
    first = axes.view().ranking()
    assert axes.view().ranking() is first
    axes.builders[0].lines[0].label(3)
    second = axes.view().ranking()
    assert second.finished[0] is not first.finished[0]
    assert second.finished[1] is first.finished[1]
    column = second.axes[0].ranks(pa.array([3, 4, 5]))
    assert second.table[second.first[0] + column].tolist() == [
        axes.builders[0].rank(value) for value in (3, 4, 5)
    ]
    axes.number(AxisKey(("c",), AxisSort.STRING))
    assert len(axes.view().ranking().axes) == 3
