"""RDF terms, as far as a graph pattern names them; no RDF library is needed to write one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tamis.errors import SubscriptionError

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

PREFIXES: dict[str, str] = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": XSD,
}
"""Prefixes that need no declaration, the common ones of the Semantic Web."""

_IRI = re.compile(r'[^\x00-\x20<>"{}|^`\\\ud800-\udfff]*')
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_STRINGS = (XSD + "string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")
_LANGUAGE = re.compile(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*")


@dataclass(frozen=True, slots=True)
class Iri:
    """An absolute IRI."""

    value: str

    def __post_init__(self) -> None:
        valid = isinstance(self.value, str) and _IRI.fullmatch(self.value) and ":" in self.value
        if not valid:
            raise SubscriptionError(f"{str(self.value)[:100]!r} is not an absolute IRI")


@dataclass(frozen=True, slots=True)
class RdfLiteral:
    """A literal: its lexical form with a datatype, or with a language."""

    lexical: str
    datatype: str = XSD + "string"
    language: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.lexical, str) or _SURROGATE.search(self.lexical):
            raise SubscriptionError("the lexical form of a literal is a string of Unicode")
        Iri(self.datatype)
        if self.language is None:
            return
        if not _LANGUAGE.fullmatch(self.language):
            raise SubscriptionError(f"{self.language[:50]!r} is not a language tag")
        if self.datatype not in _STRINGS:
            raise SubscriptionError("a literal has a language or a datatype, not both")
        object.__setattr__(self, "datatype", _STRINGS[0])
