"""Random boxes against a brute-force NumPy check; runs with and without the JIT."""

import os
from array import array

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks import workloads
from tamis.arrays.jit import kernel
from tamis.matching.boxes.layout import Boxes, Statistics, check_boxes
from tamis.matching.sieve import keys
from tamis.matching.sieve.box_sieve import BoxSieve
from tamis.matching.sieve.kernels import EVENT, Matches
from tamis.matching.sieve.single import ROOM
from tamis.matching.sieve.unbuild import boxes_of

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
# Keys are scrambled, and intervals tested, by unsigned arithmetic that is meant to wrap around.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
N, EVENTS = (150, 60) if PLAIN else (1500, 400)


def random_boxes(rng, n, size, most=4, repeated=False):
    """Boxes of every kind: equalities, one-sided, two-sided, full intervals, none at all."""
    k = len(size)
    count = np.minimum(rng.integers(0, most + 1, n), k)
    start = np.concatenate(([0], np.cumsum(count)))
    attribute = [np.sort(rng.choice(k, c, replace=False)) for c in count]
    attribute = np.concatenate([*attribute, []]).astype(np.int32)
    last = size[attribute] - 1
    low, high = rng.integers(0, last + 1), rng.integers(0, last + 1)
    low, high = np.minimum(low, high), np.maximum(low, high)
    kind = rng.integers(0, 7, len(attribute))
    high = np.where(kind < 3, low, np.where(kind == 3, last, high))
    low = np.where(np.isin(kind, (4, 5)), 0, low)
    high = np.where(kind == 5, last, high)
    slot = rng.integers(0, max(n // 2, 1), n) if repeated else rng.permutation(n)
    return Boxes(
        start, attribute, low.astype(np.int32), high.astype(np.int32), slot.astype(np.int32), size
    )


def random_points(rng, events, size, absent=0.3):
    points = rng.integers(0, size, (events, len(size))).astype(np.int32)
    points[rng.random(points.shape) < absent] = -1
    return points


def coded(event, slot):
    """Pairs of event and slot as numbers in ascending order: some tests have 300,000."""
    return np.sort(np.asarray(event, np.int64) << 32 | np.asarray(slot, np.int64))


def brute_force(boxes, points):
    hit = np.ones((len(boxes.owner), len(points)), bool)
    ranks = np.ascontiguousarray(points.T)
    for b in range(len(boxes.owner)):
        for c in range(boxes.start[b], boxes.start[b + 1]):
            rank = ranks[boxes.axis[c]]
            hit[b] &= (rank >= boxes.low[c]) & (rank <= boxes.high[c])
    box, event = np.nonzero(hit)
    pairs = coded(event, boxes.owner[box])
    return pairs[np.diff(pairs, prepend=-1) > 0]


def pairs_of(matches: Matches):
    pairs = coded(matches.event, matches.slot)
    assert (np.diff(pairs) > 0).all(), "a pair came twice"
    return pairs


SIZES = {
    "one": [5],
    "single value": [1, 1, 3],
    "small": [3, 4, 5, 6],
    "mixed": [3, 401, 401, 10001, 10001, 7],
    "large": [2_000_001, 3_000_001, 70_000, 5],
    "many": [9] * 90,
}


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_equals_brute_force(name, repeated, order):
    rng = np.random.default_rng(len(name) + 7 * repeated)
    size = np.array(SIZES[name])
    boxes = random_boxes(rng, N, size, repeated=repeated)
    points = random_points(rng, EVENTS, size)
    half = len(points) // 2  # large domains: points that meet constants
    for e in range(half):
        b = rng.integers(N)
        span = slice(boxes.start[b], boxes.start[b + 1])
        points[e, boxes.axis[span]] = boxes.low[span]
    points = np.asarray(points, order=order)
    sieve = BoxSieve(boxes)
    expected = brute_force(boxes, points)
    assert_array_equal(pairs_of(sieve.match(points)), expected)
    counts = np.bincount(expected >> 32, minlength=len(points))
    assert_array_equal(sieve.count(points), counts)
    for limit in (0, 1, 3):
        limited = sieve.match(points, limit)
        assert np.isin(pairs_of(limited), expected, assume_unique=True).all()
        assert_array_equal(
            np.bincount(limited.event, minlength=len(points)), np.minimum(counts, limit)
        )


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("room", [1, 2, 7, 1000])
def test_small_buffers(room, repeated):
    rng = np.random.default_rng(room)
    size = np.array([3, 4, 50])
    boxes = random_boxes(rng, N // 5, size, repeated=repeated)
    points = random_points(rng, EVENTS // 10, size)
    sieve = BoxSieve(boxes)
    chunks = list(sieve.chunks(points, size=room))
    assert all(0 < len(chunk.slot) <= room for chunk in chunks)
    event = np.concatenate([chunk.event for chunk in chunks])
    assert (np.diff(event) >= 0).all()
    slot = np.concatenate([chunk.slot for chunk in chunks])
    assert_array_equal(pairs_of(Matches(event, slot)), brute_force(boxes, points))
    limited = list(sieve.chunks(points, limit=2, size=room))
    counts = np.minimum(sieve.count(points), 2)
    event = np.concatenate([chunk.event for chunk in limited])
    assert_array_equal(np.bincount(event, minlength=len(points)), counts)


def test_callers_buffers_and_cursor():
    rng = np.random.default_rng(5)
    size = np.array([3, 4])
    boxes = random_boxes(rng, N, size)
    points = random_points(rng, EVENTS, size)
    sieve = BoxSieve(boxes)
    matches = Matches(np.empty(100, np.int32), np.empty(100, np.int32))
    cursor, scratch, chunks = sieve.cursor(), sieve.probes(), []
    while cursor[EVENT] < len(points):
        n = sieve.fill(points, scratch, cursor, matches)
        chunks.append(coded(matches.event[:n], matches.slot[:n]))
    pairs = np.sort(np.concatenate(chunks))
    assert len(pairs) == sieve.count(points).sum()
    assert_array_equal(pairs, brute_force(boxes, points))


@pytest.mark.parametrize("statistics", [True, False])
def test_statistics_change_no_result(statistics):
    rng = np.random.default_rng(3)
    size = np.array([5, 30, 200, 9])
    boxes = random_boxes(rng, N, size)
    points = random_points(rng, EVENTS, size)
    mass = [rng.random(int(s)) ** 4 for s in size[:3]] + [None]
    known = Statistics(np.array([1.0, 0.01, 0.5, 0.0]), mass) if statistics else None
    assert_array_equal(pairs_of(BoxSieve(boxes, known).match(points)), brute_force(boxes, points))


def seldom_boxes(rng, n, k):
    """Boxes under some keys, each with two more sides on attributes that events seldom have."""
    size = np.full(k, 9)
    size[0] = n // 30 + 1
    others = np.sort(np.array([rng.choice(np.arange(1, k), 2, replace=False) for _ in range(n)]))
    attribute = np.column_stack((np.zeros(n, int), others))
    low = np.column_stack((rng.integers(0, size[0], n), rng.integers(0, 5, (n, 2))))
    high = low + np.array([0, 3, 3])
    arrays = (each.ravel().astype(np.int32) for each in (attribute, low, high))
    return Boxes(np.arange(0, 3 * n + 1, 3), *arrays, np.arange(n, dtype=np.int32), size)


@pytest.mark.parametrize("n", [1, 30, N])
def test_boxes_whose_first_attribute_is_absent_are_not_tested(n):
    rng = np.random.default_rng(n)
    k = 40
    boxes = seldom_boxes(rng, n, k)
    points = random_points(rng, EVENTS, boxes.size, absent=0.9)
    points[:, 0] = rng.integers(0, boxes.size[0], EVENTS)
    presence = np.full(k, 0.1)
    presence[0] = 1.0
    sieve = BoxSieve(boxes, Statistics(presence, [None] * k))
    if n == N:
        assert sieve.arrays.is_seldom.any()
        assert len(sieve.arrays.first) == n
    expected = brute_force(boxes, points)
    assert_array_equal(pairs_of(sieve.match(points)), expected)
    assert sieve.count(points).sum() == len(expected)
    single = [coded(event, match_one(sieve, points[event])) for event in range(EVENTS)]
    assert_array_equal(np.concatenate(single), expected)
    again = BoxSieve(boxes_of(sieve.arrays, sieve.size))
    assert_array_equal(pairs_of(again.match(points)), expected)


@pytest.mark.parametrize("repeated", [False, True])
def test_one_point_in_more_boxes_than_a_buffer_holds(repeated):
    n = 3 * ROOM
    nothing = np.empty(0, np.int32)
    owner = np.arange(n, dtype=np.int32) // (2 if repeated else 1)
    size = np.array([1])
    sieve = BoxSieve(Boxes(np.zeros(n + 1, np.int64), nothing, nothing, nothing, owner, size))
    expected = np.unique(owner)
    point = np.zeros(1, np.int32)
    assert_array_equal(np.sort(match_one(sieve, point)), expected)
    found = sieve.match_each(np.zeros(2, np.int32), np.zeros(2, np.int32))
    assert_array_equal(np.unique(found), expected)


def match_one(sieve, point):
    return sieve.match_one(array("i", [*point.tolist(), 0]))


def no_boxes(size):
    return random_boxes(np.random.default_rng(0), 0, size)


def test_nothing():
    size = np.array([4, 5])
    points = random_points(np.random.default_rng(0), 10, size)
    empty = BoxSieve(no_boxes(size))
    assert len(empty.match(points).slot) == 0
    assert empty.count(points).tolist() == [0] * 10
    one = random_boxes(np.random.default_rng(0), 20, size)
    assert len(BoxSieve(one).match(points[:0]).slot) == 0
    assert len(BoxSieve(one).count(points[:0])) == 0


def test_no_attributes():
    boxes = Boxes(
        np.array([0, 0, 0]),
        *[np.empty(0, np.int32)] * 3,
        np.array([4, 2], np.int32),
        np.empty(0, int),
    )
    found = pairs_of(BoxSieve(boxes).match(np.empty((2, 0), np.int32)))
    assert_array_equal(found, coded([0, 0, 1, 1], [4, 2, 4, 2]))


def test_full_interval_asks_for_presence():
    size = np.array([7])
    boxes = Boxes(
        np.array([0, 1]), np.array([0]), np.array([0]), np.array([6]), np.array([9]), size
    )
    found = pairs_of(BoxSieve(boxes).match(np.array([[-1], [0], [6]], np.int32)))
    assert_array_equal(found, coded([1, 2], 9))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"low": np.array([3, 0, 5])}, "low <= high"),
        ({"high": np.array([3, 9, 9])}, "low <= high"),
        ({"axis": np.array([1, 1, 0])}, "box 0"),
        ({"axis": np.array([0, 2, 0])}, "outside"),
        ({"owner": np.array([0, -1])}, "negative"),
        ({"start": np.array([0, 2])}, "start"),
        ({"start": np.array([0, 2, 4])}, "entries"),
    ],
)
def test_bad_boxes_are_refused(change, message):
    good = Boxes(
        np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([1, 0, 0]), np.array([2, 4, 2]), np.array([0, 1]),
        np.array([4, 5]),
    )  # fmt: skip
    check_boxes(good)
    with pytest.raises(ValueError, match=message):
        check_boxes(good._replace(**change))


