"""Notifications that a webhook did not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.server.handlers.arguments import ID, LIMIT, access, id_of, integer_of, service_of
from tamis.server.operation import Operation, Parameter
from tamis.server.wire import dead_letter_form, json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def dead_letters(request: Request) -> Response:
    """Notifications that a webhook did not take."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    found = await service.call(
        service.broker.dead_letters,
        id_of(request),
        after=integer_of(request, "after", 0, 0),
        limit=limit,
        **access(request),
    )
    document: dict[str, Any] = {"items": [dead_letter_form(each) for each in found]}
    if len(found) == limit:
        document["next"] = str(found[-1].notification.position)
    return json_response(document)


async def replay(request: Request) -> Response:
    """Send dead letters again."""
    service = service_of(request)
    count = await service.durably(service.broker.replay, id_of(request), **access(request))
    return json_response({"replayed": count})


DEAD = Parameter(
    "after", "query", "The cursor that the page before gave.", {"type": "integer", "minimum": 0}
)

OPERATIONS = (
    Operation(
        "GET",
        "/v1/subscriptions/{id}/dead-letters",
        dead_letters,
        "Read dead letters",
        "ticket",
        {200: "DeadLetters"},
        tag="delivery",
        parameters=(ID, DEAD, LIMIT),
    ),
    Operation(
        "POST",
        "/v1/subscriptions/{id}/dead-letters/replay",
        replay,
        "Send dead letters again",
        "ticket",
        {200: "Replay"},
        tag="delivery",
        parameters=(ID,),
    ),
)
