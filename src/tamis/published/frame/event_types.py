"""Event types (Le Subscribe, section 5): an event meets only the boxes of its own types.

    event_type contains 'toys' and price < 5        type toys, price below 5
    event_type = 'books' and price < 5              type books, event_type 'books', price below 5
    price < 5                                       no type: 0

The type of a condition is the one that it names, positively: by ``contains`` the type says all of
it, by ``=`` the side stays, for it speaks of the value that is bound. An event has points of type 0
and, besides, the same points for each of its types that some box names. A point stabs boxes of its
own type alone, and a box has one type, so a pair comes once.

There are three ways to keep types apart; all have their axes by type:

    structures   an index for each type; an axis has the same number in all
    names        one index; an attribute of each type is an axis of its own, as if its name had that
                 of the type before it
    column       one index that knows the types of boxes and points, as its tables have a column for
                 them

                 self  category  price
    type 0       -1    0         1           numbers by which the index knows the axes ("names");
    toys          4    2         3           -1 where no box of the type has a side there

An index that has all types must not let a box without sides be stabbed by points of other types:
by "names" it has a side *self*, which all points of its type have, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.types import Numbers, Offsets
from tamis.errors import TamisError
from tamis.matching.axes.axis import AxisKey
from tamis.matching.axes.builder import AxisBuilder
from tamis.matching.axes.sort import AxisSort
from tamis.matching.batch import Batch
from tamis.matching.boxes.shapes import Shape
from tamis.matching.covers.covers import Condition
from tamis.matching.covers.leaves import Holds
from tamis.matching.points.contents import ContentAxis
from tamis.model.events.event import Event
from tamis.model.kinds import Kind
from tamis.model.paths import Path
from tamis.predicates.valueset import points

STRUCTURES, NAMES, COLUMN = "structures", "names", "column"
SELF = -1
"""The axis on which every point has the label 0."""


def way_of(index: type, asked: str | None = None) -> str:
    """How an index keeps types apart: the way that it was asked for, unless it takes types.

    By default types have structures: who compares the hit counts of all boxes then does so with
    those of one type, which on W1 with 8 types is five times faster, with 64 ten times; the others
    do not care (benchmarks/papers/event_types.py).
    """
    if getattr(index, "takes_types", False):
        if asked is not None:
            raise TamisError(f"{index.__name__} keeps event types apart itself: leave out types=")
        return COLUMN
    if asked not in (None, STRUCTURES, NAMES):
        raise TamisError(f"types is {STRUCTURES!r} or {NAMES!r}, not {asked!r}")
    return asked or STRUCTURES


def typed(condition: Condition, path: Path) -> tuple[str | None, Condition]:
    """The type of a condition, given where events have theirs, and what is left to be said."""
    values = condition.sides.get(path)
    if values is not None:
        ((low, _),) = values.ranges.get(Kind.STRING, ((None, None),))[:1]
        if low is not None and len(low) > 1 and values == points([low[1]]):
            return str(low[1]), condition
    key = AxisKey(path, AxisSort.CONTAINED)
    named = [
        thing
        for found in condition.found
        for thing in found.things
        if found.key == key and len(found.things) == 1 and isinstance(thing, str)
    ]
    if not named:
        return None, condition
    name = min(named)
    left = tuple(each for each in condition.found if each != Holds(key, frozenset({name})))
    return name, condition._replace(found=left)


def type_hole(shape: Shape, path: Path) -> int | None:
    """The hole of a shape whose constants are the types of its subscriptions, if there is one."""
    string = AxisKey(path, AxisSort.STRING)
    for key, ranges, _ in shape.sides:
        if key == string and len(ranges) == 1:
            ((low, high),) = ranges
            if low.hole is not None and low.hole == high.hole and (low.after, high.after) == (0, 1):
                return low.hole
    return None


class Columns(NamedTuple):
    """The axes of all types: those of type t are start[t]:start[t + 1]."""

    start: Offsets
    column: Numbers
    """Axes as events have them, or SELF."""
    axis: Numbers
    """Numbers by which an index knows them, ascending within a type."""


class Types:
    """The types that boxes name, by numbers from 1 on, and their axes."""

    def __init__(self, way: str, path: Path) -> None:
        self.way = way
        self.path = path
        """Where events have their types."""
        self.numbers: dict[str, int] = {}
        self.axes = 0
        """One more than the greatest number of an axis."""
        self._names = [""]
        self._boxes = [0]
        """Of each type how many there are."""
        self._free: list[int] = []
        self._axes: list[dict[int, int]] = [{}]
        self._pairs: list[list[tuple[int, int]]] | None = None
        self._columns: Columns | None = None
        self.finder: FoundTypes | None = None
        """What finds the types of events, if it was asked for."""

    def number(self, name: str | None) -> int:
        """The number of a type, which is made if need be."""
        if name is None:
            return 0
        number = self.numbers.get(name)
        if number is None:
            number = self._free.pop() if self._free else len(self._boxes)
            if number == len(self._boxes):
                self._boxes.append(0)
                self._names.append("")
                self._axes.append({})
            self.numbers[name], self._names[number] = number, name
            self._pairs = self._columns = self.finder = None
        return number

    def key(self, type: int) -> int:
        """The number of the index that boxes and points of a type go to."""
        return type if self.way == STRUCTURES else 0

    def count(self, types: Numbers, change: int) -> None:
        """Note that there are boxes of some types more, or less; types without boxes go."""
        if not self.numbers:
            return
        for type, boxes in enumerate(np.bincount(types).tolist()):
            if type and boxes:
                self._boxes[type] += change * boxes
                if not self._boxes[type]:
                    self._free.append(self.numbers.pop(self._names[type]))
                    self._pairs = self._columns = self.finder = None

    def has(self, type: int, axis: int) -> bool:
        """Whether an axis of a type has a number."""
        return axis in self._axes[type]

    def axis(self, type: int, axis: int) -> int:
        """The number by which an index knows an axis of a type."""
        known = self._axes[type]
        number = known.get(axis)
        if number is None:
            number = known[axis] = self.axes if self.way == NAMES else axis
            self.axes = max(self.axes, number + 1)
            self._pairs = self._columns = None
        return number

    def axes_of(self, type: Numbers, axis: Numbers) -> Numbers:
        """The numbers by which an index knows axes of types."""
        width = int(axis.max(initial=SELF)) + 2
        used = np.zeros((len(self._boxes), width), bool)
        used[type, axis + 1] = True
        table = np.zeros(used.shape, np.int32)
        for each, place in np.argwhere(used).tolist():
            table[each, place] = self.axis(each, place - 1)
        return table[type, axis + 1] if self.way == NAMES else axis

    def pairs(self, type: int) -> list[tuple[int, int]]:
        """The axes of a type: their numbers, ascending, and how events have them."""
        if self._pairs is None:
            self._pairs = [sorted((n, axis) for axis, n in each.items()) for each in self._axes]
        return self._pairs[type]

    def columns(self) -> Columns:
        """The axes of all types."""
        if self._columns is None:
            own = [self.pairs(type) for type in range(len(self._axes))]
            flat = np.array([pair for each in own for pair in each], np.int32).reshape(-1, 2)
            start = np.cumsum([0, *map(len, own)])
            self._columns = Columns(start, flat[:, 1].copy(), flat[:, 0].copy())
        return self._columns

    def rows(self, batch: Batch) -> tuple[NDArray[np.int64], Numbers]:
        """Rows, ascending, and their types, each once."""
        finder = self.finder
        if finder is None:
            finder = self.finder = FoundTypes(self.path, self.numbers)
        return finder.rows(batch)

    def of_event(self, event: Event) -> list[int]:
        """The types of one event, ascending."""
        numbers = self.numbers
        if not numbers:
            return []
        strings = (value for value in event.values(self.path) if isinstance(value, str))
        return sorted({numbers[value] for value in strings if value in numbers})

    def names(self) -> list[str | None]:
        """The names by number."""
        return [None, *self._names[1:]]

    def base(self) -> Numbers:
        """For each number by which an index knows an axis, the axis as events have it."""
        found = np.zeros(self.axes, np.int32)
        _, column, axis = self.columns()
        found[axis] = column
        return found


class FoundTypes:
    """From the values of an attribute to numbers of types."""

    def __init__(self, path: Path, numbers: dict[str, int]) -> None:
        builder = AxisBuilder(AxisKey(path, AxisSort.CONTAINED))
        (line,) = (line for line in builder.lines if line.kind == Kind.STRING)
        names: list[str] = list(numbers)
        for after in (False, True):
            line.add_list(names, [after] * len(names))
        axis, _ = builder.finish()
        self._axis = ContentAxis(axis)
        self._type = np.zeros(axis.size, np.int32)
        self._type[[axis.rank(name) for name in names]] = list(numbers.values())

    def rows(self, batch: Batch) -> tuple[NDArray[np.int64], Numbers]:
        """Rows, ascending, and their types, each once."""
        row, rank = self._axis.contained(batch)
        type = self._type[rank]
        kept = np.flatnonzero(type)
        return row[kept].astype(np.int64), type[kept]


def typed_points(
    row: NDArray[np.int64], type: Numbers, owner: NDArray[np.int64] | None, points: int
) -> tuple[Numbers, Numbers]:
    """Points, ascending, with each of their types: first 0, then those of the rows that own them.

    owner: the rows of the points, ascending; None if point i is of row i.
    """
    index = np.arange(points) if owner is None else owner
    first, last = np.searchsorted(row, index, "left"), np.searchsorted(row, index, "right")
    count = last - first + 1
    start = np.cumsum(count) - count
    number = np.repeat(np.arange(points), count)
    within = np.arange(len(number)) - start[number]
    found = np.zeros(len(number), np.int32)
    others = np.flatnonzero(within)
    found[others] = type[first[number[others]] + within[others] - 1]
    return number.astype(np.int32), found


def names_of(chunks: Iterable[tuple[Sequence[str | None], Numbers]], types: Types) -> Numbers:
    """The numbers of types that stand in chunks: the names, and which of them stand where."""
    found = [np.empty(0, np.int32)]
    for names, which in chunks:
        found.append(np.array([types.number(name) for name in names], np.int32)[which])
    return np.concatenate(found)
