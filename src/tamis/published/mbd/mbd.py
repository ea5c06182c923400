"""MBD: modified binary decision diagrams, from Li, Hou and Jacobsen, A Unified Approach to Routing,
Covering and Merging in Publish/Subscribe Systems based on Modified Binary Decision Diagrams
(ICDCS 2005), the paper on PADRES.

Every distinct predicate is a Boolean variable (variables.py), every subscription an output of a
diagram (diagrams.py), under one order of attributes (attribute_order.py). An event is matched in
two steps (section 3.3): all variables of its attributes get their truths, then all diagrams are
evaluated. Time is the number of predicates on the event's attributes plus the number of nodes.

``ordering`` is ``"learned"`` from the boxes that come into the empty index, and learned again when
there are RELEARN times as many; or ``"random"``. Attributes that come later are put on top.

Deviations: an interval with two ends is one predicate. Subscriptions with ``or`` and ``not`` are
boxes, of which a diagram is a chain. Diagrams are not evaluated one after the other but in one
sweep over the nodes that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Numbers, Tally
from tamis.published.boxes import BoxArrays, BoxTable, Points, grown
from tamis.published.index import EVALUATED, VISITED, BoxHits, Index, Size
from tamis.published.mbd.attribute_order import learned_order, random_order
from tamis.published.mbd.diagrams import (
    BOXES,
    LIVE,
    NODES,
    TRUE,
    Diagrams,
    close_gaps,
    evaluate_all,
    find_node,
    forget_node,
    new_node,
    no_diagrams,
    put_box,
    take_box,
    with_nodes,
)
from tamis.published.mbd.variables import (
    COUNT,
    TOP,
    Variables,
    assign_truths,
    leave_variable,
    no_variables,
    take_variable,
    with_variables,
)

LEARNED, RANDOM = "learned", "random"
RELEARN = 8
"""An order is learned again when there are so many times the boxes that it was learned from."""
_SPARSE = 1_024
"""Removed nodes that are kept, at least."""


class MBD(Index):
    """Decision diagrams that share their nodes."""

    def __init__(
        self,
        table: BoxTable,
        *,
        ordering: str = LEARNED,
        seed: int = 0,
        order: Sequence[int] = (),
    ) -> None:
        """``order`` has axes from the bottom upwards; those that it leaves out follow, as
        ``ordering`` says."""
        if ordering not in (LEARNED, RANDOM):
            raise ValueError(f"ordering={ordering!r}: it is learned or random")
        super().__init__(table)
        self._ordering, self._seed, self._given = ordering, seed, tuple(dict.fromkeys(order))
        self._start(np.empty(0, np.int32))

    def _start(self, boxes: Numbers) -> None:
        """Begin with nothing, and an order for boxes that are to come."""
        self.variables, self.diagrams = no_variables(), no_diagrams()
        self.level = np.full(16, -1, np.int32)
        """By axis: its place in the order, 0 at the bottom, or -1."""
        self._levels = 0
        self._learned_from = len(boxes)
        order = list(self._given)
        if len(boxes):
            sides = self._table.sides(boxes)
            found = (
                learned_order(sides)
                if self._ordering == LEARNED
                else random_order(sides, self._seed)
            )
            order += [axis for axis in found if axis not in order]
        self._know_axes(order)

    def _know_axes(self, axes: Sequence[int]) -> None:
        """Put axes that have no level on top of the others."""
        known = len(self.level)
        self.level = grown(self.level, max(axes, default=-1) + 1)
        self.level[known:] = -1
        for axis in axes:
            if self.level[axis] < 0:
                self.level[axis] = self._levels
                self._levels += 1

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        count = int(self.diagrams.state[BOXES])
        if not count:
            self._start(boxes)
        elif self._ordering == LEARNED and count + len(boxes) > RELEARN * self._learned_from:
            boxes = np.concatenate((np.flatnonzero(self.diagrams.node >= 0), boxes))
            boxes = boxes.astype(np.int32)
            self._start(boxes)
        self._place(boxes)

    def _make_room(self, boxes: Numbers) -> None:
        arrays = self._table.arrays
        some = boxes[: max(64, int(self.diagrams.state[LIVE]))]
        sides = int((arrays.end[some] - arrays.begin[some]).sum())
        self.variables = with_variables(self.variables, sides, len(self.level))
        self.diagrams = with_nodes(self.diagrams, sides, self._table.top)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        remove_boxes(self.variables, self.diagrams, boxes)
        state = self.diagrams.state
        if state[NODES] - state[LIVE] > max(_SPARSE, state[LIVE]):
            close_gaps(self.diagrams)
            if len(self.diagrams.variable) > 8 * state[LIVE] + _SPARSE:
                self._rebuild()

    def _rebuild(self) -> None:
        """Begin anew with the same boxes in less memory."""
        boxes = np.flatnonzero(self.diagrams.node >= 0).astype(np.int32)
        self._start(boxes)
        self._place(boxes)

    def _place(self, boxes: Numbers) -> None:
        self._know_axes(np.unique(self._table.sides(boxes).axis).tolist())
        done = 0
        while done < len(boxes):
            self._make_room(boxes[done:])
            done = add_boxes(
                self.variables, self.diagrams, self.level, self._table.arrays, boxes, done
            )

    def diagram_count(self) -> int:
        """How many diagrams there are, as the paper counts them: outputs with the same child are
        in one."""
        top = int(self.diagrams.state[NODES])
        outputs = np.flatnonzero(self.diagrams.is_output[:top])
        return len(np.unique(self.diagrams.child[outputs[outputs > TRUE]]))

    def _most(self) -> int:
        return int(self.diagrams.state[BOXES])

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        return match_points(self.variables, self.diagrams, points, first, chunk, tally)

    def size(self) -> Size:
        """How large it is; the table of boxes, which others share, is not counted."""
        tables = (*self.variables, *self.diagrams, self.level)
        nodes = int(self.diagrams.state[LIVE])
        predicates = int(self.variables.state[COUNT])
        return Size(predicates, nodes, nodes, bytes=sum(array.nbytes for array in tables))


@kernel
def add_boxes(
    variables: Variables,
    diagrams: Diagrams,
    level: Numbers,
    arrays: BoxArrays,
    boxes: Numbers,
    first: int,
) -> int:
    """Take in boxes from the first on (figure 4); return how far there was room."""
    for i in range(first, len(boxes)):
        box = boxes[i]
        begin, end = arrays.begin[box], arrays.end[box]
        sides = end - begin
        if (
            variables.state[TOP] + sides > len(variables.axis)
            or diagrams.state[NODES] + sides > len(diagrams.variable)
            or box >= len(diagrams.node)
        ):
            return i
        order = np.argsort(level[arrays.axis[begin:end]])
        node = TRUE
        for place in order:
            side = begin + place
            variable = take_variable(
                variables, arrays.axis[side], arrays.low[side], arrays.high[side]
            )
            found = find_node(diagrams, variable, node)
            if found == 0:
                found = new_node(diagrams, variable, node)
                variables.uses[variable] += 1
            node = found
        put_box(diagrams, node, box)
    return len(boxes)


@kernel
def remove_boxes(variables: Variables, diagrams: Diagrams, boxes: Numbers) -> None:
    """Forget boxes, and the nodes and variables that are left without use."""
    for box in boxes:
        node = take_box(diagrams, box)
        while node != TRUE and diagrams.uses[node] == 0:
            variable, child = diagrams.variable[node], diagrams.child[node]
            forget_node(diagrams, node)
            variables.uses[variable] -= 1
            if variables.uses[variable] == 0:
                leave_variable(variables, variable)
            node = child


@kernel
def match_points(
    variables: Variables,
    diagrams: Diagrams,
    points: Points,
    first: int,
    chunk: BoxHits,
    tally: Tally,
) -> tuple[int, int]:
    """Write the boxes of all points from the first on for which there is room."""
    nodes = diagrams.state[NODES]
    truth = np.zeros(variables.state[TOP], np.uint8)
    value, hit = np.empty(nodes, np.uint8), np.empty(nodes + 1, np.int32)
    n = 0
    point = first
    while point < len(points.type) and n + diagrams.state[BOXES] <= len(chunk.box):
        tally[EVALUATED] += assign_truths(variables, points, point, truth)
        for place in range(evaluate_all(diagrams, truth, value, hit)):
            box = diagrams.box[hit[place]]
            while box >= 0:
                chunk.point[n], chunk.box[n] = point, box
                n += 1
                box = diagrams.next[box]
        tally[VISITED] += nodes
        point += 1
    return point, n
