"""Naive: every box is tried."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.points import points_of_labels
from tamis.published.boxes import BoxTable
from tamis.published.index import EVALUATED
from tamis.published.naive import Naive
from tests.published.strategies import check_changes, pairs_of, random_sides


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_plain_trying(seed: int) -> None:
    check_changes(Naive, seed)


def test_a_box_is_left_at_the_first_side_that_fails() -> None:
    table = BoxTable()
    index = Naive(table)
    sides = random_sides(np.random.default_rng(1), 50, 4, 5)
    index.add(table.add(sides))
    nothing = points_of_labels(np.full((1, 4), -1))
    free = int((np.diff(sides.start) == 0).sum())
    assert len(pairs_of(index, nothing)) == free
    assert index.tally[EVALUATED] == 50 - free
    assert index.size().predicates == len(sides.axis)
