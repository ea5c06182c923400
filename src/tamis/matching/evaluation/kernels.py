"""The evaluation of candidates: for a point and a node, whether the node holds there.

Each node is evaluated at most once for a point, and only if what is known so far does not decide:
parts are looked at one after the other, the cheapest first, until one settles the matter. What a
kernel cannot test is OPEN. A candidate that stays OPEN names the tests that it still needs; they
are made on whole columns, and then it is evaluated again.
"""

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import brief, kernel
from tamis.arrays.types import Flags, Int32s, Int64s, Numbers, Offsets, Ranks, Slots, Truths
from tamis.matching.evaluation.entries import CERTAIN, Entries
from tamis.matching.evaluation.nodes import EVERY, FOUND, SIDE, SOME, TEST, Nodes
from tamis.predicates.truth import FALSE, OPEN, TRUE

_LAST = np.iinfo(np.int32).max


class Sight(NamedTuple):
    """What is known of the points that are evaluated."""

    rank: Ranks  # of all points on all axes
    point_stride: int
    axis_stride: int
    axes: int  # behind them come the axes of found things
    text: Int32s  # [found axis, point]: the text or list in which something may be found, or -1
    points: int
    first: Offsets  # of the texts of each found axis among those of all
    start: Offsets  # of the things found in each text
    found: Ranks  # ascending for each text
    test: Int64s  # tests that were made, as test << 32 | point, ascending
    truth: Truths  # and what they said


class Memory(NamedTuple):
    """What one thread found out about the point that it evaluates."""

    stamp: Int32s  # of each node: clock and point for which it was evaluated
    truth: Truths
    clock: Int64s  # of the points that are evaluated now, and of those that come next


def memory_of(nodes: Nodes) -> Memory:
    """A memory that knows nothing."""
    count = len(nodes.kind)
    return Memory(np.zeros(count, np.int32), np.empty(count, np.int8), np.ones(2, np.int64))


def forget(memory: Memory, points: int) -> None:
    """Begin with other points, of which nothing is known; there are so many of them."""
    if memory.clock[1] + points > _LAST:
        memory.stamp.fill(0)
        memory.clock[1] = 1
    memory.clock[0] = memory.clock[1]
    memory.clock[1] += points


@kernel(allocates=False)
def evaluate(
    nodes: Nodes, sight: Sight, memory: Memory, point: Int32s, node: Numbers, truth: Truths
) -> int:
    """Write the truths of candidates, whose points ascend; return how many are open."""
    left = 0
    for i in range(len(point)):
        truth[i] = truth_at(nodes, node[i], point[i], sight, memory)
        left += truth[i] == OPEN
    return left


@kernel(allocates=False)
def truth_at(nodes: Nodes, node: int, point: int, sight: Sight, memory: Memory) -> np.int64:
    """The truth of a node, or of its negation, at a point."""
    n = node if node >= 0 else ~node
    if memory.stamp[n] == memory.clock[0] + point:
        truth = np.int64(memory.truth[n])
    else:
        kind = nodes.kind[n]
        if kind == SIDE:
            at = np.int64(point) * sight.point_stride + nodes.axis[n] * sight.axis_stride
            truth = is_within(nodes, n, sight.rank[at])
        elif kind == FOUND:
            truth = is_found(nodes, n, point, sight)
        elif kind in (EVERY, SOME):
            decisive = np.int64(FALSE if kind == EVERY else TRUE)
            truth = np.int64(1) - decisive
            for c in range(nodes.start[n], nodes.start[n + 1]):
                part = truth_at(nodes, nodes.low[c], point, sight, memory)
                if part == decisive:
                    truth = part
                    break
                if part == OPEN:
                    truth = part
        elif kind == TEST:
            truth = test_truth(np.int64(nodes.axis[n]) << 32 | np.int64(point), sight)
        else:
            truth = np.int64(OPEN)
        memory.stamp[n], memory.truth[n] = memory.clock[0] + point, truth
    return truth if node >= 0 or truth == OPEN else np.int64(1) - truth


