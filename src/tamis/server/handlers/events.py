"""Publishing over HTTP, and the schema that events keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.broker import Publication
from tamis.errors import LimitError
from tamis.model.limits import check_limit
from tamis.server import cloudevents
from tamis.server.event_bodies import NDJSON, RDF, publications
from tamis.server.handlers.arguments import (
    IDEMPOTENCY_KEY,
    caller_of,
    idempotency_key,
    service_of,
)
from tamis.server.handlers.event_lines import publish_lines, sums_of
from tamis.server.operation import JSON, Operation, Parameter
from tamis.server.requests import (
    Fields,
    MediaTypeError,
    RequestError,
    decode_json,
    media_type,
    read_body,
)
from tamis.server.wire import json_response, outcome_form

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
        return await publish_lines(request, source, key)
    body = await read_body(request, service.settings.body_bytes)
    headers = request.headers.items()
    kind = media_type(request)
    found = await service.read(len(body), publications, kind, headers, body, source, key)
    if len(found) > service.settings.batch_events:
        raise LimitError(
            f"{len(found):,} events in one request: the limit is "
            f"{service.settings.batch_events:,}; send a stream of NDJSON"
        )
    if not found:
        return json_response({"published": 0, "matched": 0, "repeated": 0, "events": []})
    outcomes = await service.durably(service.broker.publish, found, by=caller.identity)
    service.metrics.count_events(len(found))
    return json_response({**sums_of(outcomes), "events": [outcome_form(each) for each in outcomes]})


async def deliver(request: Request) -> Response:
    """Deliver events whose matches were found elsewhere."""
    service, caller = service_of(request), caller_of(request)
    body = await read_body(request, service.settings.body_bytes)
    if media_type(request) != JSON:
        raise MediaTypeError("deliveries are application/json")
    found = await service.read(len(body), _deliveries, body, service.settings.batch_events)
    outcomes = await service.durably(service.broker.publish, found, by=caller.identity)
    service.metrics.count_events(len(found))
    return json_response({**sums_of(outcomes), "events": [outcome_form(each) for each in outcomes]})


def _deliveries(body: bytes, most: int) -> list[Publication]:
    document = decode_json(body)
    if not isinstance(document, list):
        raise RequestError("deliveries are an array of objects")
    check_limit(len(document), most, "events in one request")
    return [_delivery(number, each) for number, each in enumerate(document)]


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
