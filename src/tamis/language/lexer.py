"""From the characters of a subscription to its tokens, in one pass, and from literals to values.

    category = 'Toy' AND price < 5       category  =  'Toy'  AND  price  <  5  (nothing: the end)

A token is a string; its ends show its sort. Its place is worked out only for errors.
Rules have long lists of alternative texts. All of such a list but the first is one token, a *run*:

    a contains text 'x' or a contains text 'y' or a ends with 'z' ignoring case
    a  contains  text  'x'  (or a contains text 'y' or a ends with 'z' ignoring case)

A test is in it only if an ``or``, a closing parenthesis or the end follows, so that nothing can
bind it more strongly than the ``or`` before it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import islice

from tamis.errors import ParseError
from tamis.model.paths import DOTTED

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_STRING = r"'[^'\\]*+(?:(?:\\.|'')[^'\\]*)*'" + "|" + r'"[^"\\]*+(?:(?:\\.|"")[^"\\]*)*"'
_RAW = r"[rR]'(?:[^']|'')*'" + "|" + r'[rR]"(?:[^"]|"")*"'
_VARIABLE = r"[?$][^\W\d]\w*"  # SPARQL has both; ?x is printed
_SYMBOL = r"[<>=!]=|<>|[=<>+*/{}!]|-(?!-)|&&|\|\|"

_PLAIN = r"[^\W\d]\w*+(?![.'\"])"
_SORTED = rf"{_PLAIN}|[(),]|{_STRING}|{_NUMBER}|{_SYMBOL}|{_RAW}|{DOTTED}|{_VARIABLE}"
"""All sorts of tokens, the commonest first."""

_TEXT_TEST = (
    r"or ({0}[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+) ({0}contains text|ends with|starts with) "
    rf"({{0}}(?>{_STRING}))({{0}} ignoring case)?+\s*+(?=or |\)|\Z)"
)
_RUN = f"(?:{_TEXT_TEST.replace('{0}', '?:')})++"
TESTS_OF_RUN = re.compile(_TEXT_TEST.replace("{0}", ""), re.DOTALL)
"""Attribute, operator, text and, perhaps, 'ignoring case' of each test of a run."""

# White space and comments, then in a group a token. At the end of the text the group is empty; what
# begins no token is in it with all that follows, so that nothing is looked at twice, whatever is
# wrong with a text.
_NEXT = re.compile(rf"\s*+(?:#[^\n]*+\s*+)*+({_RUN}|{_SORTED}|\Z|.+)", re.DOTALL)
_NEXT_SINGLE = re.compile(rf"\s*+(?:#[^\n]*+\s*+)*+({_SORTED}|\Z|.+)", re.DOTALL)
_TOKEN = re.compile(_SORTED, re.DOTALL)

# A FILTER has IRIs, names with prefixes and literals with a language or a datatype besides.
_IRI = r'<[^\x00-\x20<>"{}|^`\\]*:[^\x00-\x20<>"{}|^`\\]*>'
_NAME = r"(?:[^\W\d_](?:[\w.-]*[\w-])?)?:(?:[\w](?:[\w.-]*[\w-])?)?"
_TAGGED = rf"(?:{_STRING})(?:@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*|\^\^(?:{_IRI}|{_NAME}))"
RDF_TOKEN = re.compile(rf"{_TAGGED}|{_IRI}|{_NAME}", re.DOTALL)
_NEXT_IN_FILTER = re.compile(
    rf"\s*+(?:#[^\n]*+\s*+)*+({_TAGGED}|{_IRI}|{_NAME}|{_SORTED}|\Z|.+)", re.DOTALL
)

LITERALS = re.compile(
    rf"((?=[0-9'\"rR])(?:(?<!\w)(?:{_RAW})|{_STRING}|(?<![\w.]){_NUMBER}))", re.DOTALL
)
"""All numbers and strings of a text that has no comments and no quoted names: see template.py."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|''|\"\"", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "/": "/"}
_SIMPLE |= {mark: mark for mark in "\\'\"`"}
_SORTS = {
    **dict.fromkeys("'\"", "string"),
    **dict.fromkeys("0123456789", "number"),
    **dict.fromkeys("?$", "variable"),
    **dict.fromkeys("(),<>=!+-*/{}&|", "symbol"),
    "": "end",
}
"""The sort of a token by its first character; any other begins a word or a raw string."""
_ALWAYS = frozenset(string.ascii_letters + string.digits + "_()")


