"""Sub-Order: linked chains and the order in which they are walked (section 4.2 of the paper).

A chain is a subscription's predicates, the one with the least c / (1 - p) on top: p its chance to
be true, c its cost, 1 - p its chance to end the chain (4.2.1 prints the opposite order; its cost
argument decides). Ties go to the lower number, so that links between equal predicates of two
chains never cross. Under SOME, what ends the chain is YES, and the order is by c / p.

What it costs to walk a chain, and by how much it is cheaper to walk one of two first (4.2.4):

    C = Σ cᵢ ∏ pⱼ (j < i)        C₁ - C₂ = Σₗ (1 - pₗ) (P₂ₗ C′₁ₗ - P₁ₗ C′₂ₗ)

over the links l, top to bottom; Pᵢₗ is the chance that chain i is walked down to l, C′ᵢₗ the cost
of its nodes above l that are in no link above. The form is exact if C′ of a top node is 0.

Chains are then put in a row by the greedy path of 4.2.5, with directed edges: the pair with the
largest saving first, if the one has no successor yet, the other no predecessor, and no ring comes
of it. Popular predicates alone would make some 10⁸ pairs of 80,000 chains. So a chain is compared
only with ``NEIGHBOURS`` others for each of its predicates: those next to it among the chains that
have this predicate, sorted by P / C there, which is what decides a pair with one link. The paths
that come of it are walked by the saving that they bring, the largest first; chains that are in no
path are walked by P / C of their best link.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Float64s, Int32s, Int64s
from tamis.operators.schedules.graph import EVERY, IS_FALSE, IS_TRUE, Expectation, Graph

NEIGHBOURS = 2
"""Chains on either side with which a chain is compared, for each of its predicates. With 4 in the
place of 2, Sub-Order evaluates less by under 1 % on figure 5, in twice the time."""


def saving(first: Int32s, second: Int32s, chance: Float64s, cost: Float64s) -> float:
    """By how much it is cheaper to walk the first chain before the second; chains are the numbers
    of predicates, top to bottom."""
    return float(pair_saving(first, 0, len(first), second, 0, len(second), chance, cost))


@kernel
def pair_saving(
    one: Int32s, begin: int, end: int, other: Int32s, start: int, stop: int, chance: Float64s,
    cost: Float64s,
) -> float:  # fmt: skip
    """C₂ - C₁ of two chains, slices of arrays: what walking ``one`` first saves."""
    total = 0.0
    at = start
    above_one, above_other = 0.0, 0.0  # cost of what is above and in no link: C′
    reach_one, reach_other = 1.0, 1.0  # P
    plain_one, plain_other = 1.0, 1.0  # the chances of those that are in no link
    for place in range(begin, end):
        p = one[place]
        linked = -1
        for candidate in range(at, stop):
            if other[candidate] == p:
                linked = candidate
                break
        if linked < 0:
            above_one += cost[p] * plain_one
            plain_one *= chance[p]
            reach_one *= chance[p]
            continue
        for between in range(at, linked):
            q = other[between]
            above_other += cost[q] * plain_other
            plain_other *= chance[q]
            reach_other *= chance[q]
        total += (1 - chance[p]) * (reach_one * above_other - reach_other * above_one)
        reach_one *= chance[p]
        reach_other *= chance[p]
        at = linked + 1
    return total


def chains_of(graph: Graph, expectation: Expectation) -> Int32s:
    """The edges, subscription by subscription, each from the top of its chain."""
    chance, cost = expectation.chance[graph.predicate], expectation.cost[graph.predicate]
    says = np.where((graph.question == IS_TRUE) | (graph.question > IS_FALSE), chance, 1 - chance)
    ends = np.where(graph.kind[graph.node] == EVERY, 1 - says, says)
    height = cost / np.maximum(ends, 1e-9)
    owner = graph.owner[graph.node]
    return np.lexsort((graph.predicate, height, owner)).astype(np.int32)


def chain_order(graph: Graph, expectation: Expectation) -> Int32s:
    """The edges in the order of the walk."""
    edges = chains_of(graph, expectation)
    order = path_order(graph, graph.predicate[edges], expectation)
    rank = np.empty(graph.subscriptions, np.int64)
    rank[order] = np.arange(len(order))
    owner = graph.owner[graph.node[edges]]
    return edges[np.argsort(rank[owner], kind="stable")]


def path_order(graph: Graph, chain: Int32s, expectation: Expectation) -> Int64s:
    """The subscriptions in the order in which their chains are walked."""
    chance, cost = expectation.chance, expectation.cost
    ratio, best = ratios_of(graph, chain, expectation)
    owner = np.repeat(np.arange(graph.subscriptions), np.diff(graph.first_edge))
    by_predicate = np.lexsort((-ratio, chain))
    one, other = _neighbours(chain[by_predicate], owner[by_predicate])
    gains = np.empty(len(one))
    write_savings(graph.first_edge, chain, one, other, chance, cost, gains)
    backwards = gains < 0
    one, other = np.where(backwards, other, one), np.where(backwards, one, other)
    gains = np.abs(gains)
    worth = np.flatnonzero(gains > 1e-12)
    worth = worth[np.argsort(-gains[worth], kind="stable")]
    after = np.full(graph.subscriptions, -1, np.int64)
    weight = np.zeros(graph.subscriptions)
    head = link_paths(one[worth], other[worth], gains[worth], after, weight)
    heads = np.flatnonzero(head)
    heads = heads[np.lexsort((-best[heads], -weight[heads]))]
    return follow_paths(heads, after)


def ratios_of(graph: Graph, chain: Int32s, expectation: Expectation) -> tuple[Float64s, Float64s]:
    """P / C of each node of each chain, and the best for each chain, by whom it helps."""
    ratio, best = np.empty(len(chain)), np.empty(graph.subscriptions)
    write_ratios(
        graph.first_edge, chain, expectation.chance, expectation.cost, np.diff(graph.by_predicate),
        ratio, best,
    )  # fmt: skip
    return ratio, best


def _neighbours(predicate: Int32s, owner: Int64s) -> tuple[Int64s, Int64s]:
    """Pairs of chains that stand next to each other under a predicate."""
    ones, others = [], []
    for distance in range(1, NEIGHBOURS + 1):
        same = predicate[distance:] == predicate[:-distance]
        ones.append(owner[:-distance][same])
        others.append(owner[distance:][same])
    pairs = np.unique(np.stack((np.concatenate(ones), np.concatenate(others)), 1), axis=0)
    return pairs[:, 0], pairs[:, 1]


@kernel
def write_ratios(
    first: Int32s, chain: Int32s, chance: Float64s, cost: Float64s, popularity: Int32s,
    ratio: Float64s, best: Float64s,
) -> None:  # fmt: skip
    """Write what ``ratios_of`` gives."""
    for s in range(len(first) - 1):
        reach, above, best[s] = 1.0, 0.0, 0.0
        for place in range(first[s], first[s + 1]):
            p = chain[place]
            ratio[place] = reach / (above + cost[p])
            helps = (1 - chance[p]) * (popularity[p] - 1) * ratio[place]
            best[s] = max(best[s], helps)
            above += cost[p] * reach
            reach *= chance[p]


@kernel
def write_savings(
    first: Int32s, chain: Int32s, one: Int64s, other: Int64s, chance: Float64s, cost: Float64s,
    gains: Float64s,
) -> None:  # fmt: skip
    """Write what walking the one before the other saves."""
    for number in range(len(one)):
        s, t = one[number], other[number]
        gains[number] = pair_saving(
            chain, first[s], first[s + 1], chain, first[t], first[t + 1], chance, cost
        )


@kernel
def link_paths(
    one: Int64s, other: Int64s, gain: Float64s, after: Int64s, weight: Float64s
) -> np.ndarray:
    """Link pairs, best first, into paths without rings; which chains begin a path."""
    root = np.arange(len(after))
    has_before = np.zeros(len(after), np.bool_)
    for number in range(len(one)):
        s, t = one[number], other[number]
        if after[s] >= 0 or has_before[t]:
            continue
        top, bottom = s, t
        while root[top] != top:
            root[top] = root[root[top]]
            top = root[top]
        while root[bottom] != bottom:
            root[bottom] = root[root[bottom]]
            bottom = root[bottom]
        if top == bottom:
            continue
        after[s] = t
        has_before[t] = True
        root[bottom] = top
        weight[top] += weight[bottom] + gain[number]
    head = ~has_before
    for s in range(len(after)):
        if head[s]:
            top = s
            while root[top] != top:
                top = root[top]
            weight[s] = weight[top]
    return head


@kernel
def follow_paths(heads: Int64s, after: Int64s) -> Int64s:
    """All chains, path by path."""
    order = np.empty(len(after), np.int64)
    count = 0
    for s in heads:
        while s >= 0:
            order[count] = s
            count += 1
            s = after[s]
    return order
