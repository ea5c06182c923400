r"""Insertion of subscriptions with any predicates (Gryphon, section 3 and appendix A).

A node has a test of its own, and a subscription brings its tests in the order of the levels. It
walks down from the root as long as the tree has what it needs, and what is left is added there.

    A: x < 5, y = 1     B: x < 3, y = 2     C: z >= 7

              x < 5 ?               B comes second: x < 3 implies the result of x < 5, so that it
        BELOW/      \*              follows that edge and not the *-edge. y is a test of its own,
          y ?       z < 7 ?         and gets an edge more; x < 3 is left, and is tested last, where
        1/  \2         |NOT_BELOW   B alone is.
        A   x < 3 ?    C
          BELOW|                    C needs none of it: the *-edge of the root.
               B

At each node, by what the subscription says of its attribute:
- it implies a result, and there is an edge for it: follow it. The test may be one of the
  subscription's own, which is then done, or a *related* one (x < 3 implies x < 5);
- it implies a result without an edge, and the test is its own: the rest is added here;
- otherwise follow the *-edge, or add the rest behind a new one.
At a leaf with tests to come, the first of them is put in the place of the leaf, which is behind its
*-edge now. When all tests are done, related edges and *-edges lead on to a leaf, or a new one.

So the predicates on the path to a leaf are equivalent to the subscription, in any order of
additions, whereas the shape of the tree depends on the order. A comparison has two results, so that
x < 5 and x >= 5 are edges of one node; x between two constants is two tests; a side that allows all
is NOT_BELOW 0. Deviations: the related-tests rule considers all predicates of the subscription, the
paper's only the one that is current (appendix A), and so shares more; nodes that lose their last
result edge by a removal give their place to what is behind their *-edge, without which additions
and removals would pile them up.

An insertion visits as many nodes as its path has, which is bounded by the different tests only.
"""

from __future__ import annotations

from tamis.arrays.jit import kernel
from tamis.published.boxes import UNBOUNDED
from tamis.published.gryphon.levels import Tests
from tamis.published.gryphon.tree import (
    BELOW,
    GENERAL,
    LEAF,
    NOT_BELOW,
    STAR,
    VALUE,
    Tree,
    attach,
    find_edge,
    interpose,
    new_node,
)

_FIRST, _SECOND = 1, 2
"""The tests of a side that are pending: for its value or its lower end, and for its upper end."""


@kernel
def insert_by_tests(tree: Tree, gate: int, tests: Tests, count: int) -> int:
    """The leaf of a box in the general tree below a gate, which is made if need be."""
    for i in range(count):
        tests.at[tests.axis[i]] = i
        tests.pending[i] = own_tests(tests.low[i], tests.high[i])
    parent, label, node = gate, GENERAL, tree.first[gate]
    i = 0
    while True:
        while i < count and not tests.pending[i]:
            i += 1
        if node < 0:
            axis, asked = _test(tests, i, count)
            node = new_node(tree, axis, asked)
            attach(tree, parent, label, node)
        elif tree.axis[node] == LEAF and i < count:
            axis, asked = _test(tests, i, count)
            node = interpose(tree, node, axis, asked)
        if tree.axis[node] == LEAF:
            break
        parent, label, node = node, STAR, tree.star[node]
        side = tests.at[tree.axis[parent]]
        if side < 0:
            continue
        asked, low, high = tree.asked[parent], tests.low[side], tests.high[side]
        result = result_within(asked, low, high)
        if result >= 0:
            child = find_edge(tree, parent, result)
            own = tests.pending[side] & _which(asked, low, high)
            if own or child >= 0:
                tests.pending[side] -= own
                label, node = result, child
    for i in range(count):
        tests.at[tests.axis[i]] = -1
    return int(node)


@kernel
def result_within(asked: int, low: int, high: int) -> int:
    """The result that a test has for all labels of a side, or -1."""
    if asked == VALUE:
        return low if low == high else -1
    if high < asked:
        return BELOW
    return NOT_BELOW if low >= asked else -1


@kernel
def own_tests(low: int, high: int) -> int:
    """Which tests a side has."""
    if low == high or high == UNBOUNDED:
        return _FIRST
    return _FIRST | _SECOND if low > 0 else _SECOND


@kernel
def _which(asked: int, low: int, high: int) -> int:
    """Which test of a side this is, or 0."""
    if low == high:
        return _FIRST if asked == VALUE else 0
    if asked == low:
        return _FIRST
    return _SECOND if asked == high + 1 else 0


@kernel
def _test(tests: Tests, i: int, count: int) -> tuple[int, int]:
    """The axis and question of the next test, or LEAF if there is none."""
    if i == count:
        return LEAF, VALUE
    if not tests.pending[i] & _FIRST:
        return tests.axis[i], tests.high[i] + 1
    return tests.axis[i], VALUE if tests.low[i] == tests.high[i] else tests.low[i]
