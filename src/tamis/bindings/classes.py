"""The is-a constraints of G-ToPSS, by the taxonomy and by what a graph itself says of types.

The terms of the taxonomy are IRIs: classes under their superclasses, and perhaps instances under
their classes. A node has the types that the graph gives it by ``rdf:type`` and, if it is in the
taxonomy, its parents there.

    ?x descendant of C          a type of ?x is C, or a kind of it
    ?x ancestor of C            C is a descendant of ?x
    ?x direct instance of C     C is itself a type of ?x
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tamis.model.rdf_terms import RDF_TYPE, Iri, RdfTerm, RdfTriple
from tamis.model.taxonomy.taxonomy import Taxonomy


class Classes:
    """What is known about the classes of the nodes of one graph."""

    def __init__(self, graph: Iterable[RdfTriple], taxonomy: Taxonomy | None) -> None:
        self._taxonomy = taxonomy
        self._typed: dict[RdfTerm, set[str]] = defaultdict(set)
        for subject, predicate, value in graph:
            if predicate.value == RDF_TYPE and isinstance(value, Iri):
                self._typed[subject].add(value.value)

    def types(self, term: RdfTerm) -> set[str]:
        """The classes of which a node is a direct instance, or that are directly above it."""
        found = set(self._typed.get(term, ()))
        if self._taxonomy is not None and isinstance(term, Iri):
            found.update(self._taxonomy.parents.get(term.value, ()))
        return found

    def holds(self, term: RdfTerm, relation: str, name: Iri) -> bool:
        """Whether a node stands in a relation to a class."""
        if relation == "direct instance of":
            return name.value in self.types(term)
        if relation == "ancestor of":
            return isinstance(term, Iri) and self._descends(name, term.value)
        return self._descends(term, name.value)

    def _descends(self, term: RdfTerm, ancestor: str) -> bool:
        taxonomy = self._taxonomy
        for each in self.types(term):
            if each == ancestor or (taxonomy is not None and taxonomy.is_a(each, ancestor)):
                return True
        return False


NO_CLASSES = Classes((), None)
