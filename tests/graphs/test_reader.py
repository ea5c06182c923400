"""Graphs of events, read from RDF documents."""

from __future__ import annotations

import sys

import pytest

from tamis import EventError, LimitError, Limits, MissingExtraError
from tamis.graphs.reader import read_graph
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
