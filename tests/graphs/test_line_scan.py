"""N-Triples read by a kernel give what pyoxigraph gives, or are left to it."""

from __future__ import annotations

import pyarrow as pa
import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import EventError, read_graph
from tamis.graphs.documents import DocumentColumn
from tamis.graphs.index import PatternIndex
from tamis.graphs.line_scan import scan_documents
from tamis.model.rdf_terms import RdfTriple
from tests.examples import examples

PLAIN = [
    "<http://example.org/a>",
    "<urn:x:y>",
    "<x:b#c?d=%20>",
    "_:b1",
    '"text"',
    '"Ünïcode ✓"',
    '"5"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"Hallo"@de',
    '"colour"@en-GB',
]
ODD = [
    "<relative>",
    "<http://x/a b>",
    "<http://[/>",
    "<http://x/%zz>",
    "<http://x/é>",
    '"esc\\n"',
    '"bad \\q"',
    '"x"@toolonglanguagetag',
    '"x"^^<no>',
    "_:-",
    "# comment",
    '"unfinished',
    "<x:a",
    "'single'",
    "5",
    "",
]
BREAKS = ["\n", "\r\n", " \n", "\n\n", "\t\n"]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Lines of terms, most of them valid."""
    terms = st.sampled_from(PLAIN if draw(st.integers(0, 3)) else [*PLAIN, *ODD])
    lines = []
    for _ in range(draw(st.integers(0, 4))):
        three = [draw(terms) for _ in range(3)]
        blank = draw(st.sampled_from([" ", " ", "\t", "  ", ""]))
        dot = draw(st.sampled_from([" .", " .", " .", ".", "", " . # said", " .."]))
        lines.append(blank.join(three) + dot)
    return "".join(line + draw(st.sampled_from(BREAKS)) for line in lines).rstrip(
        draw(st.sampled_from(["", "\n"]))
    )


def by_pyoxigraph(text: str) -> frozenset[RdfTriple] | None:
    try:
        return read_graph(text, "n-triples")
    except EventError:
        return None


@examples(300)
@given(st.lists(documents(), max_size=4))
def test_the_same_as_pyoxigraph(texts: list[str]) -> None:
    expected = [by_pyoxigraph(text) for text in texts]
    encoder = PatternIndex().view().encoder()
    column = DocumentColumn([*texts, None][: len(texts)] if texts else pa.array([], pa.string()))
    if None in expected:
        with pytest.raises(EventError, match=f"row {expected.index(None)}: "):
            column.encode(encoder)
        return
    rows, found = column.encode(encoder)
    assert rows.tolist() == list(range(len(texts)))
    assert [frozenset(found.triples(row)) for row in range(len(texts))] == expected


def test_plain_documents_need_no_pyoxigraph(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f'<x:s{n}> <x:p> <x:o{n % 3}> .\n<x:s{n}> <x:q> "{n}" .\n' for n in range(50)]
    scanned = scan_documents(pa.array(texts, pa.large_string()).slice(10), 100)
    assert scanned is not None
    assert scanned.is_read.all()
    assert scanned.ends.tolist() == [6 * (n + 1) for n in range(40)]
    assert scanned.keys[:3] == ["x:s10", "x:p", "x:o1"]
    assert len(scanned.keys) == 40 + 2 + 3 + 40

    def refused(*arguments: object, **options: object) -> object:
        raise AssertionError("pyoxigraph was asked to parse")

    monkeypatch.setattr(pyoxigraph, "parse", refused)
    encoder = PatternIndex().view().encoder()
    rows, found = DocumentColumn([None, *texts, ""]).encode(encoder)
    assert rows.tolist() == list(range(1, 52))
    assert len(list(found.triples(49))) == 2
    assert list(found.triples(50)) == []


def test_too_many_triples_are_left_to_the_reader() -> None:
    scanned = scan_documents(pa.array(["<x:a> <x:b> <x:c> .\n" * 3], pa.large_string()), 2)
    assert scanned is not None
    assert scanned.is_read.tolist() == [False]
