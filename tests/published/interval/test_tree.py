"""Interval trees: marks, weights and balance, whatever comes and goes."""

from __future__ import annotations

import copy
from collections import Counter
from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from tamis.published.boxes import UNBOUNDED
from tamis.published.interval.forest import IntervalForest
from tamis.published.interval.tree import (
    BLOCK,
    EQUAL,
    FREE_BLOCKS,
    FREE_NODES,
    GREATER,
    LESS,
    MOST_MARKS,
    way_to,
)

PLAIN = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
Interval = tuple[int, int, int]
"""Axis, low, high."""


def add(forest: IntervalForest, intervals: dict[int, Interval]) -> None:
    """Add intervals by number."""
    axis, low, high = np.array([*intervals.values()], np.int64).reshape(-1, 3).T
    forest.add(np.array([*intervals], np.int32), axis.astype(np.int32), low, high)


def remove(forest: IntervalForest, numbers: list[int]) -> None:
    """Remove intervals by number."""
    forest.remove(np.array(numbers, np.int32))


def slot_of(forest: IntervalForest, slot: int) -> list[int]:
    """The intervals that are marked in a slot."""
    marks, found = forest.arrays.marks, []
    block, left = int(marks.first[slot]), int(marks.held[slot])
    while left:
        fill = (left - 1) % BLOCK + 1
        assert marks.slot[block] == slot
        found += marks.interval[block * BLOCK : block * BLOCK + fill].tolist()
        block, left = int(marks.next[block]), left - fill
    assert block == 0
    return found


def found(forest: IntervalForest, axis: int, label: int) -> list[int]:
    """The intervals that a label is in, as the forest says."""
    slots = np.empty(MOST_MARKS, np.int64)
    n = way_to(forest.arrays, axis, label, slots)
    return sorted(number for slot in slots[:n] for number in slot_of(forest, slot))


def covers(interval: Interval, low: int, high: int) -> bool:
    """Whether an interval covers all labels between two ends, by its own ends."""
    begin = interval[1] if interval[1] > 0 else -1
    return begin <= low and high <= interval[2]


