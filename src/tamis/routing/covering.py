"""Which filters cover which, over whole tables.

``FilterSet`` answers questions about one filter and all others, with the answers of ``covers`` and
``overlaps``, but without comparing pairs: candidates come from the box index, and only where boxes
do not say all are they compared one by one.

``CoveringTable`` keeps filters so that only those that no other covers, its *roots*, are indexed:

    root      price < 9                price > 50 and color = 'red'
                ├ price < 5                └ price = 60 and color = 'red'
                │   └ price < 2
                └ price = 8

Invariant: each filter below another is covered by it; no root covers another. An addition asks for
one root that covers the new filter, or else for those that it covers. The removal of a root adds
the filters right below it again. What is covered costs a few numbers, and no place in the index.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.relations import covers, overlaps
from tamis.routing.box_index import BoxIndex
from tamis.routing.filters import Axes, Filter

Key = TypeVar("Key", bound=Hashable)

KEPT = 1_024
"""Removed boxes that an index may keep memory for, beside as many as are there."""


class FilterSet(Generic[Key]):
    """Filters by key, under the same facts."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._axes = Axes(facts)
        self._index = BoxIndex()
        self._number: dict[Key, int] = {}
        self._keys: list[Key | None] = []
        self._free: list[int] = []
        self._never: dict[Key, Filter] = {}
        """Filters that no event matches: every other one covers them."""
        self._filters: dict[Key, Filter] = {}
        self._removed = 0
        """Since the index was built: it takes no memory back from boxes that are gone."""
        self._inexact = 0
        """Filters whose boxes do not say all."""

    def __len__(self) -> int:
        return len(self._filters)

    def __contains__(self, key: object) -> bool:
        return key in self._filters

    def __iter__(self) -> Iterator[Key]:
        return iter(self._filters)

    def __getitem__(self, key: Key) -> Filter:
        return self._filters[key]

    def add(self, key: Key, filter: Filter) -> None:
        """Take in a filter under a new key."""
        self._filters[key] = filter
        if filter.never_matches:
            self._never[key] = filter
            return
        number = self._free.pop() if self._free else len(self._keys)
        if number == len(self._keys):
            self._keys.append(None)
        self._keys[number] = key
        self._number[key] = number
        self._inexact += not filter.exact
        self._index.add(number, self._axes.sides(filter))

    def remove(self, key: Key) -> Filter:
        """Forget a filter."""
        filter = self._filters.pop(key)
        if self._never.pop(key, None) is None:
            number = self._number.pop(key)
            self._inexact -= not filter.exact
            self._index.remove(number)
            self._keys[number] = None
            self._free.append(number)
            self._removed += 1
            if self._removed > len(self._filters) + KEPT:
                self._rebuild()
        return filter

    def _rebuild(self) -> None:
        """Build the index anew; that is paid for by the removals before."""
        self._removed, self._index = 0, BoxIndex()
        for key, number in self._number.items():
            self._index.add(number, self._axes.sides(self._filters[key]))

    def covering(self, filter: Filter) -> list[Key]:
        """The filters that cover one."""
        if filter.never_matches:
            return [
                key for key, other in self._filters.items() if covers(other.region, filter.region)
            ]
        found = self._keys_of(self._index.covering(self._axes.sides(filter)).tolist())
        return [key for key in found if self._covers(self._filters[key], filter)]

    def coverer(self, filter: Filter) -> Key | None:
        """One filter that covers another, if there is one."""
        if filter.exact:
            found = self._index.covering(self._axes.sides(filter), first=True)
            for key in self._keys_of(found.tolist()):
                if self._filters[key].exact:
                    return key
            if not self._inexact:
                return None
        return next(iter(self.covering(filter)), None)

    def covered(self, filter: Filter) -> list[Key]:
        """The filters that one covers."""
        if filter.never_matches:
            return [
                key for key, never in self._never.items() if covers(filter.region, never.region)
            ]
        found = self._keys_of(self._index.covered(self._axes.sides(filter)).tolist())
        known = [key for key in found if self._covers(filter, self._filters[key])]
        return known + [
            key for key, never in self._never.items() if covers(filter.region, never.region)
        ]

    def overlapping(self, filter: Filter) -> list[Key]:
        """The filters that may match an event together with one."""
        if filter.never_matches:
            return []
        sides = self._axes.sides(filter)
        found = self._keys_of(self._index.overlapping(sides, self._axes.unique).tolist())
        return [key for key in found if overlaps(self._filters[key].region, filter.region)]

    def _keys_of(self, numbers: Iterable[int]) -> list[Key]:
        return [key for key in (self._keys[number] for number in numbers) if key is not None]

    @staticmethod
    def _covers(a: Filter, b: Filter) -> bool:
        return (a.exact and b.exact) or covers(a.region, b.region)


class RootChange(NamedTuple, Generic[Key]):
    """The filters that have become roots, and those that are roots no more."""

    added: list[Key]
    removed: list[Key]


class CoveringTable(Generic[Key]):
    """Filters of which only those that no other covers are indexed."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self.roots: FilterSet[Key] = FilterSet(facts)
        self._filters: dict[Key, Filter] = {}
        self._parent: dict[Key, Key] = {}
        self._below: dict[Key, dict[Key, None]] = {}

    def __len__(self) -> int:
        return len(self._filters)

    def __contains__(self, key: object) -> bool:
        return key in self._filters

    def __getitem__(self, key: Key) -> Filter:
        return self._filters[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._filters)

    def parent(self, key: Key) -> Key | None:
        """The filter that covers one, if it is no root."""
        return self._parent.get(key)

    def below(self, key: Key) -> list[Key]:
        """The filters right below one."""
        return list(self._below.get(key, ()))

    def add(self, key: Key, filter: Filter) -> RootChange[Key]:
        """Take in a filter under a new key."""
        self._filters[key] = filter
        coverer = self.roots.coverer(filter)
        if coverer is not None:
            self._put_below(key, coverer)
            return RootChange([], [])
        gone = self.roots.covered(filter)
        for other in gone:
            self.roots.remove(other)
            self._put_below(other, key)
        self.roots.add(key, filter)
        return RootChange([key], gone)

    def remove(self, key: Key) -> RootChange[Key]:
        """Forget a filter."""
        del self._filters[key]
        below = self._below.pop(key, {})
        parent = self._parent.pop(key, None)
        if parent is not None:
            del self._below[parent][key]
            for other in below:
                self._put_below(other, parent)
            return RootChange([], [])
        self.roots.remove(key)
        added: dict[Key, None] = {}
        for other in below:
            del self._parent[other]
        for other in below:
            change = self._place(other)
            added.update(dict.fromkeys(change.added))
            for gone in change.removed:
                del added[gone]
        return RootChange(list(added), [key])

    def _place(self, key: Key) -> RootChange[Key]:
        """Find a place for a filter that has none."""
        filter = self._filters.pop(key)
        return self.add(key, filter)

    def _put_below(self, key: Key, parent: Key) -> None:
        self._parent[key] = parent
        self._below.setdefault(parent, {})[key] = None
