"""Groups of boxes that have the same form: what the box index (``box_index.py``) is made of.

The axes and the single values that boxes ask for are their form. The rest of a group's boxes, their
ranges, lie side by side:

    price < 5 and color = 'red'        group 0   axis   color  price    rows of price
    price < 9 and color = 'red'                  key    red    RANGE    ..5, ..9
    color = 'red'                      group 1   axis   color
                                                 key    red

Ranges are half open and in positions (``filters.py``): [low, high). A side whose key is LOOSE says
only what ranges may contain it, by ends of which the low one may be above the high one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import (
    EMPTY,
    SEED,
    have_room,
    mixed,
    number_of,
    put_slot,
    roomy_slots,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Int64s, Numbers, Offsets, UInt64s
from tamis.published.boxes import grown

RANGE, LOOSE = -1, -2
"""Keys of sides that are ranges, and of those that are bounds; single values have keys from 0."""
GROUPS, SIDES, WORDS, BOXES, LOOSE_GROUPS = range(5)
"""How many groups, sides of groups, words of rows, boxes and groups with loose sides there are."""
_LEAST = 2
"""Rows that a group has room for, at least."""


class BoxSides(NamedTuple):
    """The sides of one box, axes ascending."""

    axis: Numbers
    key: Numbers
    low: Int64s
    high: Int64s


class Groups(NamedTuple):
    """Groups by number, their sides, and their rows."""

    mask: UInt64s
    """Of a group: a bit for each of its axes, some of which may share one."""
    key_mask: UInt64s
    """The same for its single values."""
    side: Offsets
    """Where the sides of a group begin; there is one entry more."""
    ranges: Numbers
    """Sides of a group that are no single values."""
    begin: Offsets
    """Where its rows begin: low and high of each range, row after row."""
    filled: Numbers
    """How many rows it has, and how many it has room for."""
    room: Numbers
    member: Offsets
    """Where the numbers of its boxes begin."""
    axis: Numbers
    key: Numbers
    low: Int64s
    """By side of a group: the value's position, if it is a single one."""
    high: Int64s
    axis_next: Numbers
    """By side of a group: the next one on the same axis."""
    key_next: Numbers
    owner: Numbers
    """By side of a group: the group."""
    axis_first: Numbers
    axis_count: Numbers
    key_first: Numbers
    key_count: Numbers
    words: Int64s
    boxes: Numbers
    group: Numbers
    """By box: its group, or -1, and its row there."""
    place: Numbers
    slots: Buckets
    state: Offsets


def no_groups() -> Groups:
    """Nothing, with room for a little."""

    def numbers(size: int, fill: int = 0) -> Numbers:
        return np.full(size, fill, np.int32)

    def words(size: int) -> Int64s:
        return np.zeros(size, np.int64)

    return Groups(
        mask=np.zeros(8, np.uint64),
        key_mask=np.zeros(8, np.uint64),
        side=words(9),
        ranges=numbers(8),
        begin=words(8),
        filled=numbers(8),
        room=numbers(8),
        member=words(8),
        axis=numbers(32),
        key=numbers(32),
        low=words(32),
        high=words(32),
        axis_next=numbers(32),
        key_next=numbers(32),
        owner=numbers(32),
        axis_first=numbers(8, -1),
        axis_count=numbers(8),
        key_first=numbers(8, -1),
        key_count=numbers(8),
        words=words(64),
        boxes=numbers(64),
        group=numbers(16, -1),
        place=numbers(16),
        slots=np.full(32, EMPTY, np.int64),
        state=words(5),
    )


