"""Operators of the contract's cases and laws: tables that never change, and some that look at the
event or fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tamis.operators.operator import Operators, to_operators


def one(event: Any, *arguments: Any) -> list[Any]:
    """Three numbers."""
    return [1, 2, 3]


def other(event: Any, *arguments: Any) -> list[Any]:
    """Values of several kinds, of which some equal those of ``one``."""
    return [2.0, 3, "x", True]


def pairs(event: Any, first: Any, second: Any) -> Iterator[Any]:
    """Pairs of numbers, or one half of those whose other half is given."""
    for one_half, other_half in [(1, 2), (2, 2), (3, 1), (1, 2)]:
        if first is None and second is None:
            yield one_half, other_half
        elif second == other_half:
            yield one_half
        elif first == one_half:
            yield other_half


def near(event: Any, place: str, *arguments: Any) -> list[int]:
    """How far it is to a place; none if nobody knows the place."""
    return {"Bronx": [12], "Queens": [3, 30]}.get(place, [])


def none(event: Any, *arguments: Any) -> list[Any]:
    """No rows."""
    return []


def unsure(event: Any, *arguments: Any) -> None:
    """Unknown."""


def broken(event: Any, *arguments: Any) -> Any:
    """A failure."""
    raise ValueError("no connection")


def yes(event: Any, *arguments: Any) -> bool:
    """True."""
    return True


def no(event: Any, *arguments: Any) -> bool:
    """False."""
    return False


def values_of_a(event: Any, *arguments: Any) -> list[Any]:
    """The value that the attribute ``a`` is bound to, if any."""
    value = event.attributes.get("a")
    return [] if value is None or isinstance(value, dict) else [value]


def dear(event: Any, least: float) -> bool | None:
    """Whether the item that is bound costs so much."""
    item = event.attributes.get("items")
    price = item.get("price") if isinstance(item, dict) else None
    return None if price is None else price >= least


FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (one, other, pairs, near, none, unsure, broken, yes, no, values_of_a, dear)
}
OPERATORS: Operators = to_operators(FUNCTIONS)