def test_bad_points_are_refused():
    sieve = BoxSieve(no_boxes(np.array([4, 5])))
    for bad in (np.zeros((3, 1), np.int32), np.zeros((3, 2), np.int64), np.zeros(2, np.int32)):
        with pytest.raises(ValueError, match="points must be int32"):
            sieve.match(bad)


@pytest.mark.parametrize("sample, most", [(50, 4096), (20, 2), (1 << 15, 3), (1, 1)])
def test_sample_and_bound_change_no_result(monkeypatch, sample, most):
    monkeypatch.setattr(keys, "SAMPLE", sample)
    monkeypatch.setattr(keys, "MAX_SIGNATURES", most)
    rng = np.random.default_rng(sample)
    size = np.array([5, 30, 200, 9, 9, 9])
    boxes = random_boxes(rng, N, size, most=6)
    points = random_points(rng, EVENTS, size, absent=0.2)
    assert_array_equal(pairs_of(BoxSieve(boxes).match(points)), brute_force(boxes, points))


def test_presence_is_required_of_untested_events():
    """Two ranges: one is sorted, the attribute of the other merely required, then tested."""
    rng = np.random.default_rng(8)
    n, size = N, np.array([1001, 1001, 1001])
    pair = np.sort(np.array([rng.choice(3, 2, replace=False) for _ in range(n)]), axis=1)
    constant, below = rng.integers(1, 1000, (n, 2)), rng.random((n, 2)) < 0.5
    low, high = np.where(below, 0, constant), np.where(below, constant, 1000)
    boxes = Boxes(
        np.arange(0, 2 * n + 1, 2), pair.ravel(), low.ravel(), high.ravel(), np.arange(n), size
    )
    points = random_points(rng, EVENTS, size, absent=0.5)
    assert_array_equal(pairs_of(BoxSieve(boxes).match(points)), brute_force(boxes, points))


