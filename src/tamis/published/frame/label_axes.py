"""The axes of a published matcher, with labels for boxes and, for Arrow's columns, ranks.

    constants   3              5                  labels stay what they are when constants come
    labels      L3   L3 + 1    L5   L5 + 1
    ranks    0  1    2         3    4             ranks do not: a finished axis serves until then
    table    0  L3   L3 + 1    L5   L5 + 1  -1    from rank to label; what is missing, -1, stays so

So columns are ranked as the sieve ranks them, by compiled code, and a gather makes labels of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.types import Labels, Numbers, Offsets
from tamis.matching.axes.axis import Axis, AxisKey
from tamis.matching.axes.live import LiveAxis, finish
from tamis.matching.axes.sort import AxisSort
from tamis.matching.boxes.compiler import CompiledCondition, LiveBoxCompiler
from tamis.matching.boxes.live_shapes import ShapePlans
from tamis.matching.covers.covers import Condition
from tamis.matching.lines.taxonomy import TermLines
from tamis.model.kinds import Kind
from tamis.model.paths import Path
from tamis.predicates.normal import Literal
from tamis.published.boxes import UNBOUNDED
from tamis.published.frame.comparisons import ComparisonAxis, with_comparisons

LabelSide = tuple[int, int, int]
"""The number of an axis, the least and the greatest label."""


class RankedAxis(NamedTuple):
    """An axis as it was when it had so many constants."""

    constants: tuple[int, bool]
    axis: Axis
    table: Labels


class Ranking(NamedTuple):
    """Finished axes, and the labels of their ranks: those of axis i begin at first[i]."""

    finished: Sequence[RankedAxis]
    first: Offsets
    table: Labels

    @property
    def axes(self) -> list[Axis]:
        """The finished axes themselves."""
        return [each.axis for each in self.finished]


_NO_RANKING = Ranking([], np.empty(0, np.int64), np.empty(0, np.int64))


class AxesView:
    """The axes of one moment: a reader never sees those that a writer adds meanwhile.

    Only constants come to these axes still, and labels of constants stay what they are. The
    projection is shared: it grows, but an axis keeps its place there.
    """

    def __init__(self, axes: LabelAxes, ranking: Ranking = _NO_RANKING) -> None:
        self.axes: tuple[LiveAxis, ...] = tuple(axes.builders)
        self.comparisons = axes.comparisons
        self.projection = axes.projection
        self._terms = axes.terms
        self.last_ranking = ranking

    @property
    def compared_paths(self) -> set[Path]:
        """The attributes that are compared with others."""
        return {path for axis in self.comparisons.values() for path in (axis.left, axis.right)}

    def ranking(self) -> Ranking:
        """The axes with their constants of now, for columns: another one when constants came."""
        known = self.last_ranking
        before = known.finished
        now = [_constants(axis) for axis in self.axes]
        if [each.constants for each in before] == now:
            return known
        found = [
            before[number]
            if number < len(before) and before[number].constants == constants
            else RankedAxis(constants, *finished(axis, self._terms))
            for number, (axis, constants) in enumerate(zip(self.axes, now))
        ]
        ends = np.cumsum([0, *(len(each.table) for each in found)])
        table = np.concatenate([np.empty(0, np.int64), *(each.table for each in found)])
        self.last_ranking = ranking = Ranking(found, ends[:-1], table)
        return ranking


class LabelAxes(LiveBoxCompiler):
    """Axes that boxes and points share; one thread writes, any number read views of them."""

    def __init__(self, terms: TermLines, compares: bool) -> None:
        super().__init__(terms)
        self.terms = terms
        self._compares = compares
        """Whether comparisons of two attributes are sides."""
        self.compared: dict[AxisKey, Literal] = {}
        """The comparisons that have axes, or may have."""
        self.comparisons: dict[int, ComparisonAxis] = {}
        """Their axes by number; another mapping when there is one more."""
        self._most: list[int] = []
        """The greatest label of each axis; -1 where values are true or false."""
        self.plans = ShapePlans(self)
        self._view = AxesView(self)

    def view(self) -> AxesView:
        """The axes that there are now; one thread at a time asks for them, and adds none."""
        if len(self._view.axes) < len(self.builders):
            self._view = AxesView(self, self._view.last_ranking)
        return self._view

    def make(self, key: AxisKey) -> LiveAxis:
        """A new axis."""
        axis: LiveAxis
        if key in self.compared:
            axis = ComparisonAxis(key, self.compared[key])
            self.comparisons = {**self.comparisons, len(self.builders): axis}
            self.projection.add(axis)
            self.projection.bind(axis.right)
        else:
            axis = super().make(key)
        self._most.append(-1 if key.sort is AxisSort.BOOLEAN else axis.size - 1)
        return axis

    def compile(self, condition: Condition) -> CompiledCondition:
        """The boxes of a condition, and what they do not say."""
        compiled = super().compile(condition)
        return with_comparisons(compiled, self, self.compared) if self._compares else compiled

    @property
    def constants(self) -> int:
        """How many constants there are."""
        return sum(len(line.values) for axis in self.builders for line in axis.lines)

    def normalised(self, side: LabelSide) -> LabelSide:
        """A side as indexes expect it: an upper end that excludes nothing is UNBOUNDED."""
        number, low, high = side
        most = self._most[number]
        if low == high or high < most:
            return side
        if most < 0:
            return number, *_of_booleans(self.builders[number], low, high)
        return number, low, UNBOUNDED


def normalise_sides(axes: Sequence[LiveAxis], axis: Numbers, low: Labels, high: Labels) -> None:
    """Do the same with many sides."""
    size = np.array([each.size for each in axes], np.int64)
    wide = low < high
    high[wide & (high >= size[axis] - 1)] = UNBOUNDED
    for number, each in enumerate(axes):
        if each.key.sort is AxisSort.BOOLEAN:
            own = np.flatnonzero(wide & (axis == number))
            pairs = [
                _of_booleans(each, *ends) for ends in zip(low[own].tolist(), high[own].tolist())
            ]
            low[own], high[own] = np.array(pairs, np.int64).reshape(-1, 2).T


def _of_booleans(axis: LiveAxis, low: int, high: int) -> tuple[int, int]:
    """One of two values is an equality."""
    false = axis.lines[0].labels.get(False, 0)
    if low > false:
        return low, low
    return (high, high) if high == false else (0, UNBOUNDED)


def _constants(axis: LiveAxis) -> tuple[int, bool]:
    return sum(len(line.values) for line in axis.lines), axis.gaps_alike


def finished(live: LiveAxis, terms: TermLines) -> tuple[Axis, Labels]:
    """The finished axis, and the labels of its ranks; behind them stands -1."""
    if isinstance(live, ComparisonAxis):
        same: Any = live
        return same, np.array([0, 1, -1])
    axis, label, rank = finish(live, terms)
    table = np.full(axis.size + 1, -1, np.int64)
    within = rank < axis.size
    table[rank[within]] = label[within]
    for own, first in zip(live.lines, axis.offsets, strict=False):
        if own.kind == Kind.BOOLEAN:  # which has two ranks, whatever its constants are
            table[first], table[first + 1] = own.rank(False), own.rank(True)
    return axis, table
