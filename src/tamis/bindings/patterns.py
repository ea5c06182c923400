"""Graph patterns on one event's graph: SPARQL's basic graph patterns, by plain backtracking.

Simple entailment: a triple of the pattern must be a triple of the graph, term by term. Two
variables may stand for the same node, and blank nodes of the graph are nodes like any other. The
triple with the most terms bound comes next, and is looked up by an index on these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from tamis.bindings.classes import Classes
from tamis.bindings.filters import Solution, filter_truth
from tamis.bindings.substitution import Rows, Table
from tamis.model.rdf_terms import RdfLiteral, RdfTerm, RdfTriple, value_of_term
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.predicates.expression import Pattern, Triple
from tamis.predicates.operands import Variable
from tamis.predicates.truth import FALSE, TRUE, UNKNOWN

Term = TypeVar("Term")
Places = tuple[int, ...]
"""Some of the three places of a triple: 0 subject, 1 property, 2 object."""


class Patterns:
    """The patterns that were tried on one event's graph."""

    def __init__(
        self,
        graph: frozenset[RdfTriple] | None,
        limit: int,
        taxonomy: Taxonomy | None = None,
    ) -> None:
        self._graph = graph
        self._taxonomy = taxonomy
        self._limit = limit
        self._left = 0
        self._indices: dict[Places, dict[tuple[RdfTerm, ...], list[tuple[RdfTerm, ...]]]] = {}
        self._tried: dict[Pattern, Rows] = {}

    def table(self, node: Pattern) -> tuple[Table, str]:
        """What a pattern gives, and why it failed if it did."""
        variables = list(node.variables())
        rows = self._tried.get(node)
        if rows is None:
            rows = self._tried[node] = self._rows(node, variables)
        table = Table(tuple(variable.name for variable in variables), rows)
        return table, f"{node} {rows.problem}" if rows.problem else ""

    def _rows(self, node: Pattern, variables: list[Variable]) -> Rows:
        if self._graph is None:
            return Rows((), UNKNOWN)
        self._left = self._limit
        rows = []
        try:
            for solution in self._solutions(list(map(_canonical_triple, node.triples)), {}):
                if all(
                    filter_truth(each, solution, self._classes) == TRUE for each in node.filters
                ):
                    rows.append(tuple(value_of_term(solution[each]) for each in variables))
        except _LimitExceededError:
            return Rows.failed(f"has more than {self._limit:,} bindings to try, which is the limit")
        return Rows(rows, TRUE if rows else FALSE)

    @cached_property
    def _classes(self) -> Classes:
        return Classes(self._graph or (), self._taxonomy)

    def _solutions(self, triples: list[Triple], solution: Solution) -> Iterator[Solution]:
        """All ways to find the triples in the graph that agree with a solution."""
        if not triples:
            yield solution
            return
        triple = max(triples, key=lambda each: len(_known(each, solution)[0]))
        rest = [each for each in triples if each is not triple]
        for found in self._matching(*_known(triple, solution)):
            self._left -= 1
            if self._left < 0:
                raise _LimitExceededError
            extended = _extended(triple, found, solution)
            if extended is not None:
                yield from self._solutions(rest, extended)

    def _matching(self, places: Places, terms: tuple[RdfTerm, ...]) -> list[tuple[RdfTerm, ...]]:
        """The triples of the graph that have these terms at these places."""
        assert self._graph is not None
        index = self._indices.get(places)
        if index is None:
            index = defaultdict(list)
            for raw in self._graph:
                triple = tuple(map(_canonical, raw))
                index[tuple(triple[place] for place in places)].append(triple)
            self._indices[places] = index
        return index.get(terms, [])


class _LimitExceededError(Exception):
    """There are more bindings than the limit allows."""


def _known(triple: Triple, solution: Solution) -> tuple[Places, tuple[RdfTerm, ...]]:
    """The places of a triple whose terms are known, and these terms."""
    places, terms = [], []
    for place, term in enumerate(triple):
        known = solution.get(term) if isinstance(term, Variable) else term
        if known is not None:
            places.append(place)
            terms.append(known)
    return tuple(places), tuple(terms)


def _extended(triple: Triple, found: tuple[RdfTerm, ...], solution: Solution) -> Solution | None:
    """The solution with the variables of a triple; None if one of them would have two values."""
    extended = solution.copy()
    for term, node in zip(triple, found):
        if isinstance(term, Variable) and extended.setdefault(term, node) != node:
            return None
    return extended


def _canonical_triple(triple: Triple) -> Triple:
    subject, predicate, value = triple
    return subject, predicate, _canonical(value)


def _canonical(term: Term) -> Term:
    """The term with its language in lower case, for ``@EN`` is ``@en``."""
    if isinstance(term, RdfLiteral) and term.language is not None:
        return replace(term, language=term.language.lower())
    return term
