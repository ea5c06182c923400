"""Graphs of events, read from RDF documents."""

from __future__ import annotations

import sys

import pytest

from tamis import EventError, LimitError, Limits, MissingExtraError
from tamis.graphs.reader import (
    COLUMNS,
    graph_of_rdflib,
    publications_of_table,
    read_graph,
    read_publications,
)
from tamis.graphs.term_syntax import key_of, parse_term, term_of_key
from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral


def test_terms() -> None:
    triples = read_graph(
        '@prefix ex: <http://x/> . ex:a ex:p ex:b , "w" , "w"@DE , 5 , 1.5 , true , [] .'
    )
    values = {value for _, _, value in triples}
    blank = {value for value in values if isinstance(value, BlankNode)}
    assert len(blank) == 1
    languages = {value.language for value in values if isinstance(value, RdfLiteral)}
    assert {each.lower() for each in languages if each} == {"de"}
    assert values - blank >= {
        Iri("http://x/b"),
        RdfLiteral("w"),
        RdfLiteral("5", XSD + "integer"),
        RdfLiteral("1.5", XSD + "decimal"),
        RdfLiteral("true", XSD + "boolean"),
    }


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("n-triples", "<http://x/a> <http://x/p> <http://x/b> ."),
        ("json-ld", '{"@id": "http://x/a", "http://x/p": {"@id": "http://x/b"}}'),
        (
            "rdf/xml",
            """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
            <rdf:Description rdf:about="http://x/a"><x:p rdf:resource="http://x/b"/>
            </rdf:Description></rdf:RDF>""",
        ),
    ],
)
def test_formats(format: str, document: str) -> None:
    expected = {(Iri("http://x/a"), Iri("http://x/p"), Iri("http://x/b"))}
    assert read_graph(document, format) == expected
    assert read_graph(document.encode(), format) == expected


def test_relative_iris() -> None:
    ((subject, _, _),) = read_graph("<a> <http://x/p> 1 .", base="http://x/")
    assert subject == Iri("http://x/a")


def test_errors() -> None:
    with pytest.raises(EventError, match="not valid turtle"):
        read_graph("<http://x/a> <http://x/p>")
    with pytest.raises(EventError, match="did you mean 'turtle'"):
        read_graph("", "turtel")
    with pytest.raises(LimitError, match="at most 1 triples"):
        read_graph("<http://x/a> <http://x/p> 1 , 2 .", limits=Limits(triples=1))


def test_without_pyoxigraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(MissingExtraError, match=r"tamis\[rdf\]"):
        read_graph("")


TRIG = """
    @prefix x: <http://x/> .
    x:a x:p 1 .
    x:g { x:a x:p 2 . x:b x:p (1 2) }
    x:h { x:a x:p 3 }
"""


def test_named_graphs_are_publications_of_their_own() -> None:
    found = {each.name: each.graph for each in read_publications(TRIG)}
    assert set(found) == {None, "http://x/g", "http://x/h"}
    assert len(found["http://x/g"]) == 6  # a list of two is four triples more
    (triple,) = found["http://x/h"]
    assert triple[2] == RdfLiteral("3", XSD + "integer")
    with pytest.raises(EventError, match="read_publications"):
        read_graph(TRIG, "trig")
    assert read_publications("", "turtle") == []


def test_rss_1_0() -> None:
    document = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            xmlns="http://purl.org/rss/1.0/">
        <channel rdf:about="http://x/"><items><rdf:Seq>
            <rdf:li rdf:resource="http://x/1"/></rdf:Seq></items></channel>
        <item rdf:about="http://x/1"><title>One</title></item></rdf:RDF>"""
    graph = read_graph(document, "rss 1.0")
    title = Iri("http://purl.org/rss/1.0/title")
    assert (Iri("http://x/1"), title, RdfLiteral("One")) in graph
    member = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#_1")
    assert any(predicate == member for _, predicate, _ in graph)


def test_nothing_is_loaded_or_expanded() -> None:
    remote = '{"@context": "http://x/context", "@id": "http://x/a", "p": 1}'
    with pytest.raises(EventError, match="not valid json-ld"):
        read_graph(remote, "json-ld")
    laughs = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rdf:RDF/>'
    for document in (laughs, laughs.encode()):
        with pytest.raises(EventError, match="declares an entity at index 13"):
            read_graph(document, "rdf/xml")
    with pytest.raises(LimitError, match="bytes in one RDF document"):
        read_graph("#" * 101, limits=Limits(document=100))
    with pytest.raises(EventError, match="a string or bytes, not a list"):
        read_graph([], "turtle")  # type: ignore[arg-type]


def test_graphs_of_rdflib() -> None:
    rdflib = pytest.importorskip("rdflib")
    text = '@prefix x: <http://x/> . x:a x:p x:b , "w" , "w"@de , 5 , 1.5 , [] .'
    ours = graph_of_rdflib(rdflib.Graph().parse(data=text, format="turtle"))
    theirs = read_graph(text)
    named = {triple for triple in theirs if not isinstance(triple[2], BlankNode)}
    assert {triple for triple in ours if not isinstance(triple[2], BlankNode)} == named
    assert len(ours) == len(theirs)
    with pytest.raises(LimitError):
        graph_of_rdflib(rdflib.Graph().parse(data=text, format="turtle"), Limits(triples=2))
    with pytest.raises(EventError, match="wrong place"):
        graph_of_rdflib([(rdflib.Literal("a"), rdflib.URIRef("http://x/p"), rdflib.Literal("b"))])
    with pytest.raises(EventError, match="not a term of a graph"):
        graph_of_rdflib([("a", "b", "c")])


def test_tables_of_quads() -> None:
    import pyarrow as pa

    rows = [
        ("g", "<http://x/a>", "<http://x/p>", '"a\\n\\u00e9"@EN'),
        (None, "_:b", "<http://x/p>", f'"5"^^<{XSD}integer>'),
        ("g", "<http://x/a>", "<http://x/p>", '"plain"'),
    ]
    columns = [pa.array(list(column)) for column in zip(*rows)]
    table = pa.table(dict(zip(COLUMNS, columns)))
    first, second = publications_of_table(table)
    assert (first.name, second.name) == ("g", None)
    assert {value for _, _, value in first.graph} == {
        RdfLiteral("a\né", language="EN"),
        RdfLiteral("plain"),
    }
    assert second.graph == {(BlankNode("b"), Iri("http://x/p"), RdfLiteral("5", XSD + "integer"))}
    (whole,) = publications_of_table(table.drop_columns(["graph"]))
    assert len(whole.graph) == 3
    with pytest.raises(EventError, match="needs the column 'object'"):
        publications_of_table(table.drop_columns(["object"]))
    with pytest.raises(LimitError):
        publications_of_table(table, Limits(triples=1))


@pytest.mark.parametrize("text", ["x", "<a b>", '"a', '"a"@', "_:", '"\\q"', "<http://x/\\uD800>"])
def test_texts_that_are_no_terms(text: str) -> None:
    with pytest.raises(EventError):
        parse_term(text)


def test_keys_tell_terms_apart() -> None:
    terms = [
        Iri("http://x/a"),
        BlankNode("a"),
        RdfLiteral("a"),
        RdfLiteral("a", XSD + "token"),
        RdfLiteral("a", language="en"),
        RdfLiteral('a"@en'),
    ]
    assert len({key_of(term) for term in terms}) == len(terms)
    assert [term_of_key(key_of(term)) for term in terms] == terms
    assert key_of(RdfLiteral("a", language="EN")) == key_of(RdfLiteral("a", language="en"))
