"""History, the paper's naive (section 5.2), and the walk over ordered chains (section 4.2.2).

Both take one subscription after another and evaluate its predicates, in the order in which they
stand, until it is decided; results are kept, so that no predicate is evaluated twice. They differ
in the order alone: as subscriptions were made, or as ``chains`` puts them. History also differs
in what it does with a false predicate: it ends the subscription at hand, and others find out when
their turn comes, which costs no evaluation either way.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Int32s
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.progress import FIRST, UNASKED, Progress


@kernel
def choose_walking(
    graph: Graph, progress: Progress, row: int, order: Int32s, cursor: Int32s, found: Int32s
) -> int:
    """Write what to evaluate next into ``found``, at most its length; how many.

    order: the edges, those of a subscription together, in the order of the walk.
    cursor: the first place of ``order`` that may be of use.
    """
    undecided, asked, truth = progress.open, progress.asked, progress.truth
    predicate, node, owner = graph.predicate, graph.node, graph.owner
    bit = FIRST << np.uint64(row)
    count, place = 0, cursor[0]
    begins = True
    busy = -1  # the subscription that waits for what was chosen
    while place < len(order) and count < len(found):
        e = order[place]
        p, own = predicate[e], owner[node[e]]
        done = not undecided[graph.first_node[own]] & bit
        begins = begins and (done or truth[p, row] != UNASKED)
        place += 1
        if begins:
            cursor[0] = place
        if done or own == busy or truth[p, row] != UNASKED:
            continue
        if undecided[node[e]] & bit:
            busy = own
            if not asked[p] & bit:
                asked[p] |= bit
                found[count] = p
                count += 1
    return count
