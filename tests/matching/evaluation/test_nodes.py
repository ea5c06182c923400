"""Formulas as one graph: what is equal is there once."""

from __future__ import annotations

import numpy as np

from tamis.matching.evaluation.nodes import ASK, EVERY, TEST, Nodes, find_twins, shared


def graph_of(several: list[tuple[int, int, list[int]]]) -> Nodes:
    """A graph of nodes: kind, axis, parts."""
    kinds, axes, parts = zip(*several)
    start = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    low = np.array([part for some in parts for part in some], np.int32)
    kind, axis = np.array(kinds, np.int8), np.array(axes, np.int32)
    return Nodes(kind, axis, start, low, np.zeros_like(low))


def test_equal_nodes_are_one() -> None:
    tests = [(TEST, 4, []), (TEST, 5, []), (TEST, 4, [])]
    wholes = [(EVERY, -1, [0, 1]), (EVERY, -1, [1, 2]), (EVERY, -1, [~0, 1])]
    nodes, roots = shared(graph_of([*tests, *wholes]), np.array([3, 4, ~5], np.int32))
    assert roots.tolist() == [2, 2, ~3]
    assert nodes.axis.tolist() == [4, 5, -1, -1]
    assert nodes.low.tolist() == [0, 1, ~0, 1]


def test_what_the_oracle_is_asked_is_compared_with_nothing() -> None:
    """All such nodes look the same: if each was compared with those before, loading many
    subscriptions with calls would take time with the square of their number."""
    nodes = graph_of([(ASK, -1, [])] * 5 + [(EVERY, -1, [0, 1, 3])])
    table, twin = np.full(16, -1, np.int32), np.arange(6, dtype=np.int32)
    find_twins(nodes, table, twin)
    assert twin.tolist() == [0, 1, 2, 3, 4, 5]
    assert table[table >= 0].tolist() == [5]
