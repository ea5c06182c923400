"""G-ToPSS behind the door of patterns, so that an engine can match with it.

The patterns are kept as in ``PatternIndex``, which knows files, snapshots and removals. GM takes
them in when somebody looks, and finds the candidates instead of the rarest edge. Since views share
it, patterns that were removed stay in it until the index is compacted. What it finds is left open,
since G-ToPSS gives no bindings and knows no filters but comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.graphs.encoding import Constraint, EncodedPattern
from tamis.graphs.gtopss import GToPSS
from tamis.graphs.index import PatternIndex
from tamis.graphs.matches import GraphMatches, IndexView
from tamis.graphs.publications import EncodedPublications, Encoder
from tamis.model.limits import LIMITS, Limits
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.operands import Variable


class MergedIndex(PatternIndex):
    """Patterns under numbers that ascend, found by counting edges of GM."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        super().__init__(limits)
        self._merged = GToPSS(sparse=True, shared=True)
        self._next = 0
        """The number behind the greatest one."""

    def _place(self, number: int, table: int, at: int) -> None:
        super()._place(number, table, at)
        self._next = max(self._next, number + 1)

    def view(self, taxonomy: Taxonomy | None = None) -> MergedView:  # type: ignore[override]
        """What there is now."""
        with self._lock:
            for number in range(self._merged.size, self._next):
                if number in self:
                    self._merged.insert(number, self._pattern(number))
            return MergedView(super().view(taxonomy), self, self._next)

    def candidates(self, publications: EncodedPublications) -> list[list[int]]:
        """The numbers of the patterns that publications match, for all that GM can tell."""
        with self._lock:
            return self._merged.match(publications.arrays)

    def _pattern(self, number: int) -> EncodedPattern:
        """A pattern as it was encoded, without the filters that Python tests."""
        name, at = divmod(int(self._where[number]), 1 << 32)
        table = self._tables[name]
        edges = table.edges[table.first[at] : table.first[at + 1]].tolist()
        some = slice(*table.first_constraint[at : at + 2].tolist())
        constraints = zip(table.constraint[some].tolist(), table.bound[some].tolist())
        return EncodedPattern(
            tuple(map(tuple, edges)),
            tuple(Variable(f"v{n}") for n in range(int(table.variables[at]))),
            tuple(Constraint(one, other, value) for (one, other), value in constraints),
            (),
        )


class MergedView(NamedTuple):
    """The patterns of one moment; later ones are left out of what GM finds."""

    base: IndexView
    merged: MergedIndex
    size: int

    def encoder(self) -> Encoder:
        """What takes in publications for ``match``."""
        return self.base.encoder()

    def match(self, publications: EncodedPublications) -> GraphMatches:
        """The candidates; nobody can tell more of them here."""
        found = self.merged.candidates(publications)
        row = np.repeat(np.arange(len(found)), list(map(len, found))).astype(np.int32)
        number = np.array([each for several in found for each in several], np.int32)
        kept = number < self.size
        row, number = row[kept], number[kept]
        none = np.zeros(len(row), np.int64)
        sizes = np.zeros(len(row), np.int32)
        everyone = np.ones(len(row), bool)
        terms = np.empty(0, np.int32)
        return GraphMatches(row, number, everyone, sizes, none, terms, none, publications)
