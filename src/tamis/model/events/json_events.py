"""Events from JSON, one document or one a line, with the place of whatever is wrong.

Stricter than Python's ``json``: UTF-8 only, no NaN or Infinity, no number so large that it would
become an infinity, no key twice in one object.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NoReturn

from tamis.errors import EventError, LimitError
from tamis.model.events.event import Event
from tamis.model.kinds import GREATEST_INTEGER
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits, check_limit
from tamis.model.paths import Path, format_path

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

_WHITESPACE = " \t\r\n"
_BYTE_ORDER_MARK = "\ufeff"
_LONGEST_INTEGER = len(str(-GREATEST_INTEGER))

# Strings are consumed whole, so that group 1 is a constant or a number outside of them.
_CONSTANT = re.compile(
    r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)', re.DOTALL
)

# Stands in a tree for the values of a key that its object has twice. It is not a value of an
# event, so the event is refused, and only then is the tree searched for the place.
_REPEATED = object()

_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


class _ConstantError(Exception):
    """NaN, an infinity or a number too large, which the decoder reports without its position."""


def read_json(text: str | bytes, limits: Limits = LIMITS, *, schema: Schema | None = None) -> Event:
    """The event that one JSON object describes; the schema tells which strings are timestamps."""
    try:
        event = _event(_decoded(text, limits), limits)
    except JSONDecodeError as error:
        raise _syntax_error(error, error.lineno, error.colno) from error
    return event if schema is None else schema.typed(event)


def read_ndjson(
    lines: Iterable[str | bytes], limits: Limits = LIMITS, *, schema: Schema | None = None
) -> Iterator[Event]:
    """The events of a text with one JSON object a line; blank lines are skipped."""
    if isinstance(lines, str):
        lines = lines.split("\n")
    elif isinstance(lines, bytes):
        lines = lines.split(b"\n")
    for number, line in enumerate(lines, 1):
        event = read_line(line, number, limits)
        if event is not None:
            yield event if schema is None else schema.typed(event)


def read_line(line: str | bytes, number: int, limits: Limits = LIMITS) -> Event | None:
    """The event of one line of NDJSON, whose number errors name; None for a blank line."""
    try:
        document = _decoded(line, limits)
        return _event(document, limits) if document.strip(_WHITESPACE) else None
    except JSONDecodeError as error:
        raise _syntax_error(error, number, error.pos + 1) from error
    except (EventError, LimitError) as error:
        raise type(error)(f"line {number}: {error}") from error


def _syntax_error(error: JSONDecodeError, line: int, column: int) -> EventError:
    problem = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
    return EventError(f"not valid JSON: {problem} at line {line}, column {column}")


def _decoded(text: str | bytes, limits: Limits) -> str:
    """The text of a document that is valid UTF-8 and not too long."""
    if not isinstance(text, str | bytes):
        raise EventError(f"a JSON document is text or bytes, not a {type(text).__name__}")
    check_limit(len(text), limits.document, "bytes in one JSON document")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise EventError(f"not valid UTF-8: {error.reason} at byte {error.start}") from error
    elif not text.isascii():
        size = len(text.encode(errors="surrogatepass"))
        check_limit(size, limits.document, "bytes in one JSON document")
    return text.removeprefix(_BYTE_ORDER_MARK)


def _event(document: str, limits: Limits) -> Event:
    """The event of a decoded document; bad syntax leaves as a JSONDecodeError."""
    try:
        tree = _DECODER.decode(document)
    except _ConstantError as error:
        raise _constant_error(error.args[0], document) from error
    except RecursionError as error:
        raise LimitError(f"an event is at most {MAX_DEPTH} levels deep") from error
    if not isinstance(tree, dict):
        raise EventError(f"a JSON event is an object, not {_NAMES[type(tree)]}")
    try:
        return Event(tree, limits)
    except EventError as error:
        path = _repeated_path(tree)
        if path is None:
            raise
        place = format_path(path)[:100]
        raise EventError(f"the key {place!r} stands twice in one object") from error


def _constant_error(constant: str, document: str) -> JSONDecodeError:
    """The error for a constant or a number that is not a value, with its place."""
    found = next(found for found in _CONSTANT.finditer(document) if found[1] == constant)
    what = "constant" if constant[-1] in "Ny" else "number"
    problem = f"the {what} {constant[:50]} is not a finite value"
    return JSONDecodeError(problem, document, found.start())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                tree[key] = _REPEATED
            seen.add(key)
    return tree


def _repeated_path(tree: dict[str, Any]) -> Path | None:
    """Where a key stands twice, if one does; without recursion, the tree may be deep."""
    waiting: list[tuple[Path, Any]] = [((), tree)]
    while waiting:
        path, node = waiting.pop()
        if node is _REPEATED:
            return path
        if isinstance(node, dict):
            waiting.extend(((*path, key), child) for key, child in node.items())
        elif isinstance(node, list):
            waiting.extend((path, child) for child in node)
    return None


def _integer(digits: str) -> int:
    """An integer, whose digits are only looked at if they can fit 64 bits."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else GREATEST_INTEGER + 1


def _double(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _ConstantError(digits)
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_double,
    parse_constant=_refuse_constant,
)