@brief(allocates=False)
def decide_one(
    entries: Entries,
    nodes: Nodes,
    sight: Sight,
    memory: Memory,
    condition: Int32s,
    slots: Slots,
    keys: Int64s,
) -> tuple[int, int, int]:
    """Of conditions that hold for one point, write the slots of those whose formulas are true to
    the front, and those whose are open to the back; and the tests that these need, as far as there
    is room. Return how many there are of each."""
    certain = count = 0
    back = len(slots)
    for i in range(len(condition)):
        slot, node = entries.slot[condition[i]], entries.node[condition[i]]
        truth = np.int64(TRUE)
        if node != CERTAIN:
            truth = truth_at(nodes, node, 0, sight, memory)
        if truth == TRUE:
            slots[certain] = slot
            certain += 1
        elif truth == OPEN:
            back -= 1
            slots[back] = slot
            count = request(nodes, node, 0, memory, keys, count)
    return certain, back, count


@kernel(allocates=False)
def is_within(nodes: Nodes, n: int, rank: int) -> np.int64:
    """Tell whether a rank lies in an interval of a leaf."""
    if rank < 0:
        return np.int64(FALSE)
    first, stop = nodes.start[n], nodes.start[n + 1]
    if stop - first > 1:  # the last interval that begins at the rank or below
        length = stop - first
        while length > 1:
            half = length >> 1
            if nodes.low[first + half] <= rank:
                first += half
            length -= half
    elif stop == first:
        return np.int64(FALSE)
    return np.int64(nodes.low[first] <= rank <= nodes.high[first])


@kernel(allocates=False)
def is_found(nodes: Nodes, n: int, point: int, sight: Sight) -> np.int64:
    """Tell whether one of the things of a leaf was found."""
    f = nodes.axis[n] - sight.axes
    text = sight.text[f * sight.points + point]
    if text < 0:
        return np.int64(FALSE)
    text += sight.first[f]
    for i in range(sight.start[text], sight.start[text + 1]):
        if is_within(nodes, n, sight.found[i]):
            return np.int64(TRUE)
    return np.int64(FALSE)


@kernel(allocates=False)
def test_truth(key: np.int64, sight: Sight) -> np.int64:
    """What a test said, or OPEN if it was not made."""
    low, high = 0, len(sight.test)
    while low < high:
        middle = (low + high) >> 1
        if sight.test[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < len(sight.test) and sight.test[low] == key:
        return np.int64(sight.truth[low])
    return np.int64(OPEN)


@kernel(allocates=False)
def collect_requests(
    nodes: Nodes, sight: Sight, memory: Memory, point: Int32s, node: Numbers, keys: Int64s
) -> int:
    """Write the tests that open candidates need, as test << 32 | point, as far as there is room.
    Some come more often than once. Return how many there are."""
    count = 0
    for i in range(len(point)):
        if truth_at(nodes, node[i], point[i], sight, memory) == OPEN:
            count = request(nodes, node[i], point[i], memory, keys, count)
    return count


@kernel(allocates=False)
def request(nodes: Nodes, node: int, point: int, memory: Memory, keys: Int64s, count: int) -> int:
    """Write the tests that an open node needs behind so many; return how many there are then."""
    n = node if node >= 0 else ~node
    if memory.stamp[n] != memory.clock[0] + point or memory.truth[n] != OPEN:
        return count
    if nodes.kind[n] == TEST:
        if count < len(keys):
            keys[count] = np.int64(nodes.axis[n]) << 32 | np.int64(point)
        return count + 1
    if nodes.kind[n] == EVERY or nodes.kind[n] == SOME:
        for c in range(nodes.start[n], nodes.start[n + 1]):
            count = request(nodes, nodes.low[c], point, memory, keys, count)
    return count


@kernel
def write_open_slots(
    point: Int32s, condition: Numbers, is_open: Flags, slot: Slots, slots: Slots
) -> bool:
    """Write the slots of conditions that hold for points, if all are open, and points ascend."""
    last = -1
    for n in range(len(point)):
        if point[n] < last or not is_open[condition[n]]:
            return False
        last = point[n]
        slots[n] = slot[condition[n]]
    return True
