"""Whole queries of SPARQL that are basic graph patterns: ``ASK`` and ``SELECT``.

    PREFIX ex: <http://example.org/>
    SELECT ?paper WHERE { ?paper ex:year ?year FILTER (?year > 2000) }

A subscription matches where the query would give an answer. What a basic graph pattern cannot say
is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tamis.errors import ParseError
from tamis.language.parser import check_text, parse
from tamis.language.pattern_lexer import skip
from tamis.language.patterns import read_prefixes
from tamis.model.limits import LIMITS, Limits
from tamis.predicates.expression import Pattern

_BLANK = r"(?:\s|\#[^\r\n]*+)*+"
_HEAD = re.compile(
    rf"(?:ask|select\b{_BLANK}(?:(?:distinct|reduced)\b)?{_BLANK}(?:\*|(?:[?$]\w+{_BLANK})+))"
    rf"{_BLANK}(?:where\b)?{_BLANK}(?=\{{)",
    re.IGNORECASE,
)
_SUPPORTED = re.compile(
    rf"(?:(?:ask|select|distinct|reduced|where)\b|\*|[?$]\w+|{_BLANK}(?=\S))*+", re.IGNORECASE
)
"""The beginning of a query as far as we read it."""
_WORD = re.compile(r"\w+")
_FORMS = "only ASK { … } and SELECT … WHERE { … } are supported"


def sparql(
    query: str, *, prefixes: Mapping[str, str] | None = None, limits: Limits = LIMITS
) -> Pattern:
    """The pattern of an ASK or a SELECT query."""
    check_text(query, limits)
    _, start = read_prefixes(query)
    start = skip(query, start)
    head = _HEAD.match(query, start)
    if head is None:
        known = _SUPPORTED.match(query, start)
        place = known.end() if known else start
        raise ParseError(f"{_said(query, place)} in a query", query, place, _FORMS)
    end = _end_of_group(query, head.end())
    rest = skip(query, end)
    if rest < len(query):
        raise ParseError(f"{_said(query, rest)} after the pattern", query, rest, _FORMS)
    # Blanks instead of the head, so that errors keep their places.
    text = query[:start] + " " * (head.end() - start) + query[head.end() :]
    found = parse(text, prefixes=prefixes, limits=limits)
    assert isinstance(found, Pattern)
    return found


def _said(query: str, at: int) -> str:
    word = _WORD.match(query, at)
    if word:
        return repr(word.group()[:50].upper())
    return repr(query[at]) if at < len(query) else "the end"


_PIECE = re.compile(
    r"""[{}]|\#[^\r\n]*|<[^\s<>"{}|^`\\]*>|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"|'[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'"""
)


def _end_of_group(query: str, start: int) -> int:
    """The index after the brace that closes the one at ``start``; those in strings do not count."""
    opened = 0
    for found in _PIECE.finditer(query, start):
        opened += (found[0] == "{") - (found[0] == "}")
        if opened == 0:
            return found.end()
    return len(query)