def tokens_of(text: str, start: int, *, runs: bool = True) -> list[str]:
    """The tokens of a text, up to and with the first brace that opens a graph pattern, which has
    tokens of its own. What begins no token is the last one, with all that follows."""
    tokens: list[str] = _next(runs).findall(text, start)
    if "{" in text and "{" in tokens:
        return tokens[: tokens.index("{") + 1]
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


def tokens_beside_pattern(
    text: str, start: int, *, enclosed: bool, runs: bool = True
) -> Iterator[str]:
    """The same from the end of a pattern on; or, ``enclosed``, those of the parentheses of a
    FILTER, with the name of a function before them. No token is looked at that is beyond, for a
    text may have patterns without number."""
    opened = 0
    for found in _next(runs, enclosed).finditer(text, start):
        token = found[1]
        if not token:
            return
        yield token
        opened += (token == "(") - (token == ")")
        if token == "{" or (enclosed and token == ")" and opened < 1):
            return


def keys_of(tokens: list[str]) -> list[str]:
    """What tokens are compared by: words without regard to case, and runs by their ``or``."""
    keys = list(map(str.lower, tokens))
    for index, key in enumerate(keys):
        if key[:3] == "or ":
            keys[index] = "or"
    return keys


def is_fault(last: str) -> bool:
    """Whether the last of some tokens begins none; most begin with what always begins one."""
    if last[0] in _ALWAYS:
        return False
    return _TOKEN.fullmatch(last) is None and RDF_TOKEN.fullmatch(last) is None


def places_of(
    text: str, start: int, count: int, *, enclosed: bool = False, runs: bool = True
) -> list[int]:
    """Where each of so many tokens begins, which are perhaps those of a FILTER."""
    tokens = _next(runs, enclosed).finditer(text, start)
    return [found.start(1) for found in islice(tokens, count)]


def _next(runs: bool, enclosed: bool = False) -> re.Pattern[str]:
    """What finds the next token."""
    if enclosed:
        return _NEXT_IN_FILTER
    return _NEXT if runs else _NEXT_SINGLE


def sort_of(token: str) -> str:
    """Word, number, string, symbol, variable or end."""
    sort = _SORTS.get(token[:1], "word")
    return "string" if sort == "word" and token[-1] in "'\"" else sort


def shown(token: str) -> str:
    """A token as it stands in an error."""
    if not token:
        return "the end"
    return repr(token) if len(token) <= 40 else repr(token[:40]) + "…"


def fault(text: str, start: int) -> ParseError:
    """What is wrong where no token begins."""
    character = text[start]
    if character in "'\"":
        return ParseError("a string that does not end", text, start, f"close it with {character}")
    if character == "`":
        return ParseError("a quoted name that does not end", text, start, "close it with `")
    if character == "-":
        hint = "write # before a comment, and a space between two minus signs"
        return ParseError("'--' does not begin a comment", text, start, hint)
    hints = {"&": "write 'and'", "|": "write 'or'", ";": "one subscription at a time"}
    return ParseError(f"unexpected {character!r}", text, start, hints.get(character))


def number_value(literal: str) -> int | float:
    """The value of a number's text; ValueError says what is wrong with it."""
    if len(literal) > 400:
        raise ValueError(f"a number of {len(literal):,} characters")
    return int(literal) if literal.isdigit() else float(literal)


def string_value(literal: str) -> str:
    """The value of a string's text; ValueError says what is wrong with it."""
    mark, body = literal[0], literal[1:-1]
    if mark in "rR":
        mark = literal[1]
        return literal[2:-1].replace(mark + mark, mark)
    if mark not in body:
        if "\\" not in body:
            return body
        if body.count("\\") == 2 * body.count("\\\\"):  # nothing is escaped but backslashes
            return body.replace("\\\\", "\\")
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
