"""From events to points in rank space: a rank on each axis, -1 where there is none.

An event with lists has a point for each binding of the attributes that some axis is about. Of an
event with more of them than ``MAX_POINTS`` none are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays.arrow_types import strings_of
from tamis.arrays.types import Int32s, Int64s, Ranks
from tamis.bindings.choices import bindings, count_bindings
from tamis.matching.axes.axis import Axis
from tamis.matching.points.of_one_event import Ranked
from tamis.model.events.event import Event, Node, single_value
from tamis.model.kinds import Value
from tamis.model.paths import Path

MAX_POINTS = 256
"""Points that are made of one event; the lists of others are looked at one by one (of_lists.py)."""


@dataclass(slots=True)
class Points:
    """Points, the events that they belong to (ascending), and events that have too many.

    Of some attributes the values themselves are there: point i is bound to ``leaves[path][j]``, j
    being ``values[path][i]``, or -1 if to none.
    """

    ranks: Ranks  # [points, axes]
    row: Int64s | None  # None: point i is event i
    left: list[int]
    values: dict[Path, Int32s] = field(default_factory=dict)
    leaves: dict[Path, Any] = field(default_factory=dict)
    """Arrays of Arrow, or lists."""
    _strings: dict[Path, Any] = field(default_factory=dict)

    def strings(self, path: Path) -> Any:
        """The leaves of an attribute as large strings, or None; made once."""
        if path not in self._strings:
            self._strings[path] = strings_of(self.leaves.get(path))
        return self._strings[path]


class Leaves:
    """The values of some attributes, as they come in."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.leaves: dict[Path, list[Value]] = {path: [] for path in paths}
        self._values: dict[Path, list[int]] = {path: [] for path in paths}

    def add(self, path: Path, value: Value | None) -> None:
        """What the next point is bound to."""
        self._values[path].append(-1 if value is None else len(self.leaves[path]))
        if value is not None:
            self.leaves[path].append(value)

    def values(self) -> dict[Path, Int32s]:
        """For each point the number of its leaf."""
        return {path: np.array(found, np.int32) for path, found in self._values.items()}


def points_of(
    events: Sequence[Event],
    axes: Sequence[Ranked],
    valued: Sequence[Path] = (),
    dtype: Any = np.int32,
) -> Points:
    """The points of events, with the values of some attributes."""
    if not any(event.multiple for event in events):
        return _single_points(events, axes, valued, dtype)
    leaves = Leaves(valued)
    paths = sorted({*valued, *(axis.key.path for axis in axes if not axis.key.sort.is_presence)})
    found: list[list[int]] = []
    rows: list[int] = []
    left: list[int] = []
    for row, event in enumerate(events):
        if count_bindings(event, paths) > MAX_POINTS:
            left.append(row)
            continue
        for binding in bindings(event, paths, MAX_POINTS):
            found.append([_bound_rank(event, axis, binding.get(axis.key.path)) for axis in axes])
            rows.append(row)
            for path in valued:
                leaves.add(path, binding.get(path))
    ranks = np.array(found, dtype).reshape(len(found), len(axes))
    owners = np.array(rows, np.int64)
    return Points(ranks, owners, left, leaves.values(), dict(leaves.leaves))


def _single_points(
    events: Sequence[Event], axes: Sequence[Ranked], valued: Sequence[Path], dtype: Any
) -> Points:
    """The points of events without lists, attribute by attribute: values of one type are a column
    of Arrow's, whose ranks compiled code finds."""
    ranks = np.full((len(events), len(axes)), -1, dtype, order="F")
    by_path: dict[Path, list[int]] = {path: [] for path in valued}
    for number, axis in enumerate(axes):
        if axis.key.sort.is_presence:
            ranks[:, number] = [axis.presence(event) for event in events]
        else:
            by_path.setdefault(axis.key.path, []).append(number)
    points = Points(ranks, None, [])
    trees = [event.attributes for event in events]
    for path, numbers in by_path.items():
        values, kinds = _values_at(path, trees)
        column = _column(values, kinds)
        for number in numbers:
            axis = axes[number]
            if column is not None and isinstance(axis, Axis):
                ranks[:, number] = axis.ranks(column)
            elif kinds:
                ranks[:, number] = [-1 if each is None else axis.rank(each) for each in values]
        if path in valued:
            there = np.array([value is not None for value in values], bool)
            points.leaves[path] = column if kinds == {str} else values
            points.values[path] = np.where(there, np.arange(len(values)), -1).astype(np.int32)
    return points


def _values_at(
    path: Path, trees: Sequence[dict[str, Node]]
) -> tuple[list[Value | None], set[type]]:
    """The value of each event at a path, and the types of the values."""
    found: list[Any] = [tree.get(path[0]) for tree in trees]
    kinds = set(map(type, found))
    if len(path) > 1 or dict in kinds or list in kinds:
        found = [single_value(tree, path) for tree in trees]
        kinds = set(map(type, found))
    return found, kinds - {type(None)}


def _column(values: Sequence[Value | None], kinds: set[type]) -> Any:
    """Values of one type as a column; None if they are of several types, or of others."""
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind not in _COLUMNS or (kind is int and not all(map(_is_small, values))):
        return None
    return pa.array(values, _COLUMNS[kind])


def _is_small(value: Any) -> bool:
    return value is None or -(2**63) <= value < 2**63


_COLUMNS: dict[type, Any] = {
    str: pa.large_string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
}


def _bound_rank(event: Event, axis: Ranked, value: Value | None) -> int:
    if axis.key.sort.is_presence:
        return axis.presence(event)
    return -1 if value is None else axis.rank(value)
