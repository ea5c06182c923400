"""Which notifications each subscription has, in memory: the storage has them by event.

    run 0   subscription  3  3  7  9 …      sorted by subscription, then position
            position      4 90 17  4 …
    run 1   …                               later positions, fewer pairs

Each commit adds a run, and neighbours of similar size are merged, so that there are few: the idea
of an LSM tree. A table with a row for each notification would cost a page of the disk for each,
since the subscriptions that an event matches lie anywhere. 16 bytes for a notification that waits.
Those that were acknowledged go when runs are merged, and all at once when they are the greater
part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int64s


class _Run(NamedTuple):
    subscriptions: Int64s
    positions: Int64s

    def range(self, subscription: int, after: int) -> tuple[int, int]:
        """Where the notifications of a subscription stand that are behind a position."""
        first, end = np.searchsorted(self.subscriptions, (subscription, subscription + 1))
        start = first + np.searchsorted(self.positions[first:end], after, side="right")
        return int(start), int(end)


Pending = Callable[[Int64s, Int64s], Flags]


class Queues:
    """The notifications that wait, by subscription. One thread changes them, all may read."""

    def __init__(self, pending: Pending) -> None:
        """``pending`` says which notifications, by subscription and position, still matter."""
        self._pending = pending
        self._runs: tuple[_Run, ...] = ()
        self.waiting = 0
        """Notifications that still matter."""

    def __len__(self) -> int:
        return sum(len(run.positions) for run in self._runs)

    def clear(self) -> None:
        """Forget everything."""
        self._runs, self.waiting = (), 0

    def add(self, subscriptions: Int64s, positions: Int64s) -> None:
        """Add notifications, whose positions are greater than all before."""
        kept = self._pending(subscriptions, positions)
        subscriptions, positions = subscriptions[kept], positions[kept]
        self.waiting += len(positions)
        order = np.lexsort((positions, subscriptions))
        runs = [*self._runs, _Run(subscriptions[order], positions[order])]
        while len(runs) > 1 and len(runs[-2].positions) < 2 * len(runs[-1].positions):
            last, before = runs.pop(), runs.pop()
            runs.append(self._merged(before, last))
        self._runs = tuple(runs)

    def _merged(self, before: _Run, last: _Run) -> _Run:
        subscriptions = np.concatenate((before.subscriptions, last.subscriptions))
        positions = np.concatenate((before.positions, last.positions))
        kept = self._pending(subscriptions, positions)
        if not kept.all():
            subscriptions, positions = subscriptions[kept], positions[kept]
        order = np.argsort(subscriptions, kind="stable")  # positions of the later run are greater
        return _Run(subscriptions[order], positions[order])

    def done(self, count: int) -> None:
        """So many notifications do not matter any more."""
        self.waiting -= count
        if len(self) > 2 * self.waiting + _FEW:
            found, positions = self.upto(_LAST)
            order = np.argsort(found, kind="stable")  # runs ascend, and so do positions
            self._runs = (_Run(found[order], positions[order]),)

    def after(self, subscription: int, position: int, limit: int) -> list[int]:
        """The positions of a subscription's notifications behind one, at most so many."""
        found: list[int] = []
        for run in self._runs:
            first, end = run.range(subscription, position)
            found += run.positions[first : min(end, first + limit - len(found))].tolist()
            if len(found) >= limit:
                break
        return found

    def count(self, subscription: int, position: int) -> int:
        """How many notifications a subscription has behind a position."""
        ranges = [run.range(subscription, position) for run in self._runs]
        return sum(end - first for first, end in ranges)

    def longest(self, limit: int) -> list[tuple[int, int, int]]:
        """Subscriptions with more notifications than a limit: each with the position up to which
        they are too many, and how many these are."""
        if self.waiting <= limit:
            return []
        subscriptions, positions = self.upto(_LAST)
        order = np.argsort(subscriptions, kind="stable")  # runs ascend, and so do positions
        subscriptions, positions = subscriptions[order], positions[order]
        found, first, counts = np.unique(subscriptions, return_index=True, return_counts=True)
        many = counts > limit
        excess = counts[many] - limit
        lasts = positions[first[many] + excess - 1]
        return list(zip(found[many].tolist(), lasts.tolist(), excess.tolist()))

    def long(self, limit: int) -> list[int]:
        """Subscriptions that have more notifications here than a limit, with those that do not
        matter any more."""
        runs = self._runs
        if sum(len(run.positions) for run in runs) <= limit:
            return []
        found, counts = [], []
        for run in runs:
            first = np.flatnonzero(np.diff(run.subscriptions, prepend=-1))
            found.append(run.subscriptions[first])
            counts.append(np.diff(first, append=len(run.subscriptions)))
        subscriptions, places = np.unique(np.concatenate(found), return_inverse=True)
        many = np.bincount(places, np.concatenate(counts)) > limit
        return subscriptions[many].tolist()  # type: ignore[no-any-return]

    def upto(self, position: int) -> tuple[Int64s, Int64s]:
        """The subscriptions and positions of all that is pending up to a position."""
        subscriptions, positions = [_NONE], [_NONE]
        for run in self._runs:
            old = run.positions <= position
            subscriptions.append(run.subscriptions[old])
            positions.append(run.positions[old])
        found, where = np.concatenate(subscriptions), np.concatenate(positions)
        kept = self._pending(found, where)
        return found[kept], where[kept]

    def cut(self, position: int) -> None:
        """Forget all up to a position."""
        self.waiting -= len(self.upto(position)[0])
        kept = [(run, run.positions > position) for run in self._runs]
        runs = (_Run(run.subscriptions[new], run.positions[new]) for run, new in kept)
        self._runs = tuple(run for run in runs if len(run.positions))


_FEW = 1_000
"""Notifications that do not matter, but may stay."""
_LAST = 2**63 - 1
_NONE = np.zeros(0, np.int64)
