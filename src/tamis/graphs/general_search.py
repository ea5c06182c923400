"""The comparators of G-ToPSS: every node of a subscription is a variable, its label a constraint.

``Ops`` indexes subscriptions by the properties of their edges, as all that is left to tell them
apart: those all of whose properties a publication has are searched for as subgraphs, edge by edge
over the publication's edges with that property. Labels are tested as soon as a node is found, which
is more than OPS is said to do. ``NaiveSearch`` has no index and tries every edge of the publication
for every edge of every subscription.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int32s, Int64s, Offsets
from tamis.graphs.encoding import EncodedPattern
from tamis.graphs.index import table_of
from tamis.graphs.publications import Publications, lower_bound
from tamis.graphs.search import Work, bind, grown, names_of, new_work, satisfied, unbind
from tamis.graphs.table import PatternTable

_LOW = (1 << 21) - 1


class NaiveSearch:
    """Tries every subscription on every publication."""

    def __init__(self, patterns: list[EncodedPattern]) -> None:
        self.table = table_of(patterns, np.arange(len(patterns), dtype=np.int32))

    def match(self, data: Publications) -> list[list[int]]:
        """The numbers of the subscriptions that each publication matches."""
        return [search_all(data, row, self.table).tolist() for row in range(len(data))]


class Ops(NaiveSearch):
    """Tries the subscriptions all of whose properties a publication has."""

    def __init__(self, patterns: list[EncodedPattern]) -> None:
        super().__init__(patterns)
        labels = self.table.edges[:, 1]
        owners = np.repeat(np.arange(len(patterns), dtype=np.int32), np.diff(self.table.first))
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        self._owners = owners[order]
        most = int(labels.max(initial=-1)) + 1
        self._first = np.searchsorted(labels[order], np.arange(most + 1)).astype(np.int64)
        self._wanted = np.bincount(owners[labels >= 0], minlength=len(patterns)).astype(np.int32)

    def match(self, data: Publications) -> list[list[int]]:
        """The numbers of the subscriptions that each publication matches."""
        return [
            search_by_property(
                data, row, self.table, self._first, self._owners, self._wanted
            ).tolist()
            for row in range(len(data))
        ]


@kernel
def search_all(data: Publications, row: int, table: PatternTable) -> Int32s:
    """Every subscription, one after the other."""
    work, names = new_work(512), names_of(data, row)
    found, size = np.empty(16, np.int32), 0
    for at in range(len(table.number)):
        if _is_subgraph(work, data, row, table, at, names, False):
            found = grown(found, size + 1)
            found[size] = at
            size += 1
    return found[:size]


@kernel
def search_by_property(
    data: Publications,
    row: int,
    table: PatternTable,
    first: Offsets,
    owners: Int32s,
    wanted: Int32s,
) -> Int32s:
    """The subscriptions that lack no property."""
    work, names = new_work(512), names_of(data, row)
    counts = np.zeros(len(wanted), np.int32)
    last = np.int64(-1)
    for i in range(data.first[row], data.first[row + 1]):
        local = data.pos[i] >> 42
        label = names[local]
        if local != last and 0 <= label < len(first) - 1:
            for place in range(first[label], first[label + 1]):
                counts[owners[place]] += 1
        last = local
    found, size = np.empty(16, np.int32), 0
    for at in range(len(wanted)):
        if counts[at] == wanted[at] and _is_subgraph(work, data, row, table, at, names, True):
            found = grown(found, size + 1)
            found[size] = at
            size += 1
    return found[:size]


@kernel
def _is_subgraph(
    work: Work,
    data: Publications,
    row: int,
    table: PatternTable,
    at: int,
    names: Int64s,
    by_property: bool,
) -> bool:
    """Whether the edges of a subscription can all be mapped to edges of the publication."""
    start, edges = table.first[at], table.first[at + 1] - table.first[at]
    work.edges[:edges] = table.edges[start : start + edges]
    work.binding[: table.variables[at]] = -1
    work.order[:edges] = 1
    work.bound[:edges] = 0
    depth = 0
    _open(work, 0, data, row, names, by_property)
    while depth >= 0:
        unbind(work, depth)
        if work.low[depth] == work.high[depth]:
            depth -= 1
            continue
        i = work.low[depth]
        work.low[depth] += 1
        if not _labels_agree(work, depth, data.pos[i], names):
            continue
        if bind(work, depth, data, i) and satisfied(work, depth, data, row, table, at):
            depth += 1
            if depth == edges:
                return True
            _open(work, depth, data, row, names, by_property)
    return False


@kernel
def _open(
    work: Work, depth: int, data: Publications, row: int, names: Int64s, by_property: bool
) -> None:
    """The publication's edges that may be tried at a depth: those of a property, or all."""
    start, end = data.first[row], data.first[row + 1]
    work.low[depth], work.high[depth] = start, end
    label = work.edges[depth, 1]
    if by_property and label >= 0:
        local = -1
        for number in range(len(names)):
            if names[number] == label:
                local = number
        work.low[depth] = lower_bound(data.pos, start, end, local << 42)
        work.high[depth] = lower_bound(data.pos, start, end, (local + 1) << 42)


@kernel
def _labels_agree(work: Work, depth: int, key: int, names: Int64s) -> bool:
    """Whether the labels of an edge's ends and of itself are those of a publication's edge."""
    s, p, o = work.edges[depth]
    if p >= 0 and names[key >> 42] != p:
        return False
    if o >= 0 and names[key >> 21 & _LOW] != o:
        return False
    return not (s >= 0 and names[key & _LOW] != s)
