"""Publishing over HTTP, and the schema that events keep to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tamis.broker import Outcome, Publication
from tamis.errors import BusyError, LimitError, TamisError
from tamis.model.limits import check_limit
from tamis.server import cloudevents
from tamis.server.event_bodies import LINE, NDJSON, RDF, line_publication, publications
from tamis.server.handlers.arguments import (
    IDEMPOTENCY_KEY,
    caller_of,
    idempotency_key,
    service_of,
)
from tamis.server.operation import JSON, Operation, Parameter
from tamis.server.requests import (
    Fields,
    MediaTypeError,
    RequestError,
    TooLongError,
    chunks,
    decode_json,
    media_type,
    read_body,
)
from tamis.server.wire import json_response, outcome_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tamis.server.service import Caller, Service

_GROUP = 500
"""Lines of a stream that are published together."""
_PATIENCE = 20
"""How often a stream waits for a busy broker before it is refused; only its own reader waits."""

SOURCE = Parameter(
    "Tamis-Source",
    "header",
    "Where the events come from; ids are unique for each publisher and source.",
    {"type": "string", "maxLength": 1000, "pattern": "^[ -~]*$"},
)


async def publish(request: Request) -> Response:
    """Publish events; the answer comes when they and their matches are durable."""
    service, caller = service_of(request), caller_of(request)
    key = idempotency_key(request)
    source = request.headers.get("tamis-source", "")
    if media_type(request) in NDJSON:
        return await _publish_stream(request, service, caller, source, key)
    body = await read_body(request, service.settings.body_bytes)
    headers = request.headers.items()
    found = publications(media_type(request), headers, body, source, key)
    if len(found) > service.settings.batch_events:
        raise LimitError(
            f"{len(found):,} events in one request: the limit is "
            f"{service.settings.batch_events:,}; send a stream of NDJSON"
        )
    if not found:
        return json_response({"published": 0, "matched": 0, "repeated": 0, "events": []})
    outcomes = await service.durably(service.broker.publish, found, by=caller.identity)
    service.metrics.count_events(len(found))
    return json_response({**_sums(outcomes), "events": [outcome_form(each) for each in outcomes]})


async def deliver(request: Request) -> Response:
    """Deliver events whose matches were found elsewhere."""
    service, caller = service_of(request), caller_of(request)
    body = await read_body(request, service.settings.body_bytes)
    if media_type(request) != JSON:
        raise MediaTypeError("deliveries are application/json")
    document = decode_json(body)
    if not isinstance(document, list):
        raise RequestError("deliveries are an array of objects")
    check_limit(len(document), service.settings.batch_events, "events in one request")
    found = [_delivery(number, each) for number, each in enumerate(document)]
    outcomes = await service.durably(service.broker.publish, found, by=caller.identity)
    service.metrics.count_events(len(found))
    return json_response({**_sums(outcomes), "events": [outcome_form(each) for each in outcomes]})


def _delivery(number: int, document: Any) -> Publication:
    """An event, and the subscriptions that get it."""
    if not isinstance(document, dict):
        raise RequestError(f"delivery {number} is not a JSON object")
    fields = Fields(document, f"{number}.")
    id, source = fields.text("id"), fields.text("source", "")
    event, subscriptions = fields.object("event"), fields.texts("subscriptions")
    fields.done()
    if not id or event is None or subscriptions is None:
        raise RequestError(f"delivery {number} needs id, event and subscriptions")
    return Publication(event, id, source or "", recipients=subscriptions)


def _sums(outcomes: list[Outcome]) -> dict[str, int]:
    return {
        "published": len(outcomes),
        "matched": sum(each.matched for each in outcomes),
        "repeated": sum(each.repeated for each in outcomes),
    }


async def _publish_stream(
    request: Request, service: Service, caller: Caller, source: str, key: str | None
) -> Response:
    """Publish lines as they arrive. Lines before one that is wrong stay published, and the problem
    says how many."""
    sums = {"published": 0, "matched": 0, "repeated": 0}
    group: list[Publication] = []

    async def flush() -> None:
        if group:
            outcomes = await _patiently(service, group, caller)
            service.metrics.count_events(len(group))
            for name, value in _sums(outcomes).items():
                sums[name] += value
            group.clear()

    number = 0
    try:
        async for line in _lines(chunks(request, service.settings.stream_bytes)):
            number += 1
            found = line_publication(line, number, source, key)
            if found is not None:
                group.append(found)
            if len(group) >= _GROUP:
                await flush()
        await flush()
    except TamisError as error:
        if group and not isinstance(error, BusyError):
            await flush()
        error.problem_fields = dict(sums)  # type: ignore[attr-defined]
        raise
    return json_response(sums)


async def _patiently(service: Service, group: list[Publication], caller: Caller) -> list[Outcome]:
    """Publish, waiting while the broker is busy: a stream slows down rather than fails."""
    for _ in range(_PATIENCE):
        try:
            return await service.durably(service.broker.publish, list(group), by=caller.identity)
        except BusyError as error:
            await asyncio.sleep(min(error.retry_after, 1.0))
    return await service.durably(service.broker.publish, list(group), by=caller.identity)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream, none longer than its limit."""
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > LINE:
            raise TooLongError(f"a line is longer than {LINE:,} bytes")
    if rest:
        yield rest


