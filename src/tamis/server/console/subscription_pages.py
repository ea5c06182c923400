"""The pages of subscriptions: the list, the editor, one of them with its notifications."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from tamis.broker import NewSubscription
from tamis.errors import TamisError
from tamis.server.console.drawing import duration, short
from tamis.server.console.views import (
    Visit,
    fragment,
    page,
    read_form,
    state_badge,
    visit_of,
    with_session,
)
from tamis.server.handlers.arguments import integer_of, service_of
from tamis.server.handlers.subscriptions import checked_id
from tamis.server.requests import MissingPathError, read_fields
from tamis.server.wire import instant

if TYPE_CHECKING:
    from starlette.requests import Request

    from tamis.broker import StoredSubscription
    from tamis.server.service import Service

_PAGE = 50
_LONG = 10_000
"""Characters up to which a text is read again to estimate its cost: some 0.1 s."""
_UNDECIDED = 20
"""Undecided events that the page of a subscription shows, the oldest ones."""
_TRIED = 20
"""Recent events that the editor tries a subscription on."""


@with_session
async def subscriptions(request: Request, visit: Visit) -> Response:
    """The subscriptions of the key, or of an administrator's tenant."""
    service = service_of(request)
    search = request.query_params.get("search", "")
    call = service.try_out if search else service.call
    found = await call(
        service.broker.subscriptions,
        by=visit.identity,
        search=search or None,
        after=integer_of(request, "after", 0, 0),
        limit=_PAGE,
    )
    rows = [await _row(service, each, visit) for each in found]
    return page(
        "subscriptions.html",
        request,
        visit,
        title="Subscriptions",
        count=short(service.broker.stats()["subscriptions"]),
        search=search,
        rows=rows,
        next=str(found[-1].number) if len(found) == _PAGE else "",
        state=lambda row: state_badge(row["enabled"]),
    )


async def _row(service: Service, stored: StoredSubscription, visit: Visit) -> dict[str, Any]:
    """A subscription as tables show it."""
    cost = "not estimated"
    if len(stored.text) <= _LONG:
        found = (await service.call(service.broker.check, stored.text, by=visit.identity)).cost
        cost = short(round(found, 1)) if found >= 0.1 else "under 0.1"
    return {
        "id": stored.id,
        "text": stored.text,
        "enabled": stored.enabled,
        "expires": instant(stored.expires),
        "lease": f"in {duration(stored.expires - time.time())}",
        "waiting": f"{stored.pending:,}",
        "matched": f"{stored.matched:,}",
        "cost": cost,
        "delivery": f"webhook {stored.webhook}" if stored.webhook else "read by its ticket",
    }


@with_session
async def editor(request: Request, visit: Visit) -> Response:
    """A new subscription: written, tried, saved."""
    service = service_of(request)
    context: dict[str, Any] = {"title": "New subscription", "action": "/new", "new": True}
    if request.method == "GET":
        return page("editor.html", request, visit, **context, text="", id="", lease=24, trial=None)
    form = await read_form(request, visit)
    kept: dict[str, Any] = {
        "text": form.get("text", ""),
        "id": form.get("id", ""),
        "lease": form.get("lease", 24),
    }
    if form.get("do") == "try":
        trial = await _trial(service, kept["text"], visit)
        return page("editor.html", request, visit, **context, **kept, trial=trial)
    try:
        new = NewSubscription(kept["text"], id=checked_id(kept["id"] or None), lease=_lease(form))
        receipt = await service.durably(service.broker.subscribe, new, by=visit.identity)
    except TamisError as error:
        return page(
            "editor.html",
            request,
            visit,
            status=422,
            said=str(error),
            wrong=True,
            **context,
            **kept,
            trial=None,
        )
    return await _subscription_page(request, visit, receipt.id, ticket=receipt.ticket)


def _lease(form: Any) -> float | None:
    """The lease of a form, in seconds."""
    try:
        return float(form["lease"]) * 3_600 if form.get("lease") else None
    except ValueError:
        return None


