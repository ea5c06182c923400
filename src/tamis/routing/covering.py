"""Tables of filters of which only those that no other covers, the *roots*, are indexed.

    root      price < 9                price > 50 and color = 'red'
                ├ price < 5                └ price = 60 and color = 'red'
                │   └ price < 2
                └ price = 8

Invariant: each filter below another is covered by it; no root covers another. An addition asks for
one root that covers the new filter, or else for those that it covers. When a root goes, the filters
right below it look for other places, all at once. What is covered costs a few numbers, and no place
in the index (``covering_forest.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple

import numpy as np

from tamis.arrays.types import Numbers
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering_forest import CoveringForest
from tamis.routing.filter_set import FilterNames, FilterSet, Key
from tamis.routing.filters import Filter


class RootChange(NamedTuple, Generic[Key]):
    """The filters that have become roots, and those that are roots no more."""

    added: list[Key]
    removed: list[Key]


class CoveringTable(Generic[Key]):
    """Filters of which only those that no other covers are indexed."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._names: FilterNames[Key] = FilterNames()
        self.roots: FilterSet[Key] = FilterSet(facts, self._names)
        self._forest = CoveringForest()

    def __len__(self) -> int:
        return len(self._names.number)

    def __contains__(self, key: object) -> bool:
        return key in self._names.number

    def __getitem__(self, key: Key) -> Filter:
        return self._names.filter(self._names.number[key])

    def __iter__(self) -> Iterator[Key]:
        return iter(self._names.number)

    def parent(self, key: Key) -> Key | None:
        """The filter that covers one, if it is no root."""
        parent = self._forest.parent(self._names.number[key])
        return None if parent < 0 else self._names.keys([parent])[0]

    def below(self, key: Key) -> list[Key]:
        """The filters right below one."""
        return self._names.keys(self._forest.below(self._names.number[key]).tolist())

    def add(self, key: Key, filter: Filter) -> RootChange[Key]:
        """Take in a filter under a new key."""
        number = self._names.take(key, filter)
        self.roots.axes.hold(filter)
        self._forest.add(number, self.roots.axes.sides(filter), exact=_says_all(filter))
        return self._place(number, filter)

    def _place(self, number: int, filter: Filter) -> RootChange[Key]:
        coverer, gone = self.roots.relate(filter)
        if coverer >= 0:
            self._forest.put_below(np.array([number], np.int32), coverer)
            return RootChange([], [])
        if len(gone):
            self.roots.take_out_many(gone)
            self._forest.put_below(gone, number)
        self.roots.put(number)
        return RootChange(self._names.keys([number]), self._names.keys(gone.tolist()))

    def remove(self, key: Key) -> RootChange[Key]:
        """Forget a filter."""
        number = self._names.number[key]
        filter = self._names.filter(number)
        below, parent = self._forest.below(number), self._forest.parent(number)
        self._forest.put_below(below, parent)
        self._forest.remove(number)
        self._names.leave(key)
        change: RootChange[Key] = RootChange([], [])
        if parent < 0:
            self.roots.take_out(number, filter)
            added, removed = self._settle(below)
            change = RootChange(added, [key, *removed])
        self.roots.release(filter)
        return change

    def _settle(self, boxes: Numbers) -> RootChange[Key]:
        """Find places for filters that have none."""
        says_all = self._forest.arrays.exact[boxes] > 0
        roots = dict.fromkeys(self._forest.settle(boxes[says_all], self.roots.exact).tolist())
        if self.roots.inexact:
            for number in list(roots):
                filter = self._names.filter(number)
                coverer = self.roots.inexact_coverer(filter)
                if coverer >= 0:
                    self.roots.take_out(number, filter)
                    self._forest.put_below(np.array([number], np.int32), coverer)
                    del roots[number]
        removed: list[Key] = []
        for number in boxes[~says_all].tolist():
            change = self._place(number, self._names.filter(number))
            roots.update(dict.fromkeys(self._names.number[each] for each in change.added))
            for gone in change.removed:
                if roots.pop(self._names.number[gone], self) is self:
                    removed.append(gone)
        return RootChange(self._names.keys(roots), removed)


def _says_all(filter: Filter) -> bool:
    return filter.exact and not filter.never_matches
