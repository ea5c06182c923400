"""From the points of events to those that indexes take: sparse, in labels, one for each type.

ranks or labels, a row for each binding             points, only what is there
category  price  self                               category 17, price 12          type 0
17        12     0          of type toys            toys.category 17, ...          type toys
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.matching.points.of_events import Points as EventPoints
from tamis.published.boxes import Points
from tamis.published.frame.event_types import SELF, STRUCTURES, Columns, Types, typed_points
from tamis.published.frame.label_axes import Ranking

_NO_LABELS = np.empty(0, np.int64)


class Pass(NamedTuple):
    """Points for the index of a number."""

    key: int
    number: Numbers | None
    """Of which point of the events each is one; None if point i is point i."""
    points: Points


class TypesOfRows(NamedTuple):
    """Rows, ascending, and their types other than 0, each once."""

    row: NDArray[np.int64]
    type: Numbers


def passes(
    found: EventPoints, ranking: Ranking | None, types: Types, own: TypesOfRows | None
) -> Iterator[Pass]:
    """The points of events, for one index after the other; without a ranking they have labels."""
    count = len(found.ranks)
    if own is None or not len(own.row):
        number, type = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
        yield Pass(0, None, _points(found.ranks, ranking, number, type, types))
        return
    number, type = typed_points(own.row, own.type, found.row, count)
    if types.way != STRUCTURES:
        yield Pass(0, number, _points(found.ranks, ranking, number, type, types))
        return
    order = np.argsort(type, kind="stable")
    number, type = number[order], type[order]
    ends = np.flatnonzero(np.diff(type)) + 1
    for mine, same in zip(np.split(number, ends), np.split(type, ends)):
        yield Pass(int(same[0]), mine, _points(found.ranks, ranking, mine, same, types))


def passes_of_one(labels: list[int], types: Types, own: Sequence[int]) -> Iterator[Pass]:
    """The points of one event, given its labels and types: the same without a kernel."""
    together = [[0, *own]] if types.way != STRUCTURES else [[each] for each in (0, *own)]
    for several in together:
        start, sides = [0], []
        for type in several:
            for axis, column in types.pairs(type):
                label = 0 if column == SELF else labels[column]
                if label >= 0:
                    sides.append((axis, label))
            start.append(len(sides))
        axes, found = zip(*sides) if sides else ((), ())
        yield Pass(
            types.key(several[0]),
            np.zeros(len(several), np.int32),
            Points(
                np.array(start, np.int64),
                np.array(axes, np.int32),
                np.array(found, np.int64),
                np.array(several, np.int32),
                types.axes,
            ),
        )


def _points(
    ranks: NDArray[np.integer],
    ranking: Ranking | None,
    number: Numbers,
    type: Numbers,
    types: Types,
) -> Points:
    columns = types.columns()
    room = int(np.diff(columns.start)[type].sum())
    start = np.zeros(len(number) + 1, np.int64)
    axis, label = np.empty(room, np.int32), np.empty(room, np.int64)
    first, table = (_NO_LABELS, _NO_LABELS) if ranking is None else (ranking.first, ranking.table)
    points = Points(start, axis, label, type, types.axes)
    used = fill_points(ranks, first, table, number, columns, points)
    return points._replace(axis=axis[:used], label=label[:used])


@kernel
def fill_points(
    ranks: NDArray[np.integer],
    first: Offsets,
    table: Labels,
    number: Numbers,
    columns: Columns,
    points: Points,
) -> int:
    """Write the labels that points have on the axes of their types; return how many."""
    n = 0
    for p in range(len(number)):
        row, type = number[p], points.type[p]
        for c in range(columns.start[type], columns.start[type + 1]):
            column = columns.column[c]
            label = 0
            if column >= 0:
                rank = ranks[row, column]
                label = rank
                if rank >= 0 and len(table):
                    label = table[first[column] + rank]
            if label >= 0:
                points.axis[n], points.label[n] = columns.axis[c], label
                n += 1
        points.start[p + 1] = n
    return n
