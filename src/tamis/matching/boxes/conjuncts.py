"""Many subscriptions that are conjunctions of predicates, compiled predicate by predicate.

    0   a1 = 5 and a6 in ('x', 'y')         a1 = □        rows 0 2     constants 5 7
    1   a6 in ('p', 'q') and a9 < 3         a6 in (□, □)  rows 0 1     constants x p | y q
    2   a1 = 7                              a9 < □        rows 1       constants 3

Subscriptions that use different attributes have few shapes in common, but the same predicates. The
sides of each predicate are made for all rows that have it, and a box gets its sides from several
predicates. A row whose predicates have several ranges becomes a box for each combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int64s, Numbers, Slots
from tamis.matching.axes.axis import GREATEST, LEAST
from tamis.matching.boxes.compiler import BoxCompiler
from tamis.matching.boxes.shapes import Column, Shape, ShapeSide, references
from tamis.matching.boxes.unresolved import BoxRows


class Conjunct(NamedTuple):
    """A predicate of many rows: its shape, the rows, and its constants as columns."""

    shape: Shape
    rows: Numbers
    columns: Sequence[Column]


def add_conjuncts(
    axes: BoxCompiler, boxes: BoxRows, slots: Slots, conjuncts: Sequence[Conjunct]
) -> Flags:
    """Take in rows, each with the slot of its subscription; say which rows are left out, because
    there is no room for their axes. Of a subscription all rows are left out or none."""
    left = np.zeros(len(slots), np.bool_)
    sides = [
        (each, side, axes.number(side.axis)) for each in conjuncts for side in each.shape.sides
    ]
    for each, _, number in sides:
        if number is None:
            left[each.rows] = True
    if left.any():
        left = np.isin(slots, slots[left])
    combinations = np.where(left, 0, 1)
    for each, side, _ in sides:
        combinations[each.rows] *= len(side.ranges)
    box = boxes.add_empty(np.repeat(slots, combinations))
    first = box + np.cumsum(combinations) - combinations
    stride = np.ones(len(slots), np.int64)
    for each, side, number in sides:
        if number is not None:
            count = combinations[each.rows]
            choice = _spread(count)
            which = np.repeat(np.arange(len(count)), count)
            at = first[each.rows][which] + choice
            range_ = choice // stride[each.rows][which] % len(side.ranges)
            boxes.add_sides(at, number, *_bounds(axes, number, each, side, which, range_))
            stride[each.rows] *= len(side.ranges)
    return left


def _spread(count: Int64s) -> Int64s:
    """0 to count - 1, for each count."""
    end = np.cumsum(count)
    return np.arange(end[-1] if len(end) else 0) - np.repeat(end - count, count)


def _bounds(
    axes: BoxCompiler,
    number: int,
    conjunct: Conjunct,
    side: ShapeSide,
    which: Int64s,
    range_: Int64s,
) -> list[Int64s]:
    """The bounds of sides: low line, low reference, high line, high reference."""
    builder = axes.builders[number]
    if side.tells_gaps:
        builder.tell_gaps()
    rows = len(conjunct.rows)
    tables = np.empty((4, len(side.ranges), rows), np.int64)
    for place, (low, high) in enumerate(side.ranges):
        tables[0, place] = low.line
        tables[1, place] = references(low, LEAST, builder, conjunct.columns)
        tables[2, place] = high.line
        tables[3, place] = references(high, GREATEST, builder, conjunct.columns)
    return [table[range_, which] for table in tables]
