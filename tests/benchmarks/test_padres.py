"""The subscriptions of PADRES as arrays: covering and merging are held against plain matching."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.padres import index_of, states
from benchmarks.papers.padres_boxes import (
    ABSENT,
    RoutingSet,
    Shape,
    covered_away,
    merge,
    probability,
    publications,
    routing_set,
)
from benchmarks.papers.points import points_of_labels
from tamis.published.mbd.mbd import MBD
from tamis.published.naive import Naive

SMALL = Shape(6, 1, 3, 1.5, 0.2)


def reached(own: RoutingSet, events: np.ndarray) -> np.ndarray:
    """Which events match a subscription."""
    inside = (own.low <= events[:, None]) & (events[:, None] < own.high)
    return np.asarray(((own.low == ABSENT) | inside).all(axis=2).any(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_covering_and_perfect_merging_change_no_match(seed: int) -> None:
    own = routing_set(SMALL, 400, seed)
    events = publications(own.values, 60, seed)
    covered = own.select(covered_away(own))
    merged = merge(covered, 0.0).boxes
    assert len(merged.low) < len(covered.low) < 400
    assert (reached(covered, events) == reached(own, events)).all()
    assert (reached(merged, events) == reached(own, events)).all()


@pytest.mark.parametrize("threshold", [0.15, 0.3])
def test_imperfect_mergers_stay_within_their_threshold(threshold: float) -> None:
    own = routing_set(Shape(12, 2, 2, 2.0, 0.2), 150, 4)
    covered = own.select(covered_away(own))
    found = merge(covered, threshold)
    assert len(found.boxes.low) < len(merge(covered, 0.0).boxes.low)
    assert (probability(found.boxes, own.values) - found.true <= threshold + 1e-9).all()
    assert (found.true > 0).any()
    for member, merger in enumerate(found.group.tolist()):
        own_low, low = covered.low[member], found.boxes.low[merger]
        assert ((own_low == ABSENT) == (low == ABSENT)).all()
        assert (low <= own_low).all()
        assert (covered.high[member] <= found.boxes.high[merger]).all()


def test_an_advertisement_lets_more_be_merged() -> None:
    """What nobody publishes is not false, as in the library (definition 2)."""
    own = routing_set(Shape(12, 2, 2, 2.0, 0.2), 150, 4)
    covered = own.select(covered_away(own))
    sizes = [len(merge(covered, 0.0, promised=promised).boxes.low) for promised in (12, 6)]
    assert sizes[1] < sizes[0]
    loose = merge(covered, 0.1, promised=6)
    likely = probability(loose.boxes, 12)
    inside = probability(loose.boxes, 6)
    degree = np.divide(inside - loose.true, inside, out=np.zeros_like(inside), where=inside > 0)
    assert (likely * degree <= 0.1 + 1e-9).all()


def test_matchers_agree_in_every_state() -> None:
    own = routing_set(SMALL, 300, 5)
    points = points_of_labels(publications(own.values, 30, 5))
    for table in states(own).values():
        counts = [
            sum(len(chunk.box) for chunk in index_of(make, table).stab(points))
            for make in (MBD, Naive)
        ]
        assert counts[0] == counts[1] > 0
