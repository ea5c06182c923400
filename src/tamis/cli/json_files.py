"""The rows of a JSON file: the elements of an array, each with its place, or the one object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from tamis.errors import EventError, LimitError
from tamis.model.limits import MAX_DEPTH

# Only finds where a value ends; the row's own reader looks at what is in it.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)


class Document(NamedTuple):
    """The JSON text of one row, and where it stands in its file."""

    text: str | bytes
    row: int
    line: int


def documents(data: bytes) -> Iterator[Document]:
    """The documents of a whole file."""
    text = _decoded(data)
    start = _skip(text, 0)
    return _elements(text, start + 1) if text.startswith("[", start) else iter([_single(text)])


def _single(text: str) -> Document:
    return Document(text, 0, 1)


def _elements(text: str, position: int) -> Iterator[Document]:
    """The elements of an array whose bracket has been read."""
    end, line = 0, 1
    position = _skip(text, position)
    for row in count():
        if text.startswith("]", position):
            break
        line += text.count("\n", end, position)
        end = _end_of_value(text, position)
        yield Document(text[position:end], row, line)
        line += text.count("\n", position, end)
        position = _next_element(text, end)
    behind = _skip(text, position + 1)
    if behind < len(text):
        raise _no_json("extra data after the array", text, behind)


def _next_element(text: str, position: int) -> int:
    """The position of the next element, or of the bracket that closes the array."""
    position = _skip(text, position)
    if text.startswith("]", position):
        return position
    if not text.startswith(",", position):
        raise _no_json("expecting ',' or ']'", text, position)
    following = _skip(text, position + 1)
    if text.startswith("]", following):
        raise _no_json("a comma with nothing after it", text, position)
    return following


def _decoded(data: bytes) -> str:
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise EventError(f"not valid UTF-8: {error.reason} at byte {error.start}") from error


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _end_of_value(text: str, position: int) -> int:
    try:
        return _SCANNER.raw_decode(text, position)[1]
    except json.JSONDecodeError as error:
        raise _no_json(error.msg[:1].lower() + error.msg[1:], text, error.pos) from error
    except RecursionError as error:
        raise LimitError(f"a row is at most {MAX_DEPTH} levels deep") from error


def _no_json(problem: str, text: str, position: int) -> EventError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return EventError(f"not valid JSON: {problem} at line {line}, column {column}")
