"""Events from variants, Spark's and Parquet's binary form of JSON: one value and its metadata.

Plain and obvious: ``arrays/documents/variant_scan.py`` is the fast way, which leaves to this one
whatever is odd or broken.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from itertools import pairwise
from typing import Any

from tamis.errors import EventError, LimitError, TimestampError
from tamis.model.events.event import Event
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits, check_limit
from tamis.model.timestamp import Timestamp

_PRIMITIVE, _SHORT_STRING, _OBJECT, _LIST = range(4)
_INTEGERS = {3: "<b", 4: "<h", 5: "<i", 6: "<q"}
_FLOATS = {7: "<d", 14: "<f"}
_DECIMALS = {8: 4, 9: 8, 10: 16}
_NANOSECONDS = {12: 1_000, 13: 1_000, 18: 1, 19: 1}
"""Nanoseconds of a unit of the kinds of timestamps, with a zone and without one."""
_DATE, _BYTES, _STRING = 11, 15, 16
_DAY = 86_400_000_000_000


def read_variant(value: bytes, metadata: bytes, limits: Limits = LIMITS) -> Event:
    """The event that one variant describes."""
    check_limit(len(value), limits.document, "bytes in one variant")
    try:
        tree = _Variant(value, _keys(metadata), limits.values).read(0, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise EventError(f"a broken variant: {error}") from error
    if not isinstance(tree, dict):
        raise EventError(f"an event is an object, but the variant has a {type(tree).__name__}")
    return Event(tree, limits)


def _whole(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise IndexError("it ends too early")
    return int.from_bytes(data[at : at + size], "little")


def _part(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise IndexError("it ends too early")
    return data[at : at + size]


def _keys(metadata: bytes) -> list[str]:
    if not metadata or metadata[0] & 15 != 1:
        raise EventError("a broken variant: its metadata are not of version 1")
    size = (metadata[0] >> 6) + 1
    try:
        count = _whole(metadata, 1, size)
        if count > len(metadata):
            raise IndexError("it ends too early")
        places = [_whole(metadata, 1 + size * (i + 1), size) for i in range(count + 1)]
        begin = 1 + size * (count + 2)
        pairs = pairwise(places)
        return [_part(metadata, begin + at, max(end - at, 0)).decode() for at, end in pairs]
    except (IndexError, UnicodeDecodeError) as error:
        raise EventError(f"a broken variant: {error} (metadata)") from error


class _Variant:
    """The bytes of a variant, and the keys of its objects."""

    def __init__(self, data: bytes, keys: list[str], most: int) -> None:
        self.data = data
        self.keys = keys
        self.left = most

    def read(self, at: int, depth: int) -> Any:
        """The value at a place."""
        if depth > MAX_DEPTH:
            raise LimitError(f"an event is at most {MAX_DEPTH} levels deep")
        self.left -= 1
        if self.left < -1:  # the root does not count
            raise LimitError("an event with too many values and keys")
        header = _whole(self.data, at, 1)
        basic, kind = header & 3, header >> 2
        if basic == _SHORT_STRING:
            return _part(self.data, at + 1, kind).decode()
        if basic == _OBJECT:
            return self._object(at, kind, depth)
        if basic == _LIST:
            return self._list(at, kind, depth)
        return self._primitive(at + 1, kind)

    def _object(self, at: int, header: int, depth: int) -> dict[str, Any]:
        size, id_size = (header & 3) + 1, (header >> 2 & 3) + 1
        width = 4 if header >> 4 & 1 else 1
        count = _whole(self.data, at + 1, width)
        ids = at + 1 + width
        places = ids + count * id_size
        begin = places + (count + 1) * size
        tree: dict[str, Any] = {}
        for i in range(count):
            key = self.keys[_whole(self.data, ids + i * id_size, id_size)]
            if key in tree:
                raise EventError(f"the key {key[:100]!r} stands twice in one object")
            tree[key] = self.read(begin + _whole(self.data, places + i * size, size), depth + 1)
        return tree

    def _list(self, at: int, header: int, depth: int) -> list[Any]:
        size, width = (header & 3) + 1, 4 if header >> 2 & 1 else 1
        count = _whole(self.data, at + 1, width)
        places = at + 1 + width
        begin = places + (count + 1) * size
        return [
            self.read(begin + _whole(self.data, places + i * size, size), depth + 1)
            for i in range(count)
        ]

    def _primitive(self, at: int, kind: int) -> Any:
        data = self.data
        if kind <= 2:
            return (None, True, False)[kind]
        if kind in _INTEGERS or kind in _FLOATS:
            return struct.unpack_from(_INTEGERS.get(kind) or _FLOATS[kind], data, at)[0]
        if kind in _DECIMALS:
            unscaled = int.from_bytes(_part(data, at + 1, _DECIMALS[kind]), "little", signed=True)
            return Decimal(unscaled).scaleb(-data[at])
        if kind in (_BYTES, _STRING):
            found = _part(data, at + 4, _whole(data, at, 4))
            return found.decode() if kind == _STRING else found
        if kind == _DATE:
            return _instant(struct.unpack_from("<i", data, at)[0] * _DAY)
        if kind in _NANOSECONDS:
            return _instant(struct.unpack_from("<q", data, at)[0] * _NANOSECONDS[kind])
        raise EventError(f"a variant has a value of type {kind}, which no event can hold")


def _instant(nanoseconds: int) -> Timestamp:
    try:
        return Timestamp(nanoseconds)
    except TimestampError as error:
        raise EventError(f"a variant has {error}") from error
