"""One event with long lists, as ranks that add up and do not multiply.

    {"shop": "x", "tags": ["a", "b", "c"], "items": [{"color": "red", "size": 1}, …]}

    axis          shop    tags        items.color    items.size
    group         -1      0           1              1          lists that are chosen from together
    ranks         7       3 5 9       2 4            6 -1       one for each choice of the group

An attribute below the same outermost list as another is in its group: one choice concerns both. A
group has a rank for each choice on each of its axes, and choices of different groups are free of
each other. So five lists of ten elements are fifty choices, where points (of_events.py) would be a
hundred thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays.types import Int32s, Int64s, Ranks
from tamis.bindings.choices import bindings_below, count_below
from tamis.matching.axes.axis import Axis
from tamis.model.events.event import Event, Node
from tamis.model.kinds import Value
from tamis.model.paths import Path

MAX_CHOICES = 100_000
"""Choices of one group; an event with more is left to the oracle."""
SINGLE = -1


class Choices(NamedTuple):
    """The ranks of one event; an axis behind those of the segment has the rank 0."""

    single: Ranks  # of each axis without choices
    group: Int32s  # of each axis, or SINGLE
    start: Int64s  # of the ranks of an axis in a group
    size: Int32s  # how many choices each group has
    rank: Ranks


def choices_of(event: Event, axes: Sequence[Axis]) -> Choices | None:
    """The ranks of an event on all axes; None if one group has too many choices."""
    single = np.full(len(axes) + 1, -1, np.int32)
    single[-1] = 0
    group = np.full(len(axes) + 1, SINGLE, np.int32)
    groups: dict[Path, tuple[Node, list[int]]] = {}
    for number, axis in enumerate(axes):
        path = axis.key.path
        if axis.key.sort.is_presence:
            single[number] = axis.presence(event)
            continue
        prefix, node = _outermost_list(event.attributes, path)
        if isinstance(node, list):
            groups.setdefault(prefix, (node, []))[1].append(number)
        elif node is not None and not isinstance(node, dict):
            single[number] = axis.rank(node)
    start = np.zeros(len(axes) + 1, np.int64)
    counts: list[int] = []
    ranks: list[Ranks] = [np.empty(0, np.int32)]
    total = 0
    for index, (prefix, (node, numbers)) in enumerate(groups.items()):
        paths = sorted({axes[number].key.path for number in numbers})
        if count_below(node, paths, len(prefix)) > MAX_CHOICES:
            return None
        values = _values(node, paths, len(prefix))
        counts.append(len(values[paths[0]]))
        for number in numbers:
            found = _ranks(axes[number], values[axes[number].key.path])
            group[number], start[number] = index, total
            ranks.append(found)
            total += len(found)
    return Choices(single, group, start, np.array(counts, np.int32), np.concatenate(ranks))


def _outermost_list(node: Node, path: Path) -> tuple[Path, Node | None]:
    """The first list on the way to an attribute, and where it stands; or what stands there."""
    for depth, key in enumerate(path):
        if isinstance(node, list):
            return path[:depth], node
        child = node.get(key) if isinstance(node, dict) else None
        if child is None:
            return path, None
        node = child
    return path, node


def _values(node: Node, paths: Sequence[Path], depth: int) -> dict[Path, list[Value | None]]:
    """The values of some attributes under each choice from a list and what is below it."""
    found: dict[Path, list[Value | None]] = {path: [] for path in paths}
    for binding in bindings_below(node, list(paths), depth):
        for path in paths:
            found[path].append(binding.get(path))
    return found


def _ranks(axis: Axis, values: Sequence[Any]) -> Ranks:
    if {type(value) for value in values} == {str}:  # the most common, by far
        return axis.ranks(pa.array(values, pa.large_string()))
    return np.array([-1 if each is None else axis.rank(each) for each in values], np.int32)
