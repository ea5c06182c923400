"""Which filters of a whole set cover, or overlap, a given one.

The answers are those of ``covers`` and ``overlaps``, but pairs are not compared: candidates come
from an index of boxes, and only where boxes do not say all are they compared one by one. Filters
whose boxes say all have an index of their own, so that a few others cost them nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

import numpy as np

from tamis.arrays.types import Numbers
from tamis.errors import DuplicateIdError
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.predicates.relations import covers, overlaps
from tamis.routing.axes import Axes
from tamis.routing.box_index import KEPT, BoxIndex
from tamis.routing.filters import Filter

Key = TypeVar("Key", bound=Hashable)


class FilterNames(Generic[Key]):
    """Filters by key, numbered; the numbers of those that are gone are given out again."""

    def __init__(self) -> None:
        self.number: dict[Key, int] = {}
        self._keys: list[Key | None] = []
        self._filters: list[Filter | None] = []
        self._free: list[int] = []

    def take(self, key: Key, filter: Filter) -> int:
        """The number of a new filter."""
        if key in self.number:
            raise DuplicateIdError(f"there is a filter {key!r} already; remove it first")
        if self._free:
            number = self._free.pop()
            self._keys[number], self._filters[number] = key, filter
        else:
            number = len(self._keys)
            self._keys.append(key)
            self._filters.append(filter)
        self.number[key] = number
        return number

    def leave(self, key: Key) -> int:
        """Forget a filter; return the number that it had."""
        number = self.number.pop(key)
        self._keys[number] = self._filters[number] = None
        self._free.append(number)
        return number

    def filter(self, number: int) -> Filter:
        """The filter of a number."""
        found = self._filters[number]
        assert found is not None
        return found

    def keys(self, numbers: Iterable[int]) -> list[Key]:
        """The keys of numbers."""
        known = self._keys
        return [known[number] for number in numbers]  # type: ignore[misc]


class FilterSet(Generic[Key]):
    """Filters by key, under the same facts."""

    def __init__(self, facts: Facts = NO_FACTS, names: FilterNames[Key] | None = None) -> None:
        """``names``: those of a larger set, of which this one has some."""
        self.names: FilterNames[Key] = FilterNames() if names is None else names
        self.axes = Axes(facts)
        self.exact, self.inexact = BoxIndex(), BoxIndex()
        """Filters whose boxes say all, and those whose boxes do not."""
        self._never: dict[int, None] = {}
        """Filters that no event matches: every other one covers them."""

    def __len__(self) -> int:
        return len(self.exact) + len(self.inexact) + len(self._never)

    def __contains__(self, key: object) -> bool:
        number = self.names.number.get(key)  # type: ignore[arg-type]
        return number is not None and (
            number in self.exact or number in self.inexact or number in self._never
        )

    def __iter__(self) -> Iterator[Key]:
        return iter(self.names.keys(self._numbers()))

    def __getitem__(self, key: Key) -> Filter:
        if key not in self:
            raise KeyError(key)
        return self.names.filter(self.names.number[key])

    def _numbers(self) -> list[int]:
        found = [*self.exact.numbers().tolist(), *self.inexact.numbers().tolist(), *self._never]
        return sorted(found)

    def add(self, key: Key, filter: Filter) -> None:
        """Take in a filter under a new key."""
        number = self.names.take(key, filter)
        self.axes.hold(filter)
        self.put(number)

    def remove(self, key: Key) -> Filter:
        """Forget a filter."""
        filter = self[key]
        self.take_out(self.names.leave(key), filter)
        self.release(filter)
        return filter

    def release(self, filter: Filter) -> None:
        """Let go of the values of a filter that is gone."""
        self.axes.release(filter)
        if self.axes.unused > len(self.names.number) + KEPT:
            self.exact.rebuild()
            self.inexact.rebuild()
            self.axes.forget_unused()

    def put(self, number: int) -> None:
        """Take in a filter that has a number."""
        filter = self.names.filter(number)
        if filter.never_matches:
            self._never[number] = None
        else:
            index = self.exact if filter.exact else self.inexact
            index.add(number, self.axes.sides(filter))

    def take_out(self, number: int, filter: Filter) -> None:
        """Forget a filter, but not its number."""
        if filter.never_matches:
            del self._never[number]
        else:
            (self.exact if filter.exact else self.inexact).remove(number)

    def take_out_many(self, numbers: Numbers) -> None:
        """Forget filters, but not their numbers."""
        exact = self.exact.groups.group
        are_exact = (numbers < len(exact)) & (exact[np.minimum(numbers, len(exact) - 1)] >= 0)
        self.exact.remove_many(numbers[are_exact])
        for number in numbers[~are_exact].tolist():
            self.take_out(number, self.names.filter(number))

    def covering(self, filter: Filter) -> list[Key]:
        """The filters that cover one."""
        return self.names.keys(self._covering(filter))

    def coverer(self, filter: Filter) -> Key | None:
        """One filter that covers another, if there is one."""
        number = self.relate(filter)[0]
        return None if number < 0 else self.names.keys([number])[0]

    def covered(self, filter: Filter) -> list[Key]:
        """The filters that one covers."""
        return self.names.keys(self._covered(filter))

    def overlapping(self, filter: Filter) -> list[Key]:
        """The filters that may match an event together with one."""
        return self.names.keys(self._overlapping(filter))

    def overlaps(self, filter: Filter) -> bool:
        """Whether one of the filters may match an event together with another."""
        return next(self._overlapping(filter), None) is not None

    def relate(self, filter: Filter) -> tuple[int, Numbers]:
        """The number of a filter that covers one, or -1 and the numbers of those that it covers."""
        if not filter.exact:
            coverer = next(self._covering(filter), -1)
            found = [] if coverer >= 0 else list(self._covered(filter))
            return coverer, np.array(found, np.int32)
        coverer, gone = self.exact.relate(self.axes.sides(filter))
        if coverer < 0 and self.inexact:
            coverer = self.inexact_coverer(filter)
        if coverer < 0 and (self.inexact or self._never):
            found = self.inexact.covered(self.axes.sides(filter)).tolist()
            found = [n for n in found if self._covers(filter, self.names.filter(n))]
            gone = np.concatenate((gone, np.array([*found, *self._never], np.int32)))
        return coverer, gone

    def inexact_coverer(self, filter: Filter) -> int:
        """The number of a filter that covers one but whose box does not say so, or -1."""
        found = self.inexact.covering(self.axes.sides(filter)).tolist()
        return next((n for n in found if self._covers(self.names.filter(n), filter)), -1)

    def _covering(self, filter: Filter) -> Iterator[int]:
        if filter.never_matches:
            found = self._numbers()
        else:
            sides = self.axes.sides(filter)
            found = self.exact.covering(sides).tolist() if self.exact else []
            found += self.inexact.covering(sides).tolist() if self.inexact else []
        return (number for number in found if self._covers(self.names.filter(number), filter))

    def _covered(self, filter: Filter) -> Iterator[int]:
        found = list(self._never)
        if not filter.never_matches:
            sides = self.axes.sides(filter)
            found += self.exact.covered(sides).tolist() if self.exact else []
            found += self.inexact.covered(sides).tolist() if self.inexact else []
        return (number for number in found if self._covers(filter, self.names.filter(number)))

    def _overlapping(self, filter: Filter) -> Iterator[int]:
        if filter.never_matches:
            return
        sides, unique = self.axes.sides(filter), self.axes.unique
        says_all = filter.exact and not self.axes.is_nested
        for number in self.exact.overlapping(sides, unique, touching=not says_all).tolist():
            if says_all or overlaps(self.names.filter(number).region, filter.region):
                yield number
        for number in self.inexact.overlapping(sides, unique).tolist():
            if overlaps(self.names.filter(number).region, filter.region):
                yield number

    @staticmethod
    def _covers(a: Filter, b: Filter) -> bool:
        return (a.exact and b.exact) or covers(a.region, b.region)
