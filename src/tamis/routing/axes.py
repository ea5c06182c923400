"""The numbers of attributes, and of the single values that filters ask for.

    axis    0 color   1 price                     key   1 color 'red'   2 price 9   3 color 'blue'

A question about a value that no filter asks for makes no number: it has the key NO_VALUE. Values
that no filter asks for any more keep theirs until the groups of boxes that had them are gone.
"""

from __future__ import annotations

import numpy as np

from tamis.model.paths import Path
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.box_groups import LOOSE, RANGE, BoxSides
from tamis.routing.filters import Filter, Side

NO_VALUE = 0
"""The key of a single value that no filter asks for."""


class Axes:
    """Attributes and single values by number."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._facts = facts
        self._axes: dict[Path, int] = {}
        self._keys: dict[tuple[int, object], int] = {}
        self._uses = [0]
        """By key: how many filters ask for its value."""
        self._free: list[int] = []
        self.unused = 0
        """Values that have a number, but that no filter asks for."""
        self._last: tuple[Filter, BoxSides] | None = None
        """The filter that was asked for last: most are asked for several times in a row."""
        self.unique = np.zeros(0, np.bool_)
        """By axis: whether its attribute has one value at most."""
        self.is_nested = False
        """Whether one of the attributes lies inside another one."""

    def hold(self, filter: Filter) -> None:
        """Give numbers to the values of a filter that comes to stay."""
        for key in self._values(filter):
            number = self._keys.get(key)
            if number is None:
                number = self._keys[key] = self._free.pop() if self._free else len(self._uses)
                self._last = None
                if number == len(self._uses):
                    self._uses.append(0)
            elif self._uses[number] == 0:
                self.unused -= 1
            self._uses[number] += 1

    def release(self, filter: Filter) -> None:
        """The filter goes."""
        for key in self._values(filter):
            number = self._keys[key]
            self._uses[number] -= 1
            self.unused += self._uses[number] == 0

    def forget_unused(self) -> None:
        """Let values that no filter asks for have no numbers; no group of boxes may have them."""
        gone = [key for key, number in self._keys.items() if self._uses[number] == 0]
        self._free += [self._keys.pop(key) for key in gone]
        self.unused, self._last = 0, None

    def _values(self, filter: Filter) -> list[tuple[int, object]]:
        return [
            (self._axis(path), side.key)
            for path, side in filter.sides.items()
            if side.key is not None and not side.loose
        ]

    def sides(self, filter: Filter) -> BoxSides:
        """The sides of a filter by numbers."""
        if self._last is not None and self._last[0] is filter:
            return self._last[1]
        rows = sorted([self._row(path, side) for path, side in filter.sides.items()])
        axis, key, low, high = zip(*rows, strict=True) if rows else ((), (), (), ())
        sides = BoxSides(
            np.array(axis, np.int32),
            np.array(key, np.int32),
            np.array(low, np.int64),
            np.array(high, np.int64),
        )
        self._last = filter, sides
        return sides

    def _row(self, path: Path, side: Side) -> tuple[int, int, int, int]:
        axis = self._axis(path)
        if side.loose:
            key = LOOSE
        elif side.key is None:
            key = RANGE
        else:
            key = self._keys.get((axis, side.key), NO_VALUE)
        return axis, key, side.low, side.high

    def _axis(self, path: Path) -> int:
        number = self._axes.get(path, -1)
        if number < 0:
            number = self._axes[path] = len(self._axes)
            self.unique = np.append(self.unique, self._facts.unique(path))
            self.is_nested |= len(path) > 1
        return number
