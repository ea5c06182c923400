"""RDF terms, in graph patterns and in the graphs of events; no RDF library is needed.

Variables of a pattern are used outside its braces too, in calls and constraints. There a term
stands for a value of the language:

    term                                        value
    IRI                                         its string
    "x", "x"^^xsd:string                        the string
    xsd:integer and the types derived from it   the integer; beyond 64 bits the nearest double
    xsd:decimal                                 an integer if it is one, else the nearest double
    xsd:double, xsd:float                       the float; xsd:float rounds to single precision
    xsd:boolean                                 true or false
    xsd:dateTime, xsd:dateTimeStamp             the timestamp; without a zone it is UTC
    blank node, "x"@en, any other literal,      the term itself, equal only to itself,
    a literal that its datatype does not allow  and without an order
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from decimal import Decimal

from tamis.errors import SubscriptionError
from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, Value, to_value
from tamis.model.timestamp import Timestamp

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
    "rss": "http://purl.org/rss/1.0/",
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
class BlankNode:
    """A blank node of an event's graph, by its label there."""

    label: str

    def __str__(self) -> str:
        return f"_:{self.label}"


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

    def __str__(self) -> str:
        escaped = self.lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        if self.language is not None:
            return f'"{escaped}"@{self.language}'
        return f'"{escaped}"^^<{self.datatype}>'


RdfTerm = Iri | BlankNode | RdfLiteral
RdfTriple = tuple[Iri | BlankNode, Iri, RdfTerm]
"""Subject, property and object of one triple of an event's graph."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
"""The types of integers, each with its least and its greatest value."""


def value_of_term(term: RdfTerm) -> Value | BlankNode | RdfLiteral:
    """What a term stands for outside a pattern's braces, by the table above."""
    if isinstance(term, Iri):
        return term.value
    if isinstance(term, BlankNode) or term.language is not None:
        return term
    value = _value_of_literal(term.lexical, term.datatype.removeprefix(XSD))
    return term if value is None else value


def _value_of_literal(lexical: str, datatype: str) -> Value | None:
    """The value of a lexical form; None if the datatype is another or does not allow it."""
    if datatype == "string":
        return lexical
    if datatype in _INTEGERS:
        return _integer(lexical, *_INTEGERS[datatype])
    if datatype == "decimal":
        return to_value(Decimal(lexical)) if _DECIMAL.fullmatch(lexical) else None
    if datatype in ("double", "float"):
        if not _DOUBLE.fullmatch(lexical):
            return None
        return float(lexical) if datatype == "double" else _single_precision(float(lexical))
    if datatype == "boolean":
        return _BOOLEANS.get(lexical)
    if datatype in ("dateTime", "dateTimeStamp") and _DATETIME.fullmatch(lexical):
        try:
            return Timestamp.parse(lexical)
        except (ValueError, OverflowError):
            return None
    return None


def _integer(lexical: str, least: int | None, greatest: int | None) -> int | float | None:
    if not _INTEGER.fullmatch(lexical) or len(lexical) > 400:
        return None
    value = int(lexical)
    if (least is not None and value < least) or (greatest is not None and value > greatest):
        return None
    try:
        return value if LEAST_INTEGER <= value <= GREATEST_INTEGER else float(value)
    except OverflowError:
        return None


def _single_precision(number: float) -> float:
    try:
        single: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return single
