"""Boxes clustered by the set of axes on which they have equalities; in a cluster, by their labels.

The clusters are the nodes of a tree of sets of axes (axis_sets.py). An event asks each cluster
whose axes it has: it goes from a node to those children whose axes it has too, and hashes its
labels on the way.

    (no axis)
      category            boxes with an equality on the category alone
        price                        ... on category and price
      price
    hash of (node, labels)  ->  group of boxes (label_groups.py)

So it visits at most the sets of its own axes, 2^n as the paper says, and at most those that are
the beginning of some cluster's: the whole list of clusters can be far longer than either. Labels
are compared one by one where hashes agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.hash_table import (
    EMPTY,
    SEED,
    have_room,
    mixed,
    number_of,
    roomy_slots,
)
from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import BoxArrays, BoxTable, Usage, grown
from tamis.published.clusters.axis_sets import (
    BOXES,
    DEPTH,
    NODES,
    SETS,
    SetTree,
    empty_tree,
    find_child,
    new_child,
    prune,
    with_sets,
)
from tamis.published.clusters.label_groups import (
    GROUPS,
    LIVE,
    SIDE,
    TOP,
    WANTED,
    Groups,
    drop_record,
    empty_groups,
    find_group,
    put_record,
    record_size,
    records_of,
    roomy_group,
)


@kernel
def have_equality(table: BoxArrays, boxes: Numbers) -> tuple[NDArray[np.bool_], int]:
    """Which boxes have one, and how many."""
    found, count = np.zeros(len(boxes), np.bool_), 0
    for i, box in enumerate(boxes):
        for side in range(table.begin[box], table.end[box]):
            if table.low[side] == table.high[side]:
                found[i] = True
                count += 1
                break
    return found, count


class EqualityClusters:
    """Boxes that have an equality at least."""

    def __init__(self, table: BoxTable) -> None:
        self._table = table
        self.tree, self.groups = empty_tree(), empty_groups()
        self.count = 0

    def add(self, boxes: Numbers, positions: Numbers) -> None:
        """Take in boxes, each with its other sides, or with its position if there are any."""
        done = 0
        if self._table.top > len(self.groups.place):
            place = grown(self.groups.place, self._table.top)
            self.groups = self.groups._replace(place=place)
        while done < len(boxes):
            done = add_boxes(self.tree, self.groups, self._table.arrays, boxes, done, positions)
            if done < len(boxes):
                self._make_room(int(boxes[done]))
        self.count += len(boxes)

    def remove(self, boxes: Numbers) -> None:
        """Forget boxes."""
        remove_boxes(self.tree, self.groups, self._table.arrays, boxes)
        self.count -= len(boxes)

    def boxes(self) -> Numbers:
        """The boxes that are there."""
        return np.flatnonzero(self.groups.place).astype(np.int32)

    def usages(self) -> list[Usage]:
        """Memory that grows, and how much of it is used."""
        return [Usage(self.groups.words.nbytes, int(self.groups.state[LIVE]) * 8)]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in (*self.tree, *self.groups))

    def predicates(self) -> int:
        """How many predicates are stored: the labels of each group, and sides of boxes."""
        return int(stored_predicates(self.tree, self.groups))

    def _make_room(self, box: int) -> None:
        """Make room for a box at least."""
        sides = int(self._table.arrays.end[box] - self._table.arrays.begin[box])
        self.tree = with_sets(self.tree, sides)
        slot, words, free, place, state = self.groups
        slot = roomy_slots(slot, int(state[GROUPS]) + 1)
        words = grown(words, int(state[TOP] + state[WANTED]))
        state[WANTED] = 0
        self.groups = Groups(slot, words, free, place, state)


@kernel
def cluster_of(tree: SetTree, table: BoxArrays, box: int, own: Labels) -> tuple[int, int, int]:
    """The node of a box, made if need be, the hash of its labels, and how many they are; the labels
    themselves are written."""
    node, hash, depth = 0, SEED, 0
    for side in range(table.begin[box], table.end[box]):
        label = table.low[side]
        if label == table.high[side]:
            at = find_child(tree, node, table.axis[side])
            node = number_of(tree.child[at]) if at >= 0 else new_child(tree, node, table.axis[side])
            hash = mixed(hash, label)
            own[depth] = label
            depth += 1
    return node, mixed(hash, node), depth


@kernel
def add_boxes(
    tree: SetTree, groups: Groups, table: BoxArrays, boxes: Numbers, first: int, positions: Numbers
) -> int:
    """Take in boxes from the first on; return how far there was room."""
    own = np.empty(16, np.int64)
    for i in range(first, len(boxes)):
        box = boxes[i]
        sides = table.end[box] - table.begin[box]
        if (
            tree.state[NODES] + sides > len(tree.node)
            or not have_room(tree.child, tree.state[SETS] + sides)
            or not have_room(groups.slot, groups.state[GROUPS] + 1)
        ):
            return i
        if sides > len(own):
            own = np.empty(2 * sides, np.int64)
        node, hash, depth = cluster_of(tree, table, box, own)
        size = record_size(table, box, positions)
        slab = roomy_group(groups, hash, node, own, depth, size)
        if slab < 0:
            return i
        put_record(groups, slab, table, box, positions, i)
        tree.node[node, BOXES] += 1
    return len(boxes)


@kernel
def remove_boxes(tree: SetTree, groups: Groups, table: BoxArrays, boxes: Numbers) -> None:
    """Forget boxes."""
    own = np.empty(16, np.int64)
    for box in boxes:
        sides = table.end[box] - table.begin[box]
        if sides > len(own):
            own = np.empty(2 * sides, np.int64)
        node, hash, depth = cluster_of(tree, table, box, own)
        drop_record(groups, find_group(groups, hash, node, own, depth), depth, box)
        tree.node[node, BOXES] -= 1
        prune(tree, node)


@kernel
def stored_predicates(tree: SetTree, groups: Groups) -> int:
    """How many predicates all groups have."""
    halves, count = groups.words.view(np.int32), 0
    for slot in groups.slot:
        if slot != EMPTY:
            slab = number_of(slot)
            depth = tree.node[halves[2 * slab], DEPTH]
            count += depth
            at, end = records_of(groups, slab, depth)
            while at < end:
                if halves[2 * at] >= 0:
                    count += halves[2 * at + 1] // SIDE
                at += 1 + halves[2 * at + 1]
    return count
