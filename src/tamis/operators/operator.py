"""Operators: Python functions that subscriptions call on events.

    def near(event, place, distance):
        yield haversine(event.attributes["location"], PLACES[place])

    Operator(near, reads=("location",))        near('Bronx', ?d) and ?d < 1000

``bindings/calls.py`` says how an operator is called and what it may return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.errors import SubscriptionError, TamisError, suggestion
from tamis.model.paths import Path, parse_path
from tamis.predicates.expression import Call, Expression, nodes_within
from tamis.predicates.operands import check_name


@dataclass(frozen=True)
class Operator:
    """A function that subscriptions may call, and the attributes that it reads."""

    function: Callable[..., Any]
    reads: tuple[str, ...] | None = None
    """Attributes such as ``("location", "item.price")``; without it, it may look at everything.

    In the event that the function gets, each list at these attributes is replaced by one of its
    elements, so the fewer it reads, the fewer bindings there are to try.
    """
    name: str = ""
    """How subscriptions call it; by default as the function is called."""
    paths: tuple[Path, ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TamisError(f"an operator must be a function, not {self.function!r}")
        if isinstance(self.reads, str):
            raise TamisError(f"write reads=({self.reads!r},), with a comma: it is a tuple")
        if self.name:
            check_name(self.name, "operator")
        else:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", name)
        paths = None if self.reads is None else tuple(map(parse_path, self.reads))
        object.__setattr__(self, "paths", paths)


Operators = Mapping[str, Operator]
"""Operators by the names that subscriptions call."""


def to_operators(given: Mapping[str, Operator | Callable[..., Any]]) -> Operators:
    """Operators by name, from operators and from plain functions, which may read everything."""
    if not isinstance(given, Mapping):
        raise TamisError(f"operators must be a mapping from name to function, not {given!r}")
    found = {}
    for name, each in given.items():
        function, reads = (
            (each.function, each.reads) if isinstance(each, Operator) else (each, None)
        )
        found[name] = Operator(function, reads, name)
    return found


def check_calls(expression: Expression, operators: Mapping[str, object]) -> None:
    """Refuse an expression that calls an operator that there is not."""
    for node in nodes_within(expression):
        if isinstance(node, Call) and node.name not in operators:
            known = ", ".join(sorted(operators)[:10])
            hint = suggestion(node.name, operators) or (
                f"there are {known}" if known else "there are none: Engine(operators={…})"
            )
            raise SubscriptionError(f"unknown operator {node.name[:50]!r} in '{node}'; {hint}")