class Walk:
    """A walk through one tree that checks everything."""

    def __init__(self, forest: IntervalForest, intervals: dict[int, Interval], axis: int) -> None:
        self.forest, self.nodes = forest, forest.arrays.nodes
        self.mine = {n: each for n, each in intervals.items() if each[0] == axis}
        ends = [{end for end in each[1:] if 0 < end < UNBOUNDED} for each in self.mine.values()]
        at_zero = [{0} for each in self.mine.values() if each[2] == 0]
        self.weight = Counter(end for some in [*ends, *at_zero] for end in some)
        self.marks: Counter[int] = Counter()
        self.count = self.depth = self.blocks = 0
        tree = int(forest.arrays.root[axis]) if axis < len(forest.arrays.root) else 0
        if not tree:
            assert not self.mine
            return
        assert self.nodes.key[tree] == -1
        assert not self.nodes.left[tree]
        assert self.nodes.weight[tree] == self.weight.total()
        self.check_slot(3 * tree + GREATER, (-1, UNBOUNDED), None)
        self.check(int(self.nodes.right[tree]), -1, UNBOUNDED, 1)
        self.count += 1
        for number in self.mine:
            assert self.chain(number) == self.marks[number]

    def check_slot(self, slot: int, part: tuple[int, int], whole: tuple[int, int] | None) -> None:
        """A slot has the intervals that cover its part of the range, but not the whole range."""
        expected = {
            number
            for number, each in self.mine.items()
            if covers(each, *part) and not (whole and covers(each, *whole))
        }
        there = slot_of(self.forest, slot)
        assert sorted(there) == sorted(expected)
        self.marks.update(there)
        self.blocks += -(-len(there) // BLOCK)

    def check(self, node: int, below: int, above: int, depth: int) -> int:
        """Check a subtree; return its weight."""
        if not node:
            return 0
        self.count, self.depth = self.count + 1, max(self.depth, depth)
        key = int(self.nodes.key[node])
        assert below < key < above
        whole = below, above
        self.check_slot(3 * node + LESS, (below, key), whole)
        self.check_slot(3 * node + EQUAL, (key, key), whole)
        self.check_slot(3 * node + GREATER, (key, above), whole)
        left = self.check(int(self.nodes.left[node]), below, key, depth + 1)
        right = self.check(int(self.nodes.right[node]), key, above, depth + 1)
        weight = left + right + self.weight[key]
        assert weight == self.nodes.weight[node] > 0
        assert 10 * max(left, right) <= 7 * weight
        return weight

    def chain(self, number: int) -> int:
        """How many marks an interval has."""
        marks, mark = self.forest.arrays.marks, self.forest.arrays.intervals.first_mark
        place, n = int(mark[number]), 0
        while place >= 0:
            assert marks.interval[place] == number
            place, n = int(marks.more[place]), n + 1
        return n


def check(forest: IntervalForest, intervals: dict[int, Interval]) -> None:
    """Everything that must be true of a forest with some intervals."""
    walks = [Walk(forest, intervals, axis) for axis in range(len(forest.arrays.root))]
    assert forest.count == len(intervals)
    assert forest.nodes == sum(walk.count for walk in walks)
    free = int(forest.arrays.state[FREE_NODES])
    assert forest.nodes + free + 1 == len(forest.arrays.nodes.key)
    blocks = sum(walk.blocks for walk in walks)
    assert blocks + forest.arrays.state[FREE_BLOCKS] + 1 == len(forest.arrays.marks.next)
    for walk in walks:
        distinct = len(walk.weight)
        assert walk.count <= 2 * distinct + 1
        assert walk.depth <= 1 + log(max(1, walk.weight.total())) / log(10 / 7)


LABELS = st.integers(0, 12)


@st.composite
def some_interval(draw: st.DrawFn) -> Interval:
    """Any kind of interval, on one of two axes."""
    axis = draw(st.integers(0, 1))
    one, other = draw(LABELS), draw(LABELS)
    low, high = draw(
        st.sampled_from(
            [(one, one), (min(one, other), max(one, other)), (0, one), (one, UNBOUNDED)]
        )
    )
    return axis, low, high


@settings(deadline=None, max_examples=30 if PLAIN else settings().max_examples)
@given(st.lists(st.tuples(st.booleans(), some_interval(), st.integers(0, 1 << 20)), max_size=60))
def test_any_sequence_of_changes(changes: list[tuple[bool, Interval, int]]) -> None:
    forest, intervals = IntervalForest(), dict[int, Interval]()
    for number, (is_removal, interval, which) in enumerate(changes):
        if is_removal and intervals:
            gone = [*intervals][which % len(intervals)]
            del intervals[gone]
            remove(forest, [gone])
        else:
            intervals[number] = interval
            add(forest, {number: interval})
        check(forest, intervals)
    for axis in range(3):
        for label in range(14):
            expected = [
                n for n, (a, low, high) in intervals.items() if a == axis and low <= label <= high
            ]
            assert found(forest, axis, label) == expected


@settings(deadline=None, max_examples=3 if PLAIN else settings().max_examples // 6)
@given(st.integers(0, 1 << 30))
def test_many_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest, intervals = IntervalForest(), dict[int, Interval]()
    values = int(rng.integers(1, 300))
    for _ in range(6):
        numbers = np.setdiff1d(np.arange(600), [*intervals])
        some = rng.permutation(numbers)[: rng.integers(1, 150)]
        new = {int(number): random_interval(rng, values) for number in some}
        intervals |= new
        add(forest, new)
        check(forest, intervals)
        gone = [n for n in intervals if rng.random() < 0.3]
        intervals = {n: each for n, each in intervals.items() if n not in set(gone)}
        remove(forest, gone)
        check(forest, intervals)
    remove(forest, [*intervals])
    check(forest, {})
    assert forest.nodes <= 3, "more than the nodes of the axes"


def random_interval(rng: np.random.Generator, values: int) -> Interval:
    """Any kind of interval, on one of three axes."""
    low, high = sorted(rng.integers(0, values, 2).tolist())
    shape = rng.integers(5)
    if shape == 4:
        return 2, 0, UNBOUNDED
    kinds = [(low, low), (low, high), (0, high), (low, UNBOUNDED)]
    return (int(rng.integers(3)), *kinds[shape])


def ascending(n: int) -> list[Interval]:
    return [(0, 1 + 2 * i, 1 + 2 * i) for i in range(n)]


def nested(n: int) -> list[Interval]:
    return [(0, 1 + i, 4 * n - i) for i in range(n)]


def hub(n: int) -> list[Interval]:
    return [(0, 5, 6 + i) for i in range(n)]


def one_sided(n: int) -> list[Interval]:
    return [(0, 1 + i, UNBOUNDED) for i in range(n)]


def equal_ends(n: int) -> list[Interval]:
    return [(0, 7, 9) if i % 2 else (0, 7, 10 + i) for i in range(n)]


def at_random(n: int) -> list[Interval]:
    rng = np.random.default_rng(n)
    return [(0, *sorted(rng.integers(1, 10 * n, 2).tolist())) for _ in range(n)]


@pytest.mark.parametrize("make", [ascending, nested, hub, one_sided, equal_ends, at_random])
def test_a_change_takes_log_squared_steps(make) -> None:
    for n in (100, 400) if PLAIN else (500, 4_000):
        forest = IntervalForest()
        intervals = make(n)
        for number, interval in enumerate(intervals):
            add(forest, {number: interval})
        inserted = forest.steps
        assert inserted <= 8 * n * log2(n) ** 2
        for number in range(n):
            remove(forest, [number])
        assert forest.steps - inserted <= 12 * n * log2(n) ** 2
        assert forest.nodes <= 1


def test_a_heavy_end_is_not_moved_again_and_again() -> None:
    """Light ends that come and go beside a heavy one do not build its marks anew each time."""
    n = 200 if PLAIN else 20_000
    forest = IntervalForest()
    add(forest, dict.fromkeys(range(n), (0, 50, UNBOUNDED)))
    before = forest.steps
    for start in range(n, n + 50):
        for number in range(start, start + 4):
            add(forest, {number: (0, 100 + number, 100 + number)})
        remove(forest, [*range(start, start + 4)])
    assert forest.steps - before < 50 * 4 * 60


def test_memory_comes_back() -> None:
    rng = np.random.default_rng(1)
    n = 300 if PLAIN else 5_000
    forest = IntervalForest()
    intervals = {number: random_interval(rng, 10 * n) for number in range(n)}
    add(forest, intervals)
    full = forest.nbytes
    for _ in range(10 if PLAIN else 30):
        some = rng.permutation(n)[: n // 10].tolist()
        remove(forest, some)
        new = {number: random_interval(rng, 10 * n) for number in some}
        intervals |= new
        add(forest, new)
    assert forest.nbytes <= 2 * full
    for start in range(0, n - 10, 10):
        remove(forest, [*range(start, start + 10)])
    per_number = 2 * n * sum(array.itemsize for array in forest.arrays.intervals)
    assert forest.nbytes - per_number < 0.1 * full or PLAIN
    check(forest, {number: intervals[number] for number in range(n - 10, n)})


def test_a_copy_is_independent() -> None:
    forest = IntervalForest()
    add(forest, {0: (0, 1, 4), 1: (0, 2, UNBOUNDED)})
    other = copy.deepcopy(forest)
    remove(forest, [0])
    check(other, {0: (0, 1, 4), 1: (0, 2, UNBOUNDED)})
