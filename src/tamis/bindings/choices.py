"""The bindings of an event: one element picked of every list, at every depth.

    {"shop": "x", "items": [{"color": "red"}, {"color": "blue", "sizes": [1, 2]}]}

    shop   items.color   items.sizes
    'x'    'red'
    'x'    'blue'        1
    'x'    'blue'        2

Only lists on the way to the given attributes are opened. An empty list binds nothing below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from tamis.errors import LimitError
from tamis.model.events.event import Event, Node
from tamis.model.kinds import Value
from tamis.model.paths import Path, format_path

Binding = dict[Path, Value]


def bindings(event: Event, paths: Iterable[Path], limit: int) -> Iterator[Binding]:
    """All bindings of an event, restricted to some of its attributes."""
    wanted = sorted(set(paths))
    count = _count(event.attributes, wanted, 0)
    if count > limit:
        names = ", ".join(format_path(path) for path in wanted[:10])
        raise LimitError(
            f"the event has {count:,} bindings of {names}: the limit is {limit:,}; "
            "shorten its lists, or raise Limits.bindings"
        )
    return _bindings(event.attributes, wanted, 0)


def count_bindings(event: Event, paths: Iterable[Path]) -> int:
    """How many bindings an event has, restricted to some of its attributes."""
    return _count(event.attributes, sorted(set(paths)), 0)


def _bindings(node: Node, paths: list[Path], depth: int) -> Iterator[Binding]:
    if isinstance(node, list):
        if not node:
            yield {}
        for element in node:
            yield from _bindings(element, paths, depth)
    elif isinstance(node, dict):
        choices = [
            _bindings(child, below, depth + 1) for child, below in _below(node, paths, depth)
        ]
        for picked in product(*choices):
            yield {path: value for part in picked for path, value in part.items()}
    else:
        yield {path: node for path in paths if len(path) == depth}


def _count(node: Node, paths: list[Path], depth: int) -> int:
    if isinstance(node, list):
        return sum(_count(element, paths, depth) for element in node) or 1
    if isinstance(node, dict):
        return prod(_count(child, below, depth + 1) for child, below in _below(node, paths, depth))
    return 1


def _below(
    node: dict[str, Node], paths: list[Path], depth: int
) -> Iterator[tuple[Node, list[Path]]]:
    """The children that the paths lead into, each with the paths that go there."""
    branches = defaultdict(list)
    for path in paths:
        if len(path) > depth and path[depth] in node:
            branches[path[depth]].append(path)
    for key, below in branches.items():
        yield node[key], below
