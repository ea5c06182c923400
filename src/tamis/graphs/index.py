"""The index of patterns: which of them does a publication match, and with which bindings?

    add ──> live ──full──> segment ─┐
                           segment ─┴─merged──> segment ...   the first ones are the largest

Patterns are registered under small numbers. New ones go to a live table, where the next
publication finds them; a full one becomes a segment, and segments merge when the later ones are
not much smaller than the one before. Segments never change but for the epoch in which a pattern was
removed; a *view* is the tables and the epoch of one moment, and later changes do not concern it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Flags, Int32s, Int64s
from tamis.errors import SubscriptionError
from tamis.graphs.encoding import EncodedPattern, encode_pattern
from tamis.graphs.matches import IndexView, Part
from tamis.graphs.table import (
    NEVER,
    SKETCH,
    PatternTable,
    append,
    copy_patterns,
    count_edges,
    discount,
    empty_table,
    finished,
    order_edges,
)
from tamis.model.limits import LIMITS, Limits
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import Expression, Pattern
from tamis.predicates.operands import Variable

LIVE = 4_096
"""Patterns of the live table when it is full."""
_ROOM = 8 * LIVE
"""Edges that it has room for; the last pattern may need more, then it is full before."""
_RATIO = 4
"""A segment merges with those behind it unless it is so many times larger than they are."""


class Filters(NamedTuple):
    """The filters of a pattern that no kernel tests, and its variables in order."""

    filters: tuple[Expression, ...]
    variables: tuple[Variable, ...]


class PatternIndex(Lockable):
    """Keeps patterns under numbers; one thread at a time changes it, any number match."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        super().__init__()
        self.limits = limits
        self.numbers: dict[str, int] = {}
        """The dictionary: terms that patterns mention, by their keys."""
        self.filters: dict[int, Filters] = {}
        """By the number of a pattern, what is left for Python."""
        self._counts = np.zeros(SKETCH, np.int32)
        self._segments: list[PatternTable] = []
        self._where = np.empty(0, np.int64)
        """By number, the table << 32 | the place in it; tables count from 1, 0 is nowhere."""
        self._tables: dict[int, PatternTable] = {}
        self._next_table = 1
        self._epoch = 0
        self._size = 0
        self._start_live()

    def __len__(self) -> int:
        return self._size

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._where) and self._where[number] > 0

    def holds(self, numbers: Int64s) -> Flags:
        """Which of some numbers have patterns."""
        within = (numbers >= 0) & (numbers < len(self._where))
        found: Flags = within.copy()
        found[within] = self._where[numbers[within]] > 0
        return found

    # Changes.

    def add(self, number: int, pattern: Pattern) -> None:
        """Register a pattern; the next publication sees it."""
        with self._lock:
            self._check_new(number)
            encoded = self.encoded(number, pattern)
            edges, constraint, bound = arrays_of(encoded)
            count_edges(edges, self._counts, 1)
            order_edges(edges, self._counts)
            live = self._live
            start, first = live.first[self._filled], live.first_constraint[self._filled]
            full = self._filled == len(live.number)
            if full or start + len(edges) > len(live.edges) or first + len(bound) > len(live.bound):
                self._freeze()
                live = self._live
                if len(edges) > len(live.edges) or len(bound) > len(live.bound):
                    self._start_live(edges=len(edges), constraints=len(bound))
                    live = self._live
            rest = bool(encoded.filters)
            numbers = np.array([number, len(encoded.variables), rest], np.int32)
            append(live, self._filled, edges, constraint, bound, numbers)
            self._place(number, self._live_name, self._filled)
            self._filled += 1
            self._size += 1

    def add_many(self, patterns: Mapping[int, Pattern]) -> None:
        """Register patterns as a segment of their own."""
        if len(patterns) < LIVE // 4:
            for number, pattern in patterns.items():
                self.add(number, pattern)
            return
        with self._lock:
            for number in patterns:
                self._check_new(number)
            encoded = [self.encoded(number, each) for number, each in patterns.items()]
            numbers = np.fromiter(patterns, np.int32, len(patterns))
            self.install(table_of(encoded, numbers))

    def add_new(self, patterns: Mapping[int, Pattern]) -> None:
        """Register those patterns whose numbers are not in use, of several threads that may do the
        same."""
        with self._lock:
            self.add_many({n: each for n, each in patterns.items() if n not in self})

    def install(self, table: PatternTable) -> None:
        """Take in a whole table, whose patterns have no keys yet."""
        with self._lock:
            count_edges(table.edges, self._counts, 1)
            if len(table.number):
                self._insert(finished(table, self._counts))
            self._size += len(table.number)
            self._merge()

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget patterns; views that are there still see them."""
        with self._lock:
            gone = np.unique(np.fromiter(numbers, np.int64))
            there = self.holds(gone)
            if not there.all():
                raise SubscriptionError(f"no pattern has the number {gone[~there][0]}")
            self._epoch += 1
            names, places = self._where[gone] >> 32, self._where[gone] & 0xFFFFFFFF
            for name in np.unique(names).tolist():
                table, own = self._tables[name], places[names == name]
                table.removed[own] = self._epoch
                discount(table, own, self._counts)
            self._where[gone] = 0
            self._size -= len(gone)

    def encoded(self, number: int, pattern: Pattern) -> EncodedPattern:
        """A pattern in terms of the dictionary, which learns those that it does not have."""
        known = self.numbers

        def number_of(key: str) -> int:
            found = known.get(key)
            if found is None:
                found = known[key] = len(known)
            return found

        made = encode_pattern(pattern, number_of)
        if made.filters:
            self.filters[number] = Filters(made.filters, made.variables)
        else:
            self.filters.pop(number, None)
        return made

    def _check_new(self, number: int) -> None:
        if number < 0 or number in self:
            raise SubscriptionError(f"the number {number} of a pattern is negative or in use")

    def _place(self, number: int, table: int, at: int) -> None:
        if number >= len(self._where):
            larger = np.zeros(max(1_024, 2 * (number + 1)), np.int64)
            larger[: len(self._where)] = self._where
            self._where = larger
        self._where[number] = table << 32 | at

    # Segments.

    def _start_live(self, edges: int = _ROOM, constraints: int = LIVE) -> None:
        self._live = empty_table(LIVE, edges, constraints, LIVE)
        self._live_name = self._named(self._live)
        self._filled = 0

    def _named(self, table: PatternTable) -> int:
        name = self._next_table
        self._next_table += 1
        self._tables[name] = table
        return name

    def _insert(self, segment: PatternTable) -> None:
        name = self._named(segment)
        self._place(int(segment.number.max()), name, 0)
        self._where[segment.number] = name << 32 | np.arange(len(segment.number))
        self._segments.append(segment)

    def _freeze(self) -> None:
        """Make a segment of what is live."""
        live, name = self._live, self._live_name
        kept = np.flatnonzero(live.removed[: self._filled] == NEVER)
        del self._tables[name]
        self._start_live()
        if len(kept):
            self._insert(gathered([(live, kept)], self._counts))
        self._merge()

    def _merge(self) -> None:
        """Merge the last segments while they are not much smaller than the one before."""
        behind, start = 0, len(self._segments)
        for at in range(len(self._segments) - 1, -1, -1):
            size = len(self._segments[at].number)
            if at < len(self._segments) - 1 and size < _RATIO * behind:
                start = at
            behind += size
        if start < len(self._segments) - 1:
            self._merge_from(start)

    def _merge_from(self, start: int) -> None:
        parts = [(each, np.flatnonzero(each.removed == NEVER)) for each in self._segments[start:]]
        gone = {id(table) for table, _ in parts}
        self._tables = {name: each for name, each in self._tables.items() if id(each) not in gone}
        merged = gathered(parts, self._counts)
        kept = {number: each for number, each in self.filters.items() if number in self}
        self.filters = kept  # views keep what they have
        self._segments = self._segments[:start]  # views keep the list that they have
        if len(merged.number):
            self._insert(merged)

    def settle(self) -> None:
        """Make one segment of everything."""
        with self._lock:
            self._freeze()
            if self._segments:
                self._merge_from(0)

    def contents(self) -> tuple[PatternTable, dict[str, int], dict[int, Filters]]:
        """Everything as one segment, the dictionary and the filters, for a file."""
        with self._lock:
            self.settle()
            segment = self._segments[0] if self._segments else empty_table(0, 0, 0, 0)
            return segment, self.numbers, self.filters

    def compacted(self) -> tuple[PatternIndex, Int64s]:
        """A copy of what is left, numbered from 0 on, whose dictionary has no other terms; and the
        present number of each pattern, ascending."""
        with self._lock:
            segment, numbers, filters = self.contents()
            kept = np.sort(segment.number).astype(np.int64)
            terms = np.unique(segment.edges[segment.edges >= 0])
            edges = np.where(
                segment.edges >= 0, np.searchsorted(terms, segment.edges), segment.edges
            )
            keys = list(numbers)
            made = type(self)(self.limits)
            made.numbers = {keys[term]: number for number, term in enumerate(terms.tolist())}
            made.filters = {
                int(np.searchsorted(kept, number)): each
                for number, each in filters.items()
                if number in self
            }
            number = np.searchsorted(kept, segment.number).astype(np.int32)
            made.install(segment._replace(edges=edges.astype(np.int32), number=number))
            return made, kept

    @classmethod
    def restored(
        cls,
        segment: PatternTable,
        numbers: dict[str, int],
        filters: dict[int, Filters],
        limits: Limits = LIMITS,
    ) -> PatternIndex:
        """An index with what ``contents`` gave; the segment may be read-only."""
        index = cls(limits)
        index.numbers, index.filters = numbers, filters
        if len(segment.number):
            count_edges(segment.edges, index._counts, 1)
            index._insert(segment._replace(removed=segment.removed.copy()))
            index._size = len(segment.number)
        return index

    # Publications.

    def view(self, taxonomy: Taxonomy | None = None) -> IndexView:
        """What there is now; ``taxonomy`` is for is-a constraints."""
        with self._lock:
            parts = [Part(each, len(each.number)) for each in self._segments]
            if self._filled:
                parts.append(Part(self._live, self._filled))
            return IndexView(
                tuple(parts), self._epoch, self.numbers, self.filters, self.limits, taxonomy
            )

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays; the dictionary and the filters come on top."""
        tables = [*self._segments, self._live]
        arrays = (array.nbytes for table in tables for array in table)
        return sum(arrays) + self._where.nbytes + self._counts.nbytes


