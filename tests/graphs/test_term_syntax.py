"""Terms and triples as texts, and back."""

from __future__ import annotations

import pytest

from tamis.graphs.term_syntax import document_of, parse_triples
from tamis.model.rdf_terms import Iri, RdfLiteral


@pytest.mark.parametrize("character", list('\0\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"\\\ufeff😀'))
def test_a_triple_is_one_line_whatever_its_literal_has(character: str) -> None:
    triple = Iri("urn:a"), Iri("urn:b"), RdfLiteral(f"x{character}y")
    text = document_of([triple, triple])
    assert list(parse_triples(text)) == [triple, triple]
    assert "\0" not in text, "PostgreSQL keeps no NUL"
