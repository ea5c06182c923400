"""From the characters of a subscription to tokens, one at a time, and literals to values."""

from __future__ import annotations

import re
from typing import NamedTuple

from tamis.errors import ParseError
from tamis.model.paths import DOTTED

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_STRING = r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'" + "|" + r'"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"'
_RAW = r"[rR]'(?:[^']|'')*'" + "|" + r'[rR]"(?:[^"]|"")*"'
_VARIABLE = r"[?$][^\W\d]\w*"  # SPARQL has both; ?x is printed
_SYMBOL = r"--|<=|>=|!=|<>|==|&&|\|\||[=<>+\-*/(),{}!]"

_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_TOKEN = re.compile(
    rf"(?P<string>{_RAW}|{_STRING})|(?P<word>{DOTTED})|(?P<number>{_NUMBER})"
    rf"|(?P<symbol>{_SYMBOL})|(?P<variable>{_VARIABLE})",
    re.DOTALL,
)

LITERALS = re.compile(
    rf"((?=[0-9'\"rR])(?:(?<!\w)(?:{_RAW})|{_STRING}|(?<![\w.]){_NUMBER}))", re.DOTALL
)
"""All numbers and strings of a text that has no comments and no quoted names: see template.py."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|''|\"\"", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "/": "/"}
_SIMPLE |= {mark: mark for mark in "\\'\"`"}


class Token(NamedTuple):
    """A piece of the text: its sort, its characters, and where they stand."""

    sort: str  # word, number, string, symbol, variable, end
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        if self.sort == "end":
            return "the end"
        return repr(self.text) if len(self.text) <= 40 else repr(self.text[:40]) + "…"


def next_token(text: str, position: int) -> Token:
    """The token at or after a position."""
    start = _skip(text, position)
    if start == len(text):
        return Token("end", "", start, start)
    found = _TOKEN.match(text, start)
    if found is None:
        raise _stray(text, start)
    assert found.lastgroup is not None
    if found.group() == "--":
        hint = "write # before a comment, and a space between two minus signs"
        raise ParseError("'--' begins no comment", text, start, hint)
    return Token(found.lastgroup, found.group(), start, found.end())


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None
    return found.end()


def _stray(text: str, start: int) -> ParseError:
    character = text[start]
    if character in "'\"":
        return ParseError("a string that does not end", text, start, f"close it with {character}")
    if character == "`":
        return ParseError("a quoted name that does not end", text, start, "close it with `")
    hints = {"&": "write 'and'", "|": "write 'or'", ";": "one subscription at a time"}
    return ParseError(f"unexpected {character!r}", text, start, hints.get(character))


def number_value(literal: str) -> int | float:
    """The value of a number's text; ValueError says what is wrong with it."""
    if len(literal) > 400:
        raise ValueError(f"a number of {len(literal):,} characters")
    return int(literal) if literal.isdigit() else float(literal)


def string_value(literal: str) -> str:
    """The value of a string's text; ValueError says what is wrong with it."""
    if literal[0] in "rR":
        mark = literal[1]
        return literal[2:-1].replace(mark + mark, mark)
    mark, body = literal[0], literal[1:-1]
    if "\\" not in body and mark not in body:
        return body
    return _ESCAPE.sub(lambda found: _unescaped(found, mark), body)


def _unescaped(found: re.Match[str], mark: str) -> str:
    short, long, simple = found.groups()
    if simple is not None:
        if simple not in _SIMPLE:
            raise ValueError(f"unknown escape '\\{simple}'; write r'…' to keep backslashes")
        return _SIMPLE[simple]
    if short or long:
        code = int(short or long, 16)
        if code > 0x10FFFF:
            raise ValueError(f"'{found.group()}' is not a Unicode character")
        return chr(code)
    doubled = found.group()
    return mark if doubled[0] == mark else doubled