@with_session
async def change(request: Request, visit: Visit) -> Response:
    """A subscription that is there: written anew, tried, saved under the same id."""
    service, id = service_of(request), str(request.path_params["id"])
    stored = await service.call(service.broker.subscription, id, by=visit.identity)
    action = f"/subscriptions/{quote(id, safe='')}/edit"
    context: dict[str, Any] = {"title": f"Change {id}", "action": action, "new": False, "id": id}
    hours = f"{stored.lease / 3_600:g}"
    if request.method == "GET":
        return page(
            "editor.html", request, visit, **context, text=stored.text, lease=hours, trial=None
        )
    form = await read_form(request, visit)
    kept: dict[str, Any] = {"text": form.get("text", ""), "lease": form.get("lease", hours)}
    if form.get("do") == "try":
        trial = await _trial(service, kept["text"], visit)
        return page("editor.html", request, visit, **context, **kept, trial=trial)
    try:
        await service.durably(
            service.broker.update, id, by=visit.identity, subscription=kept["text"]
        )
        await service.durably(service.broker.renew, id, by=visit.identity, lease=_lease(form))
    except TamisError as error:
        return page(
            "editor.html",
            request,
            visit,
            status=422,
            said=str(error),
            wrong=True,
            **context,
            **kept,
            trial=None,
        )
    return RedirectResponse(f"/subscriptions/{quote(id, safe='')}", 303)


async def _trial(service: Service, text: str, visit: Visit) -> dict[str, Any]:
    """A subscription on recent events, as the template shows it."""
    try:
        tried = await service.try_out(service.broker.dry_run, text, last=_TRIED, by=visit.identity)
    except TamisError as error:
        return {"problem": str(error), "events": [], "matched": 0}
    events = [
        {
            "event": json.dumps(each.event.attributes, ensure_ascii=False, default=str),
            "whole": json.dumps(each.event.attributes, ensure_ascii=False, default=str, indent=2),
            "explanation": _tree(each.explanation.to_dict()),
        }
        for each in tried
    ]
    matched = sum(each.explanation.matches for each in tried)
    return {"problem": "", "events": events, "matched": matched}


def _tree(node: dict[str, Any]) -> dict[str, Any]:
    """An explanation whose every node has all fields."""
    parts = [_tree(part) for part in node.get("parts", ())]
    return {"evidence": "", **node, "parts": parts}


async def try_subscription(request: Request) -> Response:
    """A subscription on recent events, for the script of the editor."""
    visit = await visit_of(request)
    service = service_of(request)
    caller = await service.caller(request)  # checks the token of the session
    if visit is None:
        service.limit(caller)
    fields = await read_fields(request, service.settings.body_bytes)
    text = fields.text("subscription", "") or ""
    visit = visit or Visit(caller.identity, "")
    return fragment("trial.html", trial=await _trial(service, text, visit))


@with_session
async def subscription(request: Request, visit: Visit) -> Response:
    """One subscription, and its notifications as they arrive."""
    return await _subscription_page(request, visit, str(request.path_params["id"]))


async def _subscription_page(
    request: Request, visit: Visit, id: str, ticket: str | None = None
) -> Response:
    service = service_of(request)
    stored = await service.call(service.broker.subscription, id, by=visit.identity)
    dead = await service.call(service.broker.dead_letters, id, by=visit.identity)
    verbs = [
        ("disable", "Disable", "plain") if stored.enabled else ("enable", "Enable", "plain"),
        ("renew", "Renew", "plain"),
        ("delete", "Delete", "danger"),
    ]
    if dead:
        verbs.insert(2, ("replay", "Send dead letters again", "plain"))
    open_pairs = await service.call(
        service.broker.undecided, id=id, by=visit.identity, limit=_UNDECIDED
    )
    pairs = [
        {
            "event": each.event.id,
            "reason": each.reason,
            "tries": each.tries,
            "next": "given up" if each.is_given_up else f"in {duration(each.next - time.time())}",
        }
        for each in open_pairs
    ]
    letters = [
        {"id": each.notification.id, "time": instant(each.time), "reason": each.reason}
        for each in dead
    ]
    return page(
        "subscription.html",
        request,
        visit,
        title=id,
        row=await _row(service, stored, visit),
        verbs=verbs,
        ticket=ticket,
        dead=letters,
        undecided=pairs,
        state=lambda row: state_badge(row["enabled"]),
    )


@with_session
async def act(request: Request, visit: Visit) -> Response:
    """A button on the page of a subscription."""
    service, id = service_of(request), str(request.path_params["id"])
    await read_form(request, visit)
    broker = service.broker
    verbs: dict[str, Any] = {
        "enable": broker.enable,
        "disable": broker.disable,
        "renew": broker.renew,
        "delete": broker.unsubscribe,
        "replay": broker.replay,
    }
    verb = request.path_params["verb"]
    if verb not in verbs:
        raise MissingPathError(f"a subscription has no button {verb!r}")
    await service.durably(verbs[verb], id, by=visit.identity)
    target = "/subscriptions" if verb == "delete" else f"/subscriptions/{quote(id, safe='')}"
    return RedirectResponse(target, 303)