def with_room(own: Groups, box: int, sides: BoxSides, words: int) -> Groups:
    """Groups with room for one more box, and for so many words of rows."""
    state, more = own.state, len(sides.axis)
    groups, count = int(state[GROUPS]) + 1, int(state[SIDES]) + more
    axes = int(sides.axis.max(initial=-1)) + 1
    keys = int(sides.key.max(initial=-1)) + 1
    rows = int(state[WORDS]) + words
    return Groups(
        mask=grown(own.mask, groups),
        key_mask=grown(own.key_mask, groups),
        side=grown(own.side, groups + 1),
        ranges=grown(own.ranges, groups),
        begin=grown(own.begin, groups),
        filled=grown(own.filled, groups),
        room=grown(own.room, groups),
        member=grown(own.member, groups),
        axis=grown(own.axis, count),
        key=grown(own.key, count),
        low=grown(own.low, count),
        high=grown(own.high, count),
        axis_next=grown(own.axis_next, count),
        key_next=grown(own.key_next, count),
        owner=grown(own.owner, count),
        axis_first=_filled(own.axis_first, axes),
        axis_count=grown(own.axis_count, axes),
        key_first=_filled(own.key_first, keys),
        key_count=grown(own.key_count, keys),
        words=grown(own.words, rows),
        boxes=grown(own.boxes, rows),
        group=_filled(own.group, box + 1),
        place=grown(own.place, box + 1),
        slots=roomy_slots(own.slots, groups),
        state=state,
    )


def _filled(array: Numbers, size: int) -> Numbers:
    known, larger = len(array), grown(array, size)
    larger[known:] = -1
    return larger


@kernel
def have_room_for(groups: Groups, box: int, sides: BoxSides) -> bool:
    """Whether a group for a box may be made, and its axes, values and number be known."""
    state, count = groups.state, len(sides.axis)
    if (
        state[GROUPS] + 1 > min(len(groups.mask), len(groups.side) - 1)
        or state[SIDES] + count > len(groups.axis)
        or box >= len(groups.group)
        or not have_room(groups.slots, state[GROUPS] + 1)
    ):
        return False
    for i in range(count):
        if sides.axis[i] >= len(groups.axis_first) or sides.key[i] >= len(groups.key_first):
            return False
    return True


@kernel
def form_hash(axis: Numbers, key: Numbers, first: int, last: int) -> int:
    """The hash of a form."""
    hash = SEED
    for side in range(first, last):
        hash = mixed(mixed(hash, axis[side]), key[side] + 2)
    return hash


@kernel
def find_group(groups: Groups, hash: int, axis: Numbers, key: Numbers, count: int) -> int:
    """The group of a form, or -1."""
    slots = groups.slots
    at = hash & len(slots) - 1
    while slots[at] != EMPTY:
        if slots[at] >> 32 == hash:
            group = number_of(slots[at])
            first = groups.side[group]
            same = groups.side[group + 1] - first == count
            for i in range(count):
                if not same:
                    break
                same = groups.axis[first + i] == axis[i] and groups.key[first + i] == key[i]
            if same:
                return int(group)
        at = at + 1 & len(slots) - 1
    return -1


@kernel
def new_group(groups: Groups, hash: int, sides: BoxSides) -> int:
    """Make a group; there must be room for it."""
    state = groups.state
    group = state[GROUPS]
    state[GROUPS] += 1
    first = state[SIDES]
    ranges = is_loose = 0
    for i in range(len(sides.axis)):
        side, axis, key = first + i, sides.axis[i], sides.key[i]
        groups.axis[side], groups.key[side], groups.owner[side] = axis, key, group
        groups.low[side], groups.high[side] = sides.low[i], sides.high[i]
        groups.axis_next[side] = groups.axis_first[axis]
        groups.axis_first[axis] = side
        groups.axis_count[axis] += 1
        if key >= 0:
            groups.key_next[side] = groups.key_first[key]
            groups.key_first[key] = side
            groups.key_count[key] += 1
        else:
            ranges += 1
            is_loose |= key == LOOSE
    state[SIDES] = groups.side[group + 1] = first + len(sides.axis)
    state[LOOSE_GROUPS] += is_loose
    groups.side[group], groups.ranges[group] = first, ranges
    groups.mask[group], groups.key_mask[group] = mask_of(sides.axis), key_mask_of(sides.key)
    groups.filled[group] = groups.room[group] = groups.begin[group] = groups.member[group] = 0
    put_slot(groups.slots, hash, group)
    return int(group)


