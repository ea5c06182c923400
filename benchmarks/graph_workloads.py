"""Graphs and patterns of G-ToPSS, section 5, as arrays of numbers and as what users write.

Nodes are numbers from 0, properties those behind them, variables are negative. A publication is a
path through its nodes and random edges between them. Subscriptions: some are subgraphs of the
publication, so they match; some are subgraphs of another graph, so they overlap; the others are
random. Then vertices of most are replaced by variables, of which a part is constrained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis.graphs.encoding import Constraint, EncodedPattern
from tamis.graphs.table import PatternTable, empty_table
from tamis.model.rdf_terms import Iri, RdfTriple
from tamis.predicates.expression import Comparison, Pattern
from tamis.predicates.operands import Constant, Variable

NODES, PROPERTIES = 10_000, 50


@dataclass(frozen=True)
class Parameters:
    """Table 1 of the paper."""

    subscriptions: int = 30_000
    nodes: int = 5
    edges: int = 8
    matching: float = 0.001
    """The share of subscriptions that the publication matches."""
    matches: int | None = None
    """How many match, instead of the share."""
    overlap: float = 0.5
    stars: int = 2
    starred: float = 0.9
    """The share of subscriptions with variables."""
    constrained: float = 0.3
    """The share of those that have a constraint."""
    publication: tuple[int, int] = (35, 90)
    seed: int = 4


class GraphWorkload:
    """One publication and many subscriptions."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.chosen = np.random.default_rng(parameters.seed)
        self.publication = self._graph(*parameters.publication)
        self.other = self._graph(400, 1_200)
        matches = parameters.matches
        if matches is None:
            matches = round(parameters.matching * parameters.subscriptions)
        overlapping = round(parameters.overlap * parameters.subscriptions)
        self.matches = matches
        self.patterns = [
            self._starred(self._subscription(number, matches, overlapping))
            for number in range(parameters.subscriptions)
        ]

    def _graph(self, nodes: int, edges: int) -> NDArray[np.int64]:
        """A path through random nodes, and random edges between them; each edge once."""
        chosen = self.chosen
        names = chosen.choice(NODES, nodes, replace=False)
        more = max(0, edges - nodes + 1)
        heads = np.concatenate([names[:-1], names[chosen.integers(0, nodes, more)]])
        tails = np.concatenate([names[1:], names[chosen.integers(0, nodes, more)]])
        properties = NODES + chosen.integers(0, PROPERTIES, len(heads))
        return np.unique(np.stack([heads, properties, tails], 1), axis=0)

    def _subscription(self, number: int, matches: int, overlapping: int) -> NDArray[np.int64]:
        wanted = self.parameters
        if number < matches:
            return self._subgraph(self.publication)
        if number < matches + overlapping:
            return self._subgraph(self.other)
        return self._graph(wanted.nodes, wanted.edges)

    def _subgraph(self, graph: NDArray[np.int64]) -> NDArray[np.int64]:
        """Connected edges of a graph, found by walking along them."""
        order = self.chosen.permutation(len(graph))
        shuffled = graph[order]
        reached = {int(shuffled[0, 0])}
        taken: list[int] = []
        while len(taken) < self.parameters.edges:
            near = np.isin(shuffled[:, 0], list(reached)) | np.isin(shuffled[:, 2], list(reached))
            near[taken] = False
            (free,) = np.nonzero(near)
            if not len(free):
                break
            taken.append(int(free[0]))
            reached |= {int(shuffled[free[0], 0]), int(shuffled[free[0], 2])}
        return shuffled[taken]

    def _starred(self, edges: NDArray[np.int64]) -> EncodedPattern:
        """The edges with some vertices replaced by variables, and perhaps a constraint."""
        wanted, chosen = self.parameters, self.chosen
        constraints: tuple[Constraint, ...] = ()
        stars: list[int] = []
        if chosen.random() < wanted.starred:
            vertices = np.unique(edges[:, [0, 2]])
            count = min(wanted.stars, len(vertices))
            stars = sorted(chosen.choice(vertices, count, replace=False).tolist())
            edges = edges.copy()
            for number, vertex in enumerate(stars):
                for place in (0, 2):
                    edges[edges[:, place] == vertex, place] = -1 - number
            if chosen.random() < wanted.constrained:
                constraints = (Constraint(0, 1, float(NODES + 1)),)
        variables = tuple(Variable(f"x{number}") for number in range(len(stars)))
        return EncodedPattern(tuple(map(tuple, edges.tolist())), variables, constraints, ())

    def numbers(self) -> dict[str, int]:
        """The dictionary of the terms, which have their own numbers in it."""
        return {term(number).value: number for number in range(NODES + PROPERTIES)}

    def graph(self) -> frozenset[RdfTriple]:
        """The publication as triples."""
        return frozenset((term(s), term(p), term(o)) for s, p, o in self.publication.tolist())


