"""What the result of a call depends on, as a key: arguments, and what the operator reads.

    reads=("speed", "image")     attributes by their values, payloads by what they say

An operator that is ``cacheable`` may get the result of another event with an equal key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

from tamis.model.events.event import Event
from tamis.model.kinds import kind_of
from tamis.model.paths import Path


def result_key(
    event: Event, paths: tuple[Path, ...] | None, arguments: tuple[Any, ...]
) -> Hashable:
    """The key of a call of an operator that reads these paths."""
    read = tuple(_hashable_at(event, path) for path in paths or ())
    return read, tuple((type(each), each) for each in arguments)


def _hashable_at(event: Event, path: Path) -> Hashable:
    """What an event says at a path, and in the payload of that name."""
    found: list[Hashable] = [_hashable(node) for node in event.nodes(path)]
    if not found:
        found.append(path[0] in event.attributes)
    if path[0] in event.payloads:
        found.append(_content(event.payloads[path[0]]))
    return tuple(found)


def _content(payload: Any) -> Hashable:
    """What a payload says, if it is text or a buffer such as bytes or an array of numbers; anything
    else equals nothing."""
    if isinstance(payload, str):
        return payload
    try:
        view = memoryview(payload)
        if "O" not in view.format:
            digest = hashlib.blake2b(view, digest_size=16).digest()
            return type(payload), view.format, view.shape, digest
    except (TypeError, ValueError, BufferError):
        pass
    return object()


def _hashable(node: Any) -> Hashable:
    """What a node of an event says, as a key."""
    if isinstance(node, dict):
        return tuple((key, _hashable(node[key])) for key in sorted(node))
    if isinstance(node, list):
        return tuple(map(_hashable, node))
    return kind_of(node), node
