"""The linked chains of Sub-Order, kept from event to event (section 4.2.1 of the paper).

All chains that events have reached stand in one row, and an event walks those that it reaches, in
this order. A chain that is new is put beside the one with which it saves most; it is compared with
the same few as in a new order. One that is gone is just not reached any longer.

    row     s4   s1   s7   s2          chances as they were known when the row was made
                   ↑ s9

The row is made again, from all chains that were reached since, when half of them were put in later,
or when there are twice as many results to learn from. So making it costs little for each event.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

import numpy as np

from tamis.arrays.sharing import Lockable
from tamis.arrays.types import Float64s, Int32s, Slots
from tamis.operators.estimates import MEMORY
from tamis.operators.schedules.chains import (
    NEIGHBOURS,
    chains_of,
    path_order,
    ratios_of,
    saving,
)
from tamis.operators.schedules.graph import Expectation

if TYPE_CHECKING:
    from tamis.operators.decider import Decider, KnownGraph


class LinkedChains(Lockable):
    """The chains of slots, and their places in the row."""

    def __init__(self, decider: Decider) -> None:
        super().__init__()
        self._decider = decider
        self._rank = np.full(64, np.nan)
        """By slot: its place; NaN of those that are not in the row."""
        self._reached = np.zeros(64, np.bool_)
        """Since the row was made."""
        self._made = self._added = 0
        """Chains that were in the row when it was made, and those put in later."""
        self._results = 0
        """Results that the row rests on."""
        self._links: dict[int, list[tuple[float, int]]] = {}
        """By leaf: the chains that have it, by how soon and cheaply they come to it."""
        self._ratios: tuple[Int32s, Float64s, Slots] | None = None
        """The same as arrays, for leaves that no new chain has had yet: leaf, ratio, slot."""
        self._last: tuple[KnownGraph, Int32s] | None = None
        self.times_made = 0

    def walk(self, known: KnownGraph, expectation: Expectation) -> Int32s:
        """The edges of a graph in the order in which its chains are walked."""
        slots = known.local.slots
        with self._lock:
            self._grow(int(slots.max(initial=0)))
            self._reached[slots] = True
            new = slots[np.isnan(self._rank[slots])]
            if self._is_outdated(len(new)):
                self._make()
            elif len(new):
                self._put_in(new)
            elif self._last is not None and self._last[0] is known:
                return self._last[1]
            graph = known.local.graph
            edges = chains_of(graph, expectation)
            rank = self._rank[slots][graph.owner[graph.node[edges]]]
            order = edges[np.argsort(rank, kind="stable")]
            self._last = known, order
            return order

    def _grow(self, most: int) -> None:
        more = max(most + 1, 2 * len(self._rank)) - len(self._rank)
        if most >= len(self._rank):
            self._rank = np.concatenate((self._rank, np.full(more, np.nan)))
            self._reached = np.concatenate((self._reached, np.zeros(more, np.bool_)))

    def _is_outdated(self, new: int) -> bool:
        if not self._made or (new and self._added + new > self._made / 2):
            return True
        most = MEMORY * len(self._decider.residues.leaves)  # older results have faded
        more = self._decider.estimates.noted - self._results
        return more > min(max(self._results, self._made), most)

    def _make(self) -> None:
        """Put all chains that were reached in a new row."""
        slots = np.flatnonzero(self._reached).astype(np.int32)
        known = self._decider.graph_of(slots)
        leaves, graph = known.local.leaves, known.local.graph
        expectation = self._decider.expectation(leaves, known.kinds, known.operators)
        chain = graph.predicate[chains_of(graph, expectation)]
        order = path_order(graph, chain, expectation)
        self._rank[:] = np.nan
        self._rank[slots[order]] = np.arange(len(order))
        self._reached[:] = False
        self._links.clear()
        ratio, _ = ratios_of(graph, chain, expectation)
        of_edge = np.repeat(slots, np.diff(graph.first_edge))
        by_leaf = np.lexsort((-ratio, leaves[chain]))
        self._ratios = leaves[chain][by_leaf], -ratio[by_leaf], of_edge[by_leaf]
        self._made, self._added = len(slots), 0
        self._results = self._decider.estimates.noted
        self.times_made += 1

    def _put_in(self, slots: Slots) -> None:
        """Put new chains into the row."""
        decider = self._decider
        every = np.arange(len(decider.residues.leaves), dtype=np.int32)
        expectation = decider.expectation(every, *decider.numbers(every))
        for slot in slots.tolist():
            chain, ratios = self._chain(slot, expectation)
            best, rank = 0.0, float(self._made + self._added)
            for other in self._beside(chain, ratios):
                theirs, _ = self._chain(other, expectation)
                gain = saving(chain, theirs, expectation.chance, expectation.cost)
                if abs(gain) > best:
                    aside = 1 / (2 + self._added)
                    best = abs(gain)
                    rank = float(self._rank[other]) + (-aside if gain > 0 else aside)
            self._rank[slot] = rank
            self._added += 1
            for leaf, ratio in zip(chain.tolist(), ratios.tolist()):
                insort(self._linked(leaf), (-ratio, slot))

    def _chain(self, slot: int, expectation: Expectation) -> tuple[Int32s, Float64s]:
        """The leaves of a slot from the top of its chain, and how soon and cheaply each is come
        to."""
        local = self._decider.residues.graph(np.array([slot], np.int32))
        some = Expectation(
            expectation.chance[local.leaves], expectation.cost[local.leaves],
            expectation.operator[local.leaves], expectation.setup, expectation.share,
        )  # fmt: skip
        chain = local.graph.predicate[chains_of(local.graph, some)]
        ratio, _ = ratios_of(local.graph, chain, some)
        return local.leaves[chain], ratio

    def _beside(self, chain: Int32s, ratios: Float64s) -> set[int]:
        """The chains with which a new one is compared: those next to it under each leaf."""
        found: set[int] = set()
        for leaf, ratio in zip(chain.tolist(), ratios.tolist()):
            linked = self._linked(leaf)
            place = bisect_left(linked, (-ratio, -1))
            near = linked[max(0, place - NEIGHBOURS) : place + NEIGHBOURS]
            found.update(slot for _, slot in near)
        return found

    def _linked(self, leaf: int) -> list[tuple[float, int]]:
        """The chains that have a leaf."""
        found = self._links.get(leaf)
        if found is None:
            assert self._ratios is not None
            leaves, ratios, slots = self._ratios
            some = slice(*np.searchsorted(leaves, (leaf, leaf + 1)))
            found = self._links[leaf] = list(zip(ratios[some].tolist(), slots[some].tolist()))
        return found
