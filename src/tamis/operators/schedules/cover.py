"""The reference line: what a greedy cover with hindsight would evaluate.

It knows every truth beforehand. It must evaluate all predicates of the subscriptions that match,
and of each other one a false predicate; these it covers greedily, the predicate that decides most
for its cost first. Only for plain conjunctions.
"""

from __future__ import annotations

import heapq

import numpy as np

from tamis.arrays.types import Flags, Float64s
from tamis.operators.schedules.graph import Graph


def hindsight_cover(graph: Graph, truth: Flags, cost: Float64s | None = None) -> float:
    """The cost of the cover of one event; ``truth`` is that of each predicate."""
    if cost is None:
        cost = np.ones(graph.predicates)
    holds = truth[graph.predicate]
    owner = graph.owner[graph.node]
    count = graph.subscriptions
    matches = np.bincount(owner[~holds], minlength=count) == 0
    needed = np.zeros(graph.predicates, bool)
    needed[graph.predicate[matches[owner]]] = True
    total = float(cost[needed].sum())
    left = ~matches
    start = graph.by_predicate
    false = np.flatnonzero(~truth)
    degree = np.diff(start)
    heap = [(-degree[p] / cost[p], int(p)) for p in false.tolist() if degree[p]]
    heapq.heapify(heap)
    remaining = int(left.sum())
    while remaining:
        _key, p = heapq.heappop(heap)
        owners = graph.owner[graph.node_at[start[p] : start[p + 1]]]
        gain = int(left[owners].sum())
        if not gain:
            continue
        now = -gain / cost[p]
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, p))
            continue
        left[owners] = False
        remaining -= gain
        total += float(cost[p])
    return total
