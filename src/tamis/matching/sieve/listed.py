"""Matching one event with long lists: which boxes some choice from its lists stabs.

An access key reads a few attributes, so only the choices of *their* groups are tried one after the
other (points/of_lists.py). The other sides of a box that was found are tested group by group: the
groups are free of each other, so a side on another list holds if some choice of that list fulfils
all sides of the box that concern it.
"""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.key_table import find_entry
from tamis.arrays.types import Flags, Int32s, Numbers, Ranks
from tamis.matching.boxes.layout import AT_LEAST, AT_MOST
from tamis.matching.points.of_lists import SINGLE, Choices
from tamis.matching.sieve.build import UNSORTED, Sieve
from tamis.matching.sieve.kernels import search

PLACES = 4  # attributes that a signature reads


@kernel
def match_choices(sieve: Sieve, choices: Choices, out: Numbers, seen: Flags) -> int:
    """Write the slots of the boxes that some choice stabs, each once; return how many. ``seen``
    has a flag for each slot, none of them set."""
    n = 0
    chosen = np.full(len(choices.size), -1, np.int32)
    for s in range(len(sieve.base)):
        has_all = True
        size = np.int64(1)
        for j in range(PLACES):
            a = sieve.attribute[s, j]
            g = choices.group[a]
            if g == SINGLE:
                has_all &= choices.single[a] >= 0
            elif chosen[g] < 0:
                chosen[g] = 0
                size *= choices.size[g]
        if has_all:
            for _ in range(size):
                n = look_up_choice(sieve, s, choices, chosen, out, seen, n)
                advance(sieve, s, choices, chosen)
        for j in range(PLACES):
            g = choices.group[sieve.attribute[s, j]]
            if g != SINGLE:
                chosen[g] = -1
    return n


@kernel(allocates=False)
def advance(sieve: Sieve, s: int, choices: Choices, chosen: Int32s) -> None:
    """Go on to the next choice from the lists that a signature reads."""
    for j in range(PLACES):
        g = choices.group[sieve.attribute[s, j]]
        if g == SINGLE:
            continue
        again = False
        for i in range(j):
            again |= choices.group[sieve.attribute[s, i]] == g
        if again:
            continue
        chosen[g] += 1
        if chosen[g] < choices.size[g]:
            return
        chosen[g] = 0


@kernel(allocates=False)
def rank_of(a: int, choices: Choices, chosen: Int32s) -> np.int64:
    """The rank on an axis, under the choices that were made."""
    g = choices.group[a]
    if g == SINGLE:
        return np.int64(choices.single[a])
    return np.int64(choices.rank[choices.start[a] + chosen[g]])


@kernel(allocates=False)
def look_up_choice(
    sieve: Sieve, s: int, choices: Choices, chosen: Int32s, out: Numbers, seen: Flags, n: int
) -> int:
    """Write the slots of the boxes of a signature that a choice stabs, behind n others."""
    key = sieve.base[s]
    for j in range(PLACES):
        rank = rank_of(sieve.attribute[s, j], choices, chosen)
        if rank < 0:
            return n
        if j < PLACES - 1:
            key += sieve.stride[s, j] * rank
    at = find_entry(key, sieve.table)
    if sieve.table[at] != key:
        return n
    start, stop = sieve.table[at + 1] >> 32, sieve.table[at + 1] & 0x7FFFFFFF
    last, kind = int(rank_of(sieve.attribute[s, PLACES - 1], choices, chosen)), sieve.kind[s]
    if kind == AT_LEAST:
        stop = search(sieve.constant, start, stop, last + 1)
    elif kind == AT_MOST:
        start = search(sieve.constant, start, stop, last)
    elif kind != UNSORTED:
        start = search(sieve.constant, start, stop, last - sieve.reach[s])
        stop = search(sieve.constant, start, stop, last + 1)
    width = int(sieve.width[s])
    for i in range(start, stop):
        slot = sieve.slot[i] if sieve.slot[i] >= 0 else ~sieve.slot[i]
        row = sieve.row[s] + 3 * width * i
        if not seen[slot] and holds(sieve, row, width, choices, chosen):
            seen[slot] = True
            out[n] = slot
            n += 1
    return n


@kernel(allocates=False)
def holds(sieve: Sieve, row: int, width: int, choices: Choices, chosen: Int32s) -> bool:
    """Tell whether the tests of a box hold, those on lists that are free under some choice."""
    for t in range(width):
        a = int(sieve.tests[row + 3 * t])
        g = choices.group[a]
        if g == SINGLE or chosen[g] >= 0:
            if not passes(sieve, row + 3 * t, rank_of(a, choices, chosen)):
                return False
            continue
        found = False
        for choice in range(choices.size[g]):
            found = True
            for u in range(width):
                b = np.int64(sieve.tests[row + 3 * u])
                if choices.group[b] == g:
                    rank = np.int64(choices.rank[choices.start[b] + choice])
                    found &= passes(sieve, row + 3 * u, rank)
            if found:
                break
        if not found:
            return False
    return True


@kernel(allocates=False)
def passes(sieve: Sieve, t: int, rank: np.int64) -> bool:
    """Tell whether a rank passes one test."""
    low = np.int64(sieve.tests[t + 1])
    return bool(low <= rank <= low + np.int64(sieve.tests[t + 2]))


def owners_of(sieve: Sieve, choices: Choices) -> Ranks:
    """The slots of the boxes that some choice stabs, each once."""
    if not len(sieve.slot):
        return np.empty(0, np.int32)
    most = int(max(sieve.slot.max(), (~sieve.slot).max())) + 1
    out = np.empty(min(most, len(sieve.slot)), np.int32)
    count = match_choices(sieve, choices, out, np.zeros(most, np.bool_))
    return out[:count]
