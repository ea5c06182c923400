"""Gryphon's trees as nested dictionaries, what must hold of them, and the paper's workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.papers.points import points_of_labels
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import (
    UNBOUNDED,
    BoxTable,
    Numbers,
    Points,
)
from tamis.published.gryphon.edges import HASHED
from tamis.published.gryphon.gryphon import Gryphon
from tamis.published.gryphon.placing import Forest
from tamis.published.gryphon.tree import (
    BOXES,
    ENTRIES,
    GATE,
    GATES,
    LEAF,
    NODES,
    STAR,
    TWINS,
    VALUE,
    find_edge,
)

Box = dict[int, tuple[int, int]]


def sides_of(boxes: list[Box]) -> Boxes:
    """Boxes given as {axis: (low, high)}."""
    start = np.cumsum([0] + [len(box) for box in boxes])
    flat = [(axis, *ends) for box in boxes for axis, ends in sorted(box.items())]
    axis, low, high = (np.array([side[i] for side in flat], np.int64) for i in range(3))
    return Boxes(start, axis.astype(np.int32), low, high, np.zeros(len(boxes), np.int32))


def w4(rng: Generator, boxes: int, attributes: int = 30, values: int = 5) -> Boxes:
    """W4: attribute i is tested with probability 0.98 * 0.85^i, its values follow Zipf."""
    tested = rng.random((boxes, attributes)) < 0.98 * 0.85 ** np.arange(attributes)
    weight = 1 / np.arange(1, values + 1)
    value = rng.choice(values, (boxes, attributes), p=weight / weight.sum())
    axis = np.nonzero(tested)[1].astype(np.int32)
    start = np.concatenate(([0], np.cumsum(tested.sum(axis=1))))
    low = value[tested]
    return Boxes(start, axis, low, low.copy(), np.zeros(boxes, np.int32))


def w4_points(rng: Generator, points: int, attributes: int = 30, values: int = 5) -> Points:
    """Uniform events with all attributes."""
    return points_of_labels(rng.integers(0, values, (points, attributes)))


def children(forest: Forest, node: int) -> dict[int, int]:
    """The children of a node by their labels, without the one by the *-edge."""
    tree, found = forest.tree, {}
    child = int(tree.first[node])
    while child >= 0:
        found[int(tree.label[child])] = child
        child = int(tree.next[child])
    return found


def boxes_at(forest: Forest, leaf: int) -> list[int]:
    """The boxes of a leaf."""
    found = []
    entry = int(forest.tree.star[leaf])
    while entry >= 0:
        found.append(int(forest.leaves.box[entry]))
        entry = int(forest.leaves.next[entry])
    return sorted(found)


def drawn(forest: Forest, node: int) -> Any:
    """A tree: a list of boxes, or a dictionary with the test under "test", as (axis, asked) with
    None for the value, and the branches by label, "*" the one of the *-edge."""
    tree = forest.tree
    if tree.axis[node] == LEAF:
        return boxes_at(forest, node)
    asked = int(tree.asked[node])
    branches: dict[Any, Any] = {
        label: drawn(forest, child) for label, child in children(forest, node).items()
    }
    if tree.star[node] >= 0:
        branches["*"] = drawn(forest, int(tree.star[node]))
    return {"test": (int(tree.axis[node]), None if asked == VALUE else asked), **branches}


def equality_tree(index: Gryphon) -> Any:
    """The tree of boxes with equalities only."""
    forest = index._store.forest
    return drawn(forest, int(forest.tree.star[0]))


def general_tree(index: Gryphon) -> Any:
    """The tree of all other boxes."""
    forest = index._store.forest
    return drawn(forest, int(forest.tree.first[0]))


def check_trees(index: Gryphon, table: BoxTable, there: Numbers) -> None:
    """All links, counts and hash tables are in order, every gate has the boxes that are consistent
    with it, and every leaf has exactly the boxes that its path describes."""
    forest = index._store.forest
    tree, state = forest.tree, forest.tree.state
    boxes = {int(box): box_of(table, int(box)) for box in there}
    seen = Seen(forest)
    for gate, labels in seen.pass_gates(0, ()):
        here = {box: sides for box, sides in boxes.items() if is_consistent(forest, sides, labels)}
        decided = {int(forest.levels.axis[i]) for i, label in enumerate(labels) if label != STAR}
        found: list[int] = []
        for root, general in ((int(tree.star[gate]), False), (int(tree.first[gate]), True)):
            leaves = list(seen.descend(root, general, {})) if root >= 0 else []
            for path, own in leaves:
                found += own
                for box in own:
                    assert {a: ends for a, ends in boxes[box].items() if a not in decided} == path
                    assert general == any(low != high for low, high in boxes[box].values())
            twins = [{str(sorted(boxes[box].items())) for box in own} for _, own in leaves]
            assert len(set().union(*twins)) == sum(map(len, twins)), "twins in two leaves"
        assert sorted(found) == sorted(here)
        seen.entries += len(found)
    assert state[NODES] == seen.nodes
    assert state[GATES] == seen.gates
    assert state[HASHED] == seen.hashed == (tree.slots.child >= 0).sum()
    assert state[ENTRIES] == seen.entries
    assert state[BOXES] == len(boxes)
    general_boxes = [sides for sides in boxes.values() if any(a != b for a, b in sides.values())]
    assert state[TWINS] == len({str(sides) for sides in general_boxes})


class Seen:
    """A walk through all trees, which counts what it comes across."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.nodes = self.gates = self.hashed = self.entries = 0

    def pass_gates(
        self, gate: int, labels: tuple[int, ...]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The gates above trees, with the labels that lead to them."""
        tree, levels = self.forest.tree, self.forest.levels
        assert tree.axis[gate] == GATE
        self.nodes += 1
        self.gates += 1
        if len(labels) == levels.indexed:
            yield gate, labels
            return
        for label, child in self.branches(gate):
            if label != STAR:
                assert tree.asked[child] > 0, "a gate that nobody names"
            yield from self.pass_gates(child, (*labels, label))

    def descend(self, node: int, general: bool, path: Box) -> Iterator[tuple[Box, list[int]]]:
        """The leaves below a node: what their paths say, and their boxes."""
        tree = self.forest.tree
        axis, asked = int(tree.axis[node]), int(tree.asked[node])
        self.nodes += 1
        if axis == LEAF:
            assert boxes_at(self.forest, node), "a leaf without boxes"
            yield path, boxes_at(self.forest, node)
            return
        branches = self.branches(node)
        assert branches, "a node without edges"
        if general or self.forest.levels.collapse:
            assert tree.edges[node], "a node without a result edge"
        for label, child in branches:
            further = path if label == STAR else narrow(path, axis, asked, label)
            yield from self.descend(child, general, further)

    def branches(self, node: int) -> list[tuple[int, int]]:
        """The labels and children of a node, whose links must be right."""
        tree, found = self.forest.tree, children(self.forest, node)
        assert tree.edges[node] == len(found)
        self.hashed += len(found) if len(found) > 1 else 0
        for label, child in found.items():
            assert find_edge(tree, node, label) == child
        if tree.star[node] >= 0:
            found[STAR] = int(tree.star[node])
        for label, child in found.items():
            assert (tree.parent[child], tree.label[child]) == (node, label)
        return list(found.items())


def is_consistent(forest: Forest, sides: Box, labels: tuple[int, ...]) -> bool:
    """Whether a box belongs behind a gate."""
    for level, label in enumerate(labels):
        low, high = sides.get(int(forest.levels.axis[level]), (0, UNBOUNDED))
        if (low == high) if label == STAR else not low <= label <= high:
            return False
    return True


def box_of(table: BoxTable, number: int) -> Box:
    """The sides of a box."""
    sides = table.sides(np.array([number], np.int32))
    return {
        int(axis): (int(low), int(high))
        for axis, low, high in zip(sides.axis, sides.low, sides.high, strict=True)
    }


def narrow(path: Box, axis: int, asked: int, label: int) -> Box:
    """What a path says with one result more."""
    low, high = path.get(axis, (0, UNBOUNDED))
    if asked == VALUE:
        low, high = max(low, label), min(high, label)
    elif label == 0:
        high = min(high, asked - 1)
    else:
        low = max(low, asked)
    return {**path, axis: (low, high)}
