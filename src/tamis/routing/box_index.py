"""Boxes that are found by other boxes: those that contain one, lie in it, or overlap it.

Boxes with the same *form* are one group: the same axes, and the same values where they ask for one
value. The rest of a group's boxes, their ranges, lie side by side:

    price < 5 and color = 'red'        group 0   axis   color  price    rows of price
    price < 9 and color = 'red'                  key    red    RANGE    ..5, ..9
    color = 'red'                      group 1   axis   color
                                                 key    red

A box that contains another has some of its axes, each with a range or with the same value. So the
groups of all *coverers* of a box are found by their forms, in a hash table: a few dozen lookups for
a box of five sides, whatever the number of boxes. Groups of boxes that lie *in* a box have all its
axes: they are in the shortest of the lists of groups that its axes and values have. What overlaps a
box may be anywhere.

Ranges are half open and in positions (``filters.py``): [low, high). A side whose key is LOOSE says
only what ranges may contain it, by ends of which the low one may be above the high one; whatever
has the axis may lie in it. In the worst case, where all boxes have
one form without a single value, a group is scanned, at a nanosecond or two for each of its boxes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.hash_table import EMPTY, SEED, mixed, number_of, put_slot, roomy_slots
from tamis.arrays.jit import kernel
from tamis.arrays.types import Buckets, Flags, Int64s, Numbers, Offsets, UInt64s
from tamis.published.boxes import grown

RANGE, LOOSE = -1, -2
"""Keys of sides that are ranges, and of those that are bounds; single values have keys from 0."""
GROUPS, SIDES, WORDS, BOXES, LOOSE_GROUPS = range(5)
"""How many groups, sides of groups, words of rows, boxes and groups with loose sides there are."""
_MOST = (1 << 63) - 1
_SCAN = 8
"""Looking at all masks in a row is faster than following a list of so many times fewer groups."""
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


class BoxIndex:
    """Boxes by number, found by other boxes; one thread at a time."""

    def __init__(self) -> None:
        self.groups = no_groups()

    def __len__(self) -> int:
        return int(self.groups.state[BOXES])

    def add(self, box: int, sides: BoxSides) -> None:
        """Take in a box under a number that is free."""
        self._make_room(box, sides, 64)
        needed = add_box(self.groups, box, sides)
        while needed:
            self._make_room(box, sides, needed)
            needed = add_box(self.groups, box, sides)

    def remove(self, box: int) -> None:
        """Forget a box."""
        remove_box(self.groups, box)

    def covering(self, sides: BoxSides, first: bool = False) -> Numbers:
        """The boxes that contain one; with ``first`` at most one of them."""
        return self._found(find_covering, sides, first)

    def covered(self, sides: BoxSides) -> Numbers:
        """The boxes that lie in one."""
        return self._found(find_covered, sides, False)

    def overlapping(self, sides: BoxSides, unique: Flags) -> Numbers:
        """The boxes that have a value in common with one on each axis that both have and that is
        unique."""
        out = np.empty(len(self) + 1, np.int32)
        return out[: find_overlapping(self.groups, sides, unique, out)]

    def _found(self, find: object, sides: BoxSides, first: bool) -> Numbers:
        out = np.empty(1 if first else len(self), np.int32)
        if not len(self):
            return out[:0]
        return out[: find(self.groups, sides, out)]  # type: ignore[operator]

    def _make_room(self, box: int, sides: BoxSides, words: int) -> None:
        own = self.groups
        state, more = own.state, len(sides.axis)
        groups, count = int(state[GROUPS]) + 1, int(state[SIDES]) + more
        axes = int(sides.axis.max(initial=-1)) + 1
        keys = int(sides.key.max(initial=-1)) + 1
        if (
            groups < min(len(own.ranges), len(own.side) - 1)
            and count <= len(own.axis)
            and box < len(own.group)
            and axes <= len(own.axis_first)
            and keys <= len(own.key_first)
            and state[WORDS] + words <= len(own.words)
        ):
            return
        rows = int(state[WORDS]) + words
        self.groups = Groups(
            mask=grown(own.mask, groups + 1),
            side=grown(own.side, groups + 2),
            ranges=grown(own.ranges, groups + 1),
            begin=grown(own.begin, groups + 1),
            filled=grown(own.filled, groups + 1),
            room=grown(own.room, groups + 1),
            member=grown(own.member, groups + 1),
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
            slots=roomy_slots(own.slots, 2 * max(groups + 1, len(own.ranges))),
            state=state,
        )


def _filled(array: Numbers, size: int) -> Numbers:
    known, larger = len(array), grown(array, size)
    larger[known:] = -1
    return larger


# --- changes -------------------------------------------------------------------------------------


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
    groups.mask[group] = mask_of(sides.axis)
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
def add_box(groups: Groups, box: int, sides: BoxSides) -> int:
    """Take in a box; return 0, or how much room its rows would need."""
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


# --- questions -----------------------------------------------------------------------------------


@kernel
def find_covering(groups: Groups, sides: BoxSides, out: Numbers) -> int:
    """Write the boxes that contain one, as many as there is room for; return how many."""
    count = len(sides.axis)
    forms, is_loose = 1, False
    for i in range(count):
        is_loose |= sides.key[i] == LOOSE
        if forms <= groups.state[GROUPS]:
            forms *= 2 + (sides.key[i] >= 0) + (groups.state[LOOSE_GROUPS] > 0)
    n = 0
    low, high = np.empty(count, np.int64), np.empty(count, np.int64)
    if is_loose or forms > groups.state[GROUPS]:
        own = mask_of(sides.axis)
        for group in range(groups.state[GROUPS]):
            if groups.mask[group] & ~own == 0:
                n = write_coverers(groups, group, sides, low, high, out, n)
                if n == len(out):
                    return n
        return n
    axis, key = np.empty(count, np.int32), np.empty(count, np.int32)
    for form in range(forms):
        rest, chosen = form, 0
        for i in range(count):
            options = 2 + (sides.key[i] >= 0) + (groups.state[LOOSE_GROUPS] > 0)
            option = rest % options
            rest //= options
            if option:
                axis[chosen] = sides.axis[i]
                key[chosen] = RANGE
                if option == 2:
                    key[chosen] = sides.key[i] if sides.key[i] >= 0 else LOOSE
                elif option == 3:
                    key[chosen] = LOOSE
                chosen += 1
        group = find_group(groups, form_hash(axis, key, 0, chosen), axis, key, chosen)
        if group >= 0:
            n = write_coverers(groups, group, sides, low, high, out, n)
            if n == len(out):
                return n
    return n


@kernel
def write_coverers(
    groups: Groups, group: int, sides: BoxSides, low: Int64s, high: Int64s, out: Numbers, n: int
) -> int:
    """Write the boxes of a group that contain one, as long as there is room."""
    first, last = groups.side[group], groups.side[group + 1]
    width = 2 * groups.ranges[group]
    if groups.filled[group] == 0:
        return n
    at = column = 0
    for side in range(first, last):
        while at < len(sides.axis) and sides.axis[at] < groups.axis[side]:
            at += 1
        if at == len(sides.axis) or sides.axis[at] != groups.axis[side]:
            return n
        if groups.key[side] >= 0:
            if sides.key[at] != groups.key[side] and not (
                sides.key[at] == LOOSE
                and groups.low[side] <= sides.low[at]
                and sides.high[at] <= groups.high[side]
            ):
                return n
        else:
            if groups.key[side] == LOOSE:  # it bounds what it is covered by, not what it covers
                low[column], high[column] = _MOST, -_MOST
            else:
                low[column], high[column] = sides.low[at], sides.high[at]
            column += 1
    begin, member = groups.begin[group], groups.member[group]
    for place in range(groups.filled[group]):
        row = begin + place * width
        contains = True
        for i in range(column):
            contains &= groups.words[row + 2 * i] <= low[i]
            contains &= high[i] <= groups.words[row + 2 * i + 1]
        if contains:
            out[n] = groups.boxes[member + place]
            n += 1
            if n == len(out):
                return n
    return n


@kernel
def find_covered(groups: Groups, sides: BoxSides, out: Numbers) -> int:
    """Write the boxes that lie in one; return how many."""
    n = 0
    count, groups_there = len(sides.axis), groups.state[GROUPS]
    columns, which = np.empty(count, np.int64), np.empty(count, np.int64)
    best, least, by_key = 0, np.int64(1 << 40), False
    for i in range(count):
        if sides.axis[i] >= len(groups.axis_first):
            return 0
        if groups.axis_count[sides.axis[i]] < least:
            best, least, by_key = i, np.int64(groups.axis_count[sides.axis[i]]), False
        key = sides.key[i]
        if key >= 0 and groups.state[LOOSE_GROUPS] == 0:
            number = np.int64(groups.key_count[key] if key < len(groups.key_count) else 0)
            if number < least:
                best, least, by_key = i, number, True
    own = mask_of(sides.axis)
    if _SCAN * least > groups_there:
        for group in range(groups_there):
            if own & ~groups.mask[group] == 0:
                n = write_covered(groups, group, sides, columns, which, out, n)
    elif least > 0:
        side = groups.key_first[sides.key[best]] if by_key else groups.axis_first[sides.axis[best]]
        while side >= 0:
            group = groups.owner[side]
            if own & ~groups.mask[group] == 0:
                n = write_covered(groups, group, sides, columns, which, out, n)
            side = groups.key_next[side] if by_key else groups.axis_next[side]
    return n


@kernel
def write_covered(
    groups: Groups,
    group: int,
    sides: BoxSides,
    columns: Int64s,
    which: Int64s,
    out: Numbers,
    n: int,
) -> int:
    """Write the boxes of a group that lie in one."""
    if groups.filled[group] == 0:
        return n
    count, last = len(sides.axis), groups.side[group + 1]
    side, column, tested = groups.side[group], 0, 0
    for i in range(count):
        while side < last and groups.axis[side] < sides.axis[i]:
            column += groups.key[side] < 0
            side += 1
        if side == last or groups.axis[side] != sides.axis[i]:
            return n
        if sides.key[i] == LOOSE:
            continue
        if groups.key[side] < 0:
            columns[tested], which[tested] = column, i
            tested += 1
        elif sides.key[i] >= 0:
            if sides.key[i] != groups.key[side]:
                return n
        elif groups.low[side] < sides.low[i] or sides.high[i] < groups.high[side]:
            return n
    width, begin, member = 2 * groups.ranges[group], groups.begin[group], groups.member[group]
    for place in range(groups.filled[group]):
        row = begin + place * width
        inside = True
        for t in range(tested):
            i = which[t]
            inside &= sides.low[i] <= groups.words[row + 2 * columns[t]]
            inside &= groups.words[row + 2 * columns[t] + 1] <= sides.high[i]
        if inside:
            out[n] = groups.boxes[member + place]
            n += 1
    return n


@kernel
def find_overlapping(groups: Groups, sides: BoxSides, unique: Flags, out: Numbers) -> int:
    """Write the boxes that may have values in common with one; return how many."""
    n = 0
    count = len(sides.axis)
    columns, which = np.empty(count, np.int64), np.empty(count, np.int64)
    for group in range(groups.state[GROUPS]):
        side, last = groups.side[group], groups.side[group + 1]
        column = tested = 0
        apart = groups.filled[group] == 0
        for i in range(count):
            while side < last and groups.axis[side] < sides.axis[i]:
                column += groups.key[side] < 0
                side += 1
            if side == last or groups.axis[side] != sides.axis[i] or not unique[sides.axis[i]]:
                continue
            key = groups.key[side]
            if key == LOOSE or sides.key[i] == LOOSE:
                continue
            if key < 0:
                columns[tested], which[tested] = column, i
                tested += 1
            elif sides.key[i] >= 0:
                apart |= sides.key[i] != key
            else:
                apart |= groups.high[side] < sides.low[i] or sides.high[i] < groups.low[side]
        if apart:
            continue
        width, begin = 2 * groups.ranges[group], groups.begin[group]
        for place in range(groups.filled[group]):
            row = begin + place * width
            meets = True
            for t in range(tested):
                i = which[t]
                meets &= groups.words[row + 2 * columns[t]] <= sides.high[i]
                meets &= sides.low[i] <= groups.words[row + 2 * columns[t] + 1]
            out[n] = groups.boxes[groups.member[group] + place]
            n += meets
    return n
