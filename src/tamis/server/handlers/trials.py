"""Subscriptions before they are made: checked, and tried on recent events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.server.handlers.arguments import caller_of, service_of
from tamis.server.handlers.subscriptions import source_of
from tamis.server.operation import JSON, Operation
from tamis.server.requests import RequestError, read_fields
from tamis.server.wire import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_TRIED = 1_000
"""Recent events of one dry run."""


async def check(request: Request) -> Response:
    """Check a subscription without making it."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    source, dialect = source_of(fields), fields.text("dialect", "tamis") or "tamis"
    fields.done()
    found = await service.try_out(
        service.broker.check, source, dialect=dialect, by=caller_of(request).identity
    )
    remarks = list(found.remarks)
    return json_response({"canonical": found.text, "cost": found.cost, "remarks": remarks})


async def dry_run(request: Request) -> Response:
    """What a subscription would have matched among recent events, and why."""
    service = service_of(request)
    fields = await read_fields(request, service.settings.body_bytes)
    source, dialect = source_of(fields), fields.text("dialect", "tamis") or "tamis"
    last = fields.integer("last")
    last = 20 if last is None else last
    fields.done()
    if not 1 <= last <= MOST_TRIED:
        raise RequestError(f"the field 'last' must be a whole number from 1 to {MOST_TRIED:,}")
    tried = await service.try_out(
        service.broker.dry_run, source, dialect=dialect, last=last, by=caller_of(request).identity
    )
    events = [
        {
            "event": each.event.attributes,
            "matches": each.explanation.matches,
            "explanation": each.explanation.to_dict(),
        }
        for each in tried
    ]
    matched = sum(each.explanation.matches for each in tried)
    return json_response({"matched": matched, "events": events})


OPERATIONS = (
    Operation(
        "POST",
        "/v1/check",
        check,
        "Check a subscription",
        "subscribe",
        {200: "SubscriptionCheck"},
        about="The canonical text and the cost, or a problem with line and column.",
        body={JSON: "Source"},
    ),
    Operation(
        "POST",
        "/v1/dry-run",
        dry_run,
        "Try a subscription against recent events",
        "subscribe",
        {200: "Tried"},
        about="You see only events that your key may receive, each with the explanation tree.",
        body={JSON: "Trial"},
    ),
)
