"""Gryphon: Aguilera, Strom, Sturman, Astley and Chandra, Matching Events in a Content-based
Subscription System (PODC 1999); figure 7 of Le Subscribe.

Subscriptions are paths of a tree whose nodes are tests and whose edges are their results; an event
follows the edge of its result, if there is one, and the don't-care edge, if there is one. Boxes of
equalities only are in a tree with one level an attribute (section 4, appendix B:
equality.py), all others in a tree of arbitrary tests (section 3, appendix A:
general.py). Both change with each box: what a removal leaves without boxes goes, and its
memory is used again or given back.

Time, for equalities on K attributes of V values each and uniform events: ``expected_visits``, which
is O(N^(1 - λ)), λ = ln V / (ln V + ln (K + 1)). Space: at most K + 1 nodes a subscription. With
other predicates there is no such bound: a comparison has two edges, not many, and paths are as long
as there are different tests.

The three optimisations of section 5, each by itself:
- ``collapse``: nodes of the equality tree without a result edge are left out (equality.py);
- ``successors``: ``"plain"`` or ``"aggressive"`` successor sets (successors.py);
- ``factoring``: trees of their own for the values of so many attributes (factoring.py).

Successor sets are void after a change, and are made for all nodes at once. Until as many nodes have
been visited without them as there are, the search does without, so that a change now and then costs
little more than the visits themselves; ``analyse`` makes them at once. Changes do not wait for it.

The attributes are at the levels in the given order, else the most tested first: it is decided when
boxes come into the empty index, and attributes that come later are put below. The first ones are
those that are factored out.

Deviations: an absent attribute has no result, so that only the don't-care edge is followed; those
named in general.py; attributes and their values need not be known beforehand. Nodes visited
are those of the trees, leaves included; finding the tree by the index attributes is no visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pow
from typing import Any

import numpy as np

from tamis.arrays.types import Numbers, Tally
from tamis.errors import LimitError
from tamis.published.boxes import BoxTable, Points
from tamis.published.gryphon.factoring import boxes_for, close_gate, depth_of, open_gate
from tamis.published.gryphon.levels import count_axes
from tamis.published.gryphon.placing import (
    AXIS,
    COPIES,
    DONE,
    GATE_MISSING,
    ROOM,
    place_boxes,
    remove_boxes,
)
from tamis.published.gryphon.search import search
from tamis.published.gryphon.store import Store
from tamis.published.gryphon.successors import (
    find_successors,
    no_successors,
)
from tamis.published.gryphon.tree import BOXES, FREE, GATE, NODES, STAR, TOP
from tamis.published.index import VISITED, BoxHits, Index, Size

NONE, PLAIN, AGGRESSIVE = "none", "plain", "aggressive"
"""Forms of static analysis."""

_SOME = 64
"""Points that are searched before it is asked again whether successor sets are due."""


class Gryphon(Index):
    """Matching trees."""

    def __init__(
        self,
        table: BoxTable,
        *,
        collapse: bool = True,
        successors: str = NONE,
        factoring: int = 0,
        order: Sequence[int] = (),
        copies: int = 10_000_000,
    ) -> None:
        """``order`` has axes from the root downwards; ``copies`` is how many factoring may make."""
        if successors not in (NONE, PLAIN, AGGRESSIVE):
            raise ValueError(f"successors={successors!r}: it is none, plain or aggressive")
        if factoring < 0:
            raise ValueError(f"factoring={factoring}: it is a number of attributes, or 0 for none")
        super().__init__(table)
        self._collapse, self._form, self._factoring = collapse, successors, factoring
        self._order, self._copies = tuple(dict.fromkeys(order)), copies
        self._store = self._new_store(np.empty(0, np.int32))
        self._successors = no_successors()
        self._visits = 0
        """Without successor sets, since the last change."""

    def add(self, boxes: Numbers) -> None:
        """Take in boxes."""
        if not self._store.state[BOXES]:
            self._store = self._new_store(boxes)
        self._void()
        self._store.know_boxes(self._table.top)
        try:
            self._place(boxes, 0)
        except LimitError:
            self._load(np.setdiff1d(self._store.boxes, boxes))
            raise

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        self._void()
        forest, arrays = self._store.forest, self._table.arrays
        for gate in remove_boxes(forest, arrays, boxes).tolist():
            if forest.tree.axis[gate] != FREE:
                close_gate(forest.tree, forest.leaves, gate)
        self._store.shrink(arrays)

    def analyse(self) -> None:
        """Make the successor sets now, if there are to be any."""
        if self._form != NONE and not len(self._successors.start):
            forest = self._store.forest
            axes = len(forest.levels.level)
            self._successors = find_successors(forest.tree, axes, self._form == AGGRESSIVE)

    def _most(self) -> int:
        return int(self._store.state[BOXES])

    def _fill(
        self, points: Points, first: int, chunk: BoxHits, scratch: Any, tally: Tally
    ) -> tuple[int, int]:
        last = len(points.type)
        if self._form != NONE and not len(self._successors.start):
            if self._visits >= self._store.state[NODES]:
                self.analyse()
            else:
                last = min(last, first + _SOME)
        before = int(tally[VISITED])
        found = search(self._store.forest, self._successors, points, first, last, chunk, tally)
        self._visits += int(tally[VISITED]) - before
        return found

    def size(self) -> Size:
        """How large it is; the table of boxes, which others share, is not counted."""
        tree = self._store.forest.tree
        top = self._store.state[TOP]
        axis, label = tree.axis[:top], tree.label[:top]
        own = axis > GATE
        roots = own & (axis[tree.parent[:top]] == GATE)
        nodes, successors = int(own.sum()), self._successors
        return Size(
            predicates=int((own & (label >= 0)).sum()),
            nodes=nodes,
            edges=nodes - int(roots.sum()),
            successors=len(successors.members),
            bytes=self._store.nbytes + sum(array.nbytes for array in successors),
        )

    def _void(self) -> None:
        self._visits = 0
        if len(self._successors.start):
            self._successors = no_successors()

    def _new_store(self, boxes: Numbers) -> Store:
        """An empty store, with levels for the axes of boxes that are to come."""
        order = list(self._order)
        count = count_axes(self._table.arrays, boxes)
        popular = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        order += [axis for axis in popular.tolist() if axis not in order]
        return Store(order, min(self._factoring, len(order)), self._collapse)

    def _load(self, boxes: Numbers) -> None:
        """Begin anew with the same levels and these boxes."""
        order = self._store.order
        self._store = Store(order, min(self._factoring, len(order)), self._collapse)
        self._store.know_boxes(self._table.top)
        self._place(boxes, 0)

    def _place(self, boxes: Numbers, gate: int) -> None:
        """Put boxes into the trees below a gate, and do what the kernel asks for."""
        store, arrays = self._store, self._table.arrays
        first, reason = 0, ROOM
        while reason != DONE:
            stop = place_boxes(store.forest, arrays, boxes, first, gate, self._copies)
            first, reason, number, label = stop
            if reason == ROOM:
                store.make_room(number, arrays)
            elif reason == GATE_MISSING:
                self._open(number, label)
            elif reason == AXIS:
                store.add_axis(number)
                if store.indexed < self._factoring:
                    self._load(store.boxes)
                    store = self._store
            elif reason == COPIES:
                raise LimitError(
                    f"factoring on {self._factoring} attributes makes more than {self._copies:,} "
                    "copies of boxes that do not care about them: factor fewer attributes"
                )

    def _open(self, parent: int, label: int) -> None:
        """Make a gate, with copies of the boxes that do not care about its attribute."""
        store, arrays = self._store, self._table.arrays
        store.make_room(1, arrays)
        tree, leaves, levels, _ = store.forest
        gate = open_gate(tree, parent, label)
        star = tree.star[parent]
        if label != STAR and star >= 0:
            axis = levels.axis[depth_of(tree, parent)]
            self._place(boxes_for(tree, leaves, arrays, star, axis, label), gate)


def expected_visits(boxes: int, attributes: int, values: int) -> float:
    """The bound of Gryphon's theorem on the nodes that a random event visits on average, in the
    equality tree without optimisations, whatever the boxes are; as Le Subscribe prints it."""
    k, v = attributes + 1, values
    exponent = log(k) / (log(v) + log(k))
    power = pow(boxes, exponent)
    return v * k * (k * power - 1) * (log(v) + log(k)) / ((v * k - 1) * log(k))
