"""Keys and numbers over HTTP, for administrators; health and metrics, for whoever watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from tamis import __version__
from tamis.broker import Identity, Quotas, Role
from tamis.errors import ForbiddenError
from tamis.server.handlers.arguments import caller_of, service_of
from tamis.server.operation import JSON, Operation, Parameter
from tamis.server.requests import Fields, RequestError, read_fields
from tamis.server.service import Service, check_role
from tamis.server.wire import json_response, key_form

if TYPE_CHECKING:
    from starlette.requests import Request

FIRST_TENANT = "default"
"""The tenant whose administrators run the broker."""


async def create_key(request: Request) -> Response:
    """Make a key."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    name, tenant, roles = fields.text("name"), fields.text("tenant"), fields.texts("roles")
    quotas = _quotas(fields.fields("quotas"))
    fields.done()
    if not name or not roles or not {*roles} <= {*Role}:
        raise RequestError(f"a key needs a name, and roles among {', '.join(Role)}")
    by = admin_of(request)
    if not is_operator(by):
        if tenant not in (None, by.tenant):
            raise ForbiddenError("only the administrator of the first tenant makes keys for others")
        quotas = tenant_quotas(service, by, quotas)
    key, stored = await service.durably(
        service.broker.create_key, name, roles, tenant=tenant or by.tenant, quotas=quotas
    )
    return json_response({"key": key, **key_form(stored)}, 201)


def _quotas(fields: Fields | None) -> Quotas | None:
    """The quotas of a new key; None is those that the settings give to all."""
    if fields is None:
        return None
    counts = {name: fields.integer(name) for name in ("subscriptions", "calls")}
    others = {name: fields.number(name) for name in ("cost", "requests")}
    fields.done()
    for name, most in (counts | others).items():
        if most is not None and most < 0:
            raise RequestError(f"the field 'quotas.{name}' must not be negative")
    return Quotas(**counts, **others)  # type: ignore[arg-type]


def tenant_quotas(service: Service, by: Identity, given: Quotas | None) -> Quotas:
    """The quotas of a key that the administrator of a tenant makes: no more than its own."""
    return (given or service.broker.settings.quotas).within(by.quotas)


def is_operator(identity: Identity) -> bool:
    """Whether somebody runs this broker, and not only a tenant of it."""
    return identity.may(Role.ADMIN) and identity.tenant == FIRST_TENANT


def admin_of(request: Request) -> Identity:
    """The caller, who must be an administrator."""
    identity = caller_of(request).identity
    if not identity.may(Role.ADMIN):
        raise ForbiddenError("this needs a key with the role 'admin'")
    return identity


async def keys(request: Request) -> Response:
    """List the keys."""
    service = service_of(request)
    found = await service.call(service.broker.keys, admin_of(request).tenant)
    return json_response({"items": [key_form(each) for each in found]})


async def revoke_key(request: Request) -> Response:
    """Revoke a key."""
    service = service_of(request)
    number = request.path_params["number"]
    await service.durably(service.broker.revoke_key, number, tenant=admin_of(request).tenant)
    return Response(status_code=204)


async def stats(request: Request) -> Response:
    """The numbers of the broker."""
    service = service_of(request)
    admin_of(request)
    numbers = service.broker.stats()
    return json_response({**numbers, "streams": service.streams.open})


async def health(request: Request) -> Response:
    """Whether the process answers."""
    return json_response({"status": "alive", "version": __version__})


async def readiness(request: Request) -> Response:
    """Whether the broker takes requests."""
    service = service_of(request)
    reason = "the server stops" if service.is_stopping.is_set() else service.broker.trouble()
    if reason:
        return json_response({"status": "not ready", "reason": reason}, 503)
    return json_response({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    service = service_of(request)
    if not service.settings.public_metrics:
        request.state.caller = await service.caller(request)
        check_role(request.state.caller, Role.ADMIN)
        admin_of(request)
    body, kind = await service.call(service.metrics.exposition, request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": kind})


NUMBER = Parameter(
    "number", "path", "The number of the key.", {"type": "integer", "minimum": 1, "maximum": 2**53}
)

OPERATIONS = (
    Operation(
        "POST",
        "/v1/keys",
        create_key,
        "Make a key",
        "admin",
        {201: "Key"},
        tag="administration",
        about="The key is shown once.",
        body={JSON: "NewKey"},
        example='{"name": "shop", "roles": ["publish"]}',
    ),
    Operation(
        "GET", "/v1/keys", keys, "List the keys", "admin", {200: "Keys"}, tag="administration"
    ),
    Operation(
        "DELETE",
        "/v1/keys/{number:int}",
        revoke_key,
        "Revoke a key",
        "admin",
        {204: None},
        tag="administration",
        parameters=(NUMBER,),
    ),
    Operation(
        "GET",
        "/v1/stats",
        stats,
        "The numbers of the broker",
        "admin",
        {200: "Stats"},
        tag="administration",
    ),
    Operation(
        "GET", "/healthz", health, "Is it alive?", "anyone", {200: "Status"}, tag="operation"
    ),
    Operation(
        "GET",
        "/readyz",
        readiness,
        "Does it take requests?",
        "anyone",
        {200: "Status"},
        tag="operation",
    ),
    Operation(
        "GET",
        "/metrics",
        metrics,
        "Numbers for Prometheus",
        "anyone",
        {200: "text"},
        tag="operation",
        answer_type="text/plain",
    ),
)
