"""Reading RDF graphs for events, from Turtle and its relatives, by pyoxigraph."""

from __future__ import annotations

from typing import Any

from tamis.errors import EventError, LimitError, MissingExtraError, suggestion
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, RdfTerm, RdfTriple

FORMATS = {
    "turtle": "TURTLE",
    "n-triples": "N_TRIPLES",
    "n3": "N3",
    "rdf/xml": "RDF_XML",
    "json-ld": "JSON_LD",
}
"""The formats of single graphs, with their names in pyoxigraph."""


def read_graph(
    data: str | bytes,
    format: str = "turtle",
    *,
    base: str | None = None,
    limits: Limits = LIMITS,
) -> frozenset[RdfTriple]:
    """The triples of a document, for ``Event(…, graph=…)``; ``base`` resolves relative IRIs."""
    if format not in FORMATS:
        hint = suggestion(format, FORMATS) or "known are " + ", ".join(FORMATS)
        raise EventError(f"unknown format {format[:50]!r} of a graph; {hint}")
    try:
        import pyoxigraph
    except ImportError as error:
        raise MissingExtraError(
            "read_graph() needs pyoxigraph: pip install 'tamis[rdf]'"
        ) from error
    rdf_format = getattr(pyoxigraph.RdfFormat, FORMATS[format])
    found = set()
    try:
        for quad in pyoxigraph.parse(data, format=rdf_format, base_iri=base):
            found.add(_triple(quad))
            if len(found) > limits.triples:
                raise LimitError(f"the graph of an event has at most {limits.triples:,} triples")
    except (SyntaxError, ValueError) as error:
        raise EventError(f"the graph is not valid {format}: {error}") from error
    return frozenset(found)


def _triple(quad: Any) -> RdfTriple:
    subject, predicate, value = map(_term, (quad.subject, quad.predicate, quad.object))
    if isinstance(subject, RdfLiteral) or not isinstance(predicate, Iri):
        raise EventError(f"{str(quad)[:100]} has a literal or a blank node in the wrong place")
    return subject, predicate, value


def _term(node: Any) -> RdfTerm:
    kind = type(node).__name__
    if kind == "NamedNode":
        return Iri(node.value)
    if kind == "BlankNode":
        return BlankNode(node.value)
    if kind == "Literal":
        if node.language is not None:
            return RdfLiteral(node.value, language=node.language)
        return RdfLiteral(node.value, node.datatype.value)
    raise EventError(f"a quoted triple in a graph: {str(node)[:100]}")
