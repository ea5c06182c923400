"""Notifications as CloudEvents 1.0, in the JSON format."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tamis.broker.records import Gap, Notification

_OWN = {"id", "source", "specversion", "data", "time", "subscription", "position", "eventid"}


def cloud_event(notification: Notification) -> dict[str, Any]:
    """A notification as a CloudEvent; what the event's own envelope said stays.

    Its ``id`` is that of the notification, and ``eventid`` that of the event.
    """
    found: dict[str, Any] = {
        "specversion": "1.0",
        "id": notification.id,
        "source": "/tamis",
        "type": f"tamis.{notification.kind}",
        "time": rfc_3339(notification.time),
        "subscription": notification.subscription,
        "position": str(notification.position),
    }
    event = notification.event
    if event is None:
        return found
    found |= {
        "source": event.source or "/tamis",
        "eventid": event.id,
        "time": rfc_3339(event.time),
        "datacontenttype": "application/json",
        "data": dict(event.attributes),
    }
    found |= {name: value for name, value in event.envelope.items() if name not in _OWN}
    if event.graph is not None:
        found["graph"] = event.graph
    if notification.bindings:
        found["bindings"] = dict(notification.bindings)
    return found


def gap_event(subscription: str, gap: Gap, now: float) -> dict[str, Any]:
    """What retention removed, as a CloudEvent."""
    return {
        "specversion": "1.0",
        "id": f"{subscription}/gap/{gap.upto}",
        "source": "/tamis",
        "type": "tamis.gap",
        "time": rfc_3339(now),
        "subscription": subscription,
        "position": str(gap.upto),
        "datacontenttype": "application/json",
        "data": {"count": gap.count, "upto": gap.upto},
    }


def rfc_3339(seconds: float) -> str:
    """An instant as CloudEvents write it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
