"""How the boxes of a sieve are found, and what that is expected to cost: read off its arrays.

    table      key → slice          signature of a key: the last whose base is not above it
    base         0      40   41     hashed ranks: the digits of key - base
    constant   |........|..|....|   boxes by key, so those of a signature stand side by side

Figures are those by which keys are chosen (``sieve.keys``): an attribute is there, and its ranks
are met, as often as the statistics say, whatever the others; if there are none, it is there with
probability ``chances.PRESENCE``, and each of its ranks is as likely as any other. Windows are those
of the built arrays, not the estimate that the choice makes do with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.distinct import distinct
from tamis.arrays.key_table import EMPTY
from tamis.arrays.types import Flags, Float64s, Int64s
from tamis.matching.axes.axis import Axis
from tamis.matching.boxes.layout import (
    AT_LEAST,
    AT_MOST,
    BETWEEN,
    Statistics,
    accumulate_mass,
)
from tamis.matching.covers.chances import PRESENCE
from tamis.matching.sieve.build import UNSORTED, Sieve
from tamis.matching.sieve.keys import PROBE
from tamis.matching.sieve.signatures import COPY, HASHED, TEST
from tamis.model.paths import format_path


class Access(NamedTuple):
    """Figures of each signature, and the slots with a box that no key serves."""

    boxes: Int64s
    subscriptions: Int64s
    keys: Int64s
    probability: Float64s  # that an event has the attributes, and pays the probe
    met: Float64s  # boxes that an event meets
    cost: Float64s  # nanoseconds
    unserved: Int64s


class Slices(NamedTuple):
    """The keys in use, the signature of each, and how many boxes it has; by ascending key."""

    key: Int64s
    signature: Int64s
    boxes: Int64s


def slices_of(sieve: Sieve) -> Slices:
    """What the table of a sieve holds."""
    used = sieve.table[0::2] != EMPTY
    key, entry = sieve.table[0::2][used], sieve.table[1::2][used]
    order = np.argsort(key)
    key, entry = key[order], entry[order]
    signature = np.searchsorted(sieve.base, key, side="right") - 1
    return Slices(key, signature, (entry & 0xFFFFFFFF) - (entry >> 32))


def access_of(
    sieve: Sieve, slot: Int64s, found: Sequence[Axis], known: Statistics | None = None
) -> Access:
    """How an event finds the boxes of a sieve, whose subscriptions have these slots."""
    known = _assumed(found) if known is None else known
    below, offset = accumulate_mass([*known.mass, None], sizes_of(found))
    count = len(sieve.base)
    slices = slices_of(sieve)
    keys = np.bincount(slices.signature, minlength=count)
    boxes = _boxes(slices, count)
    signature = np.repeat(np.arange(count), boxes)
    probability = np.append(known.presence, 1.0)[sieve.attribute].prod(axis=1)
    size = sizes_of(found)
    digits = np.where(sieve.stride > 0, size[sieve.attribute[:, :HASHED]], 1).prod(axis=1)
    ranks = size[sieve.attribute[:, HASHED]][signature]
    low, high = _windows(sieve, signature, ranks)
    begin = offset[sieve.attribute[signature, HASHED]]
    chance = below[begin + high + 1] - below[begin + low]
    chance *= np.repeat(_hits(sieve, slices, size, below, offset), slices.boxes)
    met = np.bincount(signature, chance, minlength=count) * probability
    cost = probability * PROBE + met * np.where(sieve.width > 0, TEST, COPY)
    everywhere = (high - low + 1 == ranks) & (digits == 1)[signature]
    unserved = distinct(slot[everywhere])
    subscriptions = _subscriptions(slot, signature, count)
    return Access(boxes, subscriptions, keys, probability, met, cost, unserved)


def owners_of(sieve: Sieve) -> Int64s:
    """The owner of each box: a slot, or the number of a condition."""
    return np.where(sieve.slot < 0, ~sieve.slot, sieve.slot).astype(np.int64)


def sizes_of(found: Sequence[Axis]) -> Int64s:
    """The ranks of each axis, and behind them of the one that every event has."""
    return np.array([*(axis.size for axis in found), 1], np.int64)


def constraints_of(sieve: Sieve, found: Sequence[Axis]) -> Int64s:
    """A number for each constraint (axis, low, high) of the boxes, the same for equal ones.

    Hashed ones are digits of keys, sorted one-sided ones are constants, and all others are tests.
    """
    size = sizes_of(found)
    offset = np.cumsum(size) - size
    codes = []

    def add(axis: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> None:
        codes.append(distinct((offset[axis] + low) << 32 | high))

    tested = sieve.tests[0::3] < len(found)  # the others only fill a row
    axis, low, span = (sieve.tests[place::3][tested].astype(np.int64) for place in range(3))
    add(axis, low, low + span)
    slices = slices_of(sieve)
    for _, axis, digit in _digits(sieve, slices, size):
        add(axis, digit, digit)
    count = len(sieve.base)
    signature = np.repeat(np.arange(count), _boxes(slices, count))
    for kind in (AT_LEAST, AT_MOST):
        boxes = sieve.kind[signature] == kind
        axis = sieve.attribute[signature[boxes], HASHED]
        constant, last = sieve.constant[boxes].astype(np.int64), size[axis] - 1
        if kind == AT_LEAST:
            add(axis, constant, last)
        else:
            add(axis, np.zeros_like(constant), constant)
    return np.concatenate(codes)


def words_of(sieve: Sieve, found: Sequence[Axis]) -> Iterator[str]:
    """Each signature in words; an axis of one rank tells no more than that a value is there."""
    shared = Counter(axis.key.path for axis in found if not axis.key.sort.is_presence)
    names = [_name(axis, shared[axis.key.path] > 1) for axis in found]
    rows = zip(sieve.attribute.tolist(), sieve.stride.tolist(), sieve.kind.tolist(), sieve.reach)
    for places, strides, kind, reach in rows:
        used = sorted((n, stride) for n, stride in zip(places, strides) if n < len(found))
        hashed = [n for n, stride in used if stride and found[n].size > 1]
        said = [f"{names[n]} = ?" for n in hashed]
        said += [f"{names[n]} present" for n, _ in used if n not in hashed]
        parts = [" and ".join(said)] if said else []
        if kind != UNSORTED:
            window = f" in windows of {reach + 1:,} ranks" if kind == BETWEEN else ""
            parts.append(f"{names[places[HASHED]]} sorted{window}")
        yield ", ".join(parts) or "every event"


def _name(axis: Axis, shared: bool) -> str:
    """The attribute, with the kind of its values if there are axes of several."""
    path = format_path(axis.key.path)
    if axis.key.sort.is_presence:
        return f"presence of {path}"
    return str(axis.key) if shared else path


def _assumed(found: Sequence[Axis]) -> Statistics:
    """What is assumed of events about which nothing is known; on axes of presence all have one."""
    presence = [1.0 if axis.key.sort.is_presence else PRESENCE for axis in found]
    return Statistics(np.array(presence), [None] * len(found))


def _digits(
    sieve: Sieve, slices: Slices, size: Int64s
) -> Iterator[tuple[Flags, NDArray[Any], Int64s]]:
    """By place: which keys hash an attribute there, which one, and its rank."""
    for place in range(HASHED):
        hashed = sieve.stride[slices.signature, place] > 0
        own = slices.signature[hashed]
        axis = sieve.attribute[own, place]
        digit = (slices.key[hashed] - sieve.base[own]) // sieve.stride[own, place] % size[axis]
        yield hashed, axis, digit


def _hits(sieve: Sieve, slices: Slices, size: Int64s, below: Float64s, offset: Int64s) -> Float64s:
    """How likely each key is that of an event that has its attributes."""
    chance = np.ones(len(slices.key))
    for hashed, axis, digit in _digits(sieve, slices, size):
        at = offset[axis] + digit
        chance[hashed] *= below[at + 1] - below[at]
    return chance


def _boxes(slices: Slices, count: int) -> Int64s:
    """How many boxes each signature has."""
    return np.bincount(slices.signature, slices.boxes, count).astype(np.int64)


def _windows(sieve: Sieve, signature: Int64s, ranks: Int64s) -> tuple[Int64s, Int64s]:
    """For each box, the first and last rank of its sorted attribute that let an event meet it."""
    kind, constant = sieve.kind[signature], sieve.constant.astype(np.int64)
    low, high = (
        np.where(kind == AT_MOST, 0, constant),
        np.where(kind == AT_MOST, constant, ranks - 1),
    )
    reach = np.minimum(constant + sieve.reach[signature], ranks - 1)
    return low, np.where(kind == BETWEEN, reach, high)


def _subscriptions(slot: Int64s, signature: Int64s, count: int) -> Int64s:
    """How many distinct slots each signature has."""
    span = int(slot.max(initial=0)) + 1
    return np.bincount(distinct(signature * span + slot) // span, minlength=count)
