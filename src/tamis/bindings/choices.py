"""The bindings of an event: one element picked of every list, at every depth.

    {"shop": "x", "items": [{"color": "red"}, {"color": "blue", "sizes": [1, 2]}]}

    shop   items.color   items.sizes
    'x'    'red'
    'x'    'blue'        1
    'x'    'blue'        2

Only lists on the way to the given attributes are opened. An empty list binds nothing below it.

Operators look at whole events, so for them a binding is kept as a *choice*: where each list stands,
and which of its elements is picked.

    {("items",): 1, ("items", 1, "sizes"): 0}
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
Place = tuple[str | int, ...]
"""Where a list stands: the keys and the picked indices on the way to it."""
Choice = dict[Place, int]
"""The index of the picked element of each list; an empty list has none."""
Paths = list[Path] | None
"""Attributes, each with all that is below it; None is for everything."""


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


def bindings_below(node: Node, paths: list[Path], depth: int) -> Iterator[Binding]:
    """The bindings of attributes below a node that stands at some depth of their paths."""
    return _bindings(node, paths, depth)


def count_below(node: Node, paths: list[Path], depth: int) -> int:
    """How many there are."""
    return _count(node, paths, depth)


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


def choices(event: Event, paths: Paths, limit: int) -> Iterator[Choice]:
    """All choices of elements of the lists at, above and below the paths."""
    count = _count_choices(event.attributes, paths, 0)
    if count > limit:
        raise LimitError(
            f"the event has {count:,} bindings for this expression and its operators: the limit is "
            f"{limit:,}; shorten its lists, declare what operators read, or raise Limits.bindings"
        )
    return _choices(event.attributes, paths, 0, ())


def bound_event(event: Event, choice: Choice, paths: Paths) -> Event:
    """The event with the picked element in place of each list at, above and below the paths."""
    if not choice and event.multiple.isdisjoint(_first_keys(event, paths)):
        return event
    tree = _bound(event.attributes, choice, paths, 0, ())
    assert isinstance(tree, dict)
    multiple = frozenset(key for key in event.multiple if key in tree and _has_list(tree[key]))
    return event.replaced(tree, multiple)


def part_of(choice: Choice, paths: Paths) -> tuple[tuple[Place, int], ...]:
    """What a choice says of the lists at, above and below the paths."""
    if paths is None:
        return tuple(choice.items())
    found = []
    for place, index in choice.items():
        keys = tuple(key for key in place if isinstance(key, str))
        if any(path[: len(keys)] == keys[: len(path)] for path in paths):
            found.append((place, index))
    return tuple(found)


def _first_keys(event: Event, paths: Paths) -> Iterable[str]:
    return event.attributes if paths is None else (path[0] for path in paths)


def _choices(node: Node, paths: Paths, depth: int, place: Place) -> Iterator[Choice]:
    if isinstance(node, list):
        if not node:
            yield {}
        for index, element in enumerate(node):
            for below in _choices(element, paths, depth, (*place, index)):
                yield {place: index, **below}
    elif isinstance(node, dict):
        children = [
            _choices(node[key], inner, depth + 1, (*place, key))
            for key, inner in _inside(node, paths, depth)
        ]
        for picked in product(*children):
            yield {place: index for part in picked for place, index in part.items()}
    else:
        yield {}


def _count_choices(node: Node, paths: Paths, depth: int) -> int:
    if isinstance(node, list):
        return sum(_count_choices(element, paths, depth) for element in node) or 1
    if isinstance(node, dict):
        inside = _inside(node, paths, depth)
        return prod(_count_choices(node[key], inner, depth + 1) for key, inner in inside)
    return 1


def _bound(node: Node, choice: Choice, paths: Paths, depth: int, place: Place) -> Node | None:
    """A node with picked elements in place of lists; None for an empty list."""
    if isinstance(node, list):
        index = choice.get(place)
        if index is None:
            return None
        return _bound(node[index], choice, paths, depth, (*place, index))
    if not isinstance(node, dict):
        return node
    tree = node.copy()
    for key, inner in _inside(node, paths, depth):
        child = _bound(node[key], choice, inner, depth + 1, (*place, key))
        if child is None:
            del tree[key]
        else:
            tree[key] = child
    return tree


def _inside(node: dict[str, Node], paths: Paths, depth: int) -> Iterator[tuple[str, Paths]]:
    """The keys that the paths lead into, each with the paths that go there."""
    if paths is None or any(len(path) <= depth for path in paths):
        yield from ((key, None) for key in node)
        return
    branches = defaultdict(list)
    for path in paths:
        if path[depth] in node:
            branches[path[depth]].append(path)
    yield from branches.items()


def _has_list(node: Node) -> bool:
    if isinstance(node, dict):
        return any(map(_has_list, node.values()))
    return isinstance(node, list)
