"""From events to points in rank space: a rank on each axis, -1 where there is none.

An event with lists has a point for each binding of the attributes that some axis is about; an
event with more of them than ``MAX_POINTS`` is left to the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.arrays.arrow_types import strings_of
from tamis.arrays.types import Int32s, Int64s, Ranks
from tamis.bindings.choices import bindings, count_bindings
from tamis.matching.points.of_one_event import Ranked
from tamis.model.events.event import Event, single_value
from tamis.model.kinds import Value
from tamis.model.paths import Path

MAX_POINTS = 4_096


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
    leaves = Leaves(valued)
    if not any(event.multiple for event in events):
        ranks = np.empty((len(events), len(axes)), dtype)
        for row, event in enumerate(events):
            ranks[row] = [_rank(event, axis) for axis in axes]
            for path in valued:
                leaves.add(path, single_value(event.attributes, path))
        return Points(ranks, None, [], leaves.values(), dict(leaves.leaves))
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


def _rank(event: Event, axis: Ranked) -> int:
    if axis.key.sort.is_presence:
        return axis.presence(event)
    value = single_value(event.attributes, axis.key.path)
    return -1 if value is None else axis.rank(value)


def _bound_rank(event: Event, axis: Ranked, value: Value | None) -> int:
    if axis.key.sort.is_presence:
        return axis.presence(event)
    return -1 if value is None else axis.rank(value)
