"""Events that could not be decided for a subscription, because an operator failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tamis.server.handlers.arguments import (
    AFTER,
    ID,
    LIMIT,
    access,
    caller_of,
    id_of,
    integer_of,
    service_of,
)
from tamis.server.operation import Operation
from tamis.server.requests import RequestError
from tamis.server.wire import json_response, undecided_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tamis.broker import UndecidedPair


async def undecided(request: Request) -> Response:
    """Events that could not be decided for one subscription."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    found = await service.call(
        service.broker.undecided,
        id=id_of(request),
        after=_place(request),
        limit=limit,
        **access(request),
    )
    return _page(found, limit)


async def all_undecided(request: Request) -> Response:
    """Events that could not be decided for any subscription of the caller."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    found = await service.call(
        service.broker.undecided, caller_of(request).identity, after=_place(request), limit=limit
    )
    return _page(found, limit)


def _place(request: Request) -> tuple[int, int]:
    """The cursor of the query."""
    given = request.query_params.get("after")
    if given is None:
        return 0, 0
    found = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", given)
    if found is None:
        raise RequestError("the parameter 'after' must be the cursor that the page before gave")
    return int(found[1]), int(found[2])


def _page(found: list[UndecidedPair], limit: int) -> Response:
    """A page, with the cursor of the next one if there may be one."""
    document: dict[str, Any] = {"items": [undecided_form(each) for each in found]}
    if len(found) == limit:
        document["next"] = "{}-{}".format(*found[-1].place)
    return json_response(document)


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
        parameters=(ID, AFTER, LIMIT),
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
        parameters=(AFTER, LIMIT),
    ),
)
