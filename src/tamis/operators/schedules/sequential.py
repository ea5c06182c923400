"""Sequential evaluation (algorithm 1 of the paper), a d-approximation.

    pick an undecided subscription; for each of its predicates that was not evaluated:
        if an undecided subscription needs it, evaluate it, and remove what it decides

As printed, it goes on with the predicates of a subscription after one of them is false, as long
as somebody else needs them. "Any" subscription and "any" predicate are the next in order.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int32s
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.progress import FIRST, Progress, waiting


@kernel
def choose_sequentially(
    graph: Graph, progress: Progress, row: int, cursor: Int32s, found: Int32s
) -> int:
    """Write what to evaluate next into ``found``, at most its length; how many.

    cursor: the marked subscription, and the place among its edges; -1 if none is marked.
    """
    undecided, asked, first_node = progress.open, progress.asked, graph.first_node
    bit = FIRST << np.uint64(row)
    count = 0
    marked, place = cursor[0], cursor[1]
    while count < len(found):
        if place < 0:
            while marked < len(first_node) - 1 and not undecided[first_node[marked]] & bit:
                marked += 1
            if marked == len(first_node) - 1 or count > 0:
                break  # what was chosen may decide the next one
            place = graph.first_edge[marked]
        if place == graph.first_edge[marked + 1]:
            place = -1
            if count > 0:
                break
            marked += 1
            continue
        p = graph.predicate[place]
        if not asked[p] & bit and waiting(graph, undecided, p) & bit:
            asked[p] |= bit
            found[count] = p
            count += 1
        place += 1
    cursor[0], cursor[1] = marked, place
    return count
