"""Graph patterns in SPARQL's syntax: triples with variables and FILTERs between braces.

    pattern     := '{' (triples '.'? | 'FILTER' condition '.'?)* '}'
    condition   := '(' … ')' | function '(' … ')'
    triples     := subject properties | '[' properties ']' properties?
    properties  := objects (';' objects?)*
    objects     := property object (',' object)*

An object may be ``[ properties ]`` too: a blank node about which these triples speak.

Blank nodes act as variables. Their names are made of a digest of the pattern's triples, so that
blank nodes of different patterns stay different wherever the patterns are combined, and begin
with more underscores than any variable of the text that looks alike.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, NoReturn, TypeVar

from tamis.errors import ParseError, SubscriptionError, suggestion
from tamis.language.pattern_lexer import (
    DECLARATION,
    IRI,
    NAMESPACE,
    SKIPPED,
    Token,
    check_unicode,
    next_token,
    skip,
    unescaped,
)
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits, check_limit
from tamis.model.rdf_terms import PREFIXES, RDF_TYPE, XSD, Iri, RdfLiteral
from tamis.predicates.expression import Expression, Object, Pattern, Triple
from tamis.predicates.operands import Variable

ReadFilter = Callable[[str, int], tuple[Expression, int]]
Made = TypeVar("Made")

_LOOKALIKE = re.compile(r"[?$](_+)b")
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_PLAIN_TERM = rf"{IRI}|[?$]\w++|[a-zA-Z]\w*+:\w++(?![:.·%\\-])"
_PLAIN_TRIPLE = re.compile(
    rf"{SKIPPED}({_PLAIN_TERM}){SKIPPED}({_PLAIN_TERM}|a(?=[\s<?$])){SKIPPED}({_PLAIN_TERM}){SKIPPED}"
    r"(?:\.(?![0-9])|(?=\}|[fF][iI][lL][tT][eE][rR][\s(]))"
)
"""A triple of IRIs, simple names and variables, as most are, with what ends it. It is read at a
glance; what it does not fit is read token by token, and so is what turns out to be wrong."""
_KEPT = 16_384
"""IRIs and variables that are kept, since patterns have many in common."""

_PATH = "a property path"
_UNSUPPORTED = {
    **dict.fromkeys(("/", "|", "^", "*", "+", "?", "!"), _PATH),
    "(": "a collection or a property path",
    "{": "a nested group (as in UNION)",
    "exists": "EXISTS",
    "not": "NOT EXISTS",
    **{
        word: word.upper()
        for word in ("optional", "union", "graph", "minus", "bind", "values", "service", "select")
    },
}
"""What SPARQL has beyond basic graph patterns, by the token that begins it."""


class Blank(NamedTuple):
    """A blank node that has no name yet."""

    number: int


Node = Iri | RdfLiteral | Variable | Blank


def read_pattern(
    text: str,
    start: int,
    prefixes: Mapping[str, str],
    read_filter: ReadFilter,
    limits: Limits = LIMITS,
) -> tuple[Pattern, int]:
    """The pattern whose opening brace is at ``start``, and the index after its closing brace.

    ``read_filter`` gets the text and the index of what follows FILTER, a parenthesis or the name of
    a function; it returns the expression and the index after the closing parenthesis.
    """
    reader = _Reader(text, start, prefixes, limits)
    reader.expect("{")
    filters: list[Expression] = []
    places: list[int] = []
    while not reader.ends():
        if reader.at("filter"):
            place = reader.filter_start()
            expression, end = read_filter(text, place)
            filters.append(expression)
            places.append(place)
            check_limit(len(filters), limits.items, "filters of one graph pattern")
            reader.move(end)
            reader.accept(".")
        else:
            reader.triples_of_subject()
            if not reader.accept(".") and not reader.at("}", "filter"):
                reader.unexpected("'.', ';', ',' or '}'")
    end = reader.token.end
    check_unicode(text, start, end)
    triples: Any = reader.triples  # without blank nodes they are what they should be
    if reader.blanks:
        triples = _named(text, reader.triples)
    return _pattern(text, start, tuple(triples), filters, places), end


def read_prefixes(text: str) -> tuple[dict[str, str], int]:
    """The declarations ``prefix ex: <http://…>`` that begin a text, and the index after them."""
    prefixes: dict[str, str] = {}
    if text.lstrip()[:1] not in ("p", "P", "#"):
        return prefixes, 0
    position = skip(text, 0)
    while found := DECLARATION.match(text, position):
        position = found.end()
        namespace = NAMESPACE.match(text, position)
        if not namespace:
            hint = f"write prefix {found[1][:50]}: <http://example.org/>"
            raise ParseError("a prefix stands for an IRI in angle brackets", text, position, hint)
        check_unicode(text, position, namespace.end())
        iri = _built(text, position, Iri, namespace[0][1:-1])
        prefixes[found[1]] = iri.value
        position = skip(text, namespace.end())
    return prefixes, position


