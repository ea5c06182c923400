"""Neon (Le Subscribe, section 3.1 and figure 8): the predicates of each operation, one by one.

An operation is an event type, an attribute and a comparison; every predicate of the operations that
an event is of and has the attribute of is evaluated, and those that hold are counted by
subscription in ``and``. Nothing is shared: a predicate is stored and evaluated as often as it
appears.

Time for an event: an evaluation for each predicate of its type and attributes, a sum for each that
holds, a comparison for each subscription that has one that holds. Adding one: a lookup and a row
for each predicate.

Deviations. A subscription without predicates, which the paper does not have, is a predicate that
always holds. Removing one looks for its rows among all of their operations, as it does without an
index over subscriptions.

Attribute against attribute: labels of two axes cannot be compared, so a comparison of two
attributes is an axis of its own, whose label is 1 where it is true; its operation names both.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Tally
from tamis.published.boxes import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    BoxTable,
    Points,
    clear_labels,
    is_sparse,
    set_labels,
)
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, BoxHits, Index, Size
from tamis.published.neon.tables import (
    ALWAYS,
    AXIS,
    BLOCK,
    COMPARISON,
    HEAD,
    NEXT,
    ROWS,
    TOTAL,
    Tables,
    add_boxes,
    block_usage,
    empty_tables,
    remove_boxes,
    with_rows,
)

TRUE = 1
"""The label of a comparison of two attributes where it is true."""
_SYMBOLS = {EQUAL: "=", AT_LEAST: ">=", AT_MOST: "<="}


class Operation(NamedTuple):
    """A row of the table of operations."""

    type: int
    attribute: Hashable
    """An axis, or the left one of two attributes."""
    comparison: str
    other: Hashable
    """The right one of two attributes, or None."""
    predicates: int


class Neon(Index):
    """Every predicate of the event's type and attributes is tried."""

    takes_types = True
    """A point only sees the boxes of its own type."""
    takes_comparisons = True
    """An axis may be a comparison of two attributes."""

    def __init__(self, table: BoxTable) -> None:
        super().__init__(table)
        self._tables = empty_tables()
        self._count = 0
        self._compared: dict[int, tuple[Hashable, str, Hashable]] = {}

    def compare(self, axis: int, left: Hashable, comparison: str, right: Hashable) -> None:
        """Let an axis be a comparison of two attributes: an event has the label TRUE there if it
        is true, and none or another one if it is not."""
        self._compared[axis] = left, comparison, right

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        done, arrays = 0, self._table.arrays
        while done < len(boxes):
            done = add_boxes(self._tables, arrays, boxes, done)
            if done < len(boxes):
                box = int(boxes[done])
                rows = max(1, 2 * int(arrays.end[box] - arrays.begin[box]))
                types = int(arrays.type[box]) + 1
                self._tables = with_rows(self._tables, rows, self._table.top, types)
        self._count += len(boxes)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        remove_boxes(self._tables, self._table.arrays, boxes)
        self._count -= len(boxes)
        if is_sparse(block_usage(self._tables)):
            left = np.flatnonzero(self._tables.n_predicates).astype(np.int32)
            self._tables, self._count = empty_tables(), 0
            self.add(left)

    def _scratch(self, points: Points) -> AbstractContextManager[Any]:
        held = np.zeros(len(self._tables.n_predicates), np.int32)
        label = np.full(points.axes, -1, np.int64)
        return nullcontext((And(np.empty(self._count + 1, np.int32), held), label))

    def _most(self) -> int:
        return self._count

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        both, label = scratch
        return match_points(self._tables, points, first, chunk, both, label, tally)

    def operations(self) -> list[Operation]:
        """The table of operations, those of boxes without predicates left out."""
        found = []
        for type, first in enumerate(self._tables.first.tolist()):
            number = first
            while number >= 0:
                row = self._tables.operation[number].tolist()
                number = row[NEXT]
                if row[COMPARISON] != ALWAYS:
                    plain = row[AXIS], _SYMBOLS[row[COMPARISON]], None
                    left, comparison, right = self._compared.get(row[AXIS], plain)
                    found.append(Operation(type, left, comparison, right, row[ROWS]))
        return found

    def size(self) -> Size:
        """How large it is."""
        return Size(
            int(self._tables.state[TOTAL]), bytes=sum(array.nbytes for array in self._tables)
        )


class And(NamedTuple):
    """Boxes with a predicate that holds, room for one more than there are, and how many hold of
    each box."""

    sub_id: Numbers
    held: Numbers


@kernel
def match_points(
    tables: Tables,
    points: Points,
    first: int,
    chunk: BoxHits,
    both: And,
    label: Labels,
    tally: Tally,
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    n, point = 0, first
    while point < len(points.type) and n + len(both.sub_id) <= len(chunk.box):
        set_labels(points, point, label)
        type = points.type[point]
        number = tables.first[type] if type < len(tables.first) else -1
        found = 0
        while number >= 0:
            operation = tables.operation[number]
            comparison = operation[COMPARISON]
            value = 0 if comparison == ALWAYS else label[operation[AXIS]]
            if value >= 0:
                found = evaluate(tables, operation, value, both, found, tally)
            number = operation[NEXT]
        for i in range(found):
            box = both.sub_id[i]
            if both.held[box] == tables.n_predicates[box]:
                chunk.point[n], chunk.box[n] = point, box
                n += 1
            both.held[box] = 0
        tally[COMPARISONS] += found
        clear_labels(points, point, label)
        point += 1
    return point, n


@kernel
def evaluate(
    tables: Tables, operation: Numbers, value: int, both: And, found: int, tally: Tally
) -> int:
    """Evaluate all predicates of an operation, and count those that hold; return how many
    subscriptions have one by now."""
    comparison, block, sums = operation[COMPARISON], operation[HEAD], 0
    rows = (operation[ROWS] - 1) % BLOCK + 1
    while block >= 0:
        for row in range(block * BLOCK, block * BLOCK + rows):
            constant = tables.value[row]
            if comparison == AT_LEAST:
                holds = constant <= value
            elif comparison == AT_MOST:
                holds = constant >= value
            else:
                holds = constant == value
            if holds:
                box = tables.box[row]
                both.sub_id[found] = box
                found += both.held[box] == 0
                both.held[box] += 1
                sums += 1
        block, rows = tables.following[block], BLOCK
    tally[SUMS] += sums
    tally[EVALUATED] += operation[ROWS] * (comparison != ALWAYS)
    return found
