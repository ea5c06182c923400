"""The quantities of the papers' formulas: what an index stores, and what it did for events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.matching.planning.tables import Cells, Holdings, figure
from tamis.published.frame.state import State
from tamis.published.index import COMPARISONS, EVALUATED, SUMS, VISITED, Size

_STORED = "subscriptions boxes axes types predicates nodes edges successors".split()
_DONE = "evaluated sums comparisons visited".split()


@dataclass(frozen=True, slots=True, repr=False)
class AlgorithmStats(Holdings):
    """How much a published matcher holds, and what it has done; 0 where an algorithm has none."""

    subscriptions: int
    boxes: int
    axes: int
    types: int
    """Event types that subscriptions name."""
    predicates: int
    """Stored ones; one that is stored twice counts twice."""
    nodes: int
    edges: int
    successors: int
    """The sizes of all successor sets."""
    events: int
    """All that were matched so far; the counts that follow are about them."""
    evaluated: int
    """Predicates evaluated; a binary search for many at once is one for each of its steps."""
    sums: int
    """Hit counts added to."""
    comparisons: int
    """Hit counts compared."""
    visited: int
    """Nodes visited."""
    bytes: Mapping[str, int]
    """By part: index, owners of boxes."""
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    """Rows of columns that had to be read one by one, by reason."""

    def __repr__(self) -> str:
        return (
            f"AlgorithmStats(subscriptions={self.subscriptions:,}, boxes={self.boxes:,},"
            f" predicates={self.predicates:,}, nbytes={self.nbytes:,}, events={self.events:,})"
        )

    def cells(self) -> Cells:
        """A row for each figure; of what was done also how much for an event."""
        rows = [[*row, ""] for row in self.named_rows(_STORED)]
        for name in _DONE:
            count = getattr(self, name)
            rows.append([name, f"{count:,}", figure(count / self.events) if self.events else ""])
        return Cells(["what", "count", "an event"], rows, f"{self.events:,} events so far")


def stats_of(state: State) -> AlgorithmStats:
    """The quantities of a state."""
    figures: Any = figures_of(state)
    return AlgorithmStats(**figures, bytes=bytes_of(state))


def figures_of(state: State) -> dict[str, int]:
    """What a state holds, and what it has done, by the names of the papers."""
    parts = list(state.parts.values())
    size = _size_of(state)
    done = state.tally + sum(part.index.tally for part in parts)
    return {
        "subscriptions": len(state.places.slots()),
        "boxes": sum(part.table.count for part in parts),
        "axes": len(state.axes.builders),
        "types": len(state.types.numbers),
        "predicates": size.predicates,
        "nodes": size.nodes,
        "edges": size.edges,
        "successors": size.successors,
        "events": int(state.events[0]),
        "evaluated": int(done[EVALUATED]),
        "sums": int(done[SUMS]),
        "comparisons": int(done[COMPARISONS]),
        "visited": int(done[VISITED]),
    }


def bytes_of(state: State) -> dict[str, int]:
    """Memory by part of a state."""
    return {
        "index": _size_of(state).bytes,
        "owners": state.places.nbytes + sum(part.nbytes for part in state.parts.values()),
    }


def _size_of(state: State) -> Size:
    """How large all indexes are together."""
    sizes = [part.index.size() for part in state.parts.values()]
    return Size(*map(sum, zip(*sizes))) if sizes else Size()
