"""What a request publishes, by the media type of its body.

    application/json                        one event, or an array of events
    application/x-ndjson                    an event a line, published as they arrive
    application/cloudevents+json            one CloudEvent
    application/cloudevents-batch+json      an array of CloudEvents
    anything, with the header ce-id …       one CloudEvent whose data is the body
    text/turtle, application/ld+json …      an event that is a graph; of TriG and N-Quads each graph

An event without an id of its own gets one from the header Idempotency-Key, if there is one, so that
the same request again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.broker import Publication
from tamis.errors import EventError, LimitError, TamisError
from tamis.graphs.reader import read_graph, read_publications
from tamis.model.events.json_events import read_json
from tamis.model.limits import LIMITS
from tamis.server import cloudevents
from tamis.server.cloudevents import CloudEvent
from tamis.server.requests import MediaTypeError, RequestError, decode_json

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
RDF: Mapping[str, str] = {
    "text/turtle": "turtle",
    "application/n-triples": "n-triples",
    "text/n3": "n3",
    "application/rdf+xml": "rdf/xml",
    "application/ld+json": "json-ld",
    "application/trig": "trig",
    "application/n-quads": "n-quads",
}
"""The formats of RDF, by media type."""

_DATASETS = ("trig", "n-quads", "json-ld")
READ = ("application/json", *NDJSON, cloudevents.STRUCTURED, cloudevents.BATCH, *RDF)


def publications(
    kind: str, headers: Iterable[tuple[str, str]], body: bytes, source: str, key: str | None
) -> list[Publication]:
    """The events of a body of the media type ``kind``; ``key`` gives ids to events without one."""
    headers = list(headers)
    if cloudevents.is_binary(dict(headers)):
        return [_of_cloudevent(cloudevents.from_binary(headers, body))]
    if kind == cloudevents.STRUCTURED:
        return [_of_cloudevent(cloudevents.from_structured(decode_json(body)))]
    if kind == cloudevents.BATCH:
        found = cloudevents.from_batch(decode_json(body))
        return [_placed(number, each) for number, each in enumerate(found)]
    if kind in RDF:
        return _of_graphs(RDF[kind], body, source, key)
    if kind in ("application/json", ""):
        return _of_json(body, source, key)
    raise MediaTypeError(f"{kind!r} is not a media type of events: send one of {', '.join(READ)}")


def _of_json(body: bytes, source: str, key: str | None) -> list[Publication]:
    document = decode_json(body)
    if isinstance(document, dict):
        return [Publication(document, key, source)]
    if not isinstance(document, list):
        raise RequestError("events are a JSON object, or an array of objects")
    for number, each in enumerate(document):
        if not isinstance(each, dict):
            raise EventError(f"event {number}: an event is a JSON object")
    return [
        Publication(each, None if key is None else f"{key}/{number}", source)
        for number, each in enumerate(document)
    ]


def line_publications(
    lines: Iterable[bytes], first: int, source: str, key: str | None
) -> tuple[list[Publication], TamisError | None]:
    """The events in lines of NDJSON from a line on, as far as they can be read, and what is wrong
    with the next one. A blank line has no event."""
    found: list[Publication] = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            event = read_json(line)
        except (EventError, LimitError) as error:
            return found, type(error)(f"line {number}: {error}")
        id = None if key is None else f"{key}/{number}"
        found.append(Publication(event.attributes, id, source))
    return found, None


def _of_graphs(form: str, body: bytes, source: str, key: str | None) -> list[Publication]:
    if form not in _DATASETS:
        return [Publication({}, key, source, read_graph(body, form))]
    found = []
    for name, graph in read_publications(body, form):
        id = key if key is None or name is None else f"{key}/{name}"
        envelope = {} if name is None else {"subject": name}
        found.append(Publication({}, id, source, graph, envelope))
    if not found:
        raise EventError("the document has no triples, so it publishes nothing")
    return found


def _placed(number: int, event: CloudEvent) -> Publication:
    try:
        return _of_cloudevent(event)
    except (EventError, LimitError, RequestError) as error:
        raise EventError(f"event {number}: {error}") from error


def _of_cloudevent(event: CloudEvent) -> Publication:
    envelope = {
        name: value for name, value in event.context.items() if name not in ("id", "source")
    }
    context = {**envelope, "source": event.source}
    graph = None
    if event.data_type in RDF:
        data = event.data if isinstance(event.data, bytes) else str(event.data).encode()
        graph = read_graph(data, RDF[event.data_type])
        attributes: dict[str, Any] = {}
    else:
        attributes = _attributes(event)
    if cloudevents.CONTEXT in attributes:
        raise EventError("the data has an attribute 'ce', where the context of a CloudEvent goes")
    return Publication(
        {**attributes, cloudevents.CONTEXT: context}, event.id, event.source, graph, envelope
    )


def _attributes(event: CloudEvent) -> dict[str, Any]:
    """The data of a CloudEvent as attributes."""
    data = event.data
    is_json = event.data_type.endswith(("/json", "+json"))
    if isinstance(data, bytes):
        if is_json:
            data = decode_json(data) if data else None
        elif event.data_type.startswith("text/"):
            try:
                data = data.decode()
            except UnicodeDecodeError as error:
                raise EventError(f"the data is not valid UTF-8: {error.reason}") from error
        else:
            raise MediaTypeError(f"no event can be made of data of the type {event.data_type!r}")
    if data is None:
        return {}
    return dict(data) if isinstance(data, dict) else {"data": data}


LINE = LIMITS.document
"""Bytes in one line of NDJSON."""
