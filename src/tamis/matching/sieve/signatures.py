"""Signatures: the ways in which a box can be found, and which of them fit a given box.

A *signature* says how a family of boxes is found: up to three attributes that are hashed by
equality, up to one range by whose constant the boxes under a hashed key are sorted, and, in the
place of a hashed attribute, one that is merely *required*: its range is tested later, but events
that lack the attribute never get there.

    {a0, a1 | a3 between}     a0 and a1 hashed; under each key sorted by the low end of a3
    {a0 |}*                   a0 hashed; boxes that have no other constraint (*pure*: no test)
    {a4? | a3 at most}        nothing hashed, a4 required; one slice, sorted by the constant of a3
    { |}                      tested for every event: the last resort

Candidates of a box are the subsets of its most selective constraints, at most 33. Each costs an
event that meets the box a test, or a mere copy if the signature implies all constraints.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Float64s, Int64s
from tamis.matching.boxes.layout import BETWEEN, EQUAL, Boxes, Constraints

# Nanoseconds, measured; with PROBE of `keys` only their ratios matter.
TEST, COPY = 3.0, 0.7
SLACK = 1.6  # a window over low ends meets more boxes than contain the point

PICKS = 5  # constraints of a box from which its key is made
HASHED = 3  # places for hashed and required attributes
CANDIDATES = (1 << PICKS) + 1  # all subsets, and all constraints at once as pure
MAX_KEYS = 1 << 49  # keys of one signature; times twice MAX_SIGNATURES of `keys` they fit 63 bits

NONE = -1

# The code of a signature in 55 bits, from the lowest: pure 1, length class 4, kind 2, sorted
# attribute + 1 in 12, hashed attributes + 1 in 12 each, of which the uppermost says "required".
# Length classes keep the windows of BETWEEN narrow: within a class lengths differ by a factor of
# four at most.
REQUIRED = 1 << 11
PLACES = (19, 31, 43)
SORTED = 7
LAST_RESORT = 0


class Signature(NamedTuple):
    """A family of boxes with one way of access; attributes are NONE where unused."""

    hashed: tuple[int, ...]
    required: tuple[bool, ...]
    sorted: int
    kind: int  # of the sorted constraint


class Subsets(NamedTuple):
    """Scratch: the candidates of one box, by the bits of the constraints that make the key."""

    pick: Int64s  # constraints: equalities by attribute, then ranges by chance
    place: Int64s  # upper part of the code
    range: Int64s  # lower part of the code
    used: Int64s  # places; over HASHED: no candidate
    chance: Float64s  # that an event meets the box
    keys: Float64s
    code: Int64s
    cost: NDArray[np.float32]


@kernel
def make_subsets() -> Subsets:
    """Allocate the scratch of one thread."""
    subsets = 1 << PICKS
    return Subsets(
        np.zeros(PICKS, np.int64), np.zeros(subsets, np.int64), np.zeros(subsets, np.int64),
        np.zeros(subsets, np.int64), np.ones(subsets), np.ones(subsets),
        np.zeros(CANDIDATES, np.int64), np.zeros(CANDIDATES, np.float32),
    )  # fmt: skip


@kernel(allocates=False)
def encode_candidates(b: int, boxes: Boxes, constraints: Constraints, work: Subsets) -> int:
    """Write codes and costs of the candidate signatures of box b; return how many."""
    first, stop = boxes.start[b], boxes.start[b + 1]
    count = pick_constraints(first, stop, constraints, work.pick)
    n, top, last = 0, 0, 0
    for subset in range(1 << count):
        if subset:
            top += subset == 2 << top
            extend_subset(subset, 1 << top, work.pick[top], boxes, constraints, work)
        if work.used[subset] <= HASHED and work.keys[subset] <= MAX_KEYS:
            work.code[n] = work.place[subset] << PLACES[0] | work.range[subset]
            work.cost[n] = work.chance[subset] * TEST
            n, last = n + 1, subset
    is_whole = last == (1 << count) - 1 and count == stop - first
    if is_whole and is_pure(work.code[n - 1]):
        work.code[n] = work.code[n - 1] | 1
        work.cost[n] = work.chance[last] * COPY
        n += 1
    return n


@kernel(allocates=False)
def is_pure(code: int) -> bool:
    """Tell whether the access implies every constraint in the code."""
    implied = code >> 5 & 3 != BETWEEN
    for place in PLACES:
        implied &= (code >> place & REQUIRED) == 0
    return bool(implied)


@kernel(allocates=False)
def extend_subset(
    subset: int, bit: int, c: int, boxes: Boxes, constraints: Constraints, work: Subsets
) -> None:
    """Add constraint c to the subset without its uppermost bit: hashed, sorted or required."""
    rest = subset ^ bit
    a = boxes.axis[c]
    work.place[subset], work.range[subset] = work.place[rest], work.range[rest]
    work.used[subset], work.keys[subset] = work.used[rest], work.keys[rest]
    if constraints.kind[c] == EQUAL:
        work.place[subset] = work.place[rest] << 12 | np.int64(a + 1)
        work.used[subset] += 1
        work.keys[subset] *= boxes.size[a]
        work.chance[subset] = work.chance[rest] * constraints.chance[c]
    elif work.range[rest] == 0:
        work.range[subset] = encode_range(c, boxes, constraints)
        slack = SLACK if constraints.kind[c] == BETWEEN else 1.0
        chance = min(constraints.chance[c] * slack, constraints.presence[a])
        work.chance[subset] = work.chance[rest] * chance
    else:
        is_second = work.place[rest] & REQUIRED
        work.place[subset] = work.place[rest] << 12 | np.int64(a + 1) | REQUIRED
        work.used[subset] += HASHED if is_second else 1
        work.chance[subset] = work.chance[rest] * constraints.presence[a]


@kernel(allocates=False)
def pick_constraints(first: int, stop: int, constraints: Constraints, pick: Int64s) -> int:
    """Write the most selective constraints of a box, in the order of `Subsets`; return how many."""
    count = 0
    for c in range(first, stop):
        if count < PICKS:
            pick[count] = c
            count += 1
            continue
        worst = 0
        for j in range(1, PICKS):
            if constraints.chance[pick[j]] > constraints.chance[pick[worst]]:
                worst = j
        if constraints.chance[c] < constraints.chance[pick[worst]]:
            for j in range(worst, PICKS - 1):
                pick[j] = pick[j + 1]
            pick[PICKS - 1] = c
    for i in range(1, count):
        c, j = pick[i], i
        while j > 0 and comes_before(c, pick[j - 1], constraints):
            pick[j] = pick[j - 1]
            j -= 1
        pick[j] = c
    return count


@kernel(allocates=False)
def comes_before(c: int, d: int, constraints: Constraints) -> bool:
    """Tell whether constraint c stands before d: equalities as they are, then ranges by chance."""
    if constraints.kind[d] == EQUAL:
        return False
    return bool(constraints.kind[c] == EQUAL or constraints.chance[c] < constraints.chance[d])


@kernel(allocates=False)
def encode_range(c: int, boxes: Boxes, constraints: Constraints) -> np.int64:
    """Return the lower part of a code, for the range constraint c."""
    kind = np.int64(constraints.kind[c])
    length_class = np.int64(0)
    if kind == BETWEEN:
        length = boxes.high[c] - boxes.low[c]
        while length > 0 and length_class < 15:
            length >>= 2
            length_class += 1
    return np.int64(boxes.axis[c] + 1) << SORTED | kind << 5 | length_class << 1


def decode_signature(code: int) -> Signature:
    """Return the signature that a code stands for."""
    places = [code >> shift & 0xFFF for shift in PLACES]
    hashed = tuple((place & ~REQUIRED) - 1 for place in places)
    return Signature(
        hashed,
        tuple(place > REQUIRED for place in places),
        (code >> SORTED & 0xFFF) - 1,
        code >> 5 & 3,
    )
