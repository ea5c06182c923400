"""Reading publications: RDF documents, graphs of rdflib, and Arrow tables of quads.

A publication is one graph: its name, if it has one, and its triples. The named graphs of a document
are publications of their own, and so is what stands outside of them. Containers and collections
are plain triples (``rdf:_1``, ``rdf:first`` …); nothing about them is special.

Documents are read by pyoxigraph. No remote context of JSON-LD is loaded, and XML that declares
entities is refused: a few of them can expand to gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.errors import EventError, LimitError, MissingExtraError, SubscriptionError, suggestion
from tamis.graphs.term_syntax import parse_term
from tamis.model.limits import LIMITS, Limits, check_limit
from tamis.model.rdf_terms import BlankNode, Iri, RdfLiteral, RdfTerm, RdfTriple

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {
    "turtle": "TURTLE",
    "n-triples": "N_TRIPLES",
    "n3": "N3",
    "rdf/xml": "RDF_XML",
    "rss 1.0": "RDF_XML",
    "json-ld": "JSON_LD",
    "trig": "TRIG",
    "n-quads": "N_QUADS",
}
"""The formats of documents, with their names in pyoxigraph."""

_DATASETS = ("trig", "n-quads", "json-ld")
_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
_ENTITY_BYTES = re.compile(rb"<!ENTITY", re.IGNORECASE)
COLUMNS = ("graph", "subject", "property", "object")
"""The columns of a table of quads; ``graph`` may be missing or null."""


class Publication(NamedTuple):
    """One graph, by the IRI or the blank node that names it; None is the default graph."""

    name: str | None
    graph: frozenset[RdfTriple]


def read_graph(
    data: str | bytes,
    format: str = "turtle",
    *,
    base: str | None = None,
    limits: Limits = LIMITS,
) -> frozenset[RdfTriple]:
    """The triples of a document, for ``Event(…, graph=…)``; ``base`` resolves relative IRIs."""
    found: set[RdfTriple] = set()
    for quad in quads_of_graph(data, format, base, limits):
        found.add(triple_of_quad(quad))
        _check_size(found, limits)
    return frozenset(found)


def read_publications(
    data: str | bytes,
    format: str = "trig",
    *,
    base: str | None = None,
    limits: Limits = LIMITS,
) -> list[Publication]:
    """The graphs of a document, each as a publication; without any triple there is none."""
    graphs: dict[str | None, set[RdfTriple]] = {}
    default = _default_graph()
    for quad in _quads(data, format, base, limits):
        name = None if quad.graph_name == default else _name(quad.graph_name)
        graph = graphs.setdefault(name, set())
        graph.add(triple_of_quad(quad))
        _check_size(graph, limits)
    return [Publication(name, frozenset(graph)) for name, graph in graphs.items()]


def graph_of_rdflib(graph: Iterable[Any], limits: Limits = LIMITS) -> frozenset[RdfTriple]:
    """The triples of an ``rdflib.Graph``."""
    found: set[RdfTriple] = set()
    for triple in graph:
        found.add(_checked_triple(*map(_term_of_rdflib, triple[:3])))
        _check_size(found, limits)
    return frozenset(found)


def publications_of_table(table: pa.Table, limits: Limits = LIMITS) -> Iterator[Publication]:
    """The graphs of an Arrow table of quads (``COLUMNS``), with terms as N-Triples writes them.

    Rows of one graph need not stand together. Graphs come in the order of their first rows.
    """
    names = [name for name in COLUMNS if name in table.column_names]
    missing = [name for name in COLUMNS[1:] if name not in names]
    if missing:
        raise EventError(f"a table of quads needs the column {missing[0]!r}: {', '.join(COLUMNS)}")
    rows = len(table)
    columns = [_terms_of_column(table.column(name)) for name in COLUMNS[1:]]
    graphs: list[Any] = [None] * rows
    if "graph" in names:
        graphs = table.column("graph").to_pylist()
    found: dict[str | None, set[RdfTriple]] = {}
    for name, subject, predicate, value in zip(graphs, *columns):
        graph = found.setdefault(None if name is None else str(name), set())
        graph.add(_checked_triple(subject, predicate, value))
        _check_size(graph, limits)
    return (Publication(name, frozenset(graph)) for name, graph in found.items())


def _terms_of_column(column: Any) -> list[RdfTerm]:
    """The terms of a column; equal texts are read once."""
    known: dict[Any, RdfTerm] = {}
    found = []
    for text in column.to_pylist():
        term = known.get(text)
        if term is None:
            term = known[text] = parse_term(text)
        found.append(term)
    return found


def _parsed(data: str | bytes, format: str, base: str | None = None) -> Iterator[Any]:
    """The quads of a document as pyoxigraph gives them; what is wrong with it is an EventError."""
    pyoxigraph = _pyoxigraph()
    rdf_format = getattr(pyoxigraph.RdfFormat, FORMATS[format])
    try:
        yield from pyoxigraph.parse(data, format=rdf_format, base_iri=base)
    except (SyntaxError, ValueError) as error:
        raise EventError(f"the graph is not valid {format}: {error}") from error


def quads_of_graph(
    data: str | bytes, format: str, base: str | None = None, limits: Limits = LIMITS
) -> Iterator[Any]:
    """The quads of a document with one graph, which has no name."""
    quads = _quads(data, format, base, limits)
    return _unnamed(quads) if format in _DATASETS else quads


def _unnamed(quads: Iterator[Any]) -> Iterator[Any]:
    default = _default_graph()
    for quad in quads:
        if quad.graph_name != default:
            raise EventError(
                f"the document has the named graph {str(quad.graph_name)[:100]}: "
                "read_publications() reads several graphs"
            )
        yield quad


def named_node() -> Any:
    """The class of IRIs in pyoxigraph."""
    return _pyoxigraph().NamedNode


def _quads(data: str | bytes, format: str, base: str | None, limits: Limits) -> Iterator[Any]:
    if format not in FORMATS:
        hint = suggestion(format, FORMATS) or "known are " + ", ".join(FORMATS)
        raise EventError(f"unknown format {format[:50]!r} of a graph; {hint}")
    if not isinstance(data, str | bytes):
        raise EventError(f"a document is a string or bytes, not a {type(data).__name__}")
    check_limit(len(data), limits.document, "bytes in one RDF document")
    if FORMATS[format] == "RDF_XML":
        entity = _ENTITY.search(data) if isinstance(data, str) else _ENTITY_BYTES.search(data)
        if entity:
            raise EventError(
                f"the XML declares an entity at index {entity.start()}: entities are refused, "
                "write in full what they stand for"
            )
    return _parsed(data, format, base)


def _pyoxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise MissingExtraError(
            "read_graph() needs pyoxigraph: pip install 'tamis[rdf]'"
        ) from error
    return pyoxigraph


def _default_graph() -> Any:
    return _pyoxigraph().DefaultGraph()


def _name(node: Any) -> str:
    return str(node) if type(node).__name__ == "BlankNode" else str(node.value)


def _check_size(graph: set[RdfTriple], limits: Limits) -> None:
    if len(graph) > limits.triples:
        raise LimitError(f"the graph of an event has at most {limits.triples:,} triples")


def triple_of_quad(quad: Any) -> RdfTriple:
    """The triple of a quad of pyoxigraph."""
    return _checked_triple(*map(term_of_node, (quad.subject, quad.predicate, quad.object)))


def _checked_triple(subject: RdfTerm, predicate: RdfTerm, value: RdfTerm) -> RdfTriple:
    if isinstance(subject, RdfLiteral) or not isinstance(predicate, Iri):
        shown = f"{subject} {predicate} {value}"[:100]
        raise EventError(f"{shown} has a literal or a blank node in the wrong place")
    return subject, predicate, value


def term_of_node(node: Any) -> RdfTerm:
    """The term of a node of pyoxigraph."""
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


def _term_of_rdflib(node: Any) -> RdfTerm:
    """The term of a node of rdflib, which derives all of them from strings."""
    kind = type(node).__name__
    try:
        if kind == "URIRef":
            return Iri(str(node))
        if kind == "BNode":
            return BlankNode(str(node))
        if kind == "Literal":
            if node.language is not None:
                return RdfLiteral(str(node), language=str(node.language))
            return RdfLiteral(str(node), *(() if node.datatype is None else (str(node.datatype),)))
    except SubscriptionError as error:
        raise EventError(str(error)) from error
    raise EventError(f"{kind} is not a term of a graph: {str(node)[:100]}")
