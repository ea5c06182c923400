"""One axis out of the axes that several segments have of one sort of one attribute.

    axis of one segment    0 │ 1 │ 2        cuts before and after 3        1..1  is x = 3
    of another             0 │ 1            cut after 5                    1..1  is x > 5
    merged                 0 │ 1 │ 2 │ 3                                   1..1  and  3..3

A merged axis has the cuts at which some interval ends; with the last interval that ends there a
cut goes. Ends of lines stay ends of lines, whatever comes to lie before or behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Flags, Int64s, Positions, Ranks, Uses
from tamis.matching.axes.axis import Axis
from tamis.matching.boxes.layout import Boxes
from tamis.matching.lines.line import UNUSED, USED, WIDE, Line


class NewRanks(NamedTuple):
    """What the ranks of an axis become in a merged one: as low ends of intervals, as high ends."""

    low: Ranks
    high: Ranks


@kernel
def mark_uses(boxes: Boxes, offset: Int64s, uses: Uses, asked: Flags) -> None:
    """Mark the axes that boxes ask for, and the ranks above which, on its axis, an interval begins
    or ends; the ranks of all axes stand one behind the other, from the offsets on."""
    for c in range(len(boxes.axis)):
        a, low, high = boxes.axis[c], boxes.low[c], boxes.high[c]
        asked[a] = True
        if low > 0:
            at = offset[a] + low - 1
            uses[at] = max(uses[at], WIDE if high > low else USED)
        at = offset[a] + high
        uses[at] = max(uses[at], USED)


def merged_axis(axes: Sequence[Axis], uses: Sequence[Uses]) -> tuple[Axis, list[NewRanks]]:
    """One axis of the used cuts of several, and what the ranks of each become."""
    first = axes[0]
    starts = [axis.line_ends()[0] for axis in axes]
    lines: list[Line] = []
    positions: list[list[Positions]] = []
    for number in range(len(first.lines)):
        own = [axis.lines[number] for axis in axes]
        cuts = [
            use[start[number] : start[number] + line.size - 1]
            for use, start, line in zip(uses, starts, own)
        ]
        line, found = _merged_line(own, cuts)
        lines.append(line)
        positions.append(found)
    merged = Axis(first.key, lines)
    return merged, [
        _new_ranks(axis, merged, [found[index] for found in positions])
        for index, axis in enumerate(axes)
    ]


def _merged_line(lines: Sequence[Line], uses: Sequence[Uses]) -> tuple[Line, list[Positions]]:
    """One line of the used cuts of several; the only one itself, if all its cuts are used."""
    if len(lines) == 1 and (uses[0] != UNUSED).all():
        return lines[0], [np.arange(lines[0].size - 1, dtype=np.int32)]
    return type(lines[0]).merged(lines, uses)


def _new_ranks(axis: Axis, merged: Axis, positions: Sequence[Positions]) -> NewRanks:
    """What ranks become, given the positions of the cuts of each line in the merged one."""
    first, last = merged.line_ends()
    low, high = [], []
    for found, start, stop in zip(positions, first, last):
        low.append(np.concatenate(([start], found + (start + 1))))
        high.append(np.concatenate((found + start, [stop])))
    if axis.size > sum(map(len, low)):  # the rest behind the lines
        low.append(first[-1:])
        high.append(last[-1:])
    return NewRanks(np.concatenate(low, dtype=np.int32), np.concatenate(high, dtype=np.int32))
