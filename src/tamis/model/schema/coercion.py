"""Strings of an event that a schema says are something else: timestamps in JSON, numbers in CSV.

A string that cannot be read as what the schema says stays a string.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from tamis.model.events.event import Event, Node
from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, Kind, Value
from tamis.model.paths import Path
from tamis.model.timestamp import Timestamp

if TYPE_CHECKING:
    from tamis.model.schema.schema import Schema

Readers = Mapping[Path, Callable[[str], Value]]
"""By attribute, what reads its strings; a ValueError leaves them as they are."""

_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_INTEGER = re.compile(r"\s*[+-]?\d{1,20}\s*", re.ASCII)
_BOOLEANS = {"true": True, "false": False}


def readers_of(schema: Schema, kinds: Collection[Kind]) -> Readers:
    """What reads the strings of all attributes of some kinds."""
    return {path: _READERS[kind] for kind in kinds for path in schema.paths(kind)}


def typed(event: Event, readers: Readers) -> Event:
    """The event with its strings read; the same event if there is nothing to read."""
    tree: Node = event.attributes
    for path, read in readers.items():
        if path[0] in event.attributes:
            tree = _replaced(tree, path, 0, read)
    assert isinstance(tree, dict)
    return event if tree is event.attributes else event.replaced(tree)


def _replaced(node: Node, path: Path, depth: int, read: Callable[[str], Value]) -> Node:
    """The node, or a copy of it in which the strings at the path are read."""
    if isinstance(node, list):
        elements = [_replaced(element, path, depth, read) for element in node]
        same = all(new is old for new, old in zip(elements, node, strict=True))
        return node if same else elements
    if depth == len(path):
        if not isinstance(node, str):
            return node
        try:
            return read(node)
        except ValueError:
            return node
    child = node.get(path[depth]) if isinstance(node, dict) else None
    if child is None:
        return node
    new = _replaced(child, path, depth + 1, read)
    assert isinstance(node, dict)
    return node if new is child else {**node, path[depth]: new}


def _number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        integer = int(text)
        if LEAST_INTEGER <= integer <= GREATEST_INTEGER:
            return integer
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number beyond the range of floats")
    return number


def _boolean(text: str) -> bool:
    found = _BOOLEANS.get(text.strip().lower())
    if found is None:
        raise ValueError("not a boolean")
    return found


_READERS: dict[Kind, Callable[[str], Value]] = {
    Kind.TIMESTAMP: Timestamp.parse,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
}
