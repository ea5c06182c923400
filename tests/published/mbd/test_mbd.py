"""MBD: variables, shared chains, and what they say of events."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.points import points_of_labels
from tamis.errors import TamisError
from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.index import EVALUATED
from tamis.published.mbd.attribute_order import learned_order, random_order
from tamis.published.mbd.mbd import MBD
from tests.published.many import check_churn, check_many
from tests.published.strategies import check_changes, pairs_of, random_sides, sides_of


@pytest.mark.parametrize("equal", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_plain_trying(seed: int, equal: float) -> None:
    check_changes(MBD, seed, equal=equal)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_order_says_the_same(seed: int) -> None:
    check_changes(lambda table: MBD(table, ordering="random", seed=seed), seed)


def test_many_at_once() -> None:
    check_many(MBD, 4)


def test_memory_comes_back() -> None:
    check_churn(MBD, 4, rounds=2, size=4000)


def test_equal_predicates_and_chains_are_shared() -> None:
    """color = 7 and price < 150, color = 7 and price = 150, color = 7 alone."""
    table = BoxTable()
    index = MBD(table, order=[1, 0])
    price, color = 0, 1
    boxes = table.add(
        sides_of(
            {color: (7, 7), price: (0, 149)},
            {color: (7, 7), price: (150, 150)},
            {color: (7, 7)},
            {color: (7, 7)},
        )
    )
    index.add(boxes)
    assert index.size().predicates == 3
    assert index.size().nodes == 3
    assert index.diagram_count() == 2
    points = points_of_labels(np.array([[150, 7], [3, 7], [-1, 7], [3, 8], [3, -1]]))
    assert sorted(pairs_of(index, points)) == [
        *[(0, 1), (0, 2), (0, 3)],
        *[(1, 0), (1, 2), (1, 3)],
        *[(2, 2), (2, 3)],
    ]
    index.remove(boxes[[0, 2]])
    assert index.size().nodes == 2
    index.remove(boxes[[1, 3]])
    assert (index.size().nodes, index.size().predicates) == (0, 0)


def test_each_predicate_of_the_event_is_evaluated_once() -> None:
    table = BoxTable()
    index = MBD(table)
    index.add(table.add(random_sides(np.random.default_rng(1), 500, 4, 6)))
    on_axis = np.bincount(index.variables.axis[index.variables.uses > 0], minlength=4)
    list(index.stab(points_of_labels(np.array([[3, -1, 2, -1]]))))
    assert index.tally[EVALUATED] == on_axis[0] + on_axis[2]


def test_popular_attributes_with_few_predicates_are_at_the_bottom() -> None:
    """Axis 2 is in all boxes with one predicate, axis 0 in all with many, axis 1 in some."""
    boxes = [{2: (5, 5), 0: (n, UNBOUNDED)} for n in range(20)]
    boxes += [{2: (5, 5), 0: (n, UNBOUNDED), 1: (3, 3)} for n in range(4)]
    assert learned_order(sides_of(*boxes)) == [2, 1, 0]
    assert sorted(random_order(sides_of(*boxes), 3)) == [0, 1, 2]
    assert learned_order(sides_of({})) == random_order(sides_of({}), 1) == []


def test_a_learned_order_has_fewer_nodes_than_a_bad_one() -> None:
    sizes = []
    values = np.array([2, 300])
    for order in ([0, 1], [1, 0], []):
        table = BoxTable()
        index = MBD(table, order=order)
        chosen = np.random.default_rng(5).integers(0, values, (400, 2)).tolist()
        index.add(table.add(sides_of(*({0: (a, a), 1: (b, b)} for a, b in chosen))))
        sizes.append(index.size().nodes)
    assert sizes[0] < sizes[1]
    assert sizes[2] == sizes[0]


def test_the_order_is_learned_again() -> None:
    table = BoxTable()
    index = MBD(table)
    index.add(table.add(sides_of({0: (1, 1)}, {0: (1, 1), 1: (2, 2)})))
    assert index.level[0] < index.level[1]
    index.add(table.add(sides_of(*({1: (2, 2), 0: (n, n)} for n in range(60)))))
    assert index.level[1] < index.level[0]
    assert len(pairs_of(index, points_of_labels(np.array([[1, 2]])))) == 3


def test_wrong_options_are_refused() -> None:
    from tamis.engine.engine import Engine
    from tamis.engine.registry import Algorithm

    with pytest.raises(TamisError, match="it is learned or random"):
        Engine(matcher=Algorithm("mbd", ordering="given"))
