"""The point of one event without lists, key by key: what the event lacks costs nothing.

A segment of a wide rule base has hundreds of axes, and an event a few attributes. So a point
begins as the one of an empty event, and each attribute writes its ranks into it.

    places   price → axis 0: numbers; axis 7: numbers and strings
             shop  → axis 3: strings
    inner    shop  → axis 5: whether it is there; axis 9: strings at shop.town
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol, TypeAlias

from tamis.matching.axes.axis import AxisKey
from tamis.matching.lines.line import Ranking
from tamis.matching.lines.registry import MISSING, PRESENT
from tamis.model.events.event import Event, single_node
from tamis.model.kinds import Value
from tamis.model.paths import Path

ABSENT = -1
"""The rank of an attribute that is not there."""
Point: TypeAlias = "array[int]"
"""The ranks of an event on all axes, and a 0 behind them."""
RANKS, LABELS = "i", "q"
"""The types of points: 32 bits for ranks, 64 for labels."""


class Ranked(Protocol):
    """An axis, finished or live."""

    key: AxisKey

    def rank(self, value: Value) -> int:
        """The rank of a value, or -1."""

    def ranking(self) -> tuple[Ranking, Collection[type]]:
        """What gives the rank of a value, and the types of those values that have one."""

    def presence(self, event: Event) -> int:
        """The rank of an event on an axis of presence."""


class _Place(NamedTuple):
    """An axis of an attribute at the top, by its number."""

    number: int
    types: Collection[type]
    """Those of values that have a rank."""
    ranks: Ranking


class _InnerPlace(NamedTuple):
    """An axis of what is deeper inside, or of whether something is there."""

    place: _Place
    path: Path
    """Behind the outermost key."""
    presence: bool


Places = dict[str, tuple[_Place, ...]]
InnerPlaces = dict[str, tuple[_InnerPlace, ...]]


class Projection:
    """From an event to its ranks on some axes; axes may be added.

    One thread adds axes, any number make points. They read the places first, then the empty point,
    and a writer replaces them in the other order: a point has room for all places that they see.
    """

    def __init__(self, axes: Iterable[Ranked], typecode: str) -> None:
        self.empty: Point = array(typecode, [0])
        """The point of an event without attributes."""
        self._places: Places = {}
        self._inner: InnerPlaces = {}
        self._bound: set[str] = set()
        """Keys below which a list has a point for each element; but for whether there is a list at
        all, its elements do not matter."""
        for axis in axes:
            self._take_in(axis, self._places, self._inner)

    def add(self, axis: Ranked) -> None:
        """Take in one axis more."""
        places, inner = self._places.copy(), self._inner.copy()
        self._take_in(axis, places, inner)
        self._places, self._inner = places, inner

    def _take_in(self, axis: Ranked, places: Places, inner: InnerPlaces) -> None:
        """Give an axis a place among others, and a rank in the empty point."""
        number = len(self.empty) - 1
        path, presence = axis.key.path, axis.key.sort.is_presence
        if not presence or len(path) > 1:
            self.bind(path)
        empty = self.empty[:]
        empty[number] = MISSING if presence else ABSENT
        empty.append(0)
        self.empty = empty
        ranks, types = axis.ranking()
        place = _Place(number, types, ranks)
        if presence or len(path) > 1:
            found = _InnerPlace(place, path[1:], presence)
            inner[path[0]] = (*inner.get(path[0], ()), found)
        else:
            places[path[0]] = (*places.get(path[0], ()), place)

    def bind(self, path: Path) -> None:
        """Let an event with a list on the way to an attribute be a point for each element."""
        self._bound.add(path[0])

    def can_tell(self, event: Event) -> bool:
        """Whether no list is on the way to an axis, so that an event is one point."""
        return self._bound.isdisjoint(event.multiple)

    def point(self, event: Event) -> Point:
        """The point of an event."""
        places, inner = self._places, self._inner
        point = self.empty[:]
        for key, value in event.attributes.items():
            for number, types, ranks in places.get(key, ()):
                if type(value) in types:
                    point[number] = ranks[value]
        if inner:
            _look_inside(inner, event, point)
        return point


def _look_inside(inner: InnerPlaces, event: Event, point: Point) -> None:
    """Write the ranks on the axes of what is deeper inside, or is there."""
    for key, value in event.attributes.items():
        for (number, types, ranks), path, presence in inner.get(key, ()):
            node = single_node(value, path)
            if presence:
                if node is not None:
                    point[number] = PRESENT
            elif type(node) in types:
                point[number] = ranks[node]
