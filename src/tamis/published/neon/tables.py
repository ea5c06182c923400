"""The tables of Neon, and their indexes.

    operations   type  attribute  comparison        predicates of an operation, in blocks
                 0     price      <=                head -> | value, box ... | -> | value, box ... |
                 0     price      =                  ...
                 1     category   =

A predicate is stored as often as it appears. The index over (type, attribute, comparison) is a hash
to the operation, whose predicates stand in blocks one behind the other, the latest first; all but
the first block are full. The index over the type of operations is a list. A subscription without
predicates has one that always holds, so that the operation ALWAYS finds it.

A row that is removed is looked for among those of its operation, as a statement over these indexes
would, and the last row takes its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hash_table import (
    EMPTY,
    SEED,
    delete_slot,
    empty_slots,
    have_room,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Labels, Numbers, Offsets
from tamis.published.boxes import AT_MOST, BoxArrays, Usage, grown
from tamis.published.predicates import first_predicate, is_two_sided, predicate_count

ALWAYS = 3
"""The comparison of boxes without predicates."""
TYPE, AXIS, COMPARISON, HEAD, ROWS, NEXT = range(6)
"""Of an operation: its first block, how many predicates, and the next operation of the type."""
OPERATIONS, UNUSED, BLOCKS, FREE, LIVE, TOTAL = range(6)
"""Operations and blocks that were ever used, the first free ones or -1; blocks in use; rows."""
BLOCK = 256
"""Rows of a block."""


class Tables(NamedTuple):
    """Operations, predicates, counts of predicates."""

    slot: Buckets
    operation: NDArray[np.int32]
    first: Numbers
    """The first operation of each type, or -1."""
    value: Labels
    box: Numbers
    following: Numbers
    """The block behind each, or -1."""
    n_predicates: Numbers
    """By box; 0 where there is none."""
    state: Offsets


def empty_tables() -> Tables:
    """Tables without rows, and room for some."""
    return Tables(
        empty_slots(8),
        np.zeros((8, 6), np.int32),
        np.full(1, -1, np.int32),
        np.zeros(8 * BLOCK, np.int64),
        np.zeros(8 * BLOCK, np.int32),
        np.zeros(8, np.int32),
        np.zeros(64, np.int32),
        np.array([0, -1, 0, -1, 0, 0]),
    )


def with_rows(tables: Tables, rows: int, boxes: int, types: int) -> Tables:
    """Tables with room for predicates of one box more, for boxes and types below some numbers."""
    slot, operation, first, value, box, following, n_predicates, state = tables
    count = int(state[OPERATIONS]) + rows
    if count > len(operation):
        more = np.zeros((max(rows, len(operation)), 6), np.int32)
        operation = np.concatenate((operation, more))
    slot = roomy_slots(slot, count)
    if types > len(first):
        first = np.concatenate((first, np.full(types - len(first), -1, np.int32)))
    following = grown(following, int(state[LIVE]) + rows)
    value, box = grown(value, len(following) * BLOCK), grown(box, len(following) * BLOCK)
    n_predicates = grown(n_predicates, boxes)
    return Tables(slot, operation, first, value, box, following, n_predicates, state)


def block_usage(tables: Tables) -> Usage:
    """The memory of predicates: of an operation, all blocks but one are full."""
    each = BLOCK * (tables.value.itemsize + tables.box.itemsize)
    return Usage(len(tables.following) * each, int(tables.state[LIVE]) * each)


@kernel
def hash_of(type: int, axis: int, comparison: int) -> int:
    """The hash of an operation."""
    return mixed(mixed(mixed(SEED, type), axis), comparison)


@kernel
def find_operation(tables: Tables, type: int, axis: int, comparison: int) -> int:
    """The slot of an operation, or -1."""
    slots, mask = tables.slot, len(tables.slot) - 1
    hash = hash_of(type, axis, comparison)
    at = hash & mask
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            own = tables.operation[number_of(slots[at])]
            if own[TYPE] == type and own[AXIS] == axis and own[COMPARISON] == comparison:
                return at
        at = at + 1 & mask
    return -1


@kernel
def new_operation(tables: Tables, type: int, axis: int, comparison: int) -> int:
    """Make an operation without predicates; there must be room."""
    state = tables.state
    number: int = state[UNUSED]
    if number >= 0:
        state[UNUSED] = tables.operation[number, NEXT]
    else:
        number = state[OPERATIONS]
        state[OPERATIONS] += 1
    own = tables.operation[number]
    own[TYPE], own[AXIS], own[COMPARISON] = type, axis, comparison
    own[HEAD], own[ROWS], own[NEXT] = -1, 0, tables.first[type]
    tables.first[type] = number
    put_slot(tables.slot, hash_of(type, axis, comparison), number)
    return number


@kernel
def drop_operation(tables: Tables, at: int) -> None:
    """Let the operation of a slot go, which has no predicates."""
    number = number_of(tables.slot[at])
    own = tables.operation[number]
    delete_slot(tables.slot, at)
    if tables.first[own[TYPE]] == number:
        tables.first[own[TYPE]] = own[NEXT]
    else:
        before = tables.first[own[TYPE]]
        while tables.operation[before, NEXT] != number:
            before = tables.operation[before, NEXT]
        tables.operation[before, NEXT] = own[NEXT]
    own[NEXT] = tables.state[UNUSED]
    tables.state[UNUSED] = number


@kernel
def add_row(tables: Tables, type: int, axis: int, comparison: int, value: int, box: int) -> None:
    """Add a predicate; there must be room for a block and for an operation."""
    state, at = tables.state, find_operation(tables, type, axis, comparison)
    number = (
        number_of(tables.slot[at]) if at >= 0 else new_operation(tables, type, axis, comparison)
    )
    own = tables.operation[number]
    if own[ROWS] % BLOCK == 0:
        block = state[FREE]
        if block >= 0:
            state[FREE] = tables.following[block]
        else:
            block = state[BLOCKS]
            state[BLOCKS] += 1
        tables.following[block] = own[HEAD]
        own[HEAD] = block
        state[LIVE] += 1
    row = own[HEAD] * BLOCK + own[ROWS] % BLOCK
    tables.value[row], tables.box[row] = value, box
    own[ROWS] += 1
    state[TOTAL] += comparison != ALWAYS


@kernel
def remove_row(tables: Tables, type: int, axis: int, comparison: int, box: int) -> None:
    """Remove the only predicate of a box that an operation has."""
    state, at = tables.state, find_operation(tables, type, axis, comparison)
    own = tables.operation[number_of(tables.slot[at])]
    last = own[HEAD] * BLOCK + (own[ROWS] - 1) % BLOCK
    block, row, end = own[HEAD], own[HEAD] * BLOCK, last + 1
    while tables.box[row] != box:
        row += 1
        if row == end:
            block = tables.following[block]
            row, end = block * BLOCK, block * BLOCK + BLOCK
    tables.value[row], tables.box[row] = tables.value[last], tables.box[last]
    own[ROWS] -= 1
    state[TOTAL] -= comparison != ALWAYS
    if own[ROWS] % BLOCK == 0:
        block = own[HEAD]
        own[HEAD] = tables.following[block]
        tables.following[block] = state[FREE]
        state[FREE] = block
        state[LIVE] -= 1
    if own[ROWS] == 0:
        drop_operation(tables, at)


@kernel
def add_boxes(tables: Tables, table: BoxArrays, boxes: Numbers, first: int) -> int:
    """Add the predicates of boxes from the first on; return how far there was room."""
    state = tables.state
    for i in range(first, len(boxes)):
        box = boxes[i]
        count = max(1, predicate_count(table, box, True))
        type = table.type[box]
        if (
            state[OPERATIONS] + count > len(tables.operation)
            or state[LIVE] + count > len(tables.following)
            or not have_room(tables.slot, state[OPERATIONS] + count)
            or type >= len(tables.first)
            or box >= len(tables.n_predicates)
        ):
            return i
        tables.n_predicates[box] = count
        if table.begin[box] == table.end[box]:
            add_row(tables, type, -1, ALWAYS, 0, box)
        for side in range(table.begin[box], table.end[box]):
            axis, low, high = table.axis[side], table.low[side], table.high[side]
            comparison, value = first_predicate(low, high)
            add_row(tables, type, axis, comparison, value, box)
            if is_two_sided(low, high):
                add_row(tables, type, axis, AT_MOST, high, box)
    return len(boxes)


@kernel
def remove_boxes(tables: Tables, table: BoxArrays, boxes: Numbers) -> None:
    """Remove the predicates of boxes."""
    for box in boxes:
        type = table.type[box]
        tables.n_predicates[box] = 0
        if table.begin[box] == table.end[box]:
            remove_row(tables, type, -1, ALWAYS, box)
        for side in range(table.begin[box], table.end[box]):
            axis, low, high = table.axis[side], table.low[side], table.high[side]
            comparison, _ = first_predicate(low, high)
            remove_row(tables, type, axis, comparison, box)
            if is_two_sided(low, high):
                remove_row(tables, type, axis, AT_MOST, box)
