"""The layout of a sieve, and how it is built from boxes by sorting.

    event --(signatures whose attributes it has)--> key --hash--> slice --narrow--> run --> matches

    table     key | start, stop         open addressing, linear probing, two words an entry
                        |
                        v
    constant  .. 3 3 7 9 12 12 ..       boxes by (key, constant); the slice of one key
    slot      .. 5 0 8 2  6  1 ..
    tests     .. (attribute, low, high - low) x width of the signature, a row for each box ..

A box has exactly one place. Its hashed equalities are implied by the key, its sorted one-sided
range by the run that `narrow` cuts out of the slice, so neither is tested; a two-sided range
narrows (low ends within `reach` below the rank) and is tested. What is left stands in its row,
most selective first, padded with a test of the attribute that every event has: number k, rank 0.
Where most events lack the attributes of first tests, these stand in a column of their own: a glance
there spares a row that is ten or twenty times as long.

Keys are numbered without gaps between signatures (base + mixed radix of the ranks), so equal
numbers are equal keys: nothing is left to a hash function's luck.

Why rows of (attribute, low, high) and not a column an attribute: under a selective key an event
meets one or two boxes, and a row is one cache line where columns are one each. Why a fixed width
for each signature: the row's address needs no offset, hence no dependent cache miss.
Why one table for all signatures: a table each wastes memory on the rare ones.
Why not dyadic cells in the key: each box would stand in about two cells, and the cells in the
table (an estimated 57 bytes a box on W2, not 25); a binary search in a slice that shares cache
lines costs less.

Complexity: n log n by radix passes; n * (4 + c + 3 c width) + 27 bytes a distinct key, c = 2 or 4.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.key_table import hash_keys
from tamis.arrays.radix import sort_rows
from tamis.arrays.types import Buckets, Flags, Int8s, Int32s, Int64s, Packed, Slots, UInt16s
from tamis.matching.boxes.layout import (
    AT_MOST,
    BETWEEN,
    Boxes,
    Constraints,
    Statistics,
    check_boxes,
    weigh_constraints,
)
from tamis.matching.sieve.keys import choose_keys
from tamis.matching.sieve.signatures import HASHED, NONE, decode_signature

UNSORTED = NONE  # `kind` of a signature without a sorted attribute
SELDOM = 0.5  # how often, on average, events have the attributes of first tests of a signature
COMPARED = 64  # boxes of a slot up to which each two are compared


class Sieve(NamedTuple):
    """One immutable segment; attributes are numbered 0..k-1, and k is the one always present."""

    # signatures, sorted by gate (their rarest attribute)
    gate: NDArray[np.uint32]  # the attributes that gate at least one signature
    gated: Int32s  # signatures gated[g] .. gated[g+1]-1 have gate[g]
    attribute: NDArray[np.uint32]  # [s, 4]: three hashed, one sorted; k where unused
    stride: Int64s  # [s, 3]: key = base + sum of stride * rank; 0: only required
    base: Int64s
    kind: Int8s  # of the sorted constraint, or UNSORTED
    reach: Int32s  # longest high - low of the sorted constraint
    width: Int32s  # tests in a row
    row: Int64s  # the tests of box i begin at row[s] + 3 * width[s] * i
    # keys
    table: Buckets
    # boxes, by (key, constant)
    constant: Packed
    slot: Slots  # ~slot if a point may be in several boxes of the same slot
    tests: Packed
    is_seldom: Flags  # of a signature: whether its boxes have a first attribute
    first: UInt16s  # attribute of the first test; empty if no signature is seldom
    repeated: bool  # whether there is such a slot


def build_sieve(boxes: Boxes, statistics: Statistics | None = None) -> Sieve:
    """Sort boxes into a sieve."""
    boxes = check_boxes(boxes)
    constraints = weigh_constraints(boxes, statistics)
    n, k = len(boxes.owner), len(boxes.size)
    codes, choice = choose_keys(boxes, constraints)
    sieve, choice = lay_signatures(codes, choice, boxes.size, constraints.presence)

    key, constant = np.empty(n, np.int64), np.empty(n, np.int32)
    compose_keys(boxes, choice, sieve, key, constant)
    order = sort_rows(sort_rows(np.arange(n, dtype=np.int32), constant), key)
    count = np.bincount(choice, minlength=len(sieve.base))
    length = 3 * sieve.width.astype(np.int64)
    first = np.cumsum(count) - count
    sieve.row[:] = np.cumsum(count * length) - count * length - first * length
    fits = max(k + 1, int(boxes.size.max(initial=0))) <= 1 << 16
    packed: Any = np.uint16 if fits else np.uint32
    sieve = sieve._replace(
        table=hash_slices(key[order]),
        constant=constant[order].astype(packed),
        slot=mark_repeated(boxes)[order],
        tests=np.empty(int((count * length).sum()), packed),
    )
    write_rows(boxes, constraints, choice, order, sieve)
    sieve = with_first_attributes(sieve, choice[order], constraints.presence)
    return sieve._replace(repeated=bool((sieve.slot < 0).any()))


def lay_signatures(
    codes: Int64s,
    choice: Int32s,
    size: Int64s,
    presence: NDArray[np.float32],
) -> tuple[Sieve, Int32s]:
    """Number the signatures that have boxes, by gate; return them and the renumbered choice."""
    k = len(size)
    used = np.flatnonzero(np.bincount(choice, minlength=len(codes)))
    padded_size, padded_presence = np.append(size, 1), np.append(presence, 1.0)
    signatures = [decode_signature(int(code)) for code in codes[used]]
    required = np.array([s.required for s in signatures], bool).reshape(-1, HASHED)
    attribute = np.array([(*s.hashed, s.sorted) for s in signatures], np.int32).reshape(
        -1, HASHED + 1
    )
    kind = np.array([s.kind if s.sorted != NONE else UNSORTED for s in signatures], np.int8)
    attribute[attribute == NONE] = k
    rarest = padded_presence[attribute].argmin(axis=1)
    gate = attribute[np.arange(len(attribute)), rarest]
    order = np.argsort(gate, kind="stable")
    attribute, required, kind = attribute[order], required[order], kind[order]
    renumbered = np.zeros(len(codes), np.int32)
    renumbered[used[order]] = np.arange(len(used))

    digits = np.where(required, 1, padded_size[attribute[:, :HASHED]])
    stride = np.cumprod(digits, axis=1) // digits
    keys = digits.prod(axis=1)
    stride[required | (attribute[:, :HASHED] == k)] = 0
    gates, start = np.unique(gate[order], return_index=True)
    zeros = np.zeros(len(used), np.int32)
    nothing = np.empty(0, np.uint32)
    sieve = Sieve(
        gates.astype(np.uint32), np.append(start, len(used)).astype(np.int32),
        attribute.astype(np.uint32), stride,
        np.cumsum(keys) - keys, kind, zeros.copy(), zeros.copy(), np.zeros(len(used), np.int64),
        np.empty(0, np.int64), nothing, np.empty(0, np.int32), nothing, np.zeros(len(used), bool),
        np.empty(0, np.uint16), False,
    )  # fmt: skip
    return sieve, renumbered[choice]


def mark_repeated(boxes: Boxes) -> Slots:
    """Return the slots, complemented where a point may be in several boxes of the slot: not if
    each two are disjoint, as those of ``x in (1, 2)`` are."""
    slot = boxes.owner
    several = np.flatnonzero(np.bincount(slot)[slot] > 1)
    marked = slot.copy()
    mark_overlapping(boxes, several[np.argsort(slot[several], kind="stable")], marked)
    return marked


@kernel
def mark_overlapping(boxes: Boxes, by_slot: Int64s, marked: Slots) -> None:
    """Complement the slots of those boxes, of some that are sorted by slot, that are not known to
    be disjoint from all others of theirs."""
    first = 0
    while first < len(by_slot):
        last = first + 1
        while last < len(by_slot) and boxes.owner[by_slot[last]] == boxes.owner[by_slot[first]]:
            last += 1
        apart = last - first <= COMPARED
        for i in range(first, last):
            for j in range(i + 1, last):
                apart = apart and are_disjoint(boxes, by_slot[i], by_slot[j])
        for i in range(first, last):
            if not apart:
                marked[by_slot[i]] = ~boxes.owner[by_slot[i]]
        first = last


@kernel
def are_disjoint(boxes: Boxes, b: int, d: int) -> bool:
    """Tell whether two boxes have no point in common; attributes ascend within a box."""
    i, j = boxes.start[b], boxes.start[d]
    while i < boxes.start[b + 1] and j < boxes.start[d + 1]:
        ours, theirs = boxes.axis[i], boxes.axis[j]
        if ours == theirs and (boxes.low[i] > boxes.high[j] or boxes.low[j] > boxes.high[i]):
            return True
        i += ours <= theirs
        j += theirs <= ours
    return False


def hash_slices(key: Int64s) -> Buckets:
    """Return the table from keys to the slices of the sorted boxes."""
    begins = np.ones(len(key), bool)
    begins[1:] = key[1:] != key[:-1]
    start = np.flatnonzero(begins)
    return hash_keys(key[start], start, np.append(start, len(key))[1:])


@kernel
def is_implied(a: int, places: NDArray[np.uint32], strides: Int64s, kind: int) -> bool:
    """Tell whether access by a signature makes a test of attribute a superfluous."""
    for j in range(HASHED):
        if places[j] == a and strides[j]:
            return True
    return places[HASHED] == a and kind != BETWEEN


@kernel
def compose_keys(
    boxes: Boxes,
    choice: Int32s,
    sieve: Sieve,
    key: Int64s,
    constant: Int32s,
) -> None:
    """Write key and sorted constant of each box; find reach and width of the signatures."""
    for b in range(len(choice)):
        s = choice[b]
        places, strides, kind = sieve.attribute[s], sieve.stride[s], sieve.kind[s]
        key[b], constant[b], tests = sieve.base[s], 0, 0
        for c in range(boxes.start[b], boxes.start[b + 1]):
            a = boxes.axis[c]
            for j in range(HASHED):
                if places[j] == a:
                    key[b] += strides[j] * boxes.low[c]
            if places[HASHED] == a:
                constant[b] = boxes.high[c] if kind == AT_MOST else boxes.low[c]
                sieve.reach[s] = max(sieve.reach[s], boxes.high[c] - boxes.low[c])
            tests += not is_implied(a, places, strides, kind)
        sieve.width[s] = max(sieve.width[s], tests)


def with_first_attributes(sieve: Sieve, signature: Int32s, presence: NDArray[np.float32]) -> Sieve:
    """Return the sieve with the column of first attributes, if that is of use; the signature of
    each box is given."""
    length = 3 * sieve.width.astype(np.int64)
    tested = length[signature] > 0
    row = sieve.row[signature] + length[signature] * np.arange(len(signature))
    first = np.full(len(signature), len(presence), np.uint16)
    first[tested] = sieve.tests[row[tested]]
    there = np.append(presence, 1.0)[first]
    count = np.maximum(np.bincount(signature, minlength=len(length)), 1)
    seldom = np.bincount(signature, there, len(length)) / count < SELDOM
    return sieve._replace(is_seldom=seldom, first=first if seldom.any() else first[:0])


@kernel
def write_rows(
    boxes: Boxes,
    constraints: Constraints,
    choice: Int32s,
    order: Int32s,
    sieve: Sieve,
) -> None:
    """Write the rows of tests of all boxes, in their sorted order."""
    k = len(boxes.size)
    left = np.empty(k, np.int64)
    for i in range(len(order)):
        b = order[i]
        s = choice[b]
        places, strides, kind = sieve.attribute[s], sieve.stride[s], sieve.kind[s]
        n = 0
        for c in range(boxes.start[b], boxes.start[b + 1]):
            if not is_implied(boxes.axis[c], places, strides, kind):
                j = n
                while j > 0 and constraints.chance[c] < constraints.chance[left[j - 1]]:
                    left[j] = left[j - 1]
                    j -= 1
                left[j] = c
                n += 1
        at = sieve.row[s] + 3 * sieve.width[s] * i
        for j in range(sieve.width[s]):
            if j < n:
                c = left[j]
                sieve.tests[at] = boxes.axis[c]
                sieve.tests[at + 1] = boxes.low[c]
                sieve.tests[at + 2] = boxes.high[c] - boxes.low[c]
            else:
                sieve.tests[at], sieve.tests[at + 1], sieve.tests[at + 2] = k, 0, 0
            at += 3
