"""Insertion into interval trees and removal, which keep them balanced: see interval_tree.py.

Whoever finds too few free nodes or blocks says how many are lacking and returns before it has
changed anything; it is called again when there are more.
"""

from __future__ import annotations

import numpy as np

from tamis.matching.jit import kernel
from tamis.matching.published.boxes import UNBOUNDED, Labels, Numbers
from tamis.matching.published.interval_tree import (
    BLOCK,
    EQUAL,
    FREE_BLOCKS,
    FREE_NODES,
    GREATER,
    LACKING_BLOCKS,
    LACKING_NODES,
    MOST_MARKS,
    STEPS,
    Forest,
    Intervals,
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


@kernel
def insert_each(forest: Forest, numbers: Numbers, step: int) -> int:
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
def remove_each(forest: Forest, numbers: Numbers, step: int) -> int:
    """Remove one after the other, and balance after each. Return the next step, as above."""
    while step <= len(numbers):
        if step > 0 and not balance(forest, numbers[step - 1]):
            return step
        if step < len(numbers):
            remove(forest, numbers[step])
        step += 1
    return step


@kernel
def insert(forest: Forest, number: int) -> None:
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
def remove(forest: Forest, number: int) -> None:
    """Remove one interval."""
    low, high = forest.intervals.low[number], forest.intervals.high[number]
    place = forest.intervals.mark[number]
    while place >= 0:
        following = forest.marks.more[place]
        drop(forest, place)
        forest.state[STEPS] += 1
        place = following
    forest.intervals.mark[number] = -1
    tree = forest.root[forest.intervals.axis[number]]
    if low >= 0:
        remove_end(forest, tree, low)
    if high < UNBOUNDED and high != low:
        remove_end(forest, tree, high)


@kernel
def balance(forest: Forest, number: int) -> bool:
    """Build anew, on the ways to the ends of an interval, what has become too heavy on one side;
    False if there is no room."""
    low, high = forest.intervals.low[number], forest.intervals.high[number]
    tree = forest.root[forest.intervals.axis[number]]
    if low >= 0 and not balance_way(forest, tree, low):
        return False
    is_second_end = high < UNBOUNDED and high != low
    return not is_second_end or balance_way(forest, tree, high)


@kernel
def balance_way(forest: Forest, tree: int, end: int) -> bool:
    """Build the topmost subtree anew that is too heavy on one side."""
    key, left, right, weight = forest.nodes
    parent, node = tree, right[tree]
    below, above = -1, UNBOUNDED
    while node:
        forest.state[STEPS] += 1
        if 10 * max(weight[left[node]], weight[right[node]]) > 7 * weight[node]:
            return rebuild(forest, parent, node, below, above, np.empty(0, np.int32))
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
def plant(forest: Forest, axis: int, new: Numbers) -> bool:
    """Build the tree of an axis anew, with new intervals that have an end; False if there is no
    room."""
    if not has_room(forest, 1, 0):
        return False
    tree = tree_of(forest, axis)
    if not rebuild(forest, tree, forest.nodes.right[tree], -1, UNBOUNDED, new):
        return False
    forest.nodes.weight[tree] = forest.nodes.weight[forest.nodes.right[tree]]
    return True


@kernel
def rebuild(forest: Forest, parent: int, top: int, below: int, above: int, new: Numbers) -> bool:
    """Build a subtree anew that is about what lies between two ends; False if there is no room."""
    old, nodes, blocks = gather(forest, top, below)
    every = np.concatenate((old, new))
    plan = shape(ends_between(forest.intervals, every, below, above))
    needed = blocks_of(plan, forest.intervals, every, below, above)
    if not has_room(forest, len(plan.key) - 1 - nodes, needed - blocks):
        return False
    for number in old:
        unmark(forest, number, below, above)
    fell(forest, top)
    root = grow(forest, plan)
    replace_child(forest.nodes, parent, top, root)
    slots = np.empty(MOST_MARKS, np.int64)
    for number in every:
        low, high = forest.intervals.low[number], forest.intervals.high[number]
        n = cover(forest.nodes, root, below, above, low, high, slots)
        for i in range(n):
            put(forest, slots[i], number)
    return True


@kernel
def has_room(forest: Forest, nodes: int, blocks: int) -> bool:
    """Whether so many nodes and blocks are free; or else how many are lacking is noted."""
    state = forest.state
    state[LACKING_NODES] = max(0, nodes - state[FREE_NODES])
    state[LACKING_BLOCKS] = max(0, blocks - state[FREE_BLOCKS])
    return bool(state[LACKING_NODES] == 0 and state[LACKING_BLOCKS] == 0)


@kernel
def gather(forest: Forest, top: int, below: int) -> tuple[Numbers, int, int]:
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
def ends_between(intervals: Intervals, numbers: Numbers, below: int, above: int) -> Labels:
    """The ends of intervals between two others, ascending."""
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
    """The nodes of a balanced tree, numbered from 1 by ascending key; ``right[0]`` is the root. A
    subtree is split where half its weight is reached."""
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
def blocks_of(plan: Nodes, intervals: Intervals, numbers: Numbers, below: int, above: int) -> int:
    """How many blocks the marks of a tree need that is planned."""
    count = np.zeros(3 * len(plan.key), np.int32)
    slots = np.empty(MOST_MARKS, np.int64)
    blocks = 0
    for number in numbers:
        low, high = intervals.low[number], intervals.high[number]
        n = cover(plan, plan.right[0], below, above, low, high, slots)
        for slot in slots[:n]:
            blocks += count[slot] % BLOCK == 0
            count[slot] += 1
    return blocks


@kernel
def unmark(forest: Forest, number: int, below: int, above: int) -> None:
    """Take an interval's marks between two ends out of their chain."""
    marks, mark = forest.marks, forest.intervals.mark
    place, kept = mark[number], -1
    while place >= 0:
        forest.state[STEPS] += 1
        following = marks.more[place]
        if not below < forest.nodes.key[marks.slot[place // BLOCK] // 3] < above:
            kept = place
        elif kept < 0:
            mark[number] = following
        else:
            marks.more[kept] = following
        place = following


@kernel
def grow(forest: Forest, plan: Nodes) -> int:
    """Make the nodes of a plan; return the root."""
    made = np.zeros(len(plan.key), np.int32)
    for i in range(1, len(plan.key)):
        made[i] = make_node(forest, plan.key[i], plan.weight[i])
    for i in range(1, len(plan.key)):
        forest.nodes.left[made[i]] = made[plan.left[i]]
        forest.nodes.right[made[i]] = made[plan.right[i]]
    return int(made[plan.right[0]])
