"""What becomes of a run of boxes: slots copied or tested, repeated ones dropped.

    tests  | a low span | a low span | a low span | a low span |      width 2: two tests a box
           '---- first box ----------'----- second box --------'

Functions that are called for each run get the arrays they need, not the whole sieve: a call that
is not inlined copies a hundred words of array headers, which costs more than testing a box.
"""

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int32s, Packed, Ranks, Slots, UInt16s

MANY = 16  # boxes in a run from which on it is sifted
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel(allocates=False)
def copy_slots(slot: Slots, out: Slots) -> None:
    """Copy the slots of boxes that need no test."""
    for j in range(len(slot)):
        out[j] = slot[j]


@kernel(allocates=False)
def write_event(out: Int32s, event: int) -> None:
    """Write the event's row beside its matches."""
    for j in range(len(out)):
        out[j] = event


@kernel(allocates=False)
def test_boxes(
    tests: Packed, slot: Slots, row: np.uint64, width: int, point: Ranks, out: Slots
) -> int:
    """Write the slots of those boxes that pass their tests; return how many."""
    n = 0
    for b in range(len(slot)):
        inside = True
        for _ in range(width):
            inside &= passes_test(tests, row, point)
            row += THREE
        out[n] = slot[b]
        n += inside
    return n


# A long run is tested column by column: the first test on all boxes, the second on those that
# are left. No step has a branch on the data: one that nobody can predict costs more than two tests.
@kernel(allocates=False)
def sift_boxes(
    tests: Packed, slot: Slots, row: np.uint64, width: int, point: Ranks, first: UInt16s, out: Slots
) -> np.int64:
    """Do the same as `test_boxes` for many boxes, whose first attributes may be given."""
    length = np.uint64(3 * width)
    left, at = np.uint64(0), row
    for b in range(len(first)):
        out[left] = b
        left += np.uint64(point[first[b]] >= 0)
    if not len(first):
        for b in range(len(slot)):
            out[left] = b
            left += np.uint64(passes_test(tests, at, point))
            at += length
        row += THREE
    for _ in range(0 if len(first) else 1, width):
        count, left = left, np.uint64(0)
        for j in range(count):
            b = out[j]
            out[left] = b
            left += np.uint64(passes_test(tests, row + np.uint64(b) * length, point))
        row += THREE
    for j in range(left):
        out[j] = slot[out[j]]
    return np.int64(left)


@kernel(allocates=False)
def count_boxes(tests: Packed, boxes: int, row: np.uint64, width: int, point: Ranks) -> int:
    """Return how many of some boxes, from a row of tests on, pass their tests."""
    n = 0
    for _ in range(boxes):
        inside = True
        for _ in range(width):
            inside &= passes_test(tests, row, point)
            row += THREE
        n += inside
    return n


# An interval takes one comparison of unsigned integers: what lies below `low` wraps around, and
# so does the -1 of an absent attribute. Unsigned indices also spare Numba's test for negative ones.
@kernel(allocates=False)
def passes_test(tests: Packed, t: np.uint64, point: Ranks) -> bool:
    """Tell whether a point passes one test: attribute, low, high - low."""
    rank = np.uint64(np.int64(point[tests[t]]))
    return bool(rank - np.uint64(tests[t + ONE]) <= np.uint64(tests[t + TWO]))


@kernel(allocates=False)
def drop_repeated(out: Slots, stamp: Int32s, event: int) -> int:
    """Keep the first box of each slot for this event; return how many are left in front."""
    n = 0
    for slot in out:
        if slot < 0:
            slot = ~slot
            if stamp[slot] == event:
                continue
            stamp[slot] = event
        out[n] = slot
        n += 1
    return n
