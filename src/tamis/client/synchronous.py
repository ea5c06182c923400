"""The client for programs without asyncio."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from tamis.client import requests
from tamis.client.messages import Message, MessageReader
from tamis.client.records import (
    Delivery,
    Gap,
    Notification,
    Page,
    PublishReport,
    Subscription,
    SubscriptionInfo,
    UndecidedEvent,
    info_of,
    notification_of,
    page_of,
    published_of,
    subscription_of,
    undecided_of,
)
from tamis.client.requests import Request, path_of, ticket_of
from tamis.client.stream import GapWarning, StreamState


class Client:
    """A connection to a broker: subscribe, publish, read what arrives.

    ``key`` is an API key; tickets of subscriptions that this client made are remembered. Requests
    that fail for lack of an answer, or because the broker is busy, are sent again, with idempotency
    keys so that nothing happens twice. A client may be shared by threads.
    """

    def __init__(
        self,
        address: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        verify: Any = True,
    ) -> None:
        httpx = requests.import_httpx()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._errors = httpx.TransportError
        self._silence = httpx.ReadTimeout
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, verify=verify)
        self._tickets: dict[str, str] = {}

    # Subscriptions.

    def subscribe(
        self,
        subscription: Any,
        *,
        id: str | None = None,
        dialect: str = "tamis",
        lease: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Subscription:
        """Make a subscription (text, expression or JSON form); ``lease`` is in seconds."""
        request = requests.new_subscription(
            subscription,
            id=id,
            dialect=dialect,
            lease=lease,
            metadata=metadata,
            webhook=webhook,
            idempotency_key=idempotency_key,
        )
        found = subscription_of(self._send(request))
        if found.ticket is not None:
            self._tickets[found.id] = found.ticket
        return found

    def unsubscribe(self, subscription: Subscription | str, *, ticket: str | None = None) -> None:
        """End a subscription."""
        self._send(self._about("DELETE", subscription, ticket))

    def subscription(
        self, subscription: Subscription | str, *, ticket: str | None = None
    ) -> SubscriptionInfo:
        """A subscription as the broker keeps it."""
        return info_of(self._send(self._about("GET", subscription, ticket)))

    def subscriptions(self, search: str | None = None) -> Iterator[SubscriptionInfo]:
        """All subscriptions of the key, or those with a text in them."""
        query = {"limit": 1000} if search is None else {"limit": 1000, "search": search}
        while True:
            page = self._send(Request("GET", "/v1/subscriptions", query=query))
            yield from map(info_of, page["items"])
            if "next" not in page:
                return
            query = {**query, "after": page["next"]}

    def update(
        self,
        subscription: Subscription | str,
        new: Any = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        webhook: str | Mapping[str, Any] | None = None,
        enabled: bool | None = None,
        ticket: str | None = None,
    ) -> SubscriptionInfo:
        """Change a subscription in place; id, ticket and what is queued stay."""
        hook = requests.webhook_form(webhook)
        changes = {"subscription": new, "metadata": metadata, "webhook": hook, "enabled": enabled}
        request = requests.change(subscription, self._ticket(subscription, ticket), changes)
        return info_of(self._send(request))

    def renew(
        self,
        subscription: Subscription | str,
        lease: float | None = None,
        *,
        ticket: str | None = None,
    ) -> None:
        """Begin the lease again, with the same length or another."""
        body = {} if lease is None else {"lease": lease}
        self._send(self._about("POST", subscription, ticket, "renew", body=body))

    def enable(self, subscription: Subscription | str, *, ticket: str | None = None) -> None:
        """Let a disabled subscription match again."""
        self._send(self._about("POST", subscription, ticket, "enable"))

    def disable(self, subscription: Subscription | str, *, ticket: str | None = None) -> None:
        """Keep a subscription, but let it match nothing."""
        self._send(self._about("POST", subscription, ticket, "disable"))

    # Events.

    def publish(
        self,
        events: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        source: str = "",
        idempotency_key: str | None = None,
    ) -> PublishReport:
        """Publish one event (a mapping) or several; returns when they are durable."""
        request = requests.publication(events, source=source, idempotency_key=idempotency_key)
        return published_of(self._send(request))

    def publish_document(
        self, data: str | bytes, media_type: str, *, idempotency_key: str | None = None
    ) -> PublishReport:
        """Publish a document as it is: RDF, CloudEvents, NDJSON."""
        request = requests.document(data, media_type, idempotency_key=idempotency_key)
        return published_of(self._send(request))

    def deliver(self, deliveries: Iterable[Delivery]) -> PublishReport:
        """Hand over events whose matches you have found, in bulk; returns when all are durable.

        This needs the key of an administrator. A delivery that is repeated changes nothing, so what
        fails in the middle may be handed over again from the beginning."""
        report = PublishReport(0, 0)
        for request in requests.delivery_requests(deliveries):
            report = report.joined(published_of(self._send(request)))
        return report

    # Delivery.

    def notifications(
        self,
        subscription: Subscription | str,
        *,
        after: int | None = None,
        timeout: float | None = None,
        ticket: str | None = None,
    ) -> Iterator[Notification]:
        """Notifications as they arrive, from the first that was not acknowledged, or behind a
        position. A connection that breaks is opened again where it was. The iterator ends if
        nothing arrives for ``timeout`` seconds; without one it goes on for ever."""
        ticket = self._ticket(subscription, ticket)
        state = StreamState(after)
        silent_since = time.monotonic()
        while True:
            try:
                for message in self._messages(subscription, ticket, state, timeout):
                    found = state.take(message, path_of(subscription)) if message else None
                    if isinstance(found, Gap):
                        warnings.warn(str(found), GapWarning, stacklevel=2)
                    elif found is not None:
                        yield found
                        silent_since = time.monotonic()
                    if timeout is not None and time.monotonic() - silent_since > timeout:
                        return
            except self._silence:
                if timeout is not None and time.monotonic() - silent_since >= timeout:
                    return
            except self._errors as error:
                state.failed(error)
                time.sleep(state.wait())

    def _messages(
        self,
        subscription: Subscription | str,
        ticket: str | None,
        state: StreamState,
        timeout: float | None,
    ) -> Iterator[Message | None]:
        """The messages of one connection; None is a sign of life."""
        headers = {"Accept": "text/event-stream", **ticket_of(subscription, ticket)}
        reader = MessageReader()
        address = path_of(subscription, "stream")
        silence = StreamState.SILENCE if timeout is None else min(timeout, StreamState.SILENCE)
        limits = requests.import_httpx().Timeout(silence, connect=10.0)
        with self._http.stream(
            "GET", address, params=state.query(), headers=headers, timeout=limits
        ) as response:
            if response.status_code != 200:
                response.read()
                if not state.may_retry(response):
                    requests.document_of(response, Request("GET", address))
                time.sleep(state.wait(response))
                return
            for line in response.iter_lines():
                yield reader.feed(line)

    def read(
        self,
        subscription: Subscription | str,
        *,
        after: int | None = None,
        limit: int = 100,
        wait: float = 0.0,
        ticket: str | None = None,
    ) -> Page:
        """Notifications that wait, or that come within ``wait`` seconds."""
        request = self._about("GET", subscription, ticket, "notifications")
        request.query = {"limit": limit, "wait": wait}
        if after is not None:
            request.query["after"] = after
        id = subscription.id if isinstance(subscription, Subscription) else subscription
        return page_of(id, self._send(request, patience=wait))

    def acknowledge(
        self,
        notification: Notification | Subscription | str,
        upto: int | None = None,
        *,
        ticket: str | None = None,
    ) -> None:
        """Say that a notification and all before it are done with: ``acknowledge(notification)``,
        or ``acknowledge(subscription, position)``."""
        if isinstance(notification, Notification):
            target: Subscription | str = notification.subscription
            upto = notification.position if upto is None else upto
        else:
            target = notification
        if upto is None:
            raise TypeError("acknowledge(subscription, position) needs the position")
        self._send(requests.acknowledgement(target, upto, self._ticket(target, ticket)))

    def dead_letters(
        self, subscription: Subscription | str, *, ticket: str | None = None
    ) -> list[tuple[Notification, str]]:
        """Notifications that a webhook did not take, each with the reason."""
        found: list[tuple[Notification, str]] = []
        request = self._about("GET", subscription, ticket, "dead-letters")
        request.query = {"limit": 1000}
        while True:
            page = self._send(request)
            found += [
                (notification_of(each["notification"]), each["reason"]) for each in page["items"]
            ]
            if "next" not in page:
                return found
            request.query = {"limit": 1000, "after": page["next"]}

    def undecided(
        self, subscription: Subscription | str, *, ticket: str | None = None
    ) -> list[UndecidedEvent]:
        """Events that could not be decided, since an operator failed; the broker tries again."""
        found: list[UndecidedEvent] = []
        request = self._about("GET", subscription, ticket, "undecided")
        request.query = {"limit": 1000}
        while True:
            page = self._send(request)
            found += map(undecided_of, page["items"])
            if "next" not in page:
                return found
            request.query = {"limit": 1000, "after": page["next"]}

    def replay(self, subscription: Subscription | str, *, ticket: str | None = None) -> int:
        """Send dead letters again; how many there are."""
        answer = self._send(self._about("POST", subscription, ticket, "dead-letters/replay"))
        return int(answer["replayed"])

    def dry_run(self, subscription: Any, *, last: int = 20) -> list[dict[str, Any]]:
        """Recent events, each with whether a subscription would match it, and the explanation."""
        source = subscription if isinstance(subscription, str | dict | list) else str(subscription)
        request = requests.json_request(
            "POST", "/v1/dry-run", {"subscription": source, "last": last}, source=str(source)
        )
        return list(self._send(request)["events"])

    # The way there.

    def _ticket(self, subscription: Subscription | str, ticket: str | None) -> str | None:
        if ticket is not None or isinstance(subscription, Subscription):
            return ticket
        return self._tickets.get(subscription)

    def _about(
        self,
        method: str,
        subscription: Subscription | str,
        ticket: str | None,
        *parts: str,
        body: Any = None,
    ) -> Request:
        path = path_of(subscription, *parts)
        request = (
            Request(method, path) if body is None else requests.json_request(method, path, body)
        )
        request.headers |= ticket_of(subscription, self._ticket(subscription, ticket))
        return request

    def _send(self, request: Request, patience: float = 0.0) -> Any:
        """Send a request until there is an answer that counts."""
        number = 0
        while True:
            number += 1
            answer = failure = None
            try:
                answer = self._http.request(
                    request.method,
                    request.path,
                    content=request.body,
                    headers=request.headers,
                    params=request.query,
                    timeout=self._http.timeout.read + patience,
                )
            except self._errors as error:
                failure = error
            if answer is not None and answer.status_code < 400:
                return requests.document_of(answer, request)
            if not requests.is_worth_another_try(request, answer, number):
                if answer is not None:
                    return requests.document_of(answer, request)
                raise requests.no_answer(request, failure) from failure
            time.sleep(requests.wait_before(number, answer))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
