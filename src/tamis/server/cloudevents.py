"""CloudEvents 1.0 over HTTP: structured, binary and batch (the HTTP and JSON bindings).

The data of a CloudEvent is the event. Its context attributes are beside it, under ``ce``, so that
subscriptions can ask for them: ``ce.type = 'sale' and price < 5``. Data that is not an object is
the attribute ``data``; data of an RDF media type is the graph of the event.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tamis.errors import EventError

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
CONTEXT = "ce"
"""The attribute under which an event has the context of its CloudEvent."""

_NAME = re.compile(r"[a-z0-9]{1,50}")
_REQUIRED = ("id", "source", "type")


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """One CloudEvent: its context attributes, and its data as JSON, text or bytes."""

    context: Mapping[str, Any]
    data: Any

    @property
    def id(self) -> str:
        """The id, which is unique for its source."""
        return str(self.context["id"])

    @property
    def source(self) -> str:
        """Where it happened."""
        return str(self.context["source"])

    @property
    def data_type(self) -> str:
        """The media type of the data, without parameters; JSON unless it says otherwise."""
        given = str(self.context.get("datacontenttype", "application/json"))
        return given.partition(";")[0].strip().lower()


def from_structured(document: Any) -> CloudEvent:
    """The CloudEvent of a JSON document."""
    if not isinstance(document, dict):
        raise EventError("a CloudEvent is a JSON object")
    context = {
        name: value
        for name, value in document.items()
        if name not in ("data", "data_base64") and value is not None
    }
    if "data" in document and "data_base64" in document:
        raise EventError("a CloudEvent has data or data_base64, not both")
    data = document.get("data")
    if "data_base64" in document:
        data = _decoded(document["data_base64"])
    _check(context)
    return CloudEvent(context, data)


def from_batch(document: Any) -> list[CloudEvent]:
    """The CloudEvents of a JSON array."""
    if not isinstance(document, list):
        raise EventError("a batch of CloudEvents is a JSON array")
    found = []
    for number, each in enumerate(document):
        try:
            found.append(from_structured(each))
        except EventError as error:
            raise EventError(f"event {number}: {error}") from error
    return found


def is_binary(headers: Mapping[str, str]) -> bool:
    """Whether the headers of a request are those of a CloudEvent whose data is the body."""
    return "ce-specversion" in headers


def from_binary(headers: Iterable[tuple[str, str]], body: bytes) -> CloudEvent:
    """The CloudEvent of headers and a body."""
    context: dict[str, Any] = {}
    for name, value in headers:
        if name.lower().startswith("ce-"):
            context[name.lower().removeprefix("ce-")] = unquote(value)
        elif name.lower() == "content-type":
            context["datacontenttype"] = value
    _check(context)
    return CloudEvent(context, body)


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise EventError("data_base64 is not base64") from error


def _check(context: Mapping[str, Any]) -> None:
    if context.get("specversion") != "1.0":
        raise EventError("this is not a CloudEvent 1.0: set specversion to '1.0'")
    for name in _REQUIRED:
        if not isinstance(context.get(name), str) or not context[name]:
            raise EventError(
                f"a CloudEvent needs the attribute {name!r}, a string that is not empty"
            )
    for name, value in context.items():
        if not _NAME.fullmatch(name):
            raise EventError(
                f"{name[:100]!r} is not a name of a CloudEvents attribute: use a-z and 0-9"
            )
        if not isinstance(value, str | int | bool):
            raise EventError(
                f"the CloudEvents attribute {name!r} is a string, a boolean or an integer"
            )
