"""What a broker answers, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription that you made: its id, and the ticket that gives access to it.

    Keep both to read its notifications later: ``Subscription(id, ticket)``.
    """

    id: str
    ticket: str | None = field(default=None, repr=False)
    expires: datetime | None = None
    remarks: tuple[str, ...] = ()
    """Warnings: it never matches, or it is costly."""
    webhook_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """A subscription as the broker keeps it."""

    id: str
    text: str
    enabled: bool
    expires: datetime
    metadata: Mapping[str, Any]
    pending: int
    """Notifications that were not acknowledged yet."""
    webhook: str | None = None
    dialect: str = "tamis"
    webhook_state: str | None = None
    """``new`` until the handshake, ``open`` after it, ``ended`` when the receiver wants no more."""
    webhook_secret: str | None = field(default=None, repr=False)
    """Only in the answer to an update that gave a webhook."""


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What became of published events."""

    published: int
    matched: int
    """Pairs of an event and a subscription."""
    repeated: int = 0
    """Events that had been published before."""
    events: Sequence[Mapping[str, Any]] = ()
    """For each event its id and how many subscriptions it matched; a stream has none."""

    def joined(self, other: PublishReport) -> PublishReport:
        """What became of both, event by event in their order."""
        return PublishReport(
            self.published + other.published,
            self.matched + other.matched,
            self.repeated + other.repeated,
            (*self.events, *other.events),
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event whose matches were found elsewhere; id and source tell a repeat."""

    id: str
    event: Mapping[str, Any]
    subscriptions: Sequence[str]
    """The ids of the subscriptions that it matches."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class UndecidedEvent:
    """An event that could not be decided for a subscription."""

    event_id: str
    event: Mapping[str, Any]
    reason: str
    tries: int
    next: datetime | None
    """When it is tried again; None: it was given up."""


@dataclass(frozen=True, slots=True)
class Notification:
    """An event for a subscription."""

    id: str
    subscription: str
    position: int
    kind: str
    time: datetime
    event: Mapping[str, Any] = field(default_factory=dict)
    """The attributes that were published; empty if the kind is not ``match``."""
    event_id: str | None = None
    source: str = ""
    graph: str | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    bindings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gap:
    """Notifications that the broker's retention removed before you read them."""

    subscription: str
    count: int
    position: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some notifications, and the position to go on behind."""

    notifications: list[Notification]
    position: int
    more: bool
    gap: Gap | None = None


def instant(text: str) -> datetime:
    """An instant of the broker's."""
    return datetime.fromisoformat(text)


def subscription_of(document: Mapping[str, Any]) -> Subscription:
    """A receipt."""
    return Subscription(
        document["id"],
        document["ticket"],
        instant(document["expires"]),
        tuple(document.get("remarks", ())),
        document.get("webhook_secret"),
    )


def info_of(document: Mapping[str, Any]) -> SubscriptionInfo:
    """A subscription that was read."""
    return SubscriptionInfo(
        document["id"],
        document["subscription"],
        document["enabled"],
        instant(document["expires"]),
        document.get("metadata", {}),
        document.get("pending", 0),
        document.get("webhook"),
        document.get("dialect", "tamis"),
        document.get("webhook_state"),
        document.get("webhook_secret"),
    )


def undecided_of(document: Mapping[str, Any]) -> UndecidedEvent:
    """An event that could not be decided."""
    return UndecidedEvent(
        document["event_id"],
        document["event"],
        document["reason"],
        document["tries"],
        instant(document["next"]) if "next" in document else None,
    )


def published_of(document: Mapping[str, Any]) -> PublishReport:
    """What became of events."""
    return PublishReport(
        document["published"],
        document["matched"],
        document.get("repeated", 0),
        document.get("events", ()),
    )


def notification_of(document: Mapping[str, Any]) -> Notification:
    """A notification."""
    known = {name: document[name] for name in _NAMES if name in document}
    return Notification(**known, time=instant(document["time"]))


_NAMES = tuple(name for name in Notification.__dataclass_fields__ if name != "time")


def page_of(id: str, document: Mapping[str, Any]) -> Page:
    """A page of notifications."""
    gap = document.get("gap")
    return Page(
        [notification_of(each) for each in document["items"]],
        document["position"],
        document["more"],
        None if gap is None else Gap(id, gap["count"], gap["upto"]),
    )