async def schema(request: Request) -> Response:
    """Read the schema."""
    found = service_of(request).broker.schema
    return json_response({} if found is None else found.to_json())


async def extend_schema(request: Request) -> Response:
    """Extend the schema."""
    service = service_of(request)
    body = await read_body(request, service.settings.body_bytes)
    if media_type(request) != JSON:
        raise MediaTypeError("the extension of a schema is application/json")
    form = decode_json(body)
    if not isinstance(form, dict):
        raise RequestError("the extension of a schema is a JSON object")
    found = await service.durably(
        service.broker.extend_schema, form, by=caller_of(request).identity
    )
    return json_response(found.to_json())


OPERATIONS = (
    Operation(
        "POST",
        "/v1/events",
        publish,
        "Publish events",
        "publish",
        {200: "PublishReport"},
        tag="events",
        about="One event, an array, a stream of NDJSON, CloudEvents (structured, batch, or binary "
        "by headers), or RDF. The answer comes when the events and their matches are on disk. An "
        "event that was published before, by its id, is not published again.",
        parameters=(IDEMPOTENCY_KEY, SOURCE),
        body={
            JSON: "Events",
            NDJSON[0]: "text",
            cloudevents.STRUCTURED: "CloudEvent",
            cloudevents.BATCH: "CloudEvents",
            **dict.fromkeys(RDF, "text"),
        },
        problems=(409, 501),
        example='{"category": "Toy", "price": 3}',
    ),
    Operation(
        "POST",
        "/v1/deliveries",
        deliver,
        "Deliver events whose matches you have found",
        "admin",
        {200: "PublishReport"},
        tag="events",
        about="For programs that match by themselves, such as a pipeline on Spark. Subscriptions "
        "that are not there, have ended or are disabled are left out. An event that was delivered "
        "before, by its id and source, is not delivered again.",
        body={JSON: "Deliveries"},
        problems=(409,),
        example='[{"id": "e1", "event": {"price": 3}, "subscriptions": ["cheap-toys"]}]',
    ),
    Operation(
        "GET", "/v1/schema", schema, "Read the schema", "anyone", {200: "Schema"}, tag="events"
    ),
    Operation(
        "POST",
        "/v1/schema",
        extend_schema,
        "Extend the schema",
        "admin",
        {200: "Schema"},
        tag="events",
        about="An extension adds attributes, domains, event types or terms; it changes nothing.",
        body={JSON: "Schema"},
        problems=(409,),
    ),
)
