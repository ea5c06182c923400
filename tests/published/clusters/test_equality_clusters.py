"""Equality clusters: sets of axes, groups of labels, and what an event asks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.arrays.hash_table import EMPTY, SEED, mixed
from tamis.matching.boxes.layout import Boxes
from tamis.published.boxes import BoxTable, clear_labels, set_labels
from tamis.published.clusters.axis_sets import CHILDREN, NODES, SETS
from tamis.published.clusters.equality_clusters import EqualityClusters, have_equality
from tamis.published.clusters.label_groups import GROUPS, LIVE, TOP, records_of, slab_size
from tamis.published.clusters.lookup import ask_clusters, asked_of, depth_of, slab_of
from tamis.published.index import EVALUATED, TALLY, VISITED

UNMARKED = np.empty(0, np.int32)


def equal_sides(*boxes: dict[int, int]) -> Boxes:
    """Boxes with equalities alone."""
    axis = [axis for box in boxes for axis in sorted(box)]
    label = np.array([box[axis] for box in boxes for axis in sorted(box)], np.int64)
    start = np.concatenate(([0], np.cumsum([len(box) for box in boxes])))
    return Boxes(start, np.array(axis, np.int32), label, label, np.zeros(len(boxes), np.int32))


def found_boxes(clusters: EqualityClusters, labels, tally=None) -> list[int]:
    """The boxes that one event finds."""
    points = points_of_labels(np.array([labels]))
    asked = asked_of(clusters.tree, points.axes)
    tally = np.zeros(TALLY, np.int64) if tally is None else tally
    set_labels(points, 0, asked.label)
    count = ask_clusters(clusters.tree, clusters.groups, points, 0, asked, tally)
    halves, found = clusters.groups.words.view(np.int32), []
    for i in range(count):
        slab = slab_of(clusters.tree, clusters.groups, asked, i)
        if slab >= 0:
            depth = depth_of(clusters.tree, asked, i)
            at, end = records_of(clusters.groups, slab, depth)
            while at < end:
                if halves[2 * at] >= 0:
                    found.append(int(halves[2 * at]))
                at += 1 + int(halves[2 * at + 1])
    clear_labels(points, 0, asked.label)
    assert (asked.label == -1).all()
    return sorted(found)


def test_an_event_asks_the_clusters_whose_axes_it_has_and_no_others() -> None:
    table = BoxTable()
    clusters = EqualityClusters(table)
    sides = equal_sides({0: 5}, {0: 5, 2: 1}, {0: 5, 2: 2}, {2: 1}, {1: 4, 2: 1}, {0: 5, 2: 1})
    clusters.add(table.add(sides), UNMARKED)
    assert clusters.tree.state[SETS] == 5  # {1} too, on the way to {1, 2}
    assert clusters.groups.state[GROUPS] == 5
    assert clusters.predicates() == 8
    tally = np.zeros(TALLY, np.int64)
    assert found_boxes(clusters, [5, -1, 1], tally) == [0, 1, 3, 5]
    assert tally[[VISITED, EVALUATED]].tolist() == [3, 4]
    tally[:] = 0
    assert found_boxes(clusters, [-1, 4, 2], tally) == []
    assert tally[[VISITED, EVALUATED]].tolist() == [3, 3]  # nobody is in the cluster of {1}
    assert found_boxes(clusters, [-1, -1, -1]) == []


def colliding_labels() -> tuple[int, int]:
    """Two labels with the same hash."""
    label = np.arange(300_000)
    first = (SEED ^ label & (1 << 31) - 1) * 0x5851F42D
    first = first >> 31 ^ first & (1 << 31) - 1
    second = first * 0x5851F42D
    hash = second >> 31 ^ second & (1 << 31) - 1
    order = np.argsort(hash, kind="stable")
    at = np.flatnonzero(np.diff(hash[order]) == 0)[0]
    return int(order[at]), int(order[at + 1])


def test_labels_of_the_same_hash_are_told_apart() -> None:
    one, other = colliding_labels()
    assert mixed(SEED, one) == mixed(SEED, other)
    table = BoxTable()
    clusters = EqualityClusters(table)
    boxes = table.add(equal_sides({0: one}, {0: other}, {0: one}))
    clusters.add(boxes[:1], UNMARKED)
    assert found_boxes(clusters, [other]) == []
    clusters.add(boxes[1:], UNMARKED)
    assert clusters.groups.state[GROUPS] == 2
    assert found_boxes(clusters, [one]) == [0, 2]
    assert found_boxes(clusters, [other]) == [1]
    clusters.remove(boxes[[0, 2]])
    assert found_boxes(clusters, [one]) == []
    assert found_boxes(clusters, [other]) == [1]


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("values", [1, 3, 1 << 50])
def test_sets_and_slabs_go_with_the_boxes_that_need_them(values: int, marked: bool) -> None:
    rng = default_rng(values % 7)
    table = BoxTable()
    clusters = EqualityClusters(table)
    there: dict[int, dict[int, int]] = {}
    for step in range(600):
        if len(there) < 100 or (rng.random() < 0.5 and step < 500):
            axes = rng.permutation(12)[: rng.integers(1, 5)].tolist()
            box = {axis: int(rng.integers(values)) for axis in axes}
            new = table.add(equal_sides(box))
            clusters.add(new, new if marked else UNMARKED)
            there[int(new[0])] = box
        else:
            gone = int(rng.choice(list(there)))
            there.pop(gone)
            clusters.remove(np.array([gone], np.int32))
            table.remove(np.array([gone], np.int32))
        if step % 100 == 99:
            prefixes = {
                tuple(sorted(box)[:i]) for box in there.values() for i in range(1, len(box) + 1)
            }
            keys = {tuple(sorted(box.items())) for box in there.values()}
            assert clusters.tree.state[SETS] == len(prefixes)
            assert clusters.tree.node[: clusters.tree.state[NODES], CHILDREN][0] == len(
                {prefix for prefix in prefixes if len(prefix) == 1}
            )
            assert clusters.groups.state[GROUPS] == len(keys)
            assert (clusters.groups.slot != EMPTY).sum() == len(keys)
            labels = rng.integers(0, values, 12)
            expected = [n for n, box in there.items() if all(labels[a] == box[a] for a in box)]
            assert found_boxes(clusters, labels.tolist()) == sorted(expected)
            assert sorted(clusters.boxes().tolist()) == sorted(there)
    clusters.remove(np.array(list(there), np.int32))
    assert clusters.tree.state[SETS] == clusters.groups.state[GROUPS] == 0
    assert clusters.groups.state[LIVE] == 0
    assert clusters.groups.state[TOP] < 60 * 200


def test_sizes_of_slabs_grow_by_half_at_most() -> None:
    sizes = [slab_size(number) for number in range(20)]
    assert sizes[:8] == [2, 3, 4, 6, 8, 12, 16, 24]
    assert all(larger <= 1.5 * size for size, larger in pairwise(sizes))


def test_which_boxes_have_an_equality() -> None:
    table = BoxTable()
    sides = Boxes(
        np.array([0, 2, 3, 3]),
        np.array([0, 1, 1], np.int32),
        np.array([1, 4, 1]),
        np.array([2, 4, 2]),
        np.zeros(3, np.int32),
    )
    boxes = table.add(sides)
    found, count = have_equality(table.arrays, boxes)
    assert (found.tolist(), count) == ([True, False, False], 1)
