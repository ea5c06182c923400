"""Labels of numbered terms, from which is-a is read off without a walk.

Every term stands below its first parent in a tree (nesting.py), where is-a is a test whether an end
lies between two others. For what further parents bring, a term has its *sides*: the ancestors that
are not above it in the tree, and of those only the lowest.

    furniture       regalia          throne: chair, regalia
        |              |             sides of throne: regalia
      chair          crown
        |                            throne is a regalia: a side of it lies in regalia
     throne

A term is a kind of another if it, or one of its sides, lies in the other. Sides are sorted, so that
one search finds it. A term with one parent shares the sides of its parent: these belong to a
*group*, and only terms with several parents begin one, a common one if their parents are the same.

This is the tree cover of Agrawal, Borgida and Jagadish (SIGMOD 1989) turned round: they keep with
each term the intervals of its descendants, so that a new leaf concerns all its ancestors; here it
concerns nobody else.

In a tree there are no sides. A graph in which many terms have many parents may have as many as
there are pairs of a term and an ancestor; MAX_LABELS bounds them, and the work on them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from tamis.model.limits import check_limit
from tamis.model.taxonomy.nesting import GrowingArray, Integers, Longs, Nesting, brackets

MAX_LABELS = 20_000_000
"""Sides that terms with several parents may inherit, all together."""


Parents = tuple[int, ...]


class LabelArrays(NamedTuple):
    """Labels as kernels read them; views, valid until a term is added."""

    places: Integers
    """Of both ends of each term."""
    ranks: Integers
    """Of each block."""
    group: Integers
    """Of each term."""
    start: Longs
    """Of each group, where its sides begin."""
    sides: Integers


class Labels:
    """The labels of terms 0, 1, …, each with the numbers of its parents."""

    def __init__(self, parents: Sequence[Parents], order: Sequence[int]) -> None:
        first = [above[0] if above else -1 for above in parents]
        begin, end = brackets(first, order)
        self._nesting = Nesting(begin, end)
        self._inherited = 0
        self._known: dict[Parents, int] = {}
        """The groups of terms with several parents, by these."""
        opens, closes = begin.tolist(), end.tolist()
        sides: list[list[int]] = [[]]  # the group 0 has none
        group = [0] * len(parents)
        for term in order:
            above = parents[term]
            if len(above) == 1:
                group[term] = group[above[0]]
            elif above:
                if above not in self._known:
                    groups = {group[parent] for parent in above}
                    found = list(chain(above, *(sides[each] for each in groups)))
                    self._claim(len(found))
                    self._known[above] = len(sides)
                    spans = [(opens[each], closes[each], each) for each in found]
                    sides.append(_lowest(spans, above[0]))
                group[term] = self._known[above]
        self._group = GrowingArray(np.array(group, np.int32))
        self._start = GrowingArray(np.cumsum([0, *map(len, sides)]))
        self._sides = GrowingArray(np.fromiter(chain.from_iterable(sides), np.int32))

    def arrays(self) -> LabelArrays:
        """The labels of now."""
        places, ranks = self._nesting.places.now, self._nesting.ranks.now
        return LabelArrays(places, ranks, self._group.now, self._start.now, self._sides.now)

    def is_a(self, term: int, ancestor: int) -> bool:
        """Whether the one is a kind of the other."""
        label = self._nesting.label
        low, high = label(2 * ancestor), label(2 * ancestor + 1)
        if low <= label(2 * term) <= high:
            return True
        sides = self._sides_of(self._group.item(term))
        at = bisect_left(sides, low, key=lambda side: label(2 * side))
        return at < len(sides) and label(2 * int(sides[at])) <= high

    def below(self, term: int) -> Integers:
        """The numbers of all terms that are a kind of one."""
        nesting = self._nesting
        low, high = nesting.label(2 * term), nesting.label(2 * term + 1)
        opens = nesting.labels(slice(0, None, 2))
        sides = nesting.labels(2 * self._sides.now)
        hits = np.flatnonzero((low <= sides) & (sides <= high))
        groups = np.zeros(len(self._start), np.bool_)
        groups[np.searchsorted(self._start.now, hits, "right") - 1] = True
        found = (low <= opens) & (opens <= high) | groups[self._group.now]
        return np.flatnonzero(found).astype(np.int32)

    def add(self, parents: Parents) -> None:
        """Label the next term; no other label changes."""
        group = 0
        if len(parents) == 1:
            group = self._group.item(parents[0])
        elif parents:
            group = self._common_group(parents)
        self._nesting.add(parents[0] if parents else -1)
        self._group.extend([group])

    def _common_group(self, parents: Parents) -> int:
        """The group of the terms with the same several parents."""
        group = self._known.get(parents)
        if group is None:
            found = self._brought(parents)
            self._claim(len(found))
            group = self._known[parents] = self._new_group(found, parents[0])
        return group

    def add_parents(self, term: int, parents: Parents) -> None:
        """Give a term more parents, none of them below it, and thereby sides to all below it."""
        more = self._brought(parents)
        below = self.below(term)
        old = self._group.now[below]
        groups = np.unique(old)
        self._claim(self._size(more, groups))
        new = [self._new_group(np.append(more, self._sides_of(each))) for each in groups]
        self._group.now[below] = np.array(new, np.int32)[np.searchsorted(groups, old)]
        self._known.clear()

    def check_room(self, term: int, parents: Parents, others: int) -> None:
        """Raise if a term (-1: a new one) cannot have these parents and some that are new."""
        if term < 0 and len(parents) + others < 2:
            return
        groups = np.unique(self._group.now[self.below(term)]) if term >= 0 else np.zeros(1, int)
        size = self._size(self._brought(parents), groups) + others * len(groups)
        self._check_limit(size)

    def _check_limit(self, size: int) -> None:
        what = "ancestors inherited by terms with several parents"
        check_limit(self._inherited + size, MAX_LABELS, what)

    def _claim(self, size: int) -> None:
        self._check_limit(size)
        self._inherited += size

    def _size(self, more: Integers, groups: Iterable[int]) -> int:
        return sum(len(more) + len(self._sides_of(group)) for group in groups)

    def _sides_of(self, group: int) -> Integers:
        return self._sides.now[self._start.item(group) : self._start.item(group + 1)]

    def _brought(self, parents: Parents) -> Integers:
        """Parents, and the sides of each."""
        own = np.array(parents, np.int32)
        groups = set(self._group.now[own].tolist())
        return np.concatenate([own, *map(self._sides_of, groups)])

    def _new_group(self, terms: Integers, first: int = -1) -> int:
        """The group of the lowest of some terms, but for one that is above in the tree."""
        opens, closes = self._nesting.labels(2 * terms), self._nesting.labels(2 * terms + 1)
        spans = list(zip(opens.tolist(), closes.tolist(), terms.tolist()))
        self._sides.extend(_lowest(spans, first))
        self._start.extend([len(self._sides)])
        return len(self._start) - 2

    def copy(self) -> Labels:
        """Another one, that changes on its own."""
        other = Labels.__new__(Labels)
        other._nesting = self._nesting.copy()
        other._inherited = self._inherited
        other._known = self._known.copy()
        other._group = self._group.copy()
        other._start = self._start.copy()
        other._sides = self._sides.copy()
        return other


def _lowest(spans: list[tuple[int, int, int]], first: int) -> list[int]:
    """Of terms with their ends, those that have none of the others in them, in their order and each
    once, without one that is above in the tree."""
    spans.sort()
    lowest = [ours[2] for ours, theirs in pairwise(spans) if theirs[0] > ours[1]]
    lowest.append(spans[-1][2])
    return [term for term in lowest if term != first]
