"""RDFS: taxonomies from ``rdfs:subClassOf`` and ``rdf:type``, and the entailed triples of a graph.

    engine = Engine(taxonomy=taxonomy_of(read_graph(ontology)))        # is-a constraints
    vocabulary = Vocabulary(read_graph(ontology))                      # RDFS entailment
    engine.match(Event({}, graph=vocabulary.entailed(graph)))
    engine.match_batch(events, graphs=vocabulary.entailed_documents(texts, "turtle"))

Without a vocabulary patterns are matched by simple entailment. ``entailed`` adds to a graph what
the rules rdfs2 (domains), rdfs3 (ranges), rdfs7 (subproperties) and rdfs9 (subclasses) say of it;
axioms and triples about the vocabulary itself are not added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import LimitError
from tamis.graphs.documents import DocumentColumn
from tamis.graphs.term_syntax import document_of
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, BlankNode, Iri, RdfTerm, RdfTriple
from tamis.model.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa

_RDFS = PREFIXES["rdfs"]
_SUBCLASS, _SUBPROPERTY = _RDFS + "subClassOf", _RDFS + "subPropertyOf"
_DOMAIN, _RANGE = _RDFS + "domain", _RDFS + "range"
_TYPE = Iri(RDF_TYPE)


def taxonomy_of(graph: Iterable[RdfTriple], *, instances: bool = True) -> Taxonomy:
    """The classes of a graph under their superclasses, and its instances under their classes.

    A class that is a subclass of itself in a circle is refused by a ``TaxonomyError``.
    """
    parents: dict[str, list[str]] = defaultdict(list)
    for subject, predicate, value in graph:
        relevant = predicate.value == _SUBCLASS or (instances and predicate.value == RDF_TYPE)
        if relevant and isinstance(subject, Iri) and isinstance(value, Iri) and subject != value:
            parents[subject.value].append(value.value)
    return Taxonomy(parents)


class Vocabulary:
    """What a graph says about classes and properties; it does not change."""

    def __init__(self, graph: Iterable[RdfTriple], limits: Limits = LIMITS) -> None:
        triples = list(graph)
        self._limits = limits
        self.classes = taxonomy_of(triples, instances=False)
        """The classes under their superclasses."""
        self._above = _pairs(triples, _SUBPROPERTY)
        self._domains = _pairs(triples, _DOMAIN)
        self._ranges = _pairs(triples, _RANGE)

    def entailed(self, graph: Iterable[RdfTriple]) -> frozenset[RdfTriple]:
        """The graph with the triples that follow from it."""
        found: set[RdfTriple] = set(graph)
        new = list(found)
        while new:
            added: set[RdfTriple] = set()
            for triple in new:
                added.update(self._consequences(triple))
            new = list(added - found)
            found.update(new)
            if len(found) > self._limits.triples:
                raise LimitError(
                    f"the graph of an event has at most {self._limits.triples:,} triples, "
                    "entailed ones included"
                )
        return frozenset(found)

    def entailed_documents(self, documents: Any, format: str = "n-triples") -> pa.Array[Any]:
        """A column of RDF documents with the triples that follow, as N-Triples."""
        import pyarrow as pa

        column = DocumentColumn(documents, format, self._limits)
        graphs = (column.graph(row) for row in range(len(column)))
        texts = [None if graph is None else document_of(self.entailed(graph)) for graph in graphs]
        return pa.array(texts, pa.string())

    def _consequences(self, triple: RdfTriple) -> Iterable[RdfTriple]:
        """What follows from one triple in one step, of classes in all."""
        subject, predicate, value = triple
        name = predicate.value
        for above in self._above.get(name, ()):
            yield subject, above, value
        for domain in self._domains.get(name, ()):
            yield subject, _TYPE, domain
        if _is_resource(value):
            for range_ in self._ranges.get(name, ()):
                yield value, _TYPE, range_  # type: ignore[misc]  # no literal
        if name == RDF_TYPE and isinstance(value, Iri):
            for ancestor in self.classes.ancestors(value.value):
                yield subject, _TYPE, Iri(ancestor)


def _is_resource(term: RdfTerm) -> bool:
    return isinstance(term, Iri | BlankNode)


def _pairs(triples: Iterable[RdfTriple], name: str) -> Mapping[str, list[Iri]]:
    found: dict[str, list[Iri]] = defaultdict(list)
    for subject, predicate, value in triples:
        if predicate.value == name and isinstance(subject, Iri) and isinstance(value, Iri):
            found[subject.value].append(value)
    return found