def arrays_of(pattern: EncodedPattern) -> tuple[Int32s, Int32s, np.ndarray]:
    """The edges of a pattern, and its constraints in two arrays."""
    edges = np.array(pattern.edges, np.int32).reshape(-1, 3)
    constraint = np.array([each[:2] for each in pattern.constraints], np.int32).reshape(-1, 2)
    return edges, constraint, np.array([each.value for each in pattern.constraints], np.float64)


def table_of(patterns: list[EncodedPattern], numbers: Int32s) -> PatternTable:
    """Patterns in a table, without keys."""
    edges = [edge for each in patterns for edge in each.edges]
    constraints = [part for each in patterns for part in each.constraints]
    made = empty_table(len(patterns), len(edges), len(constraints), 0)
    made.edges[:] = np.array(edges, np.int32).reshape(-1, 3)
    made.constraint[:] = np.array([part[:2] for part in constraints], np.int32).reshape(-1, 2)
    made.bound[:] = [part.value for part in constraints]
    np.cumsum([len(each.edges) for each in patterns], out=made.first[1:])
    np.cumsum([len(each.constraints) for each in patterns], out=made.first_constraint[1:])
    made.variables[:] = [len(each.variables) for each in patterns]
    made.filtered[:] = [bool(each.filters) for each in patterns]
    made.number[:] = numbers
    return made


def gathered(parts: list[tuple[PatternTable, Int64s]], counts: Int32s) -> PatternTable:
    """Some patterns of several tables as one segment."""
    patterns = sum(len(kept) for _, kept in parts)
    edges = sum(int(np.diff(table.first)[kept].sum()) for table, kept in parts)
    constraints = sum(int(np.diff(table.first_constraint)[kept].sum()) for table, kept in parts)
    made = empty_table(patterns, edges, constraints, 0)
    start = 0
    for table, kept in parts:
        copy_patterns(table, kept, made, start)
        start += len(kept)
    return finished(made, counts)