def large_table(workload: GraphWorkload, count: int) -> PatternTable:
    """A table of very many subscriptions: those of a workload, copies of the overlapping ones, and
    random ones, half of each. A list of patterns would take gigabytes."""
    own = [each for each in workload.patterns if len(each.edges) == 8]
    pool = np.array([each.edges for each in own], np.int32)
    variables = np.array([len(each.variables) for each in own], np.int32)
    chosen = np.random.default_rng(workload.parameters.seed)
    copies = (count - len(own)) // 2
    copied = chosen.integers(workload.matches, len(own), copies)
    fresh = count - len(own) - copies
    made = empty_table(count, 8 * count, 0, 0)
    edges = made.edges.reshape(count, 8, 3)
    edges[: len(own)] = pool
    edges[len(own) : len(own) + copies] = pool[copied]
    edges[len(own) + copies :] = _random_edges(chosen, fresh)
    made.variables[: len(own)] = variables
    made.variables[len(own) : len(own) + copies] = variables[copied]
    made.variables[len(own) + copies :] = 2
    made.first[:] = 8 * np.arange(count + 1)
    made.number[:] = np.arange(count)
    return made


def _random_edges(chosen: np.random.Generator, count: int) -> NDArray[np.int32]:
    """Paths through five nodes and four edges between them, with two of the nodes variables."""
    names = chosen.integers(0, NODES, (count, 5))
    names[:, 0], names[:, 3] = -1, -2
    ends = chosen.integers(0, 5, (count, 2, 4))
    rows = np.arange(count)[:, None]
    heads = np.concatenate([names[:, :-1], names[rows, ends[:, 0]]], 1)
    tails = np.concatenate([names[:, 1:], names[rows, ends[:, 1]]], 1)
    labels = NODES + chosen.integers(0, PROPERTIES, (count, 8))
    return np.stack([heads, labels, tails], 2).astype(np.int32)


def term(number: int) -> Iri:
    """The IRI of a number."""
    return Iri(f"http://example.org/{number}")


def pattern_of(encoded: EncodedPattern) -> Pattern:
    """An encoded pattern as an expression."""

    def shown(number: int) -> Iri | Variable:
        return encoded.variables[-1 - number] if number < 0 else term(number)

    triples = tuple((shown(s), shown(p), shown(o)) for s, p, o in encoded.edges)
    operators = ("=", "!=", "<", "<=", ">", ">=")
    filters = tuple(
        Comparison(encoded.variables[each.variable], operators[each.operator], Constant(each.value))
        for each in encoded.constraints
    )
    return Pattern(triples, filters)


def sparql_of(encoded: EncodedPattern) -> str:
    """The same as an ASK query."""
    pattern = pattern_of(encoded)

    def shown(node: object) -> str:
        return f"?{node.name}" if isinstance(node, Variable) else f"<{node.value}>"  # type: ignore[attr-defined]

    triples = " . ".join(" ".join(map(shown, triple)) for triple in pattern.triples)
    filters = " ".join(f"FILTER ({each})" for each in pattern.filters)
    return f"ASK {{ {triples} {filters} }}"
