"""One operation of the HTTP API: what routes it, documents it and checks who may call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

JSON = "application/json"
Handler = Callable[["Request"], Awaitable["Response"]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the address, the query or a header."""

    name: str
    where: str
    about: str
    schema: Mapping[str, Any]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """A method at a path. ``who`` says which credentials it takes: a role of a key, ``ticket`` (the
    ticket of the subscription, or the owner's key) or ``anyone``."""

    method: str
    path: str
    handler: Handler
    summary: str
    who: str
    answers: Mapping[int, str | None]
    """For each status of success the schema of its body, or None."""
    tag: str = "subscriptions"
    about: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, str] = field(default_factory=dict)
    """For each media type of a body its schema."""
    problems: tuple[int, ...] = ()
    """Statuses of failure beside those that every operation has."""
    answer_type: str = JSON
    body_required: bool = True
    example: str = ""
    """A body that works, for the documentation."""

    @property
    def name(self) -> str:
        """The name of the operation, which is that of its handler."""
        return self.handler.__name__

    @property
    def limited(self) -> bool:
        """Whether it asks who calls, and counts against the rate of the caller."""
        return self.tag != "operation"
