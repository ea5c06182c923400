"""Subscriptions over HTTP: made, read, listed, changed, renewed, ended; and tried before that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tamis.broker import NewSubscription
from tamis.broker.records import Webhook
from tamis.server.handlers.arguments import (
    AFTER,
    ID,
    IDEMPOTENCY_KEY,
    LIMIT,
    SEARCH,
    access,
    caller_of,
    id_of,
    idempotency_key,
    integer_of,
    service_of,
)
from tamis.server.operation import JSON, Operation
from tamis.server.requests import Fields, RequestError, read_fields
from tamis.server.wire import instant, json_response, receipt_form, subscription_form

if TYPE_CHECKING:
    from starlette.requests import Request


async def subscribe(request: Request) -> Response:
    """Make a subscription."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    new = NewSubscription(
        subscription=source_of(fields),
        dialect=fields.text("dialect", "tamis") or "tamis",
        id=checked_id(fields.text("id")),
        lease=fields.number("lease"),
        metadata=fields.object("metadata") or {},
        webhook=_webhook(fields.fields("webhook")),
        idempotency_key=idempotency_key(request),
    )
    fields.done()
    receipt = await service.durably(service.broker.subscribe, new, by=caller_of(request).identity)
    status = 200 if receipt.repeated else 201
    return json_response(receipt_form(receipt), status)


def checked_id(id: str | None) -> str | None:
    """An id that can stand in an address."""
    if id is not None and (not id or id in (".", "..") or "/" in id):
        raise RequestError(
            "an id stands in addresses: it is not empty, '.' or '..', and has no '/'"
        )
    return id


def source_of(fields: Fields) -> Any:
    """The subscription of a request, which must have one."""
    found = fields.source("subscription")
    if found is None:
        raise RequestError("the field 'subscription' is missing")
    return found


def _webhook(fields: Fields | None) -> Webhook | None:
    if fields is None:
        return None
    url = fields.text("url")
    fields.done()
    if not url:
        raise RequestError("the field 'webhook.url' is missing")
    return Webhook(url)


async def subscription(request: Request) -> Response:
    """Read a subscription."""
    service = service_of(request)
    found = await service.call(service.broker.subscription, id_of(request), **access(request))
    return json_response(subscription_form(found))


async def subscriptions(request: Request) -> Response:
    """List and search the caller's subscriptions."""
    service = service_of(request)
    limit = integer_of(request, "limit", 100, 1, service.settings.page)
    search = request.query_params.get("search")
    call = service.try_out if search else service.call  # a search may look at every row
    found = await call(
        service.broker.subscriptions,
        by=caller_of(request).identity,
        search=search,
        after=integer_of(request, "after", 0, 0),
        limit=limit,
    )
    document: dict[str, Any] = {"items": [subscription_form(each) for each in found]}
    if len(found) == limit:
        document["next"] = str(found[-1].number)
    return json_response(document)


async def update(request: Request) -> Response:
    """Change a subscription in place; what is queued stays."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    change: dict[str, Any] = {
        "subscription": fields.source("subscription"),
        "dialect": fields.text("dialect", "tamis"),
        "metadata": fields.object("metadata"),
        "webhook": _webhook(fields.fields("webhook")),
        "enabled": fields.flag("enabled"),
    }
    fields.done()
    id, rights = id_of(request), access(request)
    await service.durably(service.broker.update, id, **change, **rights)
    found = await service.call(service.broker.subscription, id, **rights)
    document = subscription_form(found)
    if change["webhook"] is not None:
        document["webhook_secret"] = await service.call(service.broker.webhook_secret, id, **rights)
    return json_response(document)


async def renew(request: Request) -> Response:
    """Begin the lease of a subscription again."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    lease = fields.number("lease")
    fields.done()
    expires = await service.durably(
        service.broker.renew, id_of(request), lease=lease, **access(request)
    )
    return json_response({"expires": instant(expires)})


async def enable(request: Request) -> Response:
    """Let a disabled subscription match again."""
    service = service_of(request)
    await service.durably(service.broker.enable, id_of(request), **access(request))
    return Response(status_code=204)


async def disable(request: Request) -> Response:
    """Keep a subscription, but let it match nothing."""
    service = service_of(request)
    await service.durably(service.broker.disable, id_of(request), **access(request))
    return Response(status_code=204)


async def unsubscribe(request: Request) -> Response:
    """End a subscription, with all that waits for it."""
    service = service_of(request)
    await service.durably(service.broker.unsubscribe, id_of(request), **access(request))
    return Response(status_code=204)


OPERATIONS = (
    Operation(
        "POST",
        "/v1/subscriptions",
        subscribe,
        "Subscribe",
        "subscribe",
        {201: "Receipt", 200: "Receipt"},
        about="The ticket is shown once. A lease is in seconds; one day by default.",
        parameters=(IDEMPOTENCY_KEY,),
        body={JSON: "NewSubscription"},
        problems=(409,),
        example='{"subscription": "category = \'Toy\' and price < 5", "lease": 86400}',
    ),
    Operation(
        "GET",
        "/v1/subscriptions",
        subscriptions,
        "List and search your subscriptions",
        "subscribe",
        {200: "Subscriptions"},
        parameters=(SEARCH, AFTER, LIMIT),
    ),
    Operation(
        "GET",
        "/v1/subscriptions/{id}",
        subscription,
        "Read a subscription",
        "ticket",
        {200: "Subscription"},
        parameters=(ID,),
    ),
    Operation(
        "PATCH",
        "/v1/subscriptions/{id}",
        update,
        "Change a subscription in place",
        "ticket",
        {200: "Subscription"},
        about="Id and ticket stay, and so does what is queued. Fields that you leave out stay too. "
        "A webhook that has ended begins again when you give its address and enable it.",
        parameters=(ID,),
        body={JSON: "Change"},
        example='{"subscription": "price < 4"}',
    ),
    Operation(
        "DELETE",
        "/v1/subscriptions/{id}",
        unsubscribe,
        "Unsubscribe",
        "ticket",
        {204: None},
        parameters=(ID,),
    ),
    Operation(
        "POST",
        "/v1/subscriptions/{id}/renew",
        renew,
        "Renew the lease",
        "ticket",
        {200: "Expiry"},
        parameters=(ID,),
        body={JSON: "Lease"},
        body_required=False,
    ),
    Operation(
        "POST",
        "/v1/subscriptions/{id}/enable",
        enable,
        "Let it match again",
        "ticket",
        {204: None},
        parameters=(ID,),
    ),
    Operation(
        "POST",
        "/v1/subscriptions/{id}/disable",
        disable,
        "Let it match nothing for a while",
        "ticket",
        {204: None},
        parameters=(ID,),
    ),
)
