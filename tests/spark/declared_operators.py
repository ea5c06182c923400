"""Operators that executors import from here."""

from __future__ import annotations

from collections.abc import Iterator

from tamis import Event, operator


@operator("least: number, [more: number]", reads=("x",), version="2")
def spark_test_above(event: Event, least: float, *more: float) -> bool | None:
    """Whether x is above a number."""
    x = event.attributes.get("x")
    return None if not isinstance(x, int | float) else x > least


@operator("?double: number", reads=("x",))
def spark_test_double(event: Event, double: None) -> Iterator[float]:
    """Twice x."""
    x = event.attributes.get("x")
    if isinstance(x, int | float):
        yield 2 * x
