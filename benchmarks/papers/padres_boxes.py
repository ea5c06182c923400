"""The subscriptions of PADRES, section 6, as boxes: sets A and B, covering and merging of arrays.

Twenty integer attributes; a subscription has a few of them, each with one of =, <, <=, >, >=. A box
is a row of low and high ends, [low, high), with ABSENT where it does not ask.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Float64s
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import UNBOUNDED
from tamis.routing.box_groups import RANGE, BoxSides
from tamis.routing.box_index import BoxIndex

ATTRIBUTES = 20
ABSENT = -2
BELOW, ABOVE = -1, 1_000
"""Ends that lie outside of all values."""
Ends = NDArray[np.int16]


class RoutingSet(NamedTuple):
    """Subscriptions, one a row."""

    low: Ends
    high: Ends
    values: int

    def select(self, rows: Flags | NDArray[np.int64]) -> RoutingSet:
        """Some of them."""
        return RoutingSet(self.low[rows], self.high[rows], self.values)


class Shape(NamedTuple):
    """How many values an attribute has, how many predicates a subscription, how popular the
    attributes are (Zipf), and the share of equalities; the other operators are as likely."""

    values: int
    least: int
    most: int
    zipf: float
    equal: float


SET_A = Shape(20, 3, 4, 2.5, 0.985)
SET_B = Shape(50, 2, 4, 0.0, 0.99)
"""Calibrated at 200,000 so that covering alone removes as much as the paper says, 75 % of A and
45 % of B, and perfect merging a good part of the rest: only where most predicates are equalities
do many subscriptions agree on all attributes but one, and yet not cover each other."""
SET_A_SMALL = Shape(20, 2, 5, 1.5, 0.2)
"""For overlays of 10,000, of which a link sees a few hundred or thousand: covering removes two
thirds of 500. How much it removes depends on how many there are: of 10,000 of SET_A, 17 %."""


def routing_set(shape: Shape, count: int, seed: int = 1) -> RoutingSet:
    """Random subscriptions."""
    rng = default_rng(seed)
    weight = 1.0 / np.arange(1, ATTRIBUTES + 1) ** shape.zipf
    keys = np.log(rng.random((count, ATTRIBUTES))) / weight
    sides = rng.integers(shape.least, shape.most + 1, count)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    chosen = rank < sides[:, None]
    constant = rng.integers(0, shape.values, (count, ATTRIBUTES)).astype(np.int16)
    operator = rng.integers(1, 5, (count, ATTRIBUTES))
    operator[rng.random((count, ATTRIBUTES)) < shape.equal] = 0
    low = np.choose(operator, [constant, BELOW, BELOW, constant + 1, constant])
    high = np.choose(operator, [constant + 1, constant, constant + 1, ABOVE, ABOVE])
    low, high = np.where(chosen, low, ABSENT), np.where(chosen, high, ABSENT)
    return RoutingSet(low.astype(np.int16), high.astype(np.int16), shape.values)


def publications(values: int, count: int, seed: int = 2) -> NDArray[np.int64]:
    """Events: all attributes, all values as likely."""
    return default_rng(seed).integers(0, values, (count, ATTRIBUTES))


def texts(own: RoutingSet) -> list[str]:
    """The subscriptions in words."""
    found = []
    for low, high in zip(own.low.tolist(), own.high.tolist(), strict=True):
        parts = []
        for axis, (least, end) in enumerate(zip(low, high, strict=True)):
            if least == ABSENT:
                continue
            if least == BELOW and end == ABOVE:
                parts.append(f"a{axis} < {ABOVE}")
            elif least == BELOW:
                parts.append(f"a{axis} < {end}")
            elif end == ABOVE:
                parts.append(f"a{axis} >= {least}")
            elif end == least + 1:
                parts.append(f"a{axis} = {least}")
            else:
                parts.append(f"a{axis} between {least} and {end - 1}")
        found.append(" and ".join(parts) or "a0 < 1000")
    return found


def label_boxes(own: RoutingSet) -> Boxes:
    """The subscriptions as boxes of labels; those that no event of the labels matches are left
    out of an index by having an empty side, which here begins above all labels."""
    row, axis = np.nonzero(own.low != ABSENT)
    low = np.maximum(own.low[row, axis].astype(np.int64), 0)
    high = own.high[row, axis].astype(np.int64) - 1
    never = high < low
    low[never] = high[never] = UNBOUNDED - 1
    high[own.high[row, axis] == ABOVE] = UNBOUNDED
    start = np.concatenate(([0], np.cumsum((own.low != ABSENT).sum(axis=1))))
    return Boxes(start, axis.astype(np.int32), low, high, np.arange(len(own.low), dtype=np.int32))


def box_sides(own: RoutingSet) -> list[BoxSides]:
    """The subscriptions for the box index."""
    boxes = label_boxes(own)
    single = (own.high - own.low == 1) & (own.low != ABSENT) & (own.low != BELOW)
    row, axis = np.nonzero(own.low != ABSENT)
    key = np.where(single[row, axis], axis * own.values + own.low[row, axis], RANGE)
    key = key.astype(np.int32)
    low, high = own.low[row, axis].astype(np.int64), own.high[row, axis].astype(np.int64)
    cuts = boxes.start.tolist()
    return [BoxSides(boxes.axis[a:b], key[a:b], low[a:b], high[a:b]) for a, b in pairwise(cuts)]


def covered_away(own: RoutingSet) -> Flags:
    """Which subscriptions no other covers, of equal ones the first."""
    index, kept = BoxIndex(), np.zeros(len(own.low), bool)
    for number, sides in enumerate(box_sides(own)):
        if len(index.covering(sides, first=True)):
            continue
        for gone in index.covered(sides).tolist():
            index.remove(gone)
            kept[gone] = False
        index.add(number, sides)
        kept[number] = True
    return kept


class Merged(NamedTuple):
    """Subscriptions after merging, each with the probability that a member matches."""

    boxes: RoutingSet
    true: Float64s
    group: NDArray[np.int64]
    """By original subscription: its merger."""


def probability(own: RoutingSet, values: int) -> Float64s:
    """The probability of each subscription, all values below a number being as likely."""
    low = np.clip(own.low, 0, values)
    high = np.clip(own.high, 0, values)
    share = np.where(own.low == ABSENT, 1.0, np.maximum(high - low, 0) / values)
    return np.asarray(share.prod(axis=1))


def merge(
    own: RoutingSet,
    threshold: float,
    order: list[int] | None = None,
    promised: int | None = None,
) -> Merged:
    """Merge subscriptions that differ in one attribute; with an order only in the one at the top
    of their chains, as outputs of diagrams with the same children do.

    ``promised``: an advertisement promises that all values are below it.
    """
    promised = promised or own.values
    true, group = probability(own, promised), np.arange(len(own.low))
    while True:
        before = len(own.low)
        for axis in range(ATTRIBUTES):
            there = own.low[:, axis] != ABSENT
            if order is not None:
                above = order[order.index(axis) + 1 :]
                there &= (own.low[:, above] == ABSENT).all(axis=1)
            own, true, place = _merge_axis(own, true, there, axis, threshold, promised)
            group = place[group]
        if len(own.low) == before:
            return Merged(own, true, group)


def _merge_axis(
    own: RoutingSet, true: Float64s, there: Flags, axis: int, threshold: float, promised: int
) -> tuple[RoutingSet, Float64s, NDArray[np.int64]]:
    others = np.concatenate(
        (np.delete(own.low, axis, 1), np.delete(own.high, axis, 1)), axis=1
    ).copy()
    rows = others.view(np.dtype((np.void, others.dtype.itemsize * others.shape[1]))).ravel()
    _, form = np.unique(rows, return_inverse=True)
    form = np.where(there, form, form.max() + 1 + np.arange(len(form)))
    order = np.lexsort((own.low[:, axis], form))
    whole = own._replace(low=own.low.copy(), high=own.high.copy())
    whole.low[:, axis], whole.high[:, axis] = ABSENT, ABSENT
    found = Rows(
        form=form[order],
        low=own.low[order].copy(),
        high=own.high[order].copy(),
        true=true[order],
        rest=probability(whole, promised)[order],
        rest_of_all=probability(whole, own.values)[order],
    )
    place = np.empty(len(form), np.int64)
    count = merge_sorted(found, axis, own.values, promised, threshold, place)
    where = np.empty(len(form), np.int64)
    where[order] = place
    kept = RoutingSet(found.low[:count], found.high[:count], own.values)
    return kept, found.true[:count].copy(), where


class Rows(NamedTuple):
    """Subscriptions that are to be merged on one attribute, sorted by form and low end."""

    form: NDArray[np.int64]
    """The same number for those that agree on all other attributes."""
    low: Ends
    high: Ends
    true: Float64s
    """The probability that a member matches, of advertised events."""
    rest: Float64s
    """The probability of all other attributes, of advertised events ..."""
    rest_of_all: Float64s
    """... and of all events."""


@kernel
def merge_sorted(
    rows: Rows,
    axis: int,
    values: int,
    promised: int,
    threshold: float,
    place: NDArray[np.int64],
) -> int:
    """Merge rows of one form into the first rows; say where each went.

    Ranges that touch merge without a gap. The probability of the members of two mergers that
    overlap is not less than their sum without what they have in common, so that a threshold is
    never exceeded.
    """
    low, high, true = rows.low, rows.high, rows.true
    n = -1
    last = -1
    for row in range(len(rows.form)):
        least, end, rest = low[row, axis], high[row, axis], rows.rest[row]
        if n >= 0 and rows.form[row] == last:
            hull = max(high[n, axis], end)
            inside = share_of(low[n, axis], hull, promised) * rest
            common = share_of(least, min(high[n, axis], end), promised) * rest
            both = max(true[n] + true[row] - common, max(true[n], true[row]))
            touches = least <= high[n, axis]
            if touches and inside - both <= 1e-12:
                both = inside
            degree = (inside - both) / inside if inside > 0 else 0.0
            likely = share_of(low[n, axis], hull, values) * rows.rest_of_all[row]
            if (touches and threshold == 0.0) or likely * degree <= threshold:
                high[n, axis], true[n] = hull, both
                place[row] = n
                continue
        n += 1
        last = rows.form[row]
        low[n], high[n], true[n] = low[row], high[row], true[row]
        place[row] = n
    return n + 1


@kernel
def share_of(low: int, high: int, values: int) -> float:
    """The share of the values below a number that are in a range."""
    return max(0, min(high, values) - max(low, 0)) / values