class _Reader:
    """Steps through the tokens of one pattern and collects its triples."""

    def __init__(self, text: str, start: int, prefixes: Mapping[str, str], limits: Limits) -> None:
        self.text = text
        self.prefixes = prefixes
        self.limits = limits
        self.triples: list[tuple[Node, Node, Node]] = []
        self.blanks: dict[str, Blank] = {}
        self.depth = 0
        self.move(start)

    # Tokens.

    def move(self, position: int) -> None:
        self.token = next_token(self.text, position)

    def advance(self) -> Token:
        token = self.token
        self.move(token.end)
        return token

    def at(self, *words: str) -> bool:
        return self.token.sort in ("symbol", "word") and self.token.text.lower() in words

    def accept(self, word: str) -> bool:
        if not self.at(word):
            return False
        self.advance()
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.unexpected(repr(word))

    def error(self, problem: str, at: Token, hint: str | None = None) -> ParseError:
        return ParseError(problem, self.text, at.start, hint)

    def unexpected(self, expected: str) -> NoReturn:
        token = self.token
        hint: str | None
        beyond = _UNSUPPORTED.get(token.text.lower()) if token.sort in ("symbol", "word") else None
        if beyond:
            hint = "only basic graph patterns and FILTER are supported"
            raise self.error(f"{beyond} in a graph pattern", token, hint)
        if token.sort == "long":
            raise self.error("a string in long quotes", token, r"write one quote, and \n for lines")
        if token.sort == "symbol" and token.text in ("'", '"'):
            raise self.error("a string that is not closed on its line", token)
        hint = "an IRI holds no spaces and ends with '>'" if token.text == "<" else None
        raise self.error(f"expected {expected}, found {token}", token, hint)

    # Grammar.

    def ends(self) -> bool:
        """Whether the pattern ends behind the plain triples that stand here."""
        self.plain_triples()
        return self.at("}")

    def plain_triples(self) -> None:
        """Read triples as long as they are plain."""
        position = start = self.token.start
        while found := _PLAIN_TRIPLE.match(self.text, position):
            try:
                triple = tuple(map(self.plain_term, found.groups()))
            except (KeyError, SubscriptionError):
                break  # the other way says what is wrong, and where
            self.triples.append(triple)  # type: ignore[arg-type]  # they are three
            check_limit(len(self.triples), self.limits.pattern, "triples of one graph pattern")
            position = found.end()
        if position > start:
            self.move(position)

    def plain_term(self, text: str) -> Iri | Variable:
        if text[0] == "<":
            return _iri(text[1:-1])
        if text[0] in "?$":
            return _variable(text[1:])
        if text == "a":
            return _TYPE
        prefix, _, local = text.partition(":")
        namespace = self.prefixes.get(prefix) or PREFIXES[prefix]
        return _iri(namespace + local)

    def filter_start(self) -> int:
        self.advance()
        if self.at("(") or (self.token.sort == "word" and self.next_token().text == "("):
            return self.token.start
        if self.at("not", "exists"):
            self.unexpected("a condition")
        hint = "a FILTER is a comparison of variables in parentheses"
        raise self.error(f"expected '(' after FILTER, found {self.token}", self.token, hint)

    def next_token(self) -> Token:
        return next_token(self.text, self.token.end)

    def triples_of_subject(self) -> None:
        is_whole = self.at("[")
        subject = self.resource("a subject", blank=True)
        if not (is_whole and self.at(".", "}", "filter")):
            self.properties(subject)

    def properties(self, subject: Node) -> None:
        self.objects(subject)
        while self.accept(";"):
            if not self.at(";", ".", "}", "]", "filter"):
                self.objects(subject)

    def objects(self, subject: Node) -> None:
        if self.token.text == "a" and self.token.sort == "word":
            self.advance()
            predicate: Node = _TYPE
        else:
            predicate = self.resource("a property", blank=False)
        while True:
            self.triples.append((subject, predicate, self.term("an object")))
            check_limit(len(self.triples), self.limits.pattern, "triples of one graph pattern")
            if not self.accept(","):
                return

    def resource(self, what: str, *, blank: bool) -> Node:
        at = self.token
        node = self.term(what)
        if isinstance(node, RdfLiteral) or (isinstance(node, Blank) and not blank):
            raise self.error(f"{what} is an IRI or a variable, not {at}", at)
        return node

    def term(self, what: str) -> Node:
        read = _Reader.blank_with_properties if self.at("[") else _TERMS.get(self.token.sort)
        if read is None:
            self.unexpected(what)
        return read(self)

    # Terms.

    def iri(self) -> Iri:
        token = self.advance()
        if token.sort == "iri":
            return _built(self.text, token.start, _iri, token.text[1:-1])
        prefix, _, local = token.text.partition(":")
        namespace = self.prefixes.get(prefix, PREFIXES.get(prefix))
        if namespace is None:
            known = suggestion(prefix[:50], {**PREFIXES, **self.prefixes})
            declare = f"declare it before the subscription: prefix {prefix[:50]}: <http://…>"
            hint = f"{known} Or {declare}" if known else declare
            raise self.error(f"unknown prefix '{prefix[:50]}:'", token, hint)
        return _built(self.text, token.start, _iri, namespace + _LOCAL_ESCAPE.sub(r"\1", local))

    def variable(self) -> Variable:
        token = self.advance()
        return _built(self.text, token.start, _variable, token.text[1:])

    def blank(self) -> Blank:
        token = self.advance()
        key = token.text if token.text[0] == "_" else f"[{token.start}"
        return self.blanks.setdefault(key, Blank(len(self.blanks) + 1))

    def blank_with_properties(self) -> Blank:
        opening = self.token
        node = self.blank()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", opening)
        self.properties(node)
        self.expect("]")
        self.depth -= 1
        return node

    def string(self) -> RdfLiteral:
        token = self.advance()
        lexical = unescaped(self.text, token)
        if self.token.sort == "language":
            language = self.advance()
            made = (lexical, XSD + "string", language.text[1:])
            return _built(self.text, language.start, RdfLiteral, *made)
        if not self.accept("^^"):
            return _built(self.text, token.start, RdfLiteral, lexical)
        if self.token.sort not in ("iri", "name"):
            self.unexpected("the IRI of a datatype")
        return _built(self.text, token.start, RdfLiteral, lexical, self.iri().value)

    def number(self) -> RdfLiteral:
        token = self.advance()
        return RdfLiteral(token.text, XSD + token.sort)

    def boolean(self) -> RdfLiteral:
        if not self.at("true", "false"):
            self.unexpected("an IRI, a ?variable or a literal")
        return RdfLiteral(self.advance().text.lower(), XSD + "boolean")


