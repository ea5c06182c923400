"""The formulas of several segments as those of one.

conditions   0 1 2 3       of which 1 is gone      0 · 1 2      number of each in the merged
             0 1                                   3 4          segment
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from tamis.arrays.distinct import distinct
from tamis.arrays.types import Int32s, Numbers, Slots
from tamis.matching.boxes.layout import Boxes
from tamis.matching.evaluation.entries import CERTAIN, Entries
from tamis.matching.evaluation.evaluation import Evaluation
from tamis.matching.evaluation.nodes import (
    FOUND,
    TEST,
    Nodes,
    leaf_intervals,
    parts_of,
    shared,
    with_intervals,
)
from tamis.predicates.normal import Literal

Item = TypeVar("Item")

_AT_ONCE, _PAUSE = 200, 2e-5
"""Literals after which other threads get the interpreter, and the seconds that they have to take
it: left to itself a loop keeps it for five milliseconds."""


class EvaluationPart(NamedTuple):
    """The formulas of a segment without those of the subscriptions that are gone."""

    entries: Entries
    nodes: Nodes
    literals: Sequence[Literal]
    number: Int32s
    """What each condition becomes among those that are left, or -1."""
    intervals: Boxes
    """Of the leaves, as boxes of one side; they go where boxes go."""

    @classmethod
    def of(cls, evaluation: Evaluation, slots: Slots | None) -> EvaluationPart:
        """What is left; ``slots`` are the new slots of subscriptions."""
        slot, node, several = evaluation.entries
        slot = slot if slots is None else slots[slot]
        kept = slot >= 0
        node = node[kept].copy()
        open_ = node != CERTAIN
        nodes, node[open_] = shared(evaluation.nodes, node[open_])
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        entries = Entries(slot[kept], node, several[kept])
        return cls(entries, nodes, evaluation.literals, number, leaf_intervals(nodes))


def merged_evaluation(
    several: Sequence[tuple[EvaluationPart, Boxes, Numbers]],
) -> Evaluation:
    """The formulas of all; each part comes with its intervals and the numbers of its axes in the
    merged segment. A literal that is not tested any more is gone."""
    literals: dict[Literal, int] = {}
    kinds, axes, owners, parts, intervals, roots = [], [], [], [], [], []
    first = 0
    for part, moved, axis in several:
        nodes = part.nodes
        own = nodes.axis.copy()
        own[nodes.kind <= FOUND] = axis[own[nodes.kind <= FOUND]]
        own[nodes.kind == TEST] = _renumbered(own[nodes.kind == TEST], part.literals, literals)
        owner, inner = parts_of(nodes)
        kinds.append(nodes.kind)
        axes.append(own)
        owners.append(owner + first)
        parts.append(_shifted(inner, first))
        intervals.append(moved._replace(owner=moved.owner + np.int32(first)))
        node = part.entries.node
        roots.append(np.where(node == CERTAIN, node, _shifted(node, first)))
        first += len(nodes.kind)
    nodes = with_intervals(
        np.concatenate(kinds),
        np.concatenate(axes),
        (np.concatenate(owners), np.concatenate(parts)),
        Boxes.join(intervals),
    )
    node = np.concatenate(roots).astype(np.int32)
    open_ = node != CERTAIN
    nodes, node[open_] = shared(nodes, node[open_])
    tables = [part.entries for part, _, _ in several]
    entries = Entries(
        np.concatenate([table.slot for table in tables]),
        node,
        np.concatenate([table.several for table in tables]),
    )
    return Evaluation(entries, nodes, list(literals))


def _shifted(nodes: Numbers, first: int) -> Numbers:
    """Nodes, complemented or not, of a graph that stands behind others."""
    return np.where(nodes < 0, nodes - np.int32(first), nodes + np.int32(first))


def _renumbered(tests: Int32s, own: Sequence[Literal], all: dict[Literal, int]) -> Int32s:
    """The numbers that the literals of tests have, or get, among those of all."""
    used = distinct(tests)
    number = np.zeros(len(own), np.int32)
    for old in _unhurried(used.tolist()):
        number[old] = all.setdefault(own[old], len(all))
    return number[tests]


def _unhurried(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with pauses for other threads."""
    for count, item in enumerate(items, 1):
        yield item
        if count % _AT_ONCE == 0:
            time.sleep(_PAUSE)
