"""What handlers take from a request: parameters of the query, checked, and the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.server.operation import Parameter
from tamis.server.requests import RequestError
from tamis.server.service import Caller, Service

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request

ID = Parameter("id", "path", "The id of the subscription.", {"type": "string", "minLength": 1})
AFTER = Parameter("after", "query", "The cursor that the page before gave.", {"type": "string"})
LIMIT = Parameter(
    "limit", "query", "Items of the page, at most.", {"type": "integer", "minimum": 1}
)
SEARCH = Parameter("search", "query", "Only those with this text in them.", {"type": "string"})
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "header",
    "The same key with the same request again gives the same answer, and changes nothing.",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
)


def service_of(request: HTTPConnection) -> Service:
    """What all handlers share."""
    return request.app.state.service  # type: ignore[no-any-return]


def caller_of(request: Request) -> Caller:
    """Who calls."""
    return request.state.caller  # type: ignore[no-any-return]


def access(request: Request) -> dict[str, Any]:
    """Identity and ticket, as most methods of the broker take them."""
    caller = caller_of(request)
    return {"by": caller.identity, "ticket": caller.ticket}


def id_of(request: Request) -> str:
    """The id in the address."""
    return str(request.path_params["id"])


def integer_of(
    request: HTTPConnection, name: str, default: int, least: int, most: int = 2**63 - 1
) -> int:
    """A whole number of the query; what is larger than ``most`` is ``most``."""
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        found = int(given) if given.isascii() else None
    except ValueError:
        found = None
    if found is None or found < least:
        raise RequestError(f"the parameter {name!r} must be a whole number from {least:,} on")
    return min(found, most)


def seconds_of(request: Request, name: str, most: float) -> float:
    """A number of seconds of the query, at most ``most``; 0 if there is none."""
    given = request.query_params.get(name, "0")
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not found >= 0:
        raise RequestError(f"the parameter {name!r} must be a number of seconds")
    return min(found, most)


def idempotency_key(request: Request) -> str | None:
    """The idempotency key, if the request has one."""
    given = request.headers.get("idempotency-key")
    if given is not None and not (
        0 < len(given) <= 200 and given.isascii() and given.isprintable()
    ):
        raise RequestError("the Idempotency-Key must be 1 to 200 printable ASCII characters")
    return given