_TERMS: dict[str, Callable[[_Reader], Node]] = {
    "iri": _Reader.iri,
    "name": _Reader.iri,
    "variable": _Reader.variable,
    "blank": _Reader.blank,
    "string": _Reader.string,
    "integer": _Reader.number,
    "decimal": _Reader.number,
    "double": _Reader.number,
    "word": _Reader.boolean,
}


_TYPE = Iri(RDF_TYPE)
_iri = lru_cache(maxsize=_KEPT)(Iri)
_variable = lru_cache(maxsize=_KEPT)(Variable)


def _built(text: str, position: int, make: Callable[..., Made], *arguments: object) -> Made:
    """Make a term; what its constructor refuses is an error at the position."""
    try:
        return make(*arguments)
    except SubscriptionError as error:
        raise ParseError(str(error), text, position) from error


def _pattern(
    text: str,
    start: int,
    triples: tuple[Triple, ...],
    filters: list[Expression],
    places: list[int],
) -> Pattern:
    """The pattern; a filter that it refuses is an error at the filter's place."""
    try:
        return Pattern(triples, tuple(filters))
    except SubscriptionError as error:
        _built(text, start, Pattern, triples)

        def is_refused(count: int) -> bool:
            try:
                Pattern(triples, tuple(filters[:count]))
            except SubscriptionError:
                return True
            return False

        least = bisect_left(range(len(filters)), True, key=is_refused)
        raise ParseError(str(error), text, places[least - 1]) from error


def _named(text: str, nodes: list[tuple[Node, Node, Node]]) -> tuple[Triple, ...]:
    """The triples with a variable in place of each blank node."""
    digest = blake2b(repr(nodes).encode(), digest_size=4).hexdigest()
    stem = f"{_stem(text)}{digest}_"

    def named(node: Node) -> Object:
        return Variable(f"{stem}{node.number}") if isinstance(node, Blank) else node

    return tuple(tuple(map(named, triple)) for triple in nodes)  # type: ignore[misc]


@lru_cache(maxsize=16)
def _stem(text: str) -> str:
    """The beginning of a variable's name that no variable of the text has."""
    underscores = max((len(found[1]) for found in _LOOKALIKE.finditer(text)), default=0)
    return "_" * (underscores + 1) + "b"
