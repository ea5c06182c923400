"""The point of one event without lists, key by key: what the event lacks costs nothing.

A segment of a wide rule base has hundreds of axes, and an event a few attributes. So a point
begins as the one of an empty event, and each attribute writes its ranks into it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tamis.matching.axes.axis import AxisKey
from tamis.matching.lines.registry import MISSING, PRESENT
from tamis.model.events.event import Event, single_node
from tamis.model.kinds import Value
from tamis.model.paths import Path

ABSENT = -1
"""The rank of an attribute that is not there."""


class Ranked(Protocol):
    """An axis, finished or live."""

    key: AxisKey

    def rank(self, value: Value) -> int:
        """The rank of a value, or -1."""

    def ranker(self) -> tuple[Callable[[Any], int], Collection[type]]:
        """What gives the rank of a value, and the types of those values that have one."""

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""


class _Place(NamedTuple):
    number: int
    rank: Callable[[Any], int]
    types: Collection[type]
    """Those of values that have a rank."""
    path: Path
    """Behind the outermost key."""
    presence: bool


class Projection:
    """From an event to its ranks on some axes; axes may be added."""

    def __init__(self, axes: Iterable[Ranked], dtype: Any) -> None:
        axes = list(axes)
        ranks = [_default(axis.key) for axis in axes]
        self.empty: NDArray[Any] = np.array([*ranks, 0], dtype)
        """The point of an event without attributes, and a 0 behind it."""
        self._places: dict[str, list[_Place]] = {}
        self._bound: set[str] = set()
        """Keys below which a list has a point for each element; but for whether there is a list at
        all, its elements do not matter."""
        for number, axis in enumerate(axes):
            self._add_place(number, axis)

    def add(self, axis: Ranked) -> None:
        """Take in one axis more."""
        number = len(self.empty) - 1
        self._add_place(number, axis)
        empty = np.append(self.empty, self.empty[-1:])
        empty[number] = _default(axis.key)
        self.empty = empty

    def _add_place(self, number: int, axis: Ranked) -> None:
        path, presence = axis.key.path, axis.key.sort.is_presence
        place = _Place(number, *axis.ranker(), path[1:], presence)
        self._places.setdefault(path[0], []).append(place)
        if not presence or len(path) > 1:
            self.bind(path)

    def bind(self, path: Path) -> None:
        """Let an event with a list on the way to an attribute be a point for each element."""
        self._bound.add(path[0])

    def can_tell(self, event: Event) -> bool:
        """Whether no list is on the way to an axis, so that an event is one point."""
        return self._bound.isdisjoint(event.multiple)

    def point(self, event: Event) -> NDArray[Any]:
        """The ranks of an event, and a 0 behind them."""
        point = self.empty.copy()
        end = len(point) - 1
        places = self._places
        for key, value in event.attributes.items():
            for number, rank, types, path, presence in places.get(key, ()):
                if number >= end:  # it came just now
                    continue
                node = single_node(value, path) if path else value
                if type(node) in types:
                    point[number] = rank(node)
                elif presence and node is not None:
                    point[number] = PRESENT
        return point


def _default(key: AxisKey) -> int:
    return MISSING if key.sort.is_presence else ABSENT
