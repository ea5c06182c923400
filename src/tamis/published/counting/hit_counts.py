"""Boxes that are matched by counting: their predicates in clusters, their positions, their hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.radix import sort_rows
from tamis.arrays.types import Counters, Labels, Numbers
from tamis.published.boxes import AT_MOST, BoxArrays, BoxTable, Usage
from tamis.published.counting.counting import (
    FREE,
    TOP,
    Positions,
    leave_position,
    no_positions,
    position_usage,
    take_position,
    with_positions,
)
from tamis.published.counting.predicate_clusters import (
    ENTRIES,
    PAGE,
    POSTINGS,
    Clusters,
    empty_clusters,
    insert,
    page_usage,
    remove,
    with_room,
)
from tamis.published.counting.predicate_loading import loaded
from tamis.published.predicates import (
    OPERATORS,
    first_predicate,
    is_two_sided,
    postings_of,
    predicate_count,
)

MANY = 512
"""Boxes that may be worth sorting."""


class HitCounts:
    """Boxes that are compared for every event, and boxes apart, which have been found by their
    equalities when they are asked for, so that only their other predicates are here."""

    def __init__(self, table: BoxTable) -> None:
        self._table = table
        self.clusters = empty_clusters()
        self.whole, self.apart = no_positions(), no_positions()
        self._idle: list[Counters] = []

    def __getstate__(self) -> dict[str, Any]:
        """All but the idle hits: while a copy is made, another thread may begin to count there."""
        return {**self.__dict__, "_idle": []}

    @property
    def middle(self) -> int:
        """Where the hits of the boxes that are not apart begin."""
        return len(self.apart.need)

    @contextmanager
    def lent_hits(self) -> Iterator[Counters]:
        """Hit counts, all 0, and so they must be again in the end; one thread uses them."""
        need, size = self.whole.need, self.middle + len(self.whole.need)
        try:
            hits = self._idle.pop()
        except IndexError:  # asking first whether there are some would not be safe with threads
            hits = need[:0]
        if len(hits) < size or hits.dtype != need.dtype:
            hits = np.zeros(size, need.dtype)
        yield hits
        self._idle.append(hits)

    def add(self, boxes: Numbers, apart: bool = False) -> None:
        """Take in boxes; apart from the others those without predicates get no position."""
        done = 0
        if len(boxes) >= MANY and 2 * len(boxes) > int(self.clusters.state[POSTINGS]):
            self._load(boxes, apart)
            done = len(boxes)
        while done < len(boxes):
            positions, arrays = self._positions(apart), self._table.arrays
            done = add_boxes(self.clusters, positions, arrays, boxes, done, apart)
            if done < len(boxes):
                self._make_room(int(boxes[done]), apart)

    def remove(self, boxes: Numbers, apart: bool = False) -> None:
        """Forget boxes."""
        remove_boxes(self.clusters, self._positions(apart), self._table.arrays, boxes, apart)

    def boxes(self) -> Numbers:
        """The boxes that are not apart."""
        box = self.whole.box[: self.whole.state[TOP]]
        return box[box >= 0]

    def usages(self) -> list[Usage]:
        """Memory that grows, and how much of it is used."""
        return [page_usage(self.clusters), *map(position_usage, (self.whole, self.apart))]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        tables: list[Iterable[NDArray[Any]]] = [self.clusters, self.whole, self.apart, self._idle]
        return sum(array.nbytes for table in tables for array in table)

    def predicates(self) -> int:
        """How many predicates are stored."""
        return int(distinct_predicates(self.clusters))

    def _positions(self, apart: bool) -> Positions:
        return self.apart if apart else self.whole

    def _make_positions(self, apart: bool, more: int, need: int) -> Positions:
        positions = with_positions(self._positions(apart), more, self._table.top, need)
        other = self.whole if apart else self.apart
        if other.need.dtype != positions.need.dtype:
            other = with_positions(other, 0, 0, need)
        self.whole, self.apart = (other, positions) if apart else (positions, other)
        return positions

    def _make_room(self, box: int, apart: bool) -> None:
        arrays = self._table.arrays
        axes = int(arrays.axis[arrays.begin[box] : arrays.end[box]].max(initial=-1)) + 1
        count = predicate_count(arrays, box, not apart)
        self.clusters = with_room(self.clusters, axes, count)
        self._make_positions(apart, 1, count)

    def _load(self, boxes: Numbers, apart: bool) -> None:
        """Take in many boxes at once."""
        arrays = self._table.arrays
        cluster, label = np.empty(len(boxes), np.int32), np.empty(len(boxes), np.int64)
        need = np.empty(len(boxes), np.int64)
        describe_boxes(arrays, boxes, cluster, label, need, apart)
        if apart:
            counted = need > 0
            boxes, need = boxes[counted], need[counted]
            cluster, label = cluster[counted], label[counted]
        order = np.arange(len(boxes), dtype=np.int32)
        for column in (label, cluster, need):
            order = sort_rows(order, column)
        boxes, need = boxes[order], need[order]
        positions = self._make_positions(apart, len(boxes), int(need.max(initial=0)))
        take_positions(positions, boxes, need)
        postings = postings_of(arrays, boxes, not apart)
        place = positions.place[boxes[postings.owner]]
        axes = int(postings.cluster.max(initial=-1)) // OPERATORS + 1
        self.clusters = loaded(
            self.clusters, postings._replace(owner=~place if apart else place), axes
        )


@kernel
def add_boxes(
    clusters: Clusters,
    positions: Positions,
    table: BoxArrays,
    boxes: Numbers,
    first: int,
    apart: bool,
) -> int:
    """Take in boxes from the first on; return how far there was room."""
    state, most = positions.state, (1 << 8 * positions.need.itemsize) - 1
    for i in range(first, len(boxes)):
        box = boxes[i]
        begin, end = table.begin[box], table.end[box]
        count = predicate_count(table, box, not apart)
        if (
            box >= len(positions.place)
            or (state[FREE] < 0 and state[TOP] == len(positions.need))
            or count > most
            or (end > begin and OPERATORS * (table.axis[end - 1] + 1) >= len(clusters.begin))
            or clusters.state[ENTRIES] + count > len(clusters.page)
        ):
            return i
        if apart and count == 0:
            continue
        position = take_position(positions, box, count)
        change_predicates(clusters, table, box, position, apart, True)
    return len(boxes)


@kernel
def remove_boxes(
    clusters: Clusters, positions: Positions, table: BoxArrays, boxes: Numbers, apart: bool
) -> None:
    """Forget boxes."""
    for box in boxes:
        position = positions.place[box]
        if position >= 0:
            change_predicates(clusters, table, box, position, apart, False)
            leave_position(positions, box)


@kernel
def change_predicates(
    clusters: Clusters,
    table: BoxArrays,
    box: int,
    position: int,
    apart: bool,
    adds: bool,
) -> None:
    """Insert or remove the predicates of a box; apart from the others without its equalities."""
    code = ~position if apart else position
    for side in range(table.begin[box], table.end[box]):
        low, high = table.low[side], table.high[side]
        if apart and low == high:
            continue
        operator, label = first_predicate(low, high)
        cluster = OPERATORS * table.axis[side]
        change_entry(clusters, cluster + operator, label, code, adds)
        if is_two_sided(low, high):
            change_entry(clusters, cluster + AT_MOST, high, code, adds)


@kernel
def change_entry(clusters: Clusters, cluster: int, label: int, code: int, adds: bool) -> None:
    """Insert or remove one predicate of a box."""
    if adds:
        insert(clusters, cluster, label, code)
    else:
        remove(clusters, cluster, label, code)


@kernel
def describe_boxes(
    table: BoxArrays, boxes: Numbers, cluster: Numbers, label: Labels, need: Labels, apart: bool
) -> None:
    """The first inequality of each box, or else its first predicate, and how many it needs."""
    for i, box in enumerate(boxes):
        need[i] = predicate_count(table, box, not apart)
        cluster[i] = label[i] = 0
        for side in range(table.end[box] - 1, table.begin[box] - 1, -1):
            low, high = table.low[side], table.high[side]
            if low < high or cluster[i] % OPERATORS == 0:
                operator, label[i] = first_predicate(low, high)
                cluster[i] = OPERATORS * table.axis[side] + operator


@kernel
def take_positions(positions: Positions, boxes: Numbers, need: Labels) -> None:
    """Give many boxes positions, one behind the other where none is free."""
    for i in range(len(boxes)):
        take_position(positions, boxes[i], need[i])


@kernel
def distinct_predicates(clusters: Clusters) -> int:
    """How many predicates there are, those that go on in another page once."""
    count = 0
    for cluster in range(len(clusters.begin) - 1):
        last = -1
        for entry in range(clusters.begin[cluster], clusters.begin[cluster + 1]):
            base = clusters.page[entry] * PAGE
            predicates = clusters.words[base]
            count += predicates - (clusters.words[base + 1] == last)
            last = clusters.words[base - 1 + 2 * predicates]
    return count
