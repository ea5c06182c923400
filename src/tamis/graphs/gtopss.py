"""G-ToPSS as published: all patterns merged into one graph GM, candidates found by counting edges.

Matching (section 4.2). A publication edge (v, w) looks up v w, v ⋆i, ⋆i w and ⋆i ⋆j, and ⋆i ⋆i only
if it is a loop. Each edge of GM that it finds takes (v, w) into its binding table and counts one
for each of its subscriptions. A subscription with as many counts as edges is a candidate: the
binding tables of its edges are joined, the smallest first, and its constraints are tested.

Beyond the paper: a property may be a star too; a reset concerns every subscription that was
counted; the mapping of variables to stars can be *sparse*: variables get their stars by what is
around them, so that like edges of different subscriptions fall on one edge of GM; and joins can be
*shared*. A star has one meaning within a subscription, so whether the binding tables of two edges
of GM have a row in common is the same question for all subscriptions that have both edges. It is
answered once for a publication; a subscription with two edges that do not join is not joined.

Patterns and publications are numbered as for ``PatternIndex``, to compare algorithms and not
languages. Constraints are those of ``encoding.py``; filters that need Python are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.arrays.hash_table import EMPTY
from tamis.arrays.types import Int32s
from tamis.errors import SubscriptionError
from tamis.graphs.binding_tables import (
    EdgeCount,
    EdgeCounts,
    SharedJoins,
    count_publication,
    join_candidates,
    new_counts,
)
from tamis.graphs.encoding import EncodedPattern
from tamis.graphs.index import arrays_of
from tamis.graphs.merged_graph import (
    empty_graph,
    insert_edges,
    remove_edges,
    roomy,
    roomy_graph,
)
from tamis.graphs.publications import Publications
from tamis.graphs.table import empty_table

_SHARED = 1 << 12
"""Pairs of edges that are remembered for a publication."""


class GToPSS:
    """Subscriptions by number, in the merged graph; ``sparse`` chooses stars by structure,
    ``shared`` joins pairs of edges once for all subscriptions."""

    def __init__(self, *, sparse: bool = False, shared: bool = False) -> None:
        self.sparse = sparse
        self.shared = shared
        self._used = np.zeros(3, np.int64)
        self._graph = empty_graph()
        self._stars = np.zeros(2, np.int64)
        self._table = empty_table(64, 64, 64, 0)
        """The subscriptions themselves, by number."""
        self._taken: Int32s = np.empty(64, np.int32)
        """For each edge of theirs, the edge of GM."""
        self._is_there = np.zeros(64, bool)
        self._size = 0
        self._counting = new_counts(0, 0, 0)
        nothing = np.empty((0, 3), np.int32)
        self._sharing = SharedJoins(np.empty(0, np.int64), np.empty(0, np.int8), nothing)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._is_there))

    @property
    def size(self) -> int:
        """The number that comes next."""
        return self._size

    @property
    def edges(self) -> int:
        """How many edges GM has."""
        return int(np.count_nonzero(self._graph.properties != EMPTY))

    @property
    def nbytes(self) -> int:
        """The bytes of GM, without the subscriptions themselves."""
        return sum(array.nbytes for array in self._graph)

    def insert(self, number: int, pattern: EncodedPattern) -> None:
        """Algorithm Insert, for a subscription under a number that is greater than all before."""
        if number < self._size:
            raise SubscriptionError(f"the number {number} of a pattern is, or was, in use")
        edges = np.array(self._starred(pattern), np.int32).reshape(-1, 3)
        self._graph = roomy_graph(self._graph, self._used, len(edges))
        taken = np.empty(len(edges), np.int32)
        insert_edges(self._graph, edges, number, self._used, taken)
        self._append(number, pattern, taken)

    def _append(self, number: int, pattern: EncodedPattern, taken: Int32s) -> None:
        """Keep a subscription behind the others, for the second stage."""
        edges, constraint, bound = arrays_of(pattern)
        start = int(self._table.first[self._size])
        first = int(self._table.first_constraint[self._size])
        self._make_room(number + 1, start + len(edges), first + len(bound))
        table = self._table
        table.first[self._size : number + 1] = start
        table.first_constraint[self._size : number + 1] = first
        table.edges[start : start + len(edges)] = edges
        self._taken[start : start + len(edges)] = taken
        table.first[number + 1] = start + len(edges)
        table.constraint[first : first + len(bound)] = constraint
        table.bound[first : first + len(bound)] = bound
        table.first_constraint[number + 1] = first + len(bound)
        table.variables[number] = len(pattern.variables)
        self._is_there[number] = True
        self._size = number + 1

    def _make_room(self, size: int, edges: int, constraints: int) -> None:
        table = self._table
        self._table = table._replace(
            first=roomy(table.first, size + 1),
            edges=roomy(table.edges, edges),
            first_constraint=roomy(table.first_constraint, size + 1),
            constraint=roomy(table.constraint, constraints),
            bound=roomy(table.bound, constraints),
            variables=roomy(table.variables, size),
        )
        self._taken = roomy(self._taken, edges)
        if size > len(self._is_there):
            self._is_there = np.concatenate((self._is_there, np.zeros(2 * size, bool)))

    def remove(self, number: int) -> None:
        """Take a subscription out of GM."""
        if not 0 <= number < self._size or not self._is_there[number]:
            raise SubscriptionError(f"no pattern has the number {number}")
        first = self._table.first
        remove_edges(self._graph, self._taken[first[number] : first[number + 1]], number)
        self._is_there[number] = False

    def match(self, data: Publications) -> list[list[int]]:
        """The numbers of the subscriptions that each publication matches."""
        counting, shared = self._prepared(data)
        found = []
        for row in range(len(data)):
            count_publication(self._graph, data, row, self._stars, counting)
            numbers = join_candidates(data, row, self._table, self._taken, counting, shared)
            found.append(numbers.tolist())
        return found

    def stages(
        self, data: Publications, row: int
    ) -> tuple[Callable[[], None], Callable[[], Int32s]]:
        """The two stages for one publication, to be timed apart."""
        counting, shared = self._prepared(data)
        return (
            lambda: count_publication(self._graph, data, row, self._stars, counting),
            lambda: join_candidates(data, row, self._table, self._taken, counting, shared),
        )

    def counted(self, data: Publications, row: int) -> EdgeCount:
        """What the first stage finds of one publication."""
        counting, shared = self._prepared(data)
        count_publication(self._graph, data, row, self._stars, counting)
        touched = counting.touched[: counting.used[0]]
        sizes = np.diff(self._table.first[: self._size + 1])
        candidates = int((counting.counts[touched] >= sizes[touched]).sum())
        found = EdgeCount(len(touched), candidates, int(counting.used[1]))
        join_candidates(data, row, self._table, self._taken, counting, shared)  # which resets
        return found

    def _starred(self, pattern: EncodedPattern) -> list[tuple[int, int, int]]:
        """The edges with stars for variables, numbered from 1 in each subscription."""
        labels = {label for _, label, _ in pattern.edges if label < 0}
        vertices = list(
            dict.fromkeys(term for s, _, o in pattern.edges for term in (s, o) if term < 0)
        )
        if self.sparse:
            around = {
                star: sorted(
                    (label, o if s == star else s, s == star)
                    for s, label, o in pattern.edges
                    if star in (s, o) and label >= 0
                )
                for star in vertices
            }
            vertices.sort(key=lambda star: around[star])
        names = {star: -1 - place for place, star in enumerate(vertices)}
        properties = {star: -1 - place for place, star in enumerate(sorted(labels, reverse=True))}
        self._stars[:] = np.maximum(self._stars, [len(names), len(properties)])
        return [
            (names.get(s, s), properties.get(label, label), names.get(o, o))
            for s, label, o in pattern.edges
        ]

    def _prepared(self, data: Publications) -> tuple[EdgeCounts, SharedJoins]:
        """Counters for the largest publication, and what is shared."""
        most = int(np.diff(data.first).max(initial=0)) * int((self._stars[0] + 1) ** 2)
        rows = max(1, most * int(self._stars[1] + 1))
        have = self._counting
        enough = len(have.row) >= rows and len(have.counts) >= self._size
        if not enough or len(have.rows) < self._used[1]:
            self._counting = new_counts(2 * self._size, 2 * int(self._used[1]), rows)
        if self.shared and len(self._sharing.stars) < self._used[1]:
            graph, edges = self._graph, int(self._used[1])
            stars = np.zeros((edges, 3), np.int32)
            stars[:, [0, 2]] = graph.pair[graph.edge[:edges, 0]]
            stars[:, 1] = graph.edge[:edges, 1]
            key, joins = np.empty(_SHARED, np.int64), np.empty(_SHARED, np.int8)
            self._sharing = SharedJoins(key, joins, np.minimum(stars, 0))
        return self._counting, self._sharing
