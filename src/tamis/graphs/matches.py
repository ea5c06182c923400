"""Matching against a view of the index, and the bindings that come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.arrays.types import Int8s, Int32s, Int64s
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
    exceeded: Int8s
    """1 where nobody can tell, because the pattern tries more triples than the limit allows."""
    bindings: list[Int32s]
    """For each pair its solutions, one a line: local numbers of terms, in the order in which the
    variables come in the pattern. Without ``every`` there is one."""
    publications: EncodedPublications

    def solutions(self, pair: int) -> Iterator[tuple[RdfTerm, ...]]:
        """The solutions of a pair as terms."""
        row = int(self.row[pair])
        for line in self.bindings[pair].tolist():
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
        limits = np.array([self.limits.pattern, self.limits.bindings], np.int64)
        limits[0] = max(limits[0], LIMITS.pattern)
        rows: list[Int32s] = []
        numbers: list[Int32s] = []
        exceeded: list[Int8s] = []
        bindings: list[Int32s] = []
        for table, count in self.parts:
            found = search(publications.arrays, table, count, self.epoch, every, limits)
            kept, lines = self._decided(found, table, publications, every)
            rows.append(found.row[kept])
            numbers.append(table.number[found.place[kept]])
            exceeded.append((found.status[kept] == EXCEEDED).astype(np.int8))
            bindings += lines
        row = np.concatenate([np.empty(0, np.int32), *rows])
        order = np.argsort(row, kind="stable")
        number = np.concatenate([np.empty(0, np.int32), *numbers])
        flags = np.concatenate([np.empty(0, np.int8), *exceeded])
        lines = [bindings[at] for at in order.tolist()]
        return GraphMatches(row[order], number[order], flags[order], lines, publications)

    def _decided(
        self, found: Found, table: PatternTable, publications: EncodedPublications, every: bool
    ) -> tuple[Int64s, list[Int32s]]:
        """Which candidates pass the filters that no kernel tests, and their solutions."""
        kept: list[int] = []
        lines: list[Int32s] = []
        numbers = table.number[found.place].tolist()
        sizes = table.variables[found.place].tolist()
        statuses = found.status.tolist()
        first = found.first.tolist()
        checker = Checker(publications, self.taxonomy)
        for pair, (number, size, status) in enumerate(zip(numbers, sizes, statuses)):
            shape = found.bindings[first[pair] : first[pair + 1]]
            table_of_pair = shape.reshape(-1, size) if size else np.empty((1, 0), np.int32)
            if status != EXCEEDED and (status == RECHECK or number in self.filters):
                row, place = int(found.row[pair]), int(found.place[pair])
                checks = self._checks(number, table, place, status)
                passing = [
                    at
                    for at, line in enumerate(table_of_pair.tolist())
                    if all(checker.passes(check, line, row) for check in checks)
                ]
                if not passing:
                    continue
                table_of_pair = table_of_pair[passing]
            elif status == EXCEEDED:
                table_of_pair = table_of_pair[:0]
            kept.append(pair)
            lines.append(table_of_pair if every else table_of_pair[:1])
        return np.array(kept, np.int64), lines

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
        self._publications = publications
        self._taxonomy = taxonomy
        self._truths: dict[tuple[Expression, int, tuple[int, ...]], bool] = {}
        self._classes: dict[int, Classes] = {}

    def passes(self, check: Check, line: list[int], row: int) -> bool:
        """Whether a filter is true of a solution."""
        key = check.filter, row, tuple([line[at] for _, at in check.columns])
        known = self._truths.get(key)
        if known is None:
            term = self._publications.term
            solution = {variable: term(row, line[at]) for variable, at in check.columns}
            truth = filter_truth(check.filter, solution, self._classes_of(row))
            known = self._truths[key] = truth == TRUE
        return known

    def _classes_of(self, row: int) -> Classes:
        found = self._classes.get(row)
        if found is None:
            found = Classes(self._publications.triples(row), self._taxonomy)
            self._classes[row] = found
        return found
