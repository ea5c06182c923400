"""What both clients send, and how often they try again: requests as data, without any I/O."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from tamis.client.errors import ClientError, error_of
from tamis.client.records import Delivery, Notification, Subscription
from tamis.errors import MissingExtraError, TamisError

TRIES = 6
"""How often a request is sent at most."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 10.0
"""Seconds before the second try, doubled each time up to the longest, with jitter."""
_DELIVERIES, _DELIVERED = 1_000, 4_000_000
"""Events in one request of deliveries, and bytes of it, at most."""
_AGAIN = (429, 502, 503, 504)


@dataclass(slots=True)
class Request:
    """One request; a request that may be repeated is sent again when no answer comes."""

    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    repeatable: bool = True
    source: str = ""
    """The text of the subscription that it sends, which errors point into."""


class Answer(Protocol):
    """What both kinds of httpx responses have."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...


def import_httpx() -> Any:
    """The package httpx, or an error that says how to install it."""
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("the client needs httpx: pip install 'tamis[client]'") from error
    return httpx


def wait_before(number: int, answer: Answer | None) -> float:
    """Seconds before try ``number``, counted from 1: what the broker asks for, else with jitter."""
    asked = answer.headers.get("retry-after", "") if answer is not None else ""
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (number - 1))
    wait = random.uniform(0.5 * longest, longest)
    return max(wait, min(float(asked), 60.0)) if asked.isdigit() else wait


def is_worth_another_try(request: Request, answer: Answer | None, number: int) -> bool:
    """Whether a request that failed is sent again. A 429 was not carried out in any case."""
    if number >= TRIES:
        return False
    if answer is None:
        return request.repeatable
    if answer.status_code == 429:
        return True
    return answer.status_code in _AGAIN and request.repeatable


def document_of(answer: Answer, request: Request) -> Any:
    """The JSON of an answer, or the error that it is."""
    status = answer.status_code
    if status < 400:
        return json.loads(answer.content) if answer.content else None
    try:
        problem = json.loads(answer.content)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or "title" not in problem:
        raise ClientError(f"{request.method} {request.path}: status {status}", status)
    raise error_of(status, problem, request.source)


def no_answer(request: Request, error: Exception | None) -> TamisError:
    """The error of a request that got no answer."""
    reason = str(error or "") or type(error).__name__
    return ClientError(f"the broker did not answer {request.method} {request.path}: {reason}")


def path_of(subscription: Subscription | str, *parts: str) -> str:
    """The address of a subscription, or of something that belongs to it."""
    id = subscription.id if isinstance(subscription, Subscription) else subscription
    return "/".join(("/v1/subscriptions", quote(id, safe=""), *parts))


def ticket_of(subscription: Subscription | str, ticket: str | None = None) -> dict[str, str]:
    """The header with the ticket of a subscription, if it is known."""
    if ticket is None and isinstance(subscription, Subscription):
        ticket = subscription.ticket
    return {} if ticket is None else {"Tamis-Ticket": ticket}


def new_subscription(
    subscription: Any,
    *,
    id: str | None,
    dialect: str,
    lease: float | None,
    metadata: Mapping[str, Any] | None,
    webhook: str | Mapping[str, Any] | None,
    idempotency_key: str | None,
) -> Request:
    """Make a subscription; its idempotency key makes a repeat harmless."""
    if not isinstance(subscription, str | dict | list):
        subscription = str(subscription)  # an expression
    body: dict[str, Any] = {"subscription": subscription, "dialect": dialect}
    hook = webhook_form(webhook)
    optional = {"id": id, "lease": lease, "metadata": metadata, "webhook": hook}
    body |= {name: value for name, value in optional.items() if value is not None}
    key = idempotency_key or secrets.token_urlsafe(18)
    source = subscription if isinstance(subscription, str) else ""
    request = json_request("POST", "/v1/subscriptions", body, source=source)
    request.headers["Idempotency-Key"] = key
    return request


def webhook_form(webhook: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A webhook as the broker takes it; a text is its address."""
    return {"url": webhook} if isinstance(webhook, str) else webhook


def delivery_requests(deliveries: Iterable[Delivery]) -> Iterator[Request]:
    """Deliver events, so many in each request that none is too long."""
    parts: list[str] = []
    size = 0
    for each in deliveries:
        part = json.dumps(
            {
                "id": each.id,
                "source": each.source,
                "event": each.event,
                "subscriptions": list(each.subscriptions),
            },
            default=str,
        )
        if parts and (len(parts) >= _DELIVERIES or size + len(part) > _DELIVERED):
            yield _delivery_request(parts)
            parts, size = [], 0
        parts.append(part)
        size += len(part)
    if parts:
        yield _delivery_request(parts)


def _delivery_request(parts: list[str]) -> Request:
    body = f"[{','.join(parts)}]".encode()
    return Request("POST", "/v1/deliveries", body, {"Content-Type": "application/json"})


def publication(
    events: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    source: str,
    idempotency_key: str | None,
) -> Request:
    """Publish one event or several; their ids come from the idempotency key."""
    body: Any = dict(events) if isinstance(events, Mapping) else list(events)
    request = json_request("POST", "/v1/events", body)
    request.headers["Idempotency-Key"] = idempotency_key or secrets.token_urlsafe(18)
    if source:
        request.headers["Tamis-Source"] = source
    return request


def document(data: str | bytes, media_type: str, *, idempotency_key: str | None) -> Request:
    """Publish a document as it is: RDF, CloudEvents, NDJSON."""
    body = data.encode() if isinstance(data, str) else data
    key = idempotency_key or secrets.token_urlsafe(18)
    headers = {"Content-Type": media_type, "Idempotency-Key": key}
    return Request("POST", "/v1/events", body, headers)


def change(
    subscription: Subscription | str,
    ticket: str | None,
    changes: Mapping[str, Any],
) -> Request:
    """Change a subscription in place."""
    new = changes.get("subscription")
    if new is not None and not isinstance(new, str | dict | list):
        changes = {**changes, "subscription": str(new)}
    given = {name: value for name, value in changes.items() if value is not None}
    request = json_request("PATCH", path_of(subscription), given, source=str(new or ""))
    request.headers |= ticket_of(subscription, ticket)
    return request


def json_request(method: str, path: str, body: Any, *, source: str = "") -> Request:
    """A request with a JSON body."""
    encoded = json.dumps(body, default=str).encode()
    return Request(method, path, encoded, {"Content-Type": "application/json"}, source=source)


def acknowledgement(
    subscription: Subscription | str, upto: Notification | int, ticket: str | None
) -> Request:
    """Acknowledge notifications."""
    position = upto.position if isinstance(upto, Notification) else upto
    request = json_request("POST", path_of(subscription, "acknowledge"), {"position": position})
    request.headers |= ticket_of(subscription, ticket)
    return request
