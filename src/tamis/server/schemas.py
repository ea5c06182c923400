"""The JSON Schemas of what the HTTP API reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.broker import Role

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_TIME = {"type": "string", "format": "date-time"}
_OBJECT = {"type": "object"}
_FLAG = {"type": "boolean"}
_SOURCE = {
    "description": "A subscription as text, or as a JSON form.",
    "oneOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}],
}
_DIALECT = {"type": "string", "description": "The notation; tamis by default.", "example": "tamis"}
_LEASE = {
    "type": "number",
    "exclusiveMinimum": 0,
    "description": "Seconds until the subscription ends unless it is renewed.",
}
_ROLE = {"type": "string", "enum": [role.value for role in Role]}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _closed(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {**_open(properties, *required), "additionalProperties": False}


def _open(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return {**found, "required": list(required)} if required else found


def _list(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(item)}


def _page(item: str) -> dict[str, Any]:
    return _open({"items": _list(_ref(item)), "next": _TEXT}, "items")


_WEBHOOK = _closed({"url": _TEXT}, "url")
_PLACES = {"line": {"type": "integer"}, "column": {"type": "integer"}, "hint": _TEXT}

SCHEMAS: dict[str, Any] = {
    "NewSubscription": _closed(
        {
            "subscription": _SOURCE,
            "dialect": _DIALECT,
            "id": _TEXT,
            "lease": _LEASE,
            "metadata": _OBJECT,
            "webhook": _WEBHOOK,
        },
        "subscription",
    ),
    "Receipt": _open(
        {
            "id": _TEXT,
            "ticket": _TEXT,
            "expires": _TIME,
            "remarks": _list(_TEXT),
            "repeated": _FLAG,
            "webhook_secret": _TEXT,
        },
        "id",
        "ticket",
        "expires",
    ),
    "Subscription": _open(
        {
            "id": _TEXT,
            "subscription": _TEXT,
            "dialect": _DIALECT,
            "enabled": _FLAG,
            "lease": _LEASE,
            "expires": _TIME,
            "created": _TIME,
            "metadata": _OBJECT,
            "webhook": _TEXT,
            "webhook_state": {"type": "string", "enum": ["new", "open", "ended"]},
            "webhook_secret": _TEXT,
            "acknowledged": _COUNT,
            "pending": _COUNT,
            "matched": _COUNT,
        },
        "id",
        "subscription",
        "enabled",
        "expires",
    ),
    "Subscriptions": _page("Subscription"),
    "Change": _closed(
        {
            "subscription": _SOURCE,
            "dialect": _DIALECT,
            "metadata": _OBJECT,
            "webhook": _WEBHOOK,
            "enabled": _FLAG,
        }
    ),
    "Lease": _closed({"lease": _LEASE}),
    "Expiry": _open({"expires": _TIME}, "expires"),
    "Source": _closed({"subscription": _SOURCE, "dialect": _DIALECT}, "subscription"),
    "SubscriptionCheck": _open(
        {"canonical": _TEXT, "cost": {"type": "number"}, "remarks": _list(_TEXT)}, "canonical"
    ),
    "Trial": _closed(
        {
            "subscription": _SOURCE,
            "dialect": _DIALECT,
            "last": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        "subscription",
    ),
    "Explanation": _open(
        {
            "clause": _TEXT,
            "truth": {"type": "string", "enum": ["true", "false", "unknown", "failed"]},
            "evidence": _TEXT,
            "parts": _list({"$ref": "#/components/schemas/Explanation"}),
        },
        "clause",
        "truth",
    ),
    "Tried": _open(
        {
            "matched": _COUNT,
            "events": _list(
                _open({"event": _OBJECT, "matches": _FLAG, "explanation": _ref("Explanation")})
            ),
        },
        "matched",
        "events",
    ),
    "Event": {"type": "object", "description": "Attributes of the event."},
    "Events": {"oneOf": [_ref("Event"), _list(_ref("Event"))]},
    "CloudEvent": _open(
        {
            "specversion": {"const": "1.0"},
            "id": {"type": "string", "minLength": 1},
            "source": {"type": "string", "minLength": 1},
            "type": {"type": "string", "minLength": 1},
            "data": {},
        },
        "specversion",
        "id",
        "source",
        "type",
    ),
    "CloudEvents": _list(_ref("CloudEvent")),
    "Outcome": _open(
        {"id": _TEXT, "matched": _COUNT, "repeated": _FLAG, "incomplete": _COUNT}, "id", "matched"
    ),
    "PublishReport": _open(
        {
            "published": _COUNT,
            "matched": _COUNT,
            "repeated": _COUNT,
            "events": _list(_ref("Outcome")),
        },
        "published",
        "matched",
    ),
    "Notification": _open(
        {
            "id": _TEXT,
            "subscription": _TEXT,
            "position": _COUNT,
            "kind": _TEXT,
            "time": _TIME,
            "event_id": _TEXT,
            "source": _TEXT,
            "event": _OBJECT,
            "graph": _TEXT,
            "envelope": _OBJECT,
            "bindings": _OBJECT,
        },
        "id",
        "subscription",
        "position",
        "kind",
        "time",
    ),
    "Notifications": _open(
        {
            "items": _list(_ref("Notification")),
            "position": _COUNT,
            "more": _FLAG,
            "gap": _open({"count": _COUNT, "upto": _COUNT}, "count", "upto"),
        },
        "items",
        "position",
        "more",
    ),
    "Acknowledgement": _closed({"position": _COUNT}, "position"),
    "DeadLetter": _open(
        {
            "notification": _ref("Notification"),
            "reason": _TEXT,
            "tries": _COUNT,
            "time": _TIME,
        },
        "notification",
        "reason",
    ),
    "DeadLetters": _page("DeadLetter"),
    "Replay": _open({"replayed": _COUNT}, "replayed"),
    "Undecided": _page("UndecidedPair"),
    "UndecidedPair": _open(
        {
            "subscription": _TEXT,
            "event_id": _TEXT,
            "source": _TEXT,
            "event": _OBJECT,
            "reason": _TEXT,
            "tries": _COUNT,
            "next": _TIME,
        },
        "subscription",
        "event_id",
        "reason",
        "tries",
    ),
    "Deliveries": _list(_ref("Delivery")),
    "Delivery": _closed(
        {
            "id": {"type": "string", "minLength": 1},
            "source": _TEXT,
            "event": _OBJECT,
            "subscriptions": _list(_TEXT),
        },
        "id",
        "event",
        "subscriptions",
    ),
    "Schema": {"type": "object", "description": "The JSON form of a schema (docs/schema.md)."},
    "NewKey": _closed(
        {"name": _TEXT, "tenant": _TEXT, "roles": _list(_ROLE), "quotas": _ref("Quotas")},
        "name",
        "roles",
    ),
    "Quotas": _closed(
        {
            "subscriptions": {**_COUNT, "description": "Subscriptions at one time."},
            "calls": {**_COUNT, "description": "Operator calls in one subscription."},
            "cost": {
                "type": "number",
                "minimum": 0,
                "description": "Seconds that the operators of one subscription may take.",
            },
            "requests": {
                "type": "number",
                "minimum": 0,
                "description": "Requests a second; 0 for any number.",
            },
        }
    ),
    "Key": _open({"key": _TEXT}, "key"),
    "StoredKey": _open(
        {
            "number": _COUNT,
            "name": _TEXT,
            "tenant": _TEXT,
            "roles": _list(_ROLE),
            "created": _TIME,
            "revoked": _FLAG,
            "quotas": _ref("Quotas"),
        },
        "number",
        "name",
        "roles",
    ),
    "Keys": _open({"items": _list(_ref("StoredKey"))}, "items"),
    "Stats": _OBJECT,
    "Status": _open({"status": _TEXT}, "status"),
    "OpenApi": _OBJECT,
    "Problem": _open(
        {
            "type": _TEXT,
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            **_PLACES,
            "violations": _list(_TEXT),
        },
        "type",
        "title",
        "status",
        "detail",
    ),
}
