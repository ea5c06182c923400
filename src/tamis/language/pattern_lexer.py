"""The tokens of SPARQL's graph patterns, which are not those of the language around them."""

from __future__ import annotations

import re
from typing import NamedTuple

from tamis.errors import ParseError
from tamis.language.lexer import shown

SKIPPED = r"(?:\s++|\#[^\r\n]*+)*+"
IRI = r'<[^\x00-\x20<>"{}|^`\\]*+>'
_PREFIX = r"(?:[^\W\d_](?:\.*[\w·-])*+)?+"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]"
_LOCAL = rf"(?:(?:[\w:]|{_ESCAPED})(?:\.*(?:[\w:·-]|{_ESCAPED}))*+)?+"
_EXPONENT = r"[eE][+-]?[0-9]+"
_DOUBLE = rf"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+){_EXPONENT}"

_TOKEN = re.compile(
    rf"""{SKIPPED}(?:
      (?P<iri>{IRI})
    | (?P<variable>[?$]\w+)
    | (?P<long>\"\"\"|''')
    | (?P<string>"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"|'[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+')
    | (?P<language>@[a-zA-Z]++(?:-[a-zA-Z0-9]++)*+)
    | (?P<double>{_DOUBLE})
    | (?P<decimal>[+-]?[0-9]*+\.[0-9]+)
    | (?P<integer>[+-]?[0-9]+)
    | (?P<blank>_:\w(?:\.*[\w·-])*+|\[{SKIPPED}\])
    | (?P<name>{_PREFIX}:{_LOCAL})
    | (?P<word>[^\W\d]\w*+)
    | (?P<symbol>\^\^|.)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_SKIP = re.compile(SKIPPED)
DECLARATION = re.compile(rf"prefix(?=[\s#]){SKIPPED}({_PREFIX}):{SKIPPED}", re.IGNORECASE)
NAMESPACE = re.compile(IRI)
_STRING_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_PLAIN_ESCAPES = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}


class Token(NamedTuple):
    """A piece of the text: its sort, its characters, and where they stand."""

    sort: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return shown(self.text)


def next_token(text: str, position: int) -> Token:
    """The token at or after a position; what begins no token is a symbol of one character."""
    found = _TOKEN.match(text, position)
    assert found is not None  # the last two sorts leave nothing over
    sort = found.lastgroup
    assert sort is not None
    return Token(sort, found[sort], found.start(sort), found.end())


def skip(text: str, position: int) -> int:
    """The index of what follows white space and comments."""
    found = _SKIP.match(text, position)
    return found.end() if found else position


def check_unicode(text: str, start: int, end: int) -> None:
    """Raise if there is a lone surrogate between two places of the text."""
    try:
        text[start:end].encode()
    except UnicodeEncodeError as error:
        problem = "a lone surrogate, which is not Unicode"
        raise ParseError(problem, text, start + error.start) from error


def unescaped(text: str, token: Token) -> str:
    """The lexical form of a literal in quotation marks."""

    def character(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 1:
            plain = _PLAIN_ESCAPES.get(escape)
            if plain is not None:
                return plain
        elif (code := int(escape[1:], 16)) <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        place = token.start + 1 + found.start()
        hint = r"use one of \t \b \n \r \f \" \' \\ \uXXXX and \UXXXXXXXX"
        raise ParseError(f"{found[0]!r} stands for no character", text, place, hint)

    return _STRING_ESCAPE.sub(character, token.text[1:-1])
