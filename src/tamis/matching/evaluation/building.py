"""From a formula to nodes: sets of values and found things as tests on the axes of a segment.

Nodes are numbered as they come. ``shared`` (nodes.py) makes equal ones one when ranks are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays.types import Int32s, Numbers
from tamis.matching.axes.axis import Axis
from tamis.matching.boxes.compiler import AxisSide, BoxCompiler
from tamis.matching.boxes.layout import Boxes
from tamis.matching.boxes.unresolved import BoxRows
from tamis.matching.covers.formula import Every, Formula, Some
from tamis.matching.covers.leaves import Holds, Lacks, Leaf, Within, is_tested
from tamis.matching.evaluation.nodes import (
    ASK,
    EVERY,
    FOUND,
    SIDE,
    SOME,
    TEST,
    Nodes,
    shared,
    with_intervals,
)
from tamis.predicates.normal import Literal

FinishedAxes = tuple[Sequence[Axis], Sequence[Sequence[Int32s]]]
"""Axes, and the positions of the references to their cuts."""


class FormulaBuilder:
    """The nodes of a segment that is still taking in subscriptions."""

    def __init__(self, axes: BoxCompiler) -> None:
        self._axes = axes
        self._kinds: list[int] = []
        self._axis: list[int] = []
        self._owners: list[int] = []
        self._parts: list[int] = []
        self._sides = BoxRows()
        self._found: list[BoxRows] = []
        """The things to be found on each axis of these."""
        self.literals: dict[Literal, int] = {}
        """What TEST nodes are about, by number."""

    def add(self, formula: Formula) -> int:
        """The node of a formula, complemented if it must not hold."""
        if isinstance(formula, Every | Some):
            kind = EVERY if type(formula) is Every else SOME
            return self._join(kind, list(map(self.add, formula.parts)))
        return ~self._leaf(formula.part) if isinstance(formula, Lacks) else self._leaf(formula)

    def _node(self, kind: int, axis: int = 0) -> int:
        self._kinds.append(kind)
        self._axis.append(axis)
        return len(self._kinds) - 1

    def _join(self, kind: int, parts: Sequence[int]) -> int:
        if len(parts) == 1:
            return parts[0]
        node = self._node(kind)
        self._owners += [node] * len(parts)
        self._parts += parts
        return node

    def _leaf(self, leaf: Leaf) -> int:
        """The node of a leaf; what there is no room for is left to the oracle."""
        axes = self._axes
        if isinstance(leaf, Holds):
            side = axes.found_side(leaf)
            if side is None:
                return self._node(ASK)
            while len(self._found) <= side[0]:
                self._found.append(BoxRows())
            return self._side(FOUND, side, self._found[side[0]])
        side = axes.side(*leaf) if isinstance(leaf, Within) else axes.known_side(leaf)
        if side is not None:
            return self._side(SIDE, side, self._sides)
        if isinstance(leaf, Within) or not is_tested(leaf):
            return self._node(ASK)
        return self._node(TEST, self.literals.setdefault(leaf, len(self.literals)))

    def _side(self, kind: int, side: AxisSide, rows: BoxRows) -> int:
        axis, intervals = side
        node = self._node(kind, axis)
        if intervals:
            rows.add(node, [intervals])
        return node

    def finish(
        self,
        roots: Numbers,
        axes: FinishedAxes,
        found: FinishedAxes,
    ) -> tuple[Nodes, Numbers]:
        """The graph of the finished axes, those of found things behind the others; and what the
        roots are in it."""
        sides = self._sides.resolve(*axes)
        things = [rows.resolve([axis], [at]) for rows, axis, at in zip(self._found, *found)]
        kind = np.array(self._kinds, np.int8)
        axis = np.array(self._axis, np.int32)
        axis[kind == FOUND] += len(axes[0])
        nodes = with_intervals(
            kind,
            axis,
            (np.array(self._owners, np.int64), np.array(self._parts, np.int32)),
            Boxes.join([sides, *things]),
        )
        return shared(nodes, roots)
