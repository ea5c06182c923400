"""The limits on everything that comes from outside. docs/limits.md is the page for users."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from tamis.errors import LimitError

MAX_DEPTH = 50
"""Nesting of an expression and of an event: fixed, since every walk over a tree recurses."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine, a parser or a reader accepts; every field may be set."""

    text: int = 1_000_000
    """Characters in the text (or the JSON form) of one subscription."""
    operands: int = 100_000
    """Operands of one ``and`` or ``or``."""
    pattern: int = 500
    """Triples of one graph pattern: to find them in a graph takes a level of recursion for each."""
    items: int = 10_000
    """Values of one ``in``, networks of one ``in cidr``, arguments of one call."""
    conjunctions: int = 1_024
    """Conjunctions of a normal form, which ``covers`` and ``overlaps`` make of a subscription;
    matching needs none. Beyond it they give up: nothing is covered, anything may overlap."""
    bindings: int = 100_000
    """Bindings that one clause may try on one event, and rows that one operator may give."""
    document: int = 16_777_216
    """Bytes in one JSON event, or in one line of NDJSON."""
    values: int = 100_000
    """Values and keys in one event."""
    triples: int = 100_000
    """Triples in the graph of one event."""
    string: int = 10_000_000
    """Characters in one string of an event, and bytes in one of its byte strings."""
    id: int = 1_000
    """Characters in the id of a subscription."""
    metadata: int = 65_536
    """Characters of JSON in the metadata of a subscription."""
    schema: int = 16_777_216
    """Characters in the JSON form of a schema."""
    attributes: int = 10_000
    """Attributes, domains and event types of a schema, each."""
    members: int = 10_000
    """Values of one enumerated domain."""
    costly: float = 200
    """Nanoseconds that an average event may pay for a subscription without a warning."""
    cost: float = math.inf
    """Nanoseconds that an average event may pay for a subscription at all."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check = _is_cost if field.name in _COSTS else _is_size
            if not check(given := getattr(self, field.name)):
                kind = "a number from 0 to inf" if field.name in _COSTS else "a whole number from 1"
                raise LimitError(f"the limit '{field.name}' must be {kind}, not {given!r:.100}")


_COSTS = ("costly", "cost")


def _is_size(given: object) -> bool:
    return type(given) is int and given >= 1


def _is_cost(given: object) -> bool:
    return type(given) in (int, float) and given >= 0  # type: ignore[operator]  # and not NaN


LIMITS = Limits()


def check_limit(size: int, limit: int, what: str, place: str = "") -> None:
    """Raise a LimitError if ``size`` exceeds ``limit``; ``what`` is a plural noun."""
    if size > limit:
        raise LimitError(f"{size:,} {what}{place}: the limit is {limit:,}")
