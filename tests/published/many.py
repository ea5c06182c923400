"""Many boxes at once, then one by one, then hardly any: what indexes do only when they are large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import default_rng

from tamis.arrays.types import Numbers
from tamis.published.boxes import BoxTable, Points
from tests.published.strategies import (
    expected_pairs,
    pairs_of,
    random_points,
    random_sides,
)

AXES, VALUES = 4, 30


def agree(index: Any, table: BoxTable, there: Numbers, points: Points) -> None:
    """Hold an index against plain trying."""
    found = pairs_of(index, points)
    assert len(found) == len(set(found)), "a pair came twice"
    assert set(found) == expected_pairs(table, there, points)


def check_many(make: Callable[[BoxTable], Any], seed: int, **shape: Any) -> None:
    """Add 700 boxes at once, 100 one by one, 1500 at once; remove all but a few in two goes, and
    add some again."""
    rng = default_rng(seed)
    table = BoxTable()
    index = make(table)
    points = random_points(rng, 25, AXES, VALUES)
    there = table.add(random_sides(rng, 700, AXES, VALUES, **shape))
    index.add(there)
    agree(index, table, there, points)
    for _ in range(100):
        new = table.add(random_sides(rng, 1, AXES, VALUES, **shape))
        index.add(new)
        there = np.concatenate((there, new))
    agree(index, table, there, points)
    new = table.add(random_sides(rng, 1500, AXES, VALUES, **shape))
    index.add(new)
    there = np.concatenate((there, new))
    agree(index, table, there, points)
    for share in (0.5, 0.97):
        gone = rng.random(len(there)) < share
        index.remove(there[gone])
        table.remove(there[gone])
        there = there[~gone]
        agree(index, table, there, points)
    new = table.add(random_sides(rng, 100, AXES, VALUES, **shape))
    index.add(new)
    agree(index, table, np.concatenate((there, new)), points)


def check_churn(make: Callable[[BoxTable], Any], seed: int, rounds: int, size: int) -> None:
    """Let boxes come and go, as many as go; the index must not grow without bound, and give memory
    back when all but a few are gone."""
    rng = default_rng(seed)
    table = BoxTable()
    index = make(table)
    there = table.add(random_sides(rng, size, AXES, 1 << 40))
    index.add(there)
    full = most = index.size().bytes
    for _ in range(rounds):
        gone = rng.permutation(len(there)) < size // 10
        index.remove(there[gone])
        table.remove(there[gone])
        new = table.add(random_sides(rng, int(gone.sum()), AXES, 1 << 40))
        index.add(new)
        there = np.concatenate((there[~gone], new))
        most = max(most, index.size().bytes)
    assert most <= 4 * full
    for _ in range(2):  # twice, as what is there decides how much memory is too much
        index.remove(there[8:])
        table.remove(there[8:])
        there = there[:8]
    points = random_points(rng, 25, AXES, 1 << 40)
    agree(index, table, there, points)
    assert index.size().bytes < full // 2
