"""Questions about groups of boxes (``box_groups.py``): what contains a box, lies in it, meets it.

A box that contains another has some of its axes, each with a range or with the same value. So the
groups of all *coverers* of a box are found by their forms, in a hash table: a few dozen lookups for
a box of five sides, whatever the number of boxes. Groups of boxes that lie *in* a box have all its
axes: they are in the shortest of the lists of groups that its axes and values have. What overlaps a
box may be anywhere.

In the worst case, where all boxes have one form without a single value, a group is scanned, at a
nanosecond or two for each of its boxes.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Int64s, Numbers
from tamis.routing.box_groups import (
    BOXES,
    GROUPS,
    LOOSE,
    LOOSE_GROUPS,
    RANGE,
    BoxSides,
    Groups,
    find_group,
    form_hash,
    key_mask_of,
    mask_of,
)

_MOST = (1 << 63) - 1
_SCAN = 8
"""Looking at all masks in a row is faster than following a list of so many times fewer groups."""


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
        own, keys = mask_of(sides.axis), key_mask_of(sides.key)
        for group in range(groups.state[GROUPS]):
            has_other = not is_loose and groups.key_mask[group] & ~keys != 0
            if groups.mask[group] & ~own == 0 and not has_other:
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
    own, keys = mask_of(sides.axis), np.uint64(0)
    if groups.state[LOOSE_GROUPS] == 0:
        keys = key_mask_of(sides.key)
    if _SCAN * least > groups_there:
        for group in range(groups_there):
            if keys & ~groups.key_mask[group] == 0 and own & ~groups.mask[group] == 0:
                n = write_covered(groups, group, sides, columns, which, out, n)
    elif least > 0:
        side = groups.key_first[sides.key[best]] if by_key else groups.axis_first[sides.axis[best]]
        while side >= 0:
            group = groups.owner[side]
            if keys & ~groups.key_mask[group] == 0 and own & ~groups.mask[group] == 0:
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
def relate_box(groups: Groups, sides: BoxSides, out: Numbers) -> tuple[int, int]:
    """A box that contains one, or -1 and how many lie in it, which are written."""
    if groups.state[BOXES] == 0:
        return -1, 0
    if find_covering(groups, sides, out[:1]):
        return int(out[0]), 0
    return -1, find_covered(groups, sides, out)


@kernel
def find_overlapping(
    groups: Groups, sides: BoxSides, unique: Flags, touching: int, out: Numbers
) -> int:
    """Write the boxes that have values in common with one on each unique axis; return how many.

    ``touching`` is 1 if ranges that end where others begin count, as positions may stand for
    several values, else 0.
    """
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
                apart |= groups.high[side] + touching <= sides.low[i]
                apart |= sides.high[i] + touching <= groups.low[side]
        if apart:
            continue
        width, begin = 2 * groups.ranges[group], groups.begin[group]
        for place in range(groups.filled[group]):
            row = begin + place * width
            meets = True
            for t in range(tested):
                i = which[t]
                meets &= groups.words[row + 2 * columns[t]] < sides.high[i] + touching
                meets &= sides.low[i] < groups.words[row + 2 * columns[t] + 1] + touching
            out[n] = groups.boxes[groups.member[group] + place]
            n += meets
    return n
