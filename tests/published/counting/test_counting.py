"""Hit counts: of each cluster what a scan of its predicates says, and every position compared."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.papers.points import points_of_labels
from tamis.published.boxes import AT_LEAST, EQUAL, BoxTable
from tamis.published.counting.counting import (
    BLOCK,
    COUNT,
    DOWN,
    FREE,
    TOP,
    UP,
    count_cluster,
    count_point,
    leave_position,
    no_positions,
    take_position,
    with_positions,
    write_matched,
)
from tamis.published.counting.hit_counts import HitCounts
from tamis.published.counting.predicate_clusters import empty_clusters, insert, remove, with_room
from tamis.published.index import BoxHits
from tamis.published.predicates import OPERATORS
from tests.published.strategies import random_points, random_sides


@pytest.mark.parametrize("values", [1, 4, 300])
@pytest.mark.parametrize("operator", range(OPERATORS))
def test_a_cluster_counts_what_a_scan_counts(operator: int, values: int) -> None:
    """Several pages, predicates that go on in the next one, and gaps where some were removed."""
    rng = default_rng(operator)
    clusters = with_room(empty_clusters(), 1, 40)
    label = rng.integers(0, values, 1500) * 2 + 1
    for code in rng.permutation(1500):
        insert(clusters, operator, label[code], code)
    gone = rng.random(1500) < 0.3
    gone |= label == 3
    for code in np.flatnonzero(gone):
        remove(clusters, operator, label[code], code)
    for value in rng.permutation(2 * values + 2)[:40]:
        hits = np.zeros(1500, np.uint8)
        sums, tried = count_cluster(clusters, operator, value, hits, 0, UP)
        if operator == EQUAL:
            expected = label == value
        else:
            expected = label <= value if operator == AT_LEAST else label >= value
        assert (hits == (expected & ~gone)).all()
        assert sums == hits.sum()
        assert tried < 16


def test_counting_can_be_taken_back() -> None:
    rng = default_rng(1)
    table = BoxTable()
    counts = HitCounts(table)
    counts.add(table.add(random_sides(rng, 600, 4, 9)))
    counts.add(table.add(random_sides(rng, 300, 4, 9)), apart=True)
    points = random_points(rng, 30, 4, 9)
    with counts.lent_hits() as hits:
        for point in range(30):
            up = count_point(counts.clusters, points, point, hits, counts.middle, UP)
            assert hits.sum() == up[0]
            assert count_point(counts.clusters, points, point, hits, counts.middle, DOWN) == up
            assert not hits.any()


def test_boxes_apart_leave_their_equalities_out() -> None:
    table = BoxTable()
    counts = HitCounts(table)
    equal = random_sides(default_rng(2), 700, 3, 9, equal=1.0)
    there = table.add(equal)
    counts.add(there, apart=True)
    assert counts.predicates() == 0
    assert (counts.apart.place[there] == -1).all()
    counts.remove(there, apart=True)
    counts.add(there)
    distinct = {(int(a), int(low)) for a, low in zip(equal.axis, equal.low, strict=True)}
    assert counts.predicates() == len(distinct)


def test_positions_are_given_out_again_and_free_ones_never_match() -> None:
    positions = with_positions(no_positions(), 4 * BLOCK, 500, 1)
    for box in range(100, 300):
        assert take_position(positions, box, box % 2) == box - 100
    assert positions.state.tolist() == [200, -1, 200]
    for box in (120, 150, 299):
        leave_position(positions, box)
    chunk = BoxHits(np.empty(300, np.int32), np.empty(300, np.int32))
    hits = np.zeros(len(positions.need), np.uint8)
    n = write_matched(positions, hits, 0, chunk, 7, 5)
    assert chunk.box[5:n].tolist() == [box for box in range(100, 300, 2) if box not in (120, 150)]
    assert set(chunk.point[5:n].tolist()) == {7}
    hits[:] = 1
    n = write_matched(positions, hits, 0, chunk, 7, 0)
    there = set(chunk.box[:n].tolist())
    assert there >= set(range(101, 299, 2))
    assert [take_position(positions, box, 1) for box in (1, 2, 3)] == [199, 50, 20]
    assert positions.state[[TOP, FREE, COUNT]].tolist() == [200, -1, 200]
    assert positions.place[[1, 2, 3, 120]].tolist() == [199, 50, 20, -1]


def test_blocks_that_match_wholly_are_written_in_their_order() -> None:
    positions = with_positions(no_positions(), 4 * BLOCK, 4 * BLOCK, 1)
    for box in range(4 * BLOCK):
        take_position(positions, box, 1)
    hits = np.ones(BLOCK + len(positions.need), np.uint8)
    hits[BLOCK + BLOCK : BLOCK + 2 * BLOCK] = 0
    hits[BLOCK + 2 * BLOCK + 3] = 0
    chunk = BoxHits(np.empty(4 * BLOCK, np.int32), np.empty(4 * BLOCK, np.int32))
    n = write_matched(positions, hits, BLOCK, chunk, 0, 0)
    expected = [box for box in range(4 * BLOCK) if hits[BLOCK + box]]
    assert chunk.box[:n].tolist() == expected


@pytest.mark.parametrize("together", [False, True])
def test_more_predicates_than_a_byte_counts(together: bool) -> None:
    """A box of 256 predicates has none left over when the count turns around."""
    table = BoxTable()
    counts = HitCounts(table)
    few = table.add(random_sides(default_rng(3), 520, 256, 5))
    counts.add(few)
    wide = random_sides(default_rng(3), 1, 1, 5)._replace(
        start=np.array([0, 256]),
        axis=np.arange(256, dtype=np.int32),
        low=np.full(256, 3),
        high=np.full(256, 3),
    )
    box = table.add(wide)
    if together:
        counts = HitCounts(table)
        counts.add(np.concatenate((few, box)))
    else:
        counts.add(box)
    position = counts.middle + counts.whole.place[box[0]]
    assert counts.whole.need.dtype == counts.apart.need.dtype == np.uint16
    nothing, everything = np.full((1, 256), -1), np.full((1, 256), 3)
    with counts.lent_hits() as hits:
        for labels, expected in ((nothing, 0), (everything, 256)):
            hits[:] = 0
            count_point(counts.clusters, points_of_labels(labels), 0, hits, counts.middle, UP)
            assert hits[position] == expected
        hits[:] = 0


def test_a_copy_shares_no_hits_with_a_reader() -> None:
    """Else what a thread counts while the copy is made would be in the copy for good."""
    counts = HitCounts(BoxTable())
    with counts.lent_hits():
        pass
    assert len(counts._idle) == 1
    assert deepcopy(counts)._idle == []
