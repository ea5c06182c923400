"""Covering by diagrams, held against comparing boxes one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tamis.published.boxes import UNBOUNDED, BoxTable
from tamis.published.mbd.covering import BOTH, DiagramCoverer, Sides
from tamis.published.mbd.dependencies import DependencyCache
from tamis.published.mbd.mbd import MBD
from tests.published.strategies import random_sides, sides_of

Box = dict[int, tuple[int, int]]


def covers(a: Box, b: Box) -> bool:
    return all(
        axis in b and low <= b[axis][0] and b[axis][1] <= high for axis, (low, high) in a.items()
    )


def random_boxes(seed: int, count: int) -> list[Box]:
    sides = random_sides(np.random.default_rng(seed), count, 4, 6, equal=0.3)
    return [
        {
            int(sides.axis[side]): (int(sides.low[side]), int(sides.high[side]))
            for side in range(sides.start[box], sides.start[box + 1])
        }
        for box in range(count)
    ]


def query(box: Box) -> Sides:
    axes = sorted(box)
    ends = np.array([box[axis] for axis in axes], np.int64).reshape(-1, 2)
    return Sides(np.array(axes, np.int32), ends[:, 0].copy(), ends[:, 1].copy())


@pytest.mark.parametrize("phases", [1, 2, BOTH])
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_plain_comparing(seed: int, phases: int, cached: bool) -> None:
    """A routing table that keeps no box that another one covers; boxes go now and then."""
    table = BoxTable()
    index = MBD(table)
    covering = DiagramCoverer(index, phases=phases, cached=cached)
    there: dict[int, Box] = {}
    for turn, box in enumerate(random_boxes(seed, 150)):
        found = covering.relate(query(box))
        expected = any(covers(other, box) for other in there.values())
        assert found.is_covered == expected
        if not expected:
            gone = {number for number, other in there.items() if covers(box, other)}
            assert set(found.boxes.tolist()) == gone
            numbers = np.array(sorted(gone), np.int32)
            index.remove(numbers)
            table.remove(numbers)
            there = {number: other for number, other in there.items() if number not in gone}
            (number,) = table.add(sides_of(box)).tolist()
            index.add(np.array([number], np.int32))
            there[number] = box
        if turn % 10 == 9:
            number = next(iter(there))
            index.remove(np.array([number], np.int32))
            table.remove(np.array([number], np.int32))
            del there[number]


@pytest.mark.parametrize("phases", [1, 2, BOTH])
def test_a_predicate_too_many_does_not_cover(phases: int) -> None:
    """price > 5 and dest = 'Ottawa' does not cover price > 10, and the other way round neither."""
    price, dest = 0, 1
    table = BoxTable()
    index = MBD(table)
    index.add(table.add(sides_of({price: (11, UNBOUNDED)})))
    covering = DiagramCoverer(index, phases=phases)
    found = covering.relate(query({price: (6, UNBOUNDED), dest: (7, 7)}))
    assert (found.is_covered, found.boxes.tolist()) == (False, [])
    assert covering.relate(query({price: (6, UNBOUNDED)})).boxes.tolist() == [0]
    assert covering.relate(query({price: (20, 30), dest: (7, 7)})).is_covered
    assert covering.relate(query({})).boxes.tolist() == [0]


@pytest.mark.parametrize("seed", range(6))
def test_the_cache_has_the_least_dependencies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = BoxTable()
    index = MBD(table)
    cache = DependencyCache()
    there = np.empty(0, np.int32)
    for _ in range(12):
        new = table.add(random_sides(rng, 12, 2, 7, equal=0.2))
        index.add(new)
        there = np.concatenate((there, new))
        gone = rng.random(len(there)) < 0.3
        index.remove(there[gone])
        table.remove(there[gone])
        there = there[~gone]
        cache.follow(index.variables)
        assert cache.pairs() == least_dependencies(index)


def least_dependencies(index: MBD) -> set[tuple[int, int]]:
    """Implications that no third variable lies between, by trying all."""
    own = index.variables
    used = np.flatnonzero(own.uses > 0).tolist()
    keys = {v: (int(own.axis[v]), int(own.low[v]), int(own.high[v])) for v in used}

    def implies(a: int, b: int) -> bool:
        (x, low, high), (y, least, most) = keys[a], keys[b]
        return a != b and x == y and least <= low and high <= most

    return {
        (a, b)
        for a, b in product(used, used)
        if implies(a, b) and not any(implies(a, c) and implies(c, b) for c in used)
    }
