"""What the broker gives, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from tamis.broker import Notification, Outcome, Page, Receipt, StoredSubscription
    from tamis.broker.records import DeadLetter, StoredKey, UndecidedPair


def encoded(document: Any) -> bytes:
    """A document as JSON in UTF-8; what JSON lacks, such as an instant, is its text."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def json_response(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer with a JSON document."""
    return Response(encoded(document), status, headers, media_type="application/json")


def instant(seconds: float) -> str:
    """An instant as ISO 8601 in UTC, to the millisecond."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        moment = datetime.max.replace(tzinfo=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def receipt_form(receipt: Receipt) -> dict[str, Any]:
    """The answer to a subscription."""
    found: dict[str, Any] = {
        "id": receipt.id,
        "ticket": receipt.ticket,
        "expires": instant(receipt.expires),
        "repeated": receipt.repeated,
    }
    if receipt.remarks:
        found["remarks"] = list(receipt.remarks)
    if receipt.webhook_secret is not None:
        found["webhook_secret"] = receipt.webhook_secret
    return found


def subscription_form(stored: StoredSubscription) -> dict[str, Any]:
    """A subscription."""
    found: dict[str, Any] = {
        "id": stored.id,
        "subscription": stored.text,
        "dialect": stored.dialect,
        "enabled": stored.enabled,
        "lease": stored.lease,
        "expires": instant(stored.expires),
        "created": instant(stored.created),
        "metadata": dict(stored.metadata),
        "acknowledged": stored.acknowledged,
        "pending": stored.pending,
        "matched": stored.matched,
    }
    if stored.webhook is not None:
        found |= {"webhook": stored.webhook, "webhook_state": stored.webhook_state}
    return found


def notification_form(notification: Notification) -> dict[str, Any]:
    """A notification, with its event."""
    found: dict[str, Any] = {
        "id": notification.id,
        "subscription": notification.subscription,
        "position": notification.position,
        "kind": notification.kind,
        "time": instant(notification.time),
    }
    event = notification.event
    if event is not None:
        found |= {"event_id": event.id, "source": event.source, "event": event.attributes}
        if event.graph is not None:
            found["graph"] = event.graph
        if event.envelope:
            found["envelope"] = event.envelope
    if notification.bindings:
        found["bindings"] = notification.bindings
    return found


def page_form(page: Page) -> dict[str, Any]:
    """Some notifications, and where to go on."""
    found: dict[str, Any] = {
        "items": [notification_form(each) for each in page.notifications],
        "position": page.position,
        "more": page.more,
    }
    if page.gap is not None:
        found["gap"] = {"count": page.gap.count, "upto": page.gap.upto}
    return found


def outcome_form(outcome: Outcome) -> dict[str, Any]:
    """What became of an event."""
    found = {"id": outcome.id, "matched": outcome.matched, "repeated": outcome.repeated}
    return {**found, "incomplete": outcome.incomplete} if outcome.incomplete else found


def dead_letter_form(letter: DeadLetter) -> dict[str, Any]:
    """A notification that a webhook did not take."""
    return {
        "notification": notification_form(letter.notification),
        "reason": letter.reason,
        "tries": letter.tries,
        "time": instant(letter.time),
    }


def undecided_form(pair: UndecidedPair) -> dict[str, Any]:
    """An event that could not be decided for a subscription."""
    found: dict[str, Any] = {
        "subscription": pair.subscription,
        "event_id": pair.event.id,
        "source": pair.event.source,
        "event": pair.event.attributes,
        "reason": pair.reason,
        "tries": pair.tries,
    }
    return found if pair.is_given_up else {**found, "next": instant(pair.next)}


def key_form(key: StoredKey) -> dict[str, Any]:
    """A key, without the key."""
    return {
        "number": key.number,
        "name": key.name,
        "tenant": key.tenant,
        "roles": sorted(key.roles),
        "created": instant(key.created),
        "revoked": key.revoked,
        "quotas": {name: most for name, most in asdict(key.quotas).items() if most is not None},
    }
