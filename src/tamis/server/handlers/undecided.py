"""Events that could not be decided for a subscription, because an operator failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.server.handlers.arguments import (
    ID,
    LIMIT,
    access,
    caller_of,
    id_of,
    integer_of,
    service_of,
)
from tamis.server.operation import Operation
from tamis.server.wire import json_response, undecided_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def undecided(request: Request) -> Response:
    """Events that could not be decided for one subscription."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    found = await service.call(
        service.broker.undecided, id=id_of(request), limit=limit, **access(request)
    )
    return json_response({"items": [undecided_form(each) for each in found]})


async def all_undecided(request: Request) -> Response:
    """Events that could not be decided for any subscription of the caller."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    found = await service.call(service.broker.undecided, caller_of(request).identity, limit=limit)
    return json_response({"items": [undecided_form(each) for each in found]})


_ABOUT = (
    "An operator failed for them. They are tried again at the time 'next'; without one, they were "
    "given up. The oldest come first."
)

OPERATIONS = (
    Operation(
        "GET",
        "/v1/subscriptions/{id}/undecided",
        undecided,
        "Read undecided events",
        "ticket",
        {200: "Undecided"},
        tag="delivery",
        about=_ABOUT,
        parameters=(ID, LIMIT),
    ),
    Operation(
        "GET",
        "/v1/undecided",
        all_undecided,
        "Read undecided events of all your subscriptions",
        "subscribe",
        {200: "Undecided"},
        tag="delivery",
        about=_ABOUT,
        parameters=(LIMIT,),
    ),
)
