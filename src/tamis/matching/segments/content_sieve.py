"""Boxes that need something to be found: a text in a title, a value in a list.

    axes of the segment      0  1  2  3  4  …          found in titles
    columns of the sieve     1  4                      and, behind them, the rank of what was found

A point is looked up once for each thing that was found in it, so it should be short: it has only
those axes that the boxes of this sieve are about.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.distinct import distinct
from tamis.arrays.types import Int32s, Numbers, Ranks
from tamis.matching.axes.axis import Axis
from tamis.matching.boxes.layout import Boxes, Statistics
from tamis.matching.points.contents import ContentAxis, FoundThings
from tamis.matching.points.of_events import Points
from tamis.matching.points.of_lists import SINGLE, Choices
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.unbuild import boxes_of

Expectations = Callable[[Sequence[Axis]], Statistics]
"""What is known about events, given the axes of a sieve."""


class ContentSieve(NamedTuple):
    """The boxes on one axis of found things."""

    found: ContentAxis
    sieve: BoxSieve
    columns: Numbers
    """The axes of the segment that boxes ask for, ascending."""

    @classmethod
    def of(
        cls, axis: Axis, boxes: Boxes, axes: Sequence[Axis], statistics: Expectations | None
    ) -> ContentSieve:
        """The sieve of boxes on the axes of a segment; the one behind them is that of found
        things."""
        asked = np.zeros(len(axes) + 1, bool)
        asked[boxes.axis] = True
        columns = np.flatnonzero(asked[:-1]).astype(np.int32)
        number = np.cumsum(asked) - 1
        number[-1] = len(columns)
        own = [*(axes[column] for column in columns.tolist()), axis]
        size = np.array([each.size for each in own], np.int64)
        boxes = boxes._replace(axis=number[boxes.axis].astype(np.int32), size=size)
        sieve = BoxSieve(boxes, None if statistics is None else statistics(own))
        return cls(ContentAxis(axis), sieve, columns)

    def axes(self, axes: Sequence[Axis]) -> list[Axis]:
        """The axes of the sieve, given those of the segment."""
        return [*(axes[column] for column in self.columns.tolist()), self.found.axis]

    def boxes(self, place: int) -> Boxes:
        """The boxes on the axes of the segment, among which that of found things has a place."""
        boxes = boxes_of(self.sieve.arrays, self.sieve.size)
        number = np.append(self.columns, np.int32(place))
        return boxes._replace(axis=number[boxes.axis])

    def hits(self, points: Points, things: FoundThings) -> Iterator[tuple[Int32s, Numbers]]:
        """Points, by their numbers, and the owners of the boxes that they stab."""
        for number, ranks in self.found.points(points.ranks, self.columns, things):
            for chunk in self.sieve.chunks(ranks):
                yield number[chunk.event], chunk.slot

    def owners(self, point: Ranks, found: Sequence[int]) -> array[int]:
        """The owners of the boxes that one point stabs, with what was found in it."""
        own = np.zeros(len(self.columns) + 2, np.int32)
        own[:-2] = point[self.columns]
        return self.sieve.match_each(own, np.array(found, np.int32))

    def owners_of_choices(self, choices: Choices, found: Sequence[int]) -> Numbers:
        """The owners of the boxes that some choice from the lists of one event stabs."""
        own = np.append(self.columns, np.int32(len(choices.single) - 1))
        columns = len(self.columns)
        single = np.append(choices.single[own], np.int32(0))
        group = np.append(choices.group[own], np.int32(SINGLE))
        start = np.append(choices.start[own], 0)
        owners = [np.empty(0, np.int32)]
        for rank in found:
            single[columns] = rank
            owners.append(
                self.sieve.match_choices(choices._replace(single=single, group=group, start=start))
            )
        return distinct(np.concatenate(owners))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The sieve as named flat arrays."""
        return {"columns": self.columns, **self.sieve.to_arrays()}

    @classmethod
    def from_arrays(cls, axis: Axis, arrays: Mapping[str, NDArray[Any]]) -> ContentSieve:
        """The sieve of ``to_arrays``."""
        return cls(ContentAxis(axis), BoxSieve.from_arrays(arrays), arrays["columns"])