def test_limit_counts_slots_not_boxes():
    n = 40
    boxes = Boxes(np.zeros(n + 1), *[np.empty(0, np.int32)] * 3, np.arange(n) // 20, np.array([2]))
    points = np.zeros((3, 1), np.int32)
    found = pairs_of(BoxSieve(boxes).match(points))
    assert_array_equal(found, coded([0, 0, 1, 1, 2, 2], [0, 1] * 3))
    assert len(BoxSieve(boxes).match(points, limit=2).slot) == 6
    assert BoxSieve(boxes).count(points).tolist() == [2, 2, 2]


def test_scratch_serves_batch_after_batch():
    rng = np.random.default_rng(11)
    size = np.array([3, 4])
    boxes = random_boxes(rng, N // 5, size, repeated=True)
    points = random_points(rng, 20, size)
    sieve, expected = BoxSieve(boxes), brute_force(boxes, points)
    matches, probes = Matches(np.empty(10**5, np.int32), np.empty(10**5, np.int32)), sieve.probes()
    for late in (False, False, True, False):
        if late:
            probes.clock[1] = np.iinfo(np.int32).max - 5
        n = sieve.fill(points, probes, sieve.cursor(), matches)
        assert_array_equal(pairs_of(Matches(matches.event[:n], matches.slot[:n])), expected)


def test_no_room_is_refused():
    sieve = BoxSieve(random_boxes(np.random.default_rng(0), 5, np.array([3])))
    nothing = Matches(np.empty(0, np.int32), np.empty(0, np.int32))
    with pytest.raises(ValueError, match="room"):
        sieve.fill(np.zeros((1, 1), np.int32), sieve.probes(), sieve.cursor(), nothing)


def test_kernel_without_cache_directory():
    """A function without a file has no place for a cache, as on a read-only machine."""
    names = {}
    exec("def double(x):\n    return 2 * x\n", names)
    assert kernel(names["double"])(21) == 42


@pytest.mark.parametrize("name", ["w1", "w1_tiny", "w2", "w3", "w4", "w5"])
def test_workloads(name):
    boxes, points, statistics = getattr(workloads, name)(N, EVENTS).to_ranks()
    sieve = BoxSieve(boxes, statistics)
    assert_array_equal(pairs_of(sieve.match(points)), brute_force(boxes, points))
