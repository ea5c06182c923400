"""The arrays of Gryphon's trees: they grow when kernels ask for it, and shrink again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.types import Numbers
from tamis.published.boxes import BoxArrays, grown
from tamis.published.gryphon.edges import HASHED, Slots, empty_slots, rehash
from tamis.published.gryphon.factoring import open_gate
from tamis.published.gryphon.leaves import ENTRY, Leaves
from tamis.published.gryphon.levels import Levels
from tamis.published.gryphon.placing import Forest
from tamis.published.gryphon.tree import (
    ENTRIES,
    ENTRY_TOP,
    ENTRY_UNUSED,
    FREE,
    LEAF,
    LINK,
    NODE,
    NODES,
    STATE,
    TOP,
    TWINS,
    UNUSED,
    Tree,
)
from tamis.published.gryphon.twins import resized_twins

_LEAST = 64


class Store:
    """The arrays, and the fields of their records as kernels take them."""

    def __init__(self, order: Sequence[int], indexed: int, collapse: bool) -> None:
        self._nodes = np.zeros(_LEAST, NODE)
        self._links = np.zeros(_LEAST, LINK)
        self._slots = empty_slots(_LEAST)
        self._entries = np.zeros(_LEAST, ENTRY)
        self._of = np.full(_LEAST, -1, np.int32)
        self._twins = np.full(_LEAST, -1, np.int32)
        self.state = np.zeros(STATE, np.int64)
        self.state[[UNUSED, ENTRY_UNUSED]] = -1
        self.order = list(order)
        self._level = np.full(max(order, default=0) + 1, -1, np.int32)
        self._level[self.order] = np.arange(len(order))
        self.indexed, self._collapse = indexed, collapse
        self._forest: Forest | None = None
        open_gate(self.forest.tree, -1, 0)

    def __getstate__(self) -> dict[str, Any]:
        """Without the views, which would become copies of their own."""
        return {**self.__dict__, "_forest": None}

    @property
    def forest(self) -> Forest:
        """The arrays by their fields."""
        if self._forest is None:
            node, link, entry = (_fields(a) for a in (self._nodes, self._links, self._entries))
            tree = Tree._make([*node, *link, Slots._make(_fields(self._slots)), self.state])
            axis = np.array(self.order, np.int32)
            levels = Levels(self._level, axis, self.indexed, self._collapse)
            leaves = Leaves._make([*entry, self._of])
            self._forest = Forest(tree, leaves, levels, self._twins)
        return self._forest

    @property
    def boxes(self) -> Numbers:
        """The boxes that are there."""
        return np.flatnonzero(self._of >= 0).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        arrays = self._nodes, self._links, self._slots, self._entries, self._of, self._twins
        return sum(array.nbytes for array in (*arrays, self._level, self.state))

    def add_axis(self, axis: int) -> None:
        """Give an axis the lowest level."""
        known = len(self._level)
        self._level = grown(self._level, axis + 1)
        self._level[known:] = -1
        self._level[axis] = len(self.order)
        self.order.append(axis)
        self._forest = None

    def know_boxes(self, top: int) -> None:
        """Have room for boxes with numbers below this."""
        known = len(self._of)
        if top > known:
            self._of = grown(self._of, top)
            self._of[known:] = -1
            self._forest = None

    def make_room(self, copies: int, arrays: BoxArrays) -> None:
        """Have room for so many copies of any box."""
        state = self.state
        nodes = int(state[NODES]) + copies * (2 * len(self.order) + 2)
        self._nodes, self._links = grown(self._nodes, nodes), grown(self._links, nodes)
        self._entries = grown(self._entries, int(state[ENTRIES]) + copies)
        slots = power_above(2 * (int(state[HASHED]) + 2 * copies))
        twins = power_above(2 * (int(state[TWINS]) + 1))
        if twins > len(self._twins):
            self._twins = resized_twins(self._twins, arrays, twins)
        self._forest = None
        if slots > len(self._slots):
            self._rehash(slots)

    def shrink(self, arrays: BoxArrays) -> None:
        """Close the gaps if less than a quarter of the arrays is in use; numbers of nodes and
        entries change."""
        state = self.state
        if any(
            len(array) > _LEAST and 4 * state[used] < len(array)
            for array, used in ((self._nodes, NODES), (self._entries, ENTRIES))
        ):
            self._close_gaps()
        if len(self._twins) > _LEAST and 8 * state[TWINS] < len(self._twins):
            size = power_above(4 * int(state[TWINS]))
            self._twins = resized_twins(self._twins, arrays, size)
            self._forest = None

    def _close_gaps(self) -> None:
        state = self.state
        nodes, links = self._nodes[: state[TOP]], self._links[: state[TOP]]
        entries = self._entries[: state[ENTRY_TOP]]
        alive, used = nodes["axis"] != FREE, entries["box"] >= 0
        node, entry = _renumber(alive), _renumber(used)
        nodes, links, entries = nodes[alive], links[alive], entries[used]
        leaf = nodes["axis"] == LEAF
        nodes["star"][leaf] = entry[nodes["star"][leaf]]
        nodes["star"][~leaf] = node[nodes["star"][~leaf]]
        nodes["first"] = node[nodes["first"]]
        for name in links.dtype.names or ():
            links[name] = node[links[name]]
        for name, numbers in (("leaf", node), ("gate", node), ("next", entry)):
            entries[name] = numbers[entries[name]]
        for name in ("previous", "other"):
            entries[name] = entry[entries[name]]
        self._of = np.where(self._of >= 0, entry[self._of], np.int32(-1))
        room = max(2 * len(nodes), _LEAST)
        self._nodes, self._links = grown(nodes, room), grown(links, room)
        self._entries = grown(entries, max(2 * len(entries), _LEAST))
        state[TOP], state[ENTRY_TOP] = len(nodes), len(entries)
        state[UNUSED] = state[ENTRY_UNUSED] = -1
        self._rehash(power_above(4 * int(state[HASHED])))

    def _rehash(self, size: int) -> None:
        self._slots = empty_slots(size)
        self._forest = None
        tree, top = self.forest.tree, self.state[TOP]
        rehash(tree.label[:top], tree.parent, tree.edges, tree.slots, self.state)


def _fields(records: NDArray[np.void]) -> list[NDArray[Any]]:
    return [records[name] for name in records.dtype.names or ()]


def _renumber(kept: NDArray[np.bool_]) -> Numbers:
    """The new number of each that is kept; -1 becomes -1."""
    number = np.cumsum(kept, dtype=np.int32) - 1
    return np.append(number, np.int32(-1)).astype(np.int32)


def power_above(number: int) -> int:
    """The least power of two that is not below a number, and not too small."""
    return max(_LEAST, 1 << (number - 1).bit_length() if number > 1 else 1)
