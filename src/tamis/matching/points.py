"""From events to points in rank space: a rank on each axis, -1 where there is none.

An event with lists has a point for each binding of the attributes that some axis is about; an
event with more of them than ``MAX_POINTS`` is left to the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.bindings.choices import bindings, count_bindings
from tamis.matching.axes import PRESENCE, Axis, Ranks
from tamis.model.event import Event, Node
from tamis.model.kinds import Value
from tamis.model.paths import Path

MAX_POINTS = 4_096


class Points(NamedTuple):
    """Points, the events that they belong to (ascending), and events that have too many."""

    ranks: Ranks  # [points, axes]
    row: NDArray[np.int64] | None  # None: point i is event i
    left: list[int]


def points_of(events: Sequence[Event], axes: Sequence[Axis]) -> Points:
    """The points of events."""
    if not any(event.multiple for event in events):
        ranks = np.empty((len(events), len(axes)), np.int32)
        for row, event in enumerate(events):
            ranks[row] = [_rank(event, axis) for axis in axes]
        return Points(ranks, None, [])
    paths = sorted({axis.key.path for axis in axes if axis.key.sort != PRESENCE})
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
    ranks = np.array(found, np.int32).reshape(len(found), len(axes))
    return Points(ranks, np.array(rows, np.int64), left)


def _rank(event: Event, axis: Axis) -> int:
    if axis.key.sort == PRESENCE:
        return axis.presence(event)
    value = _value(event.attributes, axis.key.path)
    return -1 if value is None else axis.rank(value)


def _bound_rank(event: Event, axis: Axis, value: Value | None) -> int:
    if axis.key.sort == PRESENCE:
        return axis.presence(event)
    return -1 if value is None else axis.rank(value)


def _value(node: Node, path: Path) -> Value | None:
    """The value at a path of an event without lists."""
    for key in path:
        child = node.get(key) if isinstance(node, dict) else None
        if child is None:
            return None
        node = child
    return None if isinstance(node, dict | list) else node
