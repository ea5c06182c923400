"""The conjunctions that boxes do not say all of, and what their tests leave of stabbed boxes.

conjunction    0        1     2
slot           7        7     9
tests          0 3      0     -             literals, each of them once in a segment
oracle         no       no    yes           whether there is more than tests can say
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int32s, Slots, Truths
from tamis.matching.batch import Batch
from tamis.matching.points.of_events import Points
from tamis.matching.tests.column_tests import ASK, FALSE, TRUE, Texts, evaluate, paths_of
from tamis.model.paths import Path
from tamis.predicates.expression import TextTest
from tamis.predicates.normal import Literal


class Conjunctions(NamedTuple):
    """What is left to be tested of a conjunction whose box was stabbed, by its number."""

    slot: Slots
    start: Int32s  # of its tests, and the end of the last one's
    test: Int32s  # numbers of literals
    oracle: Flags  # whether there is more than tests can say
    several: Flags  # whether its subscription has other conjunctions

    @classmethod
    def none(cls) -> Conjunctions:
        """The table of no conjunctions."""
        nothing, never = np.empty(0, np.int32), np.empty(0, bool)
        return cls(nothing, np.zeros(1, np.int32), nothing, never, never)


class Candidates(NamedTuple):
    """Points, the conjunctions whose boxes they stab, and what the tests say of these pairs."""

    point: Int32s
    slot: Slots
    ask: Flags
    """Whether only the oracle can tell."""
    several: bool
    """Whether a point may come again with the same slot."""


class Checks:
    """The tests of a segment."""

    def __init__(
        self,
        literals: Sequence[Literal],
        conjunctions: Conjunctions,
        paths: Iterable[Path] | None = None,
    ) -> None:
        self.literals = list(literals)
        self.conjunctions = conjunctions
        if paths is None:
            paths = {path for literal in literals for path in paths_of(literal)}
        self.paths = sorted(paths)
        """The attributes that the literals look at."""

    def judge(self, number: int, certain: dict[int, None], perhaps: dict[int, None]) -> None:
        """Put the slot of a conjunction whose box is stabbed to those that are certain to match, or
        to those that may."""
        table = self.conjunctions
        more = table.start[number + 1] > table.start[number] or table.oracle[number]
        (perhaps if more else certain)[int(table.slot[number])] = None

    def candidates(
        self, point: Int32s, conjunction: Int32s, points: Points, batch: Batch
    ) -> Candidates:
        """Pairs, a point and a conjunction whose box it stabs, without those that tests exclude."""
        said = self.verdicts(point, conjunction, points, batch)
        kept = np.flatnonzero(said != FALSE)
        table = self.conjunctions
        several = bool(table.several[conjunction[kept]].any())
        return Candidates(point[kept], table.slot[conjunction[kept]], said[kept] == ASK, several)

    def verdicts(self, point: Int32s, conjunction: Int32s, points: Points, batch: Batch) -> Truths:
        """What the tests say of pairs: a point, and a conjunction whose box it stabs."""
        table = self.conjunctions
        found = np.where(table.oracle[conjunction], ASK, TRUE)
        first = table.start[conjunction]
        counts = table.start[conjunction + 1] - first
        pair = np.repeat(np.arange(len(point)), counts)
        if not len(pair):
            return found
        within = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
        test = table.test[np.repeat(first, counts) + within]
        order = np.argsort(test, kind="stable")
        pair, test = pair[order], test[order]
        said = self._said(test, point[pair], points, batch)
        np.maximum.at(found, pair, said)
        found[pair[said == FALSE]] = FALSE
        return found

    def _said(self, test: Int32s, number: Int32s, points: Points, batch: Batch) -> Truths:
        """What tests, which ascend, say of some points."""
        said = np.zeros(len(test), np.int8)
        texts = Texts(number, points)
        ends = np.flatnonzero(np.diff(test, append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            literal = self.literals[test[begin]]
            if isinstance(literal.predicate, TextTest):
                texts.add(literal.predicate, literal.positive, begin, end)
            else:
                said[begin:end] = evaluate(literal, number[begin:end], points, batch)
            begin = end
        texts.write(said)
        return said
