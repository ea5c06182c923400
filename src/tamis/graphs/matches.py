"""Matching against a view of the index, and the bindings that come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int32s, Int64s, Offsets
from tamis.bindings.classes import Classes
from tamis.bindings.filters import filter_truth
from tamis.graphs.encoding import Constraint, comparison_of
from tamis.graphs.publications import EncodedPublications, Encoder
from tamis.graphs.search import EXCEEDED, RECHECK, Found, search
from tamis.graphs.table import PatternTable
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import RdfTerm, RdfTriple
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import Expression, nodes_within
from tamis.predicates.operands import Variable, operands_within
from tamis.predicates.truth import TRUE

if TYPE_CHECKING:
    from tamis.graphs.index import Filters

_VARIABLES = tuple(Variable(f"v{number}") for number in range(3 * LIMITS.pattern))
"""Names for the variables of constraints, whose own names nobody keeps."""


class Part(NamedTuple):
    """A table as far as a view sees it."""

    table: PatternTable
    size: int


class GraphMatches(NamedTuple):
    """Publications and the patterns that they match, each pair once, by ascending row."""

    row: Int32s
    number: Int32s
    """The pattern."""
    exceeded: Flags
    """Where nobody can tell, because the pattern tries more triples than the limit allows."""
    sizes: Int32s
    """How many variables the pattern has."""
    first: Offsets
    """Where the solutions of each pair begin."""
    terms: Int32s
    """Local numbers of terms: for each solution one for each variable, in the order in which the
    variables come in the pattern."""
    ends: Offsets
    """Where the solutions of each pair end."""
    publications: EncodedPublications

    def bindings(self, pair: int) -> Int32s:
        """The solutions of a pair, one a line; without ``every`` there is one."""
        if not self.sizes[pair]:
            return np.empty((int(not self.exceeded[pair]), 0), np.int32)
        return self.terms[self.first[pair] : self.ends[pair]].reshape(-1, self.sizes[pair])

    def solutions(self, pair: int) -> Iterator[tuple[RdfTerm, ...]]:
        """The solutions of a pair as terms."""
        row = int(self.row[pair])
        for line in self.bindings(pair).tolist():
            yield tuple(self.publications.term(row, local) for local in line)


class IndexView(NamedTuple):
    """The patterns of one moment."""

    parts: tuple[Part, ...]
    epoch: int
    numbers: Mapping[str, int]
    filters: Mapping[int, Filters]
    limits: Limits
    taxonomy: Taxonomy | None = None
    """What is-a constraints ask."""

    def encoder(self) -> Encoder:
        """What takes in publications for ``match``."""
        constrained = any(len(part.table.bound) for part in self.parts)
        return Encoder(self.numbers, values=constrained, limits=self.limits)

    def match_graphs(
        self, graphs: Iterable[Iterable[RdfTriple]], *, every: bool = False
    ) -> GraphMatches:
        """Match publications that are sets of triples."""
        encoder = self.encoder()
        for graph in graphs:
            encoder.add(graph)
        return self.match(encoder.finish(), every=every)

    def match(self, publications: EncodedPublications, *, every: bool = False) -> GraphMatches:
        """Match encoded publications, with one solution of each pair or ``every`` one."""
        edges = max(self.limits.pattern, LIMITS.pattern)
        limits = np.array([edges, self.limits.bindings], np.int64)
        checker = Checker(publications, self.taxonomy)
        parts = [_empty(publications)]
        for table, size in self.parts:
            found = search(publications.arrays, table, size, self.epoch, every, limits)
            if len(found.row):
                parts.append(self._decided(found, table, checker, every))
        return parts[-1] if len(parts) <= 2 else _joined(parts, publications)

    def _decided(
        self, found: Found, table: PatternTable, checker: Checker, every: bool
    ) -> GraphMatches:
        """The candidates that pass the filters that no kernel tests."""
        number, sizes = table.number[found.place], table.variables[found.place]
        exceeded = found.status == EXCEEDED
        terms, first, ends = found.bindings, found.first[:-1], found.first[1:]
        kept = np.ones(len(number), bool)
        checked = ((found.status == RECHECK) | (table.filtered[found.place] > 0)) & ~exceeded
        if checked.any():
            first, ends = first.copy(), ends.copy()
            added = [terms]
            filled = len(terms)
            for pair in np.flatnonzero(checked).tolist():
                lines = terms[first[pair] : ends[pair]].reshape(-1, max(1, int(sizes[pair])))
                passing = self._passing(pair, found, table, lines.tolist() or [[]], checker, every)
                kept[pair] = bool(passing)
                if passing and len(lines):
                    added.append(lines[passing].ravel())
                    first[pair], filled = filled, filled + len(added[-1])
                    ends[pair] = filled
            terms = np.concatenate(added)
        made = GraphMatches(
            found.row, number, exceeded, sizes, first, terms, ends, checker.publications
        )
        return made if kept.all() else _taken(made, kept)

    def _passing(
        self,
        pair: int,
        found: Found,
        table: PatternTable,
        lines: list[list[int]],
        checker: Checker,
        every: bool,
    ) -> list[int]:
        """Which solutions of a candidate pass its filters; without ``every``, the first."""
        row, place = int(found.row[pair]), int(found.place[pair])
        checks = self._checks(int(table.number[place]), table, place, int(found.status[pair]))
        passing = (
            at
            for at, line in enumerate(lines)
            if all(checker.passes(check, line, row) for check in checks)
        )
        return list(passing) if every else list(islice(passing, 1))

    def _checks(self, number: int, table: PatternTable, place: int, status: int) -> list[Check]:
        given = self.filters.get(number)
        checks = []
        if given is not None:
            checks = [Check.of(each, given.variables) for each in given.filters]
        if status == RECHECK:
            for at in range(*table.first_constraint[place : place + 2].tolist()):
                variable, operator = table.constraint[at].tolist()
                constraint = Constraint(variable, operator, float(table.bound[at]))
                checks.append(Check.of(comparison_of(constraint, _VARIABLES), _VARIABLES))
        return checks


class Check(NamedTuple):
    """A filter, and in which column each of its variables is."""

    filter: Expression
    columns: tuple[tuple[Variable, int], ...]

    @staticmethod
    def of(filter_: Expression, variables: tuple[Variable, ...]) -> Check:
        """A filter of a pattern with these variables."""
        return Check(
            filter_, tuple((each, variables.index(each)) for each in variables_of_filter(filter_))
        )


@lru_cache(maxsize=100_000)
def variables_of_filter(filter_: Expression) -> tuple[Variable, ...]:
    """The variables of a filter."""
    operands = (each for part in nodes_within(filter_) for each in part.operands())
    within = (each for operand in operands for each in operands_within(operand))
    return tuple(dict.fromkeys(each for each in within if isinstance(each, Variable)))


class Checker:
    """Tests filters on solutions, each once for the same terms of a publication."""

    def __init__(self, publications: EncodedPublications, taxonomy: Taxonomy | None) -> None:
        self.publications = publications
        self._taxonomy = taxonomy
        self._truths: dict[tuple[Expression, int, tuple[int, ...]], bool] = {}
        self._classes: dict[int, Classes] = {}

    def passes(self, check: Check, line: list[int], row: int) -> bool:
        """Whether a filter is true of a solution."""
        key = check.filter, row, tuple([line[at] for _, at in check.columns])
        known = self._truths.get(key)
        if known is None:
            term = self.publications.term
            solution = {variable: term(row, line[at]) for variable, at in check.columns}
            truth = filter_truth(check.filter, solution, self._classes_of(row))
            known = self._truths[key] = truth == TRUE
        return known

    def _classes_of(self, row: int) -> Classes:
        found = self._classes.get(row)
        if found is None:
            found = Classes(self.publications.triples(row), self._taxonomy)
            self._classes[row] = found
        return found


def _empty(publications: EncodedPublications) -> GraphMatches:
    numbers, offsets = np.empty(0, np.int32), np.empty(0, np.int64)
    nothing = np.empty(0, bool)
    return GraphMatches(numbers, numbers, nothing, numbers, offsets, numbers, offsets, publications)


def _taken(matches: GraphMatches, kept: Flags | Int64s) -> GraphMatches:
    """Some of the pairs."""
    return matches._replace(
        row=matches.row[kept],
        number=matches.number[kept],
        exceeded=matches.exceeded[kept],
        sizes=matches.sizes[kept],
        first=matches.first[kept],
        ends=matches.ends[kept],
    )


def _joined(parts: list[GraphMatches], publications: EncodedPublications) -> GraphMatches:
    """The pairs of several tables, by ascending row."""
    shifts = np.cumsum([0, *(len(part.terms) for part in parts)])[:-1].tolist()
    made = GraphMatches(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate([part.exceeded for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.first + shift for part, shift in zip(parts, shifts)]),
        np.concatenate([part.terms for part in parts]),
        np.concatenate([part.ends + shift for part, shift in zip(parts, shifts)]),
        publications,
    )
    return _taken(made, np.argsort(made.row, kind="stable"))
