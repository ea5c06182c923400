r"""Insertion where all predicates are equalities (Gryphon, section 4 and appendix B).

Every level of the tree is an attribute, and a subscription is a path of one edge a level: its value
or the don't-care edge.

    levels a0, a1, a2; boxes   A: a0 = 1, a2 = 3     B: a0 = 1, a1 = 2, a2 = 3     C: a2 = 3

          as published: a0 ?                  chains of *-edges collapsed:  a0 ?
                      1/   \*                                             1/   \*
                    a1 ?   a1 ?                                         a1 ?    a2 ?
                   2/  \*     \*                                       2/  \*     \3
                 a2 ?  a2 ?   a2 ?                                   a2 ?  a2 ?    C
                 3|     |3     |3                                    3|     |3
                  B     A      C                                      B     A

Collapsed, a node without a result edge is left out, whatever leads to it: its test would decide
nothing. (The paper collapses chains of *-edges; here a single one behind a value goes too.) The
tree is kept so all the time: a subscription that tests a level which its path leaves out puts a
node there, and a node that loses its last result edge goes. As published, a leaf is below as many
levels as there were when it came; where a subscription needs an attribute that came later, it
becomes deeper.

An insertion visits at most one node a level, O(K), and adds at most K + 1 of them: O(N K) in all.
"""

from __future__ import annotations

from tamis.arrays.jit import kernel
from tamis.published.gryphon.levels import Levels, Tests
from tamis.published.gryphon.tree import (
    LEAF,
    STAR,
    VALUE,
    Tree,
    attach,
    find_edge,
    interpose,
    new_node,
)

_END = 1 << 31
"""The level of leaves, below all others."""


@kernel
def insert_by_levels(tree: Tree, levels: Levels, gate: int, tests: Tests, count: int) -> int:
    """The leaf of a box in the equality tree below a gate, which is made if need be."""
    parent, label, above = gate, STAR, levels.indexed - 1
    node = tree.star[gate]
    i = 0
    while True:
        wanted = levels.level[tests.axis[i]] if i < count else _END
        level = _level(tree, levels, node) if node >= 0 else _END + 1
        if level > wanted:
            level = wanted if levels.collapse else _next_level(levels, above)
            if node >= 0:
                node = interpose(tree, node, levels.axis[level], VALUE)
            else:
                node = new_node(tree, levels.axis[level] if level < _END else LEAF, VALUE)
                attach(tree, parent, label, node)
        if level == _END:
            return int(node)
        parent, above = node, level
        if level == wanted:
            label = tests.low[i]
            node = find_edge(tree, node, label)
            i += 1
        else:
            label = STAR
            node = tree.star[node]


@kernel
def _level(tree: Tree, levels: Levels, node: int) -> int:
    axis = tree.axis[node]
    return int(levels.level[axis]) if axis >= 0 else _END


@kernel
def _next_level(levels: Levels, above: int) -> int:
    return above + 1 if above + 1 < len(levels.axis) else _END
