"""Operators: Python functions that subscriptions call on events.

    @tamis.operator("place: string, ?distance: number", reads=("location",))
    def near(event, place, distance):
        "How far the event is from a place, in metres."
        yield haversine(event.attributes["location"], PLACES[place])

    near('Bronx', ?d) and ?d < 1000

``bindings/calls.py`` says what a function gets and what it may return. A *batch form* gets many
calls at once, as two lists of equal length, and returns a list of such results:

    @tamis.operator("phrase: string", reads=("text",), batch=True, prepare=embedded_texts)
    def similar_to(texts, arguments):
        return [score(text, phrase) > 0.6 for text, (phrase,) in zip(texts, arguments)]

``prepare`` is the part of the work that depends on the event alone, such as decoding an image. It
is done once for an event, however many calls, of however many operators, share it; the function
then gets what it returned in the place of the event.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tamis.errors import SubscriptionError, TamisError, suggestion
from tamis.model.events.event import Event
from tamis.model.paths import Path, parse_path
from tamis.operators.signature import Signature
from tamis.predicates.expression import Call, Expression, nodes_within
from tamis.predicates.operands import check_name

Runs = Literal["here", "threads", "processes"]
RUNS = ("here", "threads", "processes")
"""Where calls of an operator are made: in the thread that matches, or in a pool."""


@dataclass(frozen=True)
class Operator:
    """A function that subscriptions may call, and what Tamis may know about it."""

    function: Callable[..., Any]
    """A coroutine function makes an *async* operator: its calls of one round run together."""
    reads: tuple[str, ...] | None = None
    """Attributes and payloads such as ``("location", "item.price")``; without it, it may look at
    everything.

    In the event that the function gets, each list at these attributes is replaced by one of its
    elements, so the fewer it reads, the fewer bindings there are to try.
    """
    name: str = ""
    """How subscriptions call it; by default as the function is called."""
    signature: Signature | str | None = None
    """Parameters with their kinds, ``?`` before those that may be variables; None takes any."""
    cost: float | None = None
    """Seconds of one call, if you know; else they are measured."""
    prepare: Callable[..., Any] | None = None
    """Work for the event alone; of a batch form, for a list of events."""
    prepare_cost: float | None = None
    """Seconds of that for one event, if you know."""
    batch: bool | Literal["table"] = False
    """Whether the function takes many calls at once: ``function(events, arguments)``. As a
    ``"table"`` it gets each distinct event and each distinct arguments once, and two arrays that
    say which of them belong to each call, ``function(events, arguments, event, argument)``; it may
    return an array of booleans."""
    runs: Runs = "here"
    timeout: float | None = None
    """Seconds after which nobody waits for a call, or a batch of calls, any longer."""
    cacheable: bool = False
    """Whether a result may be kept for other events that are equal in all that it reads."""
    version: str = "1"
    """Change it when the function's results change: what is cached or learned is kept by it."""
    paths: tuple[Path, ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if isinstance(self.signature, str):
            object.__setattr__(self, "signature", Signature.parse(self.signature))
        if self.name:
            check_name(self.name, "operator")
        else:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", name)
        paths = None if self.reads is None else tuple(map(parse_path, self.reads))
        object.__setattr__(self, "paths", paths)

    def _check(self) -> None:
        if not callable(self.function):
            raise TamisError(f"an operator must be a function, not {self.function!r}")
        if isinstance(self.reads, str):
            raise TamisError(f"write reads=({self.reads!r},), with a comma: it is a tuple")
        if self.prepare is not None and not callable(self.prepare):
            raise TamisError(f"prepare= must be a function, not {self.prepare!r}")
        if self.runs not in RUNS:
            raise TamisError(f"runs= is one of {', '.join(RUNS)}, not {self.runs!r}")
        for what in ("cost", "prepare_cost", "timeout"):
            given = getattr(self, what)
            if given is not None and (type(given) not in (int, float) or not given > 0):
                raise TamisError(f"{what}= is a number of seconds above 0, not {given!r}")
        if self.cacheable and self.reads is None:
            raise TamisError("a cacheable operator must declare what it reads: reads=(…)")
        if self.is_async and self.runs != "here":
            raise TamisError("an async operator runs on an event loop of its own: leave runs= out")
        if self.timeout is not None and self.runs == "here" and not self.is_async:
            raise TamisError(
                "a call can be left only in another thread: timeout= needs runs='threads', "
                "runs='processes' or an async function"
            )

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    def call(self, event: Event, arguments: tuple[Any, ...]) -> Any:
        """One call, made here and now."""
        if self.batch:
            subject = [event] if self.prepare is None else self.prepare([event])
            (given,) = self.function(subject, [arguments])
            return given
        subject = event if self.prepare is None else self.prepare(event)
        given = self.function(subject, *arguments)
        if self.is_async:
            import asyncio

            return asyncio.run(given)
        return given

    def __call__(self, *arguments: Any) -> Any:
        """Call the function itself."""
        return self.function(*arguments)

    @property
    def documentation(self) -> str:
        """The first paragraph of the function's docstring, in one line."""
        text = inspect.getdoc(self.function) or ""
        return " ".join(text.partition("\n\n")[0].split())


Operators = Mapping[str, Operator]
"""Operators by the names that subscriptions call."""


def to_operators(given: Mapping[str, Operator | Callable[..., Any]]) -> Operators:
    """Operators by name, from operators and from plain functions, which may read everything."""
    if not isinstance(given, Mapping):
        raise TamisError(f"operators must be a mapping from name to function, not {given!r}")
    found = {}
    for name, each in given.items():
        own: Any = getattr(each, "operator", each)  # of an engine that guards it
        made = own if isinstance(own, Operator) else Operator(own, name=name)
        found[name] = replace(made, name=name)
    return found


def check_calls(expression: Expression, operators: Mapping[str, object]) -> None:
    """Refuse an expression that calls an operator that there is not, or in a wrong way."""
    for node in nodes_within(expression):
        if not isinstance(node, Call):
            continue
        if node.name not in operators:
            known = ", ".join(sorted(operators)[:10])
            hint = suggestion(node.name, operators) or (
                f"there are {known}" if known else "there are none: Engine(operators={…})"
            )
            raise SubscriptionError(f"unknown operator {node.name[:50]!r} in '{node}'; {hint}")
        signature = getattr(operators[node.name], "signature", None)
        if signature is not None:
            signature.check(node)
