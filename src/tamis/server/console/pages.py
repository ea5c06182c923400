"""The pages of the console, but for those of subscriptions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from tamis import __version__
from tamis.broker import Publication, Role
from tamis.errors import AuthenticationError, TamisError
from tamis.server.console.drawing import PLOTTED, duration, overlay_picture, plot, short
from tamis.server.console.subscription_pages import (
    act,
    change,
    editor,
    subscription,
    subscriptions,
    try_subscription,
)
from tamis.server.console.views import (
    FOLDER,
    Visit,
    fragment,
    page,
    read_form,
    visit_of,
    with_session,
)
from tamis.server.handlers.administration import is_operator, tenant_quotas
from tamis.server.handlers.arguments import service_of
from tamis.server.history import EVERY
from tamis.server.requests import CrossSiteError, RateError, decode_json
from tamis.server.service import address_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from tamis.server.service import Service


_LOGIN = 4_096
"""Bytes of the form of the login, which anybody may send."""


async def login(request: Request) -> Response:
    """The login: a key begins a session."""
    service = service_of(request)
    target = _local(request.query_params.get("next", "/"))
    if request.method == "GET":
        return page("login.html", request, None, title="Log in", next=target)
    try:
        form = await read_form(request, None, _LOGIN)
    except CrossSiteError as error:
        return page("problem.html", request, None, status=403, title="Log in", detail=str(error))
    try:
        service.anonymous_rates.take(address_of(request))
        identity = await service.call(service.broker.identify, form.get("key", "").strip())
    except (AuthenticationError, RateError) as error:
        return page(
            "login.html",
            request,
            None,
            status=401,
            said=f"That did not work: {error}.",
            wrong=True,
            title="Log in",
            next=_local(form.get("next", "/")),
        )
    response = RedirectResponse(_local(form.get("next", "/")), 303)
    service.sessions.begin(response, identity.key, secure=request.url.scheme == "https")
    return response


def _local(target: str) -> str:
    """An address on this server, whatever was asked for."""
    return target if target.startswith("/") and not target.startswith(("//", "/\\")) else "/"


async def logout(request: Request) -> Response:
    """The end of a session."""
    visit = await visit_of(request)
    if visit is not None:
        await read_form(request, visit)
    response = RedirectResponse("/login", 303)
    service_of(request).sessions.end(request, response)
    return response


@with_session
async def overview(request: Request, visit: Visit) -> Response:
    """What this broker is, and its numbers."""
    service = service_of(request)
    facts = [
        ("Version", __version__),
        ("Running for", duration(time.time() - service.started)),
        ("Your tenant", visit.identity.tenant),
        ("Schema", "yes" if service.broker.schema is not None else "none: any event is taken"),
    ]
    return page(
        "overview.html", request, visit, title="Overview", facts=facts, tiles=_tiles(service)
    )


@with_session
async def numbers(request: Request, visit: Visit) -> Response:
    """The numbers alone, which the script of the overview asks for."""
    return fragment("numbers.html", tiles=_tiles(service_of(request)))


def _tiles(service: Service) -> list[dict[str, Any]]:
    history = service.history
    found = []
    for name, title, unit, is_rate in (
        ("events", "Events", "a second", True),
        ("matches", "Matches", "a second", True),
        ("subscriptions", "Subscriptions", "", False),
        ("pending", "Waiting notifications", "", False),
        ("slow", "Slow consumers", "over 1,000 waiting", False),
        ("streams", "Clients that watch", "", False),
        ("links", "Linked brokers", "", False),
        ("waiting", "Requests in the queue", "", False),
    ):
        values = history.rates(name) if is_rate else history.values(name)
        values = [round(value, 1) for value in values]
        last = values[-3:] if is_rate else values[-1:]
        figure = sum(last) / len(last) if last else 0.0
        shown = values[-PLOTTED:]
        found.append(
            {
                "name": title,
                "figure": short(round(figure, 1)),
                "unit": unit,
                "plot": plot(shown, title),
                "since": f"{duration(len(shown) * EVERY)} ago",
                "most": f"up to {short(max(shown, default=0.0))}",
            }
        )
    return found


@with_session
async def publish(request: Request, visit: Visit) -> Response:
    """A test event."""
    service = service_of(request)
    event = '{\n  "category": "Toy",\n  "price": 3\n}'
    context: dict[str, Any] = {"title": "Publish", "event": event, "outcome": None}
    if request.method == "GET":
        return page("publish.html", request, visit, **context)
    form = await read_form(request, visit)
    context["event"] = form.get("event", "")
    try:
        attributes = decode_json(context["event"].encode(errors="replace"))
        if not isinstance(attributes, dict):
            raise TamisError("an event is a JSON object")
        (outcome,) = await service.durably(
            service.broker.publish, [Publication(attributes, source="console")], by=visit.identity
        )
    except TamisError as error:
        return page(
            "publish.html", request, visit, status=422, said=str(error), wrong=True, **context
        )
    return page("publish.html", request, visit, **{**context, "outcome": outcome})


@with_session
async def overlay(request: Request, visit: Visit) -> Response:
    """The brokers that are linked to this one."""
    broker = service_of(request).broker
    links = broker.links()
    picture = overlay_picture(
        broker.settings.name or "this broker",
        [(link.neighbour, link.is_connected) for link in links],
    )
    return page("overlay.html", request, visit, title="Overlay", picture=picture, links=links)


@with_session
async def keys(request: Request, visit: Visit) -> Response:
    """The keys of the tenant, for administrators."""
    service = service_of(request)
    key = ""
    if not visit.identity.may(Role.ADMIN):
        return page(
            "problem.html",
            request,
            visit,
            status=403,
            title="Keys",
            detail="Your key may not see this: it needs the role 'admin'.",
        )
    if request.method == "POST":
        form = await read_form(request, visit)
        roles = [role for role in form.get("role", "").split("\n") if role]
        by = visit.identity
        quotas = None if is_operator(by) else tenant_quotas(service, by, None)
        key, _ = await service.durably(
            service.broker.create_key,
            form.get("name", ""),
            roles,
            tenant=by.tenant,
            quotas=quotas,
        )
    found = await service.call(service.broker.keys, visit.identity.tenant)
    rows = [each for each in found if not each.revoked]
    return page("keys.html", request, visit, title="Keys", key=key, keys=rows, roles=list(Role))


@with_session
async def revoke(request: Request, visit: Visit) -> Response:
    """A key of no use any more."""
    service = service_of(request)
    await read_form(request, visit)
    if visit.identity.may(Role.ADMIN):
        number, tenant = request.path_params["number"], visit.identity.tenant
        await service.durably(service.broker.revoke_key, number, tenant=tenant)
    return RedirectResponse("/keys", 303)


@with_session
async def docs(request: Request, visit: Visit) -> Response:
    """The API, from the same table as everything else."""
    groups: dict[str, list[Any]] = {}
    for operation in request.app.state.operations:
        groups.setdefault(operation.tag, []).append(operation)
    return page("docs.html", request, visit, title="API", groups=groups.items())


def console_routes() -> list[BaseRoute]:
    """The addresses of all pages."""
    both = ["GET", "POST"]
    return [
        Route("/", overview),
        Route("/login", login, methods=both),
        Route("/logout", logout, methods=["POST"]),
        Route("/console/numbers", numbers),
        Route("/console/try", try_subscription, methods=["POST"]),
        Route("/subscriptions", subscriptions),
        Route("/new", editor, methods=both),
        Route("/subscriptions/{id}", subscription),
        Route("/subscriptions/{id}/edit", change, methods=both),
        Route("/subscriptions/{id}/{verb}", act, methods=["POST"]),
        Route("/publish", publish, methods=both),
        Route("/overlay", overlay),
        Route("/keys", keys, methods=both),
        Route("/keys/{number:int}/revoke", revoke, methods=["POST"]),
        Route("/docs", docs),
        Mount("/static", StaticFiles(directory=FOLDER / "static")),
    ]
