"""The search: publications look up their triples, and patterns that are found are joined.

For each publication and each combination of places that some access key has, every distinct part
of its triples is looked up once. A pattern has one access key, so it is tried at most once. To try
it is a depth-first join over its edges in their order: the constants must be terms of the
publication, then each edge is the range of triples that agree with what is bound so far. A
constraint is tested as soon as its variable is bound.

Patterns of a segment with the same edges stand together. They are joined once, without their
constraints, and each tests its own on the solutions that there are, if these are not too many.

A publication of n triples costs O(n log n) and a few lookups for each triple, whatever the number
of patterns; a candidate costs O(log n) for each triple that it tries, of which there are at most
``limit``. A candidate beyond that is reported as such.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, number_of
from tamis.arrays.jit import kernel
from tamis.arrays.types import Int8s, Int32s, Int64s, Offsets
from tamis.graphs.publications import NUMBER, RESOURCE, UNDECIDED, Publications, local_number
from tamis.graphs.publications import lower_bound as _lower_bound
from tamis.graphs.table import PatternTable, find_slot, hash_of

MATCH, RECHECK, EXCEEDED = range(3)
"""What is said of a candidate: it matches; the oracle has to look at its constraints, since a
number is beyond doubles; it tries more triples than the limit allows."""
_DEPTH, _STEPS, _RECHECK, _BARE = range(4)
_SHARED_LINES, _SHARED_STEPS = 256, 4_096
"""Solutions of several patterns together, and triples tried for them, at most: beyond that the
constraints of each may save more than the others share."""
_UNKNOWN = -1
_LOW = (1 << 21) - 1
_ALL = 1 << 62


class Found(NamedTuple):
    """The candidates of a table that match."""

    row: Int32s
    """The publication."""
    place: Int32s
    """The pattern, as its place in the table."""
    status: Int8s
    first: Offsets
    """Where the bindings of each begin."""
    bindings: Int32s
    """Local numbers of terms, as many for each solution as the pattern has variables."""


class Work(NamedTuple):
    """What the join of one pattern has reached."""

    edges: Int64s
    """Its edges with local numbers instead of those of the dictionary."""
    binding: Int64s
    low: Int64s
    """For each depth, the next triple in its range."""
    high: Int64s
    order: Int64s
    """For each depth, in which order of the triples the range is."""
    bound: Int64s
    """For each depth, which places bound a variable there, as bits."""
    state: Int64s


@kernel
def new_work(edges: int) -> Work:
    """Room for the join of a pattern of so many edges."""
    return Work(
        np.empty((edges, 3), np.int64),
        np.empty(3 * edges, np.int64),
        np.empty(edges, np.int64),
        np.empty(edges, np.int64),
        np.empty(edges, np.int64),
        np.empty(edges, np.int64),
        np.zeros(4, np.int64),
    )


@kernel
def _open_range(work: Work, data: Publications, row: int) -> None:
    """Find the triples that agree with what is bound at the present depth."""
    depth = work.state[_DEPTH]
    s, p, o = work.edges[depth]
    s = s if s >= 0 else work.binding[-1 - s]
    p = p if p >= 0 else work.binding[-1 - p]
    o = o if o >= 0 else work.binding[-1 - o]
    start, end = data.first[row], data.first[row + 1]
    low, high, order = 0, _ALL, 0
    if s >= 0 and (p >= 0 or o < 0):
        low, high = s << 42, (s + 1) << 42
        if p >= 0:
            low, high = s << 42 | p << 21, (s << 42 | p << 21) + (1 << 21)
            if o >= 0:
                low, high = low | o, (low | o) + 1
    elif o >= 0 and p < 0:
        order = 2
        low, high = o << 42, (o + 1) << 42
        if s >= 0:
            low, high = o << 42 | s << 21, (o << 42 | s << 21) + (1 << 21)
    elif p >= 0:
        order = 1
        low, high = p << 42, (p + 1) << 42
        if o >= 0:
            low, high = p << 42 | o << 21, (p << 42 | o << 21) + (1 << 21)
    keys = data.spo if order == 0 else (data.pos if order == 1 else data.osp)
    work.order[depth] = order
    work.low[depth] = _lower_bound(keys, start, end, low)
    work.high[depth] = _lower_bound(keys, work.low[depth], end, high)
    work.bound[depth] = 0


@kernel
def begin(work: Work, data: Publications, row: int, table: PatternTable, at: int) -> bool:
    """Prepare to join a pattern; False if the publication lacks one of its constants."""
    low, high = data.first_known[row], data.first_known[row + 1]
    start = table.first[at]
    for e in range(table.first[at + 1] - start):
        for place in range(3):
            term = int(table.edges[start + e, place])
            if term >= 0:
                term = local_number(data.known, low, high, term)
                if term < 0:
                    return False
            work.edges[e, place] = term
    work.binding[: table.variables[at]] = -1
    work.state[:] = 0
    _open_range(work, data, row)
    return True


@kernel
def advance(
    work: Work, data: Publications, row: int, table: PatternTable, at: int, limit: int
) -> int:
    """Go on to the next solution: 1 if there is one, 0 if not, -1 beyond the limit."""
    edges = table.first[at + 1] - table.first[at]
    depth = work.state[_DEPTH]
    if depth == edges:
        depth -= 1
    while depth >= 0:
        unbind(work, depth)
        if work.low[depth] == work.high[depth]:
            depth -= 1
            continue
        work.state[_STEPS] += 1
        if work.state[_STEPS] > limit:
            return -1
        i = work.low[depth]
        work.low[depth] += 1
        if bind(work, depth, data, i) and satisfied(work, depth, data, row, table, at):
            depth += 1
            work.state[_DEPTH] = depth
            if depth == edges:
                return 1
            _open_range(work, data, row)
    return 0


@kernel
def unbind(work: Work, depth: int) -> None:
    """Free what the last triple at a depth has bound."""
    bound = work.bound[depth]
    if bound:
        for place in range(3):
            if bound >> place & 1:
                work.binding[-1 - work.edges[depth, place]] = -1
        work.bound[depth] = 0


@kernel
def bind(work: Work, depth: int, data: Publications, i: int) -> bool:
    """Bind the variables of an edge to a triple; False if one would have two values."""
    order = work.order[depth]
    key = data.spo[i] if order == 0 else (data.pos[i] if order == 1 else data.osp[i])
    a, b, c = key >> 42, key >> 21 & _LOW, key & _LOW
    for place in range(3):
        term = work.edges[depth, place]
        if term >= 0:
            continue
        turned = (place + 3 - order) % 3
        value = a if turned == 0 else (b if turned == 1 else c)
        variable = -1 - term
        if work.binding[variable] < 0:
            work.binding[variable] = value
            work.bound[depth] |= 1 << place
        elif work.binding[variable] != value:
            return False
    return True


@kernel
def satisfied(
    work: Work, depth: int, data: Publications, row: int, table: PatternTable, at: int
) -> bool:
    """Whether the constraints on what was just bound hold."""
    bound = work.bound[depth]
    if not bound or work.state[_BARE]:
        return True
    for place in range(3):
        if not bound >> place & 1:
            continue
        variable = -1 - work.edges[depth, place]
        term = data.first_term[row] + work.binding[variable]
        for c in range(table.first_constraint[at], table.first_constraint[at + 1]):
            if table.constraint[c, 0] != variable:
                continue
            kind = data.classes[term]
            if kind == UNDECIDED:
                work.state[_RECHECK] = 1
            elif not _holds(kind, data.values[term], table.constraint[c, 1], table.bound[c]):
                return False
    return True


@kernel
def _holds(kind: int, value: float, operator: int, bound: float) -> bool:
    if kind != NUMBER:
        return kind == RESOURCE and operator == 1
    if operator == 0:
        return value == bound
    if operator == 1:
        return value != bound
    if operator == 2:
        return value < bound
    if operator == 3:
        return value <= bound
    if operator == 4:
        return value > bound
    return value >= bound


@kernel
def grown(array: Any, size: int) -> Any:
    """The array with room for so many."""
    if size <= len(array):
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def candidate_heads(
    data: Publications, row: int, table: PatternTable, names: Int64s, heads: Int32s
) -> tuple[Int32s, int]:
    """The first pattern of every chain whose access key the publication has."""
    count = 0
    start, end = data.first[row], data.first[row + 1]
    if table.masks[0] and end > start:
        slot = find_slot(table, hash_of(-1, -1, -1), -1, -1, -1)
        heads = grown(heads, 1)
        heads[0] = number_of(table.slots[slot])
        count = 1
    for order in range(3):
        keys = data.spo if order == 0 else (data.pos if order == 1 else data.osp)
        for length in range(1, 4 if order == 0 else 3):
            one, two = 1 << order, 1 << (order + 1) % 3
            mask = 7 if length == 3 else (one | two if length == 2 else one)
            if not table.masks[mask]:
                continue
            shift = 63 - 21 * length
            last = np.int64(-1)
            for i in range(start, end):
                prefix = keys[i] >> shift
                if prefix == last:
                    continue
                last = prefix
                s, p, o = _named(keys[i], order, length, names)
                if mask_missing(s, p, o, mask):
                    continue
                slot = find_slot(table, hash_of(s, p, o), s, p, o)
                if table.slots[slot] != EMPTY:
                    heads = grown(heads, count + 1)
                    heads[count] = number_of(table.slots[slot])
                    count += 1
    return heads, count


@kernel
def _named(key: int, order: int, length: int, names: Int64s) -> tuple[Any, Any, Any]:
    """The first places of a key in numbers of the dictionary; -1 for the others and what it does
    not have."""
    a = names[key >> 42]
    b = names[key >> 21 & _LOW] if length > 1 else np.int64(-1)
    c = names[key & _LOW] if length > 2 else np.int64(-1)
    if order == 0:
        return a, b, c
    return (c, a, b) if order == 1 else (b, c, a)


@kernel
def mask_missing(s: int, p: int, o: int, mask: int) -> bool:
    """Whether one of the places of a mask is not known."""
    return ((s >= 0) | (p >= 0) << 1 | (o >= 0) << 2) != mask


@kernel
def names_of(data: Publications, row: int) -> Int64s:
    """For each local number that of the dictionary, or -1."""
    names = np.full(data.first_term[row + 1] - data.first_term[row], -1, np.int64)
    for i in range(data.first_known[row], data.first_known[row + 1]):
        names[data.known[i] & 0xFFFFFFFF] = data.known[i] >> 32
    return names


@kernel
def solutions_of(
    work: Work,
    data: Publications,
    row: int,
    table: PatternTable,
    at: int,
    most: int,
    limit: int,
    lines: Int32s,
) -> tuple[Int32s, int, int]:
    """The solutions of a pattern by itself: their terms, how many they are, and what is said of
    them. There are at most so many, unless the oracle has to choose among all of them."""
    size, found, said = table.variables[at], 0, 1
    while found < most or work.state[_RECHECK]:
        said = advance(work, data, row, table, at, limit)
        if said <= 0:
            break
        lines = grown(lines, (found + 1) * size)
        for v in range(size):
            lines[found * size + v] = work.binding[v]
        found += 1
    if said < 0:
        return lines, 0, EXCEEDED
    return lines, found, RECHECK if work.state[_RECHECK] else MATCH


@kernel
def shared_solutions(
    work: Work, data: Publications, row: int, table: PatternTable, at: int, lines: Int32s
) -> tuple[Int32s, int]:
    """The solutions of the edges of a pattern, whatever its constraints; -1 of too many."""
    if not begin(work, data, row, table, at):
        return lines, 0
    work.state[_BARE] = 1
    lines, found, said = solutions_of(
        work, data, row, table, at, _SHARED_LINES + 1, _SHARED_STEPS, lines
    )
    return lines, -1 if said == EXCEEDED or found > _SHARED_LINES else found


@kernel
def chosen_solutions(
    data: Publications,
    row: int,
    table: PatternTable,
    at: int,
    most: int,
    shared: Int32s,
    count: int,
    lines: Int32s,
) -> tuple[Int32s, int, int]:
    """Those of shared solutions that satisfy the constraints of a pattern, as ``solutions_of``."""
    size, found, status = table.variables[at], 0, MATCH
    for line in range(count):
        holds = True
        for c in range(table.first_constraint[at], table.first_constraint[at + 1]):
            term = data.first_term[row] + shared[line * size + table.constraint[c, 0]]
            kind = data.classes[term]
            if kind == UNDECIDED:
                status = RECHECK
            elif not _holds(kind, data.values[term], table.constraint[c, 1], table.bound[c]):
                holds = False
                break
        if holds:
            lines = grown(lines, (found + 1) * size)
            lines[found * size : (found + 1) * size] = shared[line * size : (line + 1) * size]
            found += 1
            if found >= most and status == MATCH:
                break
    return lines, found, status


@kernel
def search(
    data: Publications, table: PatternTable, count: int, epoch: int, every: bool, limits: Int64s
) -> Found:
    """The patterns that each publication matches, of the first ``count`` that are there in an
    epoch; with ``every`` solution, else with one. ``limits`` are those of edges and of triples to
    try."""
    work = new_work(limits[0])
    heads = np.empty(64, np.int32)
    lines, shared = np.empty(64, np.int32), np.empty(64, np.int32)
    rows, places, statuses = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.int8)
    first, bindings = np.zeros(64, np.int64), np.empty(256, np.int32)
    found, filled = 0, 0
    for row in range(len(data.first) - 1):
        names = names_of(data, row)
        heads, met = candidate_heads(data, row, table, names, heads)
        for h in range(met):
            at = heads[h]
            known = _UNKNOWN
            while at >= 0:
                if not table.alike[at]:
                    known = _UNKNOWN
                    if at + 1 < count and table.alike[at + 1]:
                        shared, known = shared_solutions(work, data, row, table, at, shared)
                if known != 0 and at < count and table.removed[at] > epoch:
                    most = _ALL if every or table.filtered[at] else 1
                    solutions, status = 0, MATCH
                    if known > 0:
                        lines, solutions, status = chosen_solutions(
                            data, row, table, at, most, shared, known, lines
                        )
                    elif begin(work, data, row, table, at):
                        lines, solutions, status = solutions_of(
                            work, data, row, table, at, most, limits[1], lines
                        )
                    if solutions or status == EXCEEDED:
                        size = solutions * table.variables[at]
                        bindings = grown(bindings, filled + size)
                        bindings[filled : filled + size] = lines[:size]
                        filled += size
                        rows, places = grown(rows, found + 1), grown(places, found + 1)
                        statuses, first = grown(statuses, found + 1), grown(first, found + 2)
                        rows[found], places[found], statuses[found] = row, at, status
                        found += 1
                        first[found] = filled
                at = table.next[at]
    return Found(
        rows[:found], places[:found], statuses[:found], first[: found + 1], bindings[:filled]
    )
