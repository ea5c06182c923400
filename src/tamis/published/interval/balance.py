"""Insertion into interval trees and removal, which keep them balanced: see tree.py.

Whoever finds too few free nodes or blocks says how many are lacking and returns before it has
changed anything; it is called again when there are more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Labels, Numbers
from tamis.published.boxes import UNBOUNDED
from tamis.published.interval.tree import (
    BLOCK,
    EQUAL,
    FREE_BLOCKS,
    FREE_NODES,
    GREATER,
    LACKING_BLOCKS,
    LACKING_NODES,
    MOST_MARKS,
    STEPS,
    Intervals,
    IntervalTrees,
    Nodes,
    cover,
    drop,
    fell,
    insert_end,
    make_node,
    put,
    remove_end,
    replace_child,
    tree_of,
)


class SubtreePart(NamedTuple):
    """A subtree, which may be none, and the two ends that it lies between."""

    parent: int
    top: int
    below: int
    above: int


class BalancePlan(NamedTuple):
    """What a part is to become."""

    every: Numbers
    """The intervals that end in it."""
    old: int
    """How many of them, the first ones, are there."""
    tree: Nodes
    """Numbered from 1 by ascending key; ``right[0]`` is the root."""
    more_nodes: int
    more_blocks: int


@kernel
def enter(
    root: Numbers, intervals: Intervals, numbers: Numbers, axis: Numbers, low: Labels, high: Labels
) -> bool:
    """Write down what new intervals are; False if there is no room."""
    for i in range(len(numbers)):
        if numbers[i] >= len(intervals.axis) or axis[i] >= len(root):
            return False
        number = numbers[i]
        intervals.low[number] = low[i] if low[i] > 0 else -1
        intervals.high[number], intervals.axis[number] = high[i], axis[i]
        intervals.first_mark[number] = -1
    return True


@kernel
def insert_each(forest: IntervalTrees, numbers: Numbers, step: int) -> int:
    """Insert one after the other, and balance after each. Return the next step: an interval is
    inserted in the step of its place, balanced in the next one."""
    while step <= len(numbers):
        if step > 0 and not balance(forest, numbers[step - 1]):
            return step
        if step < len(numbers):
            if not has_room(forest, 3, MOST_MARKS):
                return step
            insert(forest, numbers[step])
        step += 1
    return step


@kernel
def remove_each(forest: IntervalTrees, numbers: Numbers, step: int) -> int:
    """Remove one after the other, and balance after each. Return the next step, as above."""
    while step <= len(numbers):
        if step > 0:
            if not balance(forest, numbers[step - 1]):
                return step
            forest.intervals.axis[numbers[step - 1]] = -1
        if step < len(numbers):
            remove(forest, numbers[step])
        step += 1
    return step


@kernel
def insert(forest: IntervalTrees, number: int) -> None:
    """Insert one interval."""
    low, high = forest.intervals.low[number], forest.intervals.high[number]
    tree = tree_of(forest, forest.intervals.axis[number])
    if low < 0 and high == UNBOUNDED:
        put(forest, 3 * tree + GREATER, number)
        return
    if low >= 0:
        insert_end(forest, tree, low)
    if high < UNBOUNDED and high != low:
        insert_end(forest, tree, high)
    slots = np.empty(MOST_MARKS, np.int64)
    n = cover(forest.nodes, forest.nodes.right[tree], -1, UNBOUNDED, low, high, slots)
    for i in range(n):
        put(forest, slots[i], number)


@kernel
def remove(forest: IntervalTrees, number: int) -> None:
    """Remove one interval."""
    low, high = forest.intervals.low[number], forest.intervals.high[number]
    place = forest.intervals.first_mark[number]
    while place >= 0:
        following = forest.marks.more[place]
        drop(forest, place)
        forest.state[STEPS] += 1
        place = following
    tree = forest.root[forest.intervals.axis[number]]
    if low >= 0:
        remove_end(forest, tree, low)
    if high < UNBOUNDED and high != low:
        remove_end(forest, tree, high)


@kernel
def balance(forest: IntervalTrees, number: int) -> bool:
    """Build anew, on the ways to the ends of an interval, what has become too heavy on one side;
    False if there is no room."""
    low, high = forest.intervals.low[number], forest.intervals.high[number]
    tree = forest.root[forest.intervals.axis[number]]
    if low >= 0 and not balance_way(forest, tree, low):
        return False
    is_second_end = high < UNBOUNDED and high != low
    return not is_second_end or balance_way(forest, tree, high)


@kernel
def balance_way(forest: IntervalTrees, tree: int, end: int) -> bool:
    """Build the topmost subtree anew that is too heavy on one side."""
    key, left, right, weight = forest.nodes
    parent, node = tree, right[tree]
    below, above = -1, UNBOUNDED
    while node:
        forest.state[STEPS] += 1
        if 10 * max(weight[left[node]], weight[right[node]]) > 7 * weight[node]:
            return rebuild(forest, parent, node, below, above)
        if key[node] == end:
            return True
        parent = node
        if end < key[node]:
            above = key[node]
            node = left[node]
        else:
            below = key[node]
            node = right[node]
    return True


@kernel
def rebuild(forest: IntervalTrees, parent: int, top: int, below: int, above: int) -> bool:
    """Build a subtree anew that is about what lies between two ends; False if there is no room."""
    part = SubtreePart(parent, top, below, above)
    plan = planned(forest, part, np.empty(0, np.int32))
    if not has_room(forest, plan.more_nodes, plan.more_blocks):
        return False
    carry_out(forest, part, plan)
    return True


@kernel
def plan_tree(forest: IntervalTrees, axis: int, new: Numbers) -> BalancePlan:
    """BalancePlan to build the tree of an axis anew, with new intervals that have an end."""
    tree = forest.root[axis]
    part = SubtreePart(tree, forest.nodes.right[tree] if tree else 0, -1, UNBOUNDED)
    plan = planned(forest, part, new)
    has_room(forest, plan.more_nodes + 1, plan.more_blocks)
    return plan


@kernel
def plant(forest: IntervalTrees, axis: int, plan: BalancePlan) -> None:
    """Build the tree of an axis anew, for which there is room."""
    tree = tree_of(forest, axis)
    carry_out(forest, SubtreePart(tree, forest.nodes.right[tree], -1, UNBOUNDED), plan)
    forest.nodes.weight[tree] = forest.nodes.weight[forest.nodes.right[tree]]


@kernel
def planned(forest: IntervalTrees, part: SubtreePart, new: Numbers) -> BalancePlan:
    """A balanced subtree with the intervals that end in a part, and new ones."""
    old, nodes, blocks = gather(forest, part.top, part.below)
    every = np.concatenate((old, new))
    tree = shape(ends_between(forest.intervals, every, part))
    needed = blocks_of(tree, forest.intervals, every, part)
    return BalancePlan(every, len(old), tree, len(tree.key) - 1 - nodes, needed - blocks)


@kernel
def carry_out(forest: IntervalTrees, part: SubtreePart, plan: BalancePlan) -> None:
    """Put a subtree that was planned in the place of what is there."""
    for number in plan.every[: plan.old]:
        unmark(forest, number, part)
    fell(forest, part.top)
    root = grow(forest, plan.tree)
    replace_child(forest.nodes, part.parent, part.top, root)
    slots = np.empty(MOST_MARKS, np.int64)
    for number in plan.every:
        low, high = forest.intervals.low[number], forest.intervals.high[number]
        n = cover(forest.nodes, root, part.below, part.above, low, high, slots)
        for i in range(n):
            put(forest, slots[i], number)


@kernel
def has_room(forest: IntervalTrees, nodes: int, blocks: int) -> bool:
    """Whether so many nodes and blocks are free; or else how many are lacking is noted."""
    state = forest.state
    state[LACKING_NODES] = max(0, nodes - state[FREE_NODES])
    state[LACKING_BLOCKS] = max(0, blocks - state[FREE_BLOCKS])
    return bool(state[LACKING_NODES] == 0 and state[LACKING_BLOCKS] == 0)


@kernel
def gather(forest: IntervalTrees, top: int, below: int) -> tuple[Numbers, int, int]:
    """The intervals that end in a subtree, and the nodes and blocks that it has. All are marked as
    equal at their ends; taken where they begin, or else, if that is elsewhere, where they end."""
    nodes, marks, intervals = forest.nodes, forest.marks, forest.intervals
    found = np.empty(nodes.weight[top], np.int32)
    stack = np.empty(MOST_MARKS, np.int32)
    stack[0] = top
    depth, n, count, blocks = int(top > 0), 0, 0, 0
    while depth:
        depth -= 1
        node = stack[depth]
        count += 1
        for child in (nodes.left[node], nodes.right[node]):
            if child:
                stack[depth] = child
                depth += 1
        for slot in range(3 * node, 3 * node + 3):
            blocks += (marks.held[slot] + BLOCK - 1) // BLOCK
        block, left = marks.first[3 * node + EQUAL], marks.held[3 * node + EQUAL]
        while left:
            fill = (left - 1) % BLOCK + 1
            for place in range(block * BLOCK, block * BLOCK + fill):
                number = marks.interval[place]
                low, high = intervals.low[number], intervals.high[number]
                if low == nodes.key[node] or (high == nodes.key[node] and low <= below):
                    found[n] = number
                    n += 1
            block, left = marks.next[block], left - fill
    forest.state[STEPS] += count + n
    return found[:n], count, blocks


@kernel
def ends_between(intervals: Intervals, numbers: Numbers, part: SubtreePart) -> Labels:
    """The ends of intervals in a part, ascending."""
    below, above = part.below, part.above
    ends = np.empty(2 * len(numbers), np.int64)
    n = 0
    for number in numbers:
        low, high = intervals.low[number], intervals.high[number]
        if below < low < above:
            ends[n] = low
            n += 1
        if below < high < above and high != low:
            ends[n] = high
            n += 1
    ends = ends[:n]
    ends.sort()
    return ends


@kernel
def shape(ends: Labels) -> Nodes:
    """The nodes of a balanced tree: a subtree is split where half its weight is reached."""
    first = np.empty(len(ends) + 1, np.int64)  # of the ends of each node
    n = 0
    for i in range(len(ends)):
        if i == 0 or ends[i] != ends[i - 1]:
            n += 1
            first[n - 1] = i
    first[n] = len(ends)
    key, weight = np.empty(n + 1, np.int64), np.zeros(n + 1, np.int32)
    left, right = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
    key[1:] = ends[first[:n]]
    stack = np.empty((3, MOST_MARKS), np.int64)  # first and last node of subtrees, and parent
    stack[0, 0], stack[1, 0], stack[2, 0] = 1, n, 0
    depth = int(n > 0)
    while depth:
        depth -= 1
        begin, end, parent = stack[0, depth], stack[1, depth], stack[2, depth]
        total = first[end] - first[begin - 1]
        low, high = begin, end
        while low < high:
            middle = (low + high) >> 1
            if 2 * (first[middle] - first[begin - 1]) >= total:
                high = middle
            else:
                low = middle + 1
        weight[low] = total
        if low < parent:
            left[parent] = low
        else:
            right[parent] = low
        if low < end:
            stack[0, depth], stack[1, depth], stack[2, depth] = low + 1, end, low
            depth += 1
        if begin < low:
            stack[0, depth], stack[1, depth], stack[2, depth] = begin, low - 1, low
            depth += 1
    return Nodes(key, left, right, weight)


@kernel
def blocks_of(tree: Nodes, intervals: Intervals, numbers: Numbers, part: SubtreePart) -> int:
    """How many blocks the marks of a tree need that is planned."""
    count = np.zeros(3 * len(tree.key), np.int32)
    slots = np.empty(MOST_MARKS, np.int64)
    blocks = 0
    for number in numbers:
        low, high = intervals.low[number], intervals.high[number]
        n = cover(tree, tree.right[0], part.below, part.above, low, high, slots)
        for slot in slots[:n]:
            blocks += count[slot] % BLOCK == 0
            count[slot] += 1
    return blocks


@kernel
def unmark(forest: IntervalTrees, number: int, part: SubtreePart) -> None:
    """Take an interval's marks in a part out of their chain."""
    marks, mark = forest.marks, forest.intervals.first_mark
    place, kept = mark[number], -1
    while place >= 0:
        forest.state[STEPS] += 1
        following = marks.more[place]
        key = forest.nodes.key[marks.slot[place // BLOCK] // 3]
        if not part.below < key < part.above:
            kept = place
        elif kept < 0:
            mark[number] = following
        else:
            marks.more[kept] = following
        place = following


@kernel
def grow(forest: IntervalTrees, tree: Nodes) -> int:
    """Make the nodes of a tree that was planned; return the root."""
    made = np.zeros(len(tree.key), np.int32)
    for i in range(1, len(tree.key)):
        made[i] = make_node(forest, tree.key[i], tree.weight[i])
    for i in range(1, len(tree.key)):
        forest.nodes.left[made[i]] = made[tree.left[i]]
        forest.nodes.right[made[i]] = made[tree.right[i]]
    return int(made[tree.right[0]])