@kernel
def mask_of(axis: Numbers) -> np.uint64:
    """The bits of axes."""
    mask = np.uint64(0)
    for each in axis:
        mask |= np.uint64(1) << np.uint64(each & 63)
    return mask


@kernel
def key_mask_of(key: Numbers) -> np.uint64:
    """The bits of single values; ranges have none."""
    mask = np.uint64(0)
    for each in key:
        if each >= 0:
            mask |= np.uint64(1) << np.uint64(each & 63)
    return mask


@kernel
def add_box(groups: Groups, box: int, sides: BoxSides) -> int:
    """Take in a box; return 0, or how many words of rows there must be room for."""
    if not have_room_for(groups, box, sides):
        return 1
    count = len(sides.axis)
    hash = form_hash(sides.axis, sides.key, 0, count)
    group = find_group(groups, hash, sides.axis, sides.key, count)
    if group < 0:
        group = new_group(groups, hash, sides)
    width, place = 2 * groups.ranges[group], groups.filled[group]
    state = groups.state
    if place == groups.room[group]:
        room = max(_LEAST, 2 * place)
        needed = room * max(width, 1)
        if state[WORDS] + needed > len(groups.words):
            return int(needed)
        old, new = groups.begin[group], state[WORDS]
        groups.words[new : new + place * width] = groups.words[old : old + place * width]
        member = groups.member[group]
        groups.boxes[new : new + place] = groups.boxes[member : member + place]
        groups.begin[group] = groups.member[group] = new
        groups.room[group] = room
        state[WORDS] += needed
    at = groups.begin[group] + place * width
    for i in range(count):
        if sides.key[i] < 0:
            groups.words[at], groups.words[at + 1] = sides.low[i], sides.high[i]
            at += 2
    groups.boxes[groups.member[group] + place] = box
    groups.group[box], groups.place[box] = group, place
    groups.filled[group] += 1
    state[BOXES] += 1
    return 0


@kernel
def remove_box(groups: Groups, box: int) -> None:
    """Forget a box; the last one of its group takes its row."""
    group, place = groups.group[box], groups.place[box]
    width, begin, member = 2 * groups.ranges[group], groups.begin[group], groups.member[group]
    groups.filled[group] -= 1
    last = groups.filled[group]
    other = groups.boxes[member + last]
    groups.boxes[member + place] = other
    groups.place[other] = place
    for i in range(width):
        groups.words[begin + place * width + i] = groups.words[begin + last * width + i]
    groups.group[box] = -1
    groups.state[BOXES] -= 1


@kernel
def remove_boxes(groups: Groups, boxes: Numbers) -> None:
    """Forget boxes."""
    for box in boxes:
        remove_box(groups, box)


@kernel
def sides_at(groups: Groups, box: int) -> BoxSides:
    """The sides of a box that is there."""
    group = groups.group[box]
    first, last = groups.side[group], groups.side[group + 1]
    axis, key = groups.axis[first:last].copy(), groups.key[first:last].copy()
    low, high = groups.low[first:last].copy(), groups.high[first:last].copy()
    at = groups.begin[group] + groups.place[box] * 2 * groups.ranges[group]
    for i in range(last - first):
        if key[i] < 0:
            low[i], high[i] = groups.words[at], groups.words[at + 1]
            at += 2
    return BoxSides(axis, key, low, high)


@kernel
def copy_boxes(old: Groups, new: Groups, first: int) -> tuple[int, int]:
    """Take the boxes of others in, from a number on; return how far there was room, and how many
    words of rows it would take to go on."""
    for box in range(first, len(old.group)):
        if old.group[box] >= 0:
            needed = add_box(new, box, sides_at(old, box))
            if needed:
                return box, needed
    return len(old.group), 0
