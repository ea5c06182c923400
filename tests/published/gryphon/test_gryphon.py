"""Gryphon: matching trees, their optimisations and their bound."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from numba import config
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.errors import LimitError
from tamis.published.boxes import UNBOUNDED, BoxTable, Points
from tamis.published.gryphon.gryphon import Gryphon, expected_visits
from tamis.published.index import EVALUATED, VISITED, BoxHits
from tests.published.gryphon_trees import (
    Box,
    check_trees,
    equality_tree,
    general_tree,
    sides_of,
    w4,
    w4_points,
)
from tests.published.strategies import (
    check_changes,
    expected_pairs,
    pairs_of,
    random_points,
    random_sides,
)

SETTINGS = [
    {"collapse": collapse, "successors": successors, "factoring": factoring}
    for collapse, successors, factoring in product(
        (True, False), ("none", "plain", "aggressive"), (0, 1, 2, 3)
    )
]
SHAPES = (0.5, 1.0, 0.0, 0.8)
QUICK = bool(config.DISABLE_JIT)


def name(setting: dict[str, Any]) -> str:
    return "-".join(str(value) for value in setting.values())


class Analysed(Gryphon):
    """Has its successor sets for every event."""

    def stab(self, points: Points) -> Iterator[BoxHits]:
        self.analyse()
        yield from super().stab(points)


def filled(boxes: list[Box], **setting: Any) -> Gryphon:
    """An index to which boxes came one by one."""
    table = BoxTable()
    index = Analysed(table, **setting)
    for box in boxes:
        index.add(table.add(sides_of([box])))
    return index


def equal(value: int) -> tuple[int, int]:
    return value, value


def below(value: int) -> tuple[int, int]:
    return 0, value - 1


def from_on(value: int) -> tuple[int, int]:
    return value, UNBOUNDED


@pytest.mark.parametrize("setting", SETTINGS, ids=name)
@pytest.mark.parametrize("seed", range(1 if QUICK else 4))
def test_it_agrees_with_plain_trying(setting: dict[str, Any], seed: int) -> None:
    rounds = 4 if QUICK else 12
    check_changes(partial(Analysed, **setting), seed, rounds=rounds, equal=SHAPES[seed])


@pytest.mark.parametrize("seed", range(2 if QUICK else 8))
def test_it_agrees_while_successor_sets_come_and_go(seed: int) -> None:
    for form in ("plain", "aggressive"):
        check_changes(partial(Gryphon, successors=form), seed, rounds=6)


@pytest.mark.parametrize("setting", SETTINGS[::3], ids=name)
@pytest.mark.parametrize("seed", range(1 if QUICK else 3))
def test_trees_stay_in_order(setting: dict[str, Any], seed: int) -> None:
    rng = default_rng(seed)
    table = BoxTable()
    index = Gryphon(table, **setting)
    there = np.empty(0, np.int32)
    for step in range(6 if QUICK else 25):
        if rng.random() < 0.6 or not len(there):
            sides = random_sides(rng, int(rng.integers(1, 25)), 3 + step // 8, 4)
            new = table.add(sides)
            index.add(new)
            there = np.concatenate((there, new))
        else:
            gone = rng.random(len(there)) < rng.choice([0.2, 0.7, 1.0])
            index.remove(there[gone])
            table.remove(there[gone])
            there = there[~gone]
        check_trees(index, table, there)


def test_subscriptions_share_tests() -> None:
    index = filled([{0: equal(1), 1: equal(2)}, {0: equal(1), 1: equal(5)}])
    assert equality_tree(index) == {
        "test": (0, None),
        1: {"test": (1, None), 2: [0], 5: [1]},
    }


def test_a_subscription_that_does_not_care_follows_a_star() -> None:
    index = filled(
        [{0: below(3), 1: below(4)}, {0: below(3), 2: from_on(7)}],
    )
    assert general_tree(index) == {
        "test": (0, 3),
        0: {"test": (1, 4), 0: [0], "*": {"test": (2, 7), 1: [1]}},
    }


def test_related_tests_are_followed_instead_of_the_star() -> None:
    wide, narrow = {0: equal(1), 1: below(5)}, {0: equal(1), 1: below(3)}
    assert general_tree(filled([wide, narrow])) == {
        "test": (0, None),
        1: {"test": (1, 5), 0: {"test": (1, 3), 0: [1], "*": [0]}},
    }
    assert general_tree(filled([narrow, wide])) == {
        "test": (0, None),
        1: {"test": (1, 3), 0: [0], "*": {"test": (1, 5), 0: [1]}},
    }
    exact = {0: from_on(1), 1: equal(2)}
    assert general_tree(filled([{1: below(5)}, exact])) == {
        "test": (1, 5),
        0: {"test": (1, None), 2: {"test": (0, 1), 1: [1]}, "*": [0]},
    }


def test_both_results_of_a_comparison_are_edges_of_one_node() -> None:
    assert general_tree(filled([{0: below(5)}, {0: from_on(5)}, {0: (0, UNBOUNDED)}])) == {
        "test": (0, 5),
        0: [0],
        1: [1],
        "*": {"test": (0, 0), 1: [2]},
    }


def test_a_leaf_gives_its_place_to_a_test() -> None:
    assert general_tree(filled([{0: below(5)}, {0: below(5), 1: (2, 6)}])) == {
        "test": (0, 5),
        0: {"test": (1, 2), 1: {"test": (1, 7), 0: [1]}, "*": [0]},
    }


def test_identical_boxes_share_a_leaf_though_edges_came_in_between() -> None:
    boxes = [{0: from_on(5)}, {0: below(3)}, {0: below(5)}, {0: below(3)}]
    assert general_tree(filled(boxes)) == {
        "test": (0, 5),
        0: [2],
        1: [0],
        "*": {"test": (0, 3), 0: [1, 3]},
    }


def test_the_equality_tree_has_a_level_an_attribute() -> None:
    boxes = [{0: equal(1), 1: equal(2), 2: equal(3)}, {0: equal(1), 2: equal(3)}, {2: equal(3)}]
    last = {"test": (2, None), 3: [2]}
    published = {
        "test": (0, None),
        1: {
            "test": (1, None),
            2: {"test": (2, None), 3: [0]},
            "*": {"test": (2, None), 3: [1]},
        },
        "*": {"test": (1, None), "*": last},
    }
    assert equality_tree(filled(boxes, collapse=False)) == published
    assert equality_tree(filled(boxes)) == {**published, "*": last}


def test_attributes_that_come_late_are_put_below() -> None:
    boxes = [{0: equal(1)}, {1: equal(2)}, {0: equal(1), 3: equal(7)}]
    assert equality_tree(filled(boxes, collapse=False)) == {
        "test": (0, None),
        1: {"test": (1, None), "*": {"test": (3, None), 7: [2], "*": [0]}},
        "*": {"test": (1, None), 2: [1]},
    }


def test_the_most_tested_attribute_is_at_the_root_unless_an_order_is_given() -> None:
    sides = sides_of([{0: equal(1), 2: equal(1)}, {2: equal(3)}, {1: equal(1)}, {1: equal(4)}])
    table = BoxTable()
    numbers = table.add(sides)
    roots = []
    for order in ((), (0, 1)):
        index = Gryphon(table, order=order)
        index.add(numbers)
        roots.append(equality_tree(index)["test"][0])
        index.remove(numbers)
        assert index.size().nodes == 0
    assert roots == [1, 0]


def test_only_the_star_is_followed_where_an_attribute_is_absent() -> None:
    index = filled([{0: equal(1)}, {1: equal(1)}, {0: (0, UNBOUNDED)}, {}])
    assert sorted(pairs_of(index, points_of_labels(np.array([[-1, 1], [0, -1]])))) == [
        (0, 1),
        (0, 3),
        (1, 2),
        (1, 3),
    ]


def test_nodes_are_visited_as_the_paper_counts_them() -> None:
    boxes = [{0: equal(1), 1: equal(2), 2: equal(3)}, {0: equal(1), 2: equal(3)}, {2: equal(3)}]
    points = points_of_labels(np.array([[1, 2, 3], [1, 9, 9], [9, 9, 3]]))
    plain, collapsed = filled(boxes, collapse=False), filled(boxes)
    assert sorted(pairs_of(plain, points)) == [(0, 0), (0, 1), (0, 2), (2, 2)]
    assert plain.tally[VISITED] == 9 + 5 + 4
    assert plain.tally[EVALUATED] == 9 + 5 + 4 - 4  # without the leaves
    pairs_of(collapsed, points)
    assert collapsed.tally[VISITED] == plain.tally[VISITED] - 3
    assert plain.size()[:3] == (5, 9, 8)
    assert collapsed.size()[:3] == (5, 8, 7)


PAPER: list[Box] = [
    {0: equal(1), 1: equal(2), 2: equal(3), 3: equal(8)},
    {0: equal(1), 2: equal(3), 3: equal(8)},
    {1: equal(2), 2: equal(3), 3: equal(8)},
    {1: equal(2), 2: equal(3), 3: equal(9)},
]
"""The tree that is drawn in successors.py."""


def test_successors_skip_what_is_known() -> None:
    event = points_of_labels(np.array([[1, 2, 3, 9]]))
    visited = {}
    for form in ("none", "plain", "aggressive"):
        index = filled(PAPER, successors=form)
        assert pairs_of(index, event) == [(0, 3)]
        visited[form] = int(index.tally[VISITED])
    # four down to N; then a2, C, a1, a2, B and the leaf; or C, B and the leaf; or B and the leaf
    assert visited == {"none": 10, "plain": 7, "aggressive": 6}


def test_successors_of_the_drawn_tree() -> None:
    index = filled(PAPER, successors="plain")
    index.analyse()
    start, members = index._successors
    tree = index._store.forest.tree
    node = 0
    path = [int(tree.star[0])]
    for label in (1, 2, 3):
        node = path[-1]
        child = int(tree.first[node])
        assert tree.label[child] == label
        path.append(child)
    blocked = path[-1]
    of = {int(members[i]) for i in range(start[blocked], start[blocked + 1])}
    assert len(of) == 2
    assert all(tree.axis[successor] == 3 for successor in of)
    assert index.size().successors == len(members)


def test_a_blocked_test_excludes_no_more_than_it_says() -> None:
    sides = [below(2), below(4), from_on(2), from_on(4), equal(1), equal(3), (0, UNBOUNDED)]
    points = points_of_labels(np.array([[1, x, 0] for x in range(-1, 6)]))
    for first, second in product(sides, sides):
        boxes = [{0: equal(1), 1: first, 2: below(3)}, {1: second, 2: below(4)}]
        index = filled(boxes, successors="aggressive")
        expected = [
            (x + 1, box)
            for x in range(-1, 6)
            for box, (low, high) in enumerate((first, second))
            if low <= x <= high
        ]
        assert sorted(pairs_of(index, points)) == expected


@pytest.mark.parametrize("equalities", [1.0, 0.6])
def test_more_is_known_the_less_is_visited(equalities: float) -> None:
    rng = default_rng(5)
    table = BoxTable()
    numbers = table.add(random_sides(rng, 80 if QUICK else 600, 6, 4, equalities))
    points = random_points(rng, 60, 6, 4)
    visited, found = [], []
    for form in ("none", "plain", "aggressive"):
        index = Analysed(table, successors=form)
        index.add(numbers)
        found.append(sorted(pairs_of(index, points)))
        visited.append(index.tally[VISITED])
    assert found[0] == found[1] == found[2]
    assert visited[0] > visited[1] > visited[2]


def test_successor_sets_are_made_when_they_pay() -> None:
    rng = default_rng(2)
    table = BoxTable()
    index = Gryphon(table, successors="plain")
    index.add(table.add(random_sides(rng, 60, 4, 4, 1.0)))
    point = random_points(rng, 1, 4, 4)
    pairs_of(index, point)
    assert index.size().successors == 0
    for _ in range(index.size().nodes):
        pairs_of(index, point)
    assert index.size().successors > 0
    index.add(table.add(random_sides(rng, 1, 4, 4, 1.0)))
    assert index.size().successors == 0
    many = random_points(rng, 500, 4, 4)
    pairs_of(index, many)
    assert index.size().successors > 0


def test_factoring_makes_a_tree_for_each_value() -> None:
    boxes = [{0: equal(1), 2: equal(3)}, {0: equal(2), 2: equal(3)}, {2: equal(3)}]
    index = filled(boxes, factoring=1, order=(0,))
    points = points_of_labels(np.array([[1, -1, 3], [2, -1, 3], [7, -1, 3], [-1, -1, 3]]))
    assert sorted(pairs_of(index, points)) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 2), (3, 2)]
    assert index.tally[VISITED] == 4 * 2
    assert index.size().nodes == 3 * 2


def test_a_range_on_an_index_attribute_is_tested_only_where_the_value_is_unknown() -> None:
    index = filled(
        [{0: equal(1)}, {0: below(4), 1: below(9)}, {0: equal(6)}], factoring=1, order=(0,)
    )
    points = points_of_labels(np.array([[1, 5], [2, 5], [6, 5], [5, 5], [-1, 5]]))
    assert sorted(pairs_of(index, points)) == [(0, 0), (0, 1), (1, 1), (2, 2)]
    assert index.size().predicates == 1 + 2


def test_too_many_copies_are_refused_and_nothing_is_changed() -> None:
    table = BoxTable()
    index = Gryphon(table, factoring=2, order=(0, 1), copies=40)
    free = table.add(sides_of([{2: equal(i)} for i in range(5)]))
    index.add(free)
    index.add(table.add(sides_of([{0: equal(1), 1: equal(1)}])))
    points = points_of_labels(np.array([[1, 1, 3], [2, 2, 4], [-1, 5, 0]]))
    before = sorted(pairs_of(index, points))
    size = index.size()
    many = table.add(sides_of([{0: equal(i), 1: equal(i)} for i in range(2, 9)]))
    with pytest.raises(LimitError, match="factoring on 2 attributes makes more than 40 copies"):
        index.add(many)
    assert sorted(pairs_of(index, points)) == before
    assert index.size()[:3] == size[:3]
    check_trees(index, table, np.concatenate((free, np.array([5], np.int32))))
    index.remove(free)
    index.add(many)
    assert len(pairs_of(index, points)) == 2


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="it is a number of attributes"):
        Gryphon(BoxTable(), factoring=-1)
    with pytest.raises(ValueError, match="none, plain or aggressive"):
        Gryphon(BoxTable(), successors="eager")


@pytest.mark.parametrize("setting", [{}, {"collapse": False}, {"factoring": 1}], ids=str)
@pytest.mark.parametrize("equalities", [1.0, 0.4])
def test_memory_comes_back(setting: dict[str, Any], equalities: float) -> None:
    rng = default_rng(7)
    table = BoxTable()
    index = Gryphon(table, **setting)
    stay = table.add(random_sides(rng, 20, 5, 6, equalities))
    index.add(stay)
    sizes = []
    for round in range(6 if QUICK else 40):
        sides = random_sides(rng, 60 if QUICK else 300, 5, 6, equalities)
        shifted = sides._replace(low=sides.low + 6 * round, high=sides.high + 6 * round)
        new = table.add(shifted._replace(high=np.minimum(shifted.high, UNBOUNDED)))
        index.add(new)
        index.remove(new)
        table.remove(new)
        check_trees(index, table, stay)
        sizes.append(index.size().bytes)
    assert max(sizes[2:]) <= max(sizes[:2]) + 8 * 300
    index.remove(stay)
    assert index.size()[:4] == (0, 0, 0, 0)


def test_arrays_shrink() -> None:
    rng = default_rng(8)
    table = BoxTable()
    index = Gryphon(table)
    numbers = table.add(random_sides(rng, 300 if QUICK else 4000, 6, 9))
    index.add(numbers)
    large = index.size().bytes
    rest = numbers[::40]
    gone = np.setdiff1d(numbers, rest)
    index.remove(gone)
    table.remove(gone)
    assert index.size().bytes < large / 4
    check_trees(index, table, rest)
    points = random_points(rng, 50, 6, 9)
    expected = expected_pairs(table, rest, points)
    assert set(pairs_of(index, points)) == expected


def test_a_copy_is_independent() -> None:
    rng = default_rng(9)
    table = BoxTable()
    index = Gryphon(table, successors="aggressive", factoring=1)
    numbers = table.add(random_sides(rng, 100, 5, 5))
    index.add(numbers)
    points = random_points(rng, 100, 5, 5)
    expected = sorted(pairs_of(index, points))
    other = copy.deepcopy(index)
    index.remove(numbers)
    assert sorted(pairs_of(other, points)) == expected
    assert pairs_of(index, points) == []
    other.remove(numbers[:50])
    other.add(numbers[:50])
    assert sorted(pairs_of(other, points)) == expected
    check_trees(other, table, numbers)


def test_visits_stay_under_the_bound_of_the_theorem() -> None:
    rng = default_rng(4)
    for boxes in (100, 400) if QUICK else (1_000, 4_000, 16_000):
        table = BoxTable()
        index = Gryphon(table, collapse=False)
        index.add(table.add(w4(rng, boxes)))
        size = index.size()
        assert size.nodes <= boxes * 31 + 1
        events = 20 if QUICK else 200
        pairs_of(index, w4_points(rng, events))
        assert index.tally[VISITED] / events < expected_visits(boxes, 30, 5)


def test_the_bound_is_sublinear() -> None:
    ratio = expected_visits(10**6, 30, 5) / expected_visits(10**5, 30, 5)
    assert np.log10(ratio) == pytest.approx(0.681, abs=0.001)


def test_each_optimisation_saves_visits() -> None:
    rng = default_rng(4)
    table = BoxTable()
    numbers = table.add(w4(rng, 300 if QUICK else 5_000))
    points = w4_points(rng, 50)
    visited = []
    for setting in (
        {"collapse": False},
        {},
        {"successors": "plain"},
        {"successors": "aggressive"},
        {"successors": "aggressive", "factoring": 2},
    ):
        index = Analysed(table, **setting)
        index.add(numbers)
        pairs_of(index, points)
        visited.append(index.tally[VISITED])
    assert visited == sorted(visited, reverse=True)
    assert len(set(visited)) == len(visited)
