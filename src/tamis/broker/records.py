"""What goes into a broker and what comes out of it: plain data, in seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from tamis.model.rdf_terms import RdfTriple

NEVER = 1e15
"""The time of the next try of a pair that was given up."""


class Role(StrEnum):
    """What a key allows."""

    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"
    LINK = "link"
    """To link a broker to this one."""
    ADMIN = "admin"
    """Everything within the key's tenant, and its keys."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """What one key may have; None is no limit."""

    subscriptions: int | None = None
    """Subscriptions at one time."""
    calls: int | None = None
    """Operator calls in one subscription."""
    cost: float | None = None
    """Seconds that the operators of one subscription may take for an event, by what they declare
    (``cost``, or else ``timeout``)."""
    requests: float | None = None
    """Requests a second over HTTP; None is what the server allows to every key."""

    def within(self, others: Quotas) -> Quotas:
        """The same, but nowhere more than others have; no requests a second is any number."""
        least = {}
        for name, most in asdict(others).items():
            both = getattr(self, name), most
            given = [each for each in both if each is not None and (each or name != "requests")]
            least[name] = min(given) if given else None
        return Quotas(**least)


@dataclass(frozen=True, slots=True)
class Identity:
    """On whose behalf something is done: a key, or nobody in particular."""

    tenant: str
    roles: frozenset[Role]
    key: int = 0
    """The number of the key; 0 is anonymous."""
    name: str = "anonymous"
    quotas: Quotas = field(default_factory=Quotas)

    def may(self, role: Role) -> bool:
        """Whether this role, or that of an administrator, is among the roles."""
        return role in self.roles or Role.ADMIN in self.roles


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key as a broker remembers it: everything but the key."""

    number: int
    name: str
    tenant: str
    roles: frozenset[Role]
    created: float
    revoked: bool
    quotas: Quotas


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription to be made."""

    subscription: Any
    """A text, an expression or a JSON form, or whatever the dialect takes."""
    dialect: str = "tamis"
    id: str | None = None
    """Without one it gets a random id."""
    lease: float | None = None
    """Seconds until it ends unless it is renewed; None is the broker's default."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    webhook: Webhook | None = None
    """Where notifications are sent; without it, whoever has the ticket reads them."""
    idempotency_key: str | None = None
    """The same key with the same request again gives the same answer, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where and how the notifications of a subscription are sent."""

    url: str
    """Requests are signed; the receipt has the secret to check them with."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a subscription; the ticket is shown once and cannot be looked up."""

    id: str
    ticket: str
    expires: float
    remarks: tuple[str, ...] = ()
    """Warnings: it never matches, or it is costly."""
    repeated: bool = False
    """Whether it was there before, by its idempotency key."""
    webhook_secret: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionCheck:
    """What a broker thinks of a subscription that was not made."""

    text: str
    remarks: tuple[str, ...]
    cost: float
    """Nanoseconds that an average event would pay for it."""


@dataclass(frozen=True, slots=True)
class StoredSubscription:
    """A subscription as a broker keeps it."""

    id: str
    tenant: str
    text: str
    dialect: str
    source: str | None
    """What was given, if the dialect is not Tamis's own."""
    enabled: bool
    lease: float
    expires: float
    created: float
    metadata: Mapping[str, Any]
    webhook: str | None
    """The address of the webhook."""
    webhook_state: str | None
    """``new`` until the handshake, ``open`` after it, ``ended`` when the receiver wants no more."""
    acknowledged: int
    """The position of the last notification that was acknowledged."""
    pending: int
    """Notifications that were not acknowledged yet."""
    matched: int = 0
    """How often it matched since the broker started."""
    number: int = field(repr=False, default=0)
    """What the broker itself calls it; lists are sorted by it, oldest first."""
    mine: bool = False
    """Whether the key that asked made it."""


@dataclass(frozen=True, slots=True)
class Publication:
    """An event to be published."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    """Unique for each publisher and source: a repeat is harmless, another body is a conflict."""
    source: str = ""
    graph: Sequence[RdfTriple] | frozenset[RdfTriple] | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    """What else came with it and is handed on, such as ``type`` and ``subject`` of CloudEvents."""
    recipients: Sequence[str] | None = None
    """Ids of the subscriptions that it matches, if that was found out elsewhere; None: the broker
    finds out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a publication."""

    id: str
    matched: int
    """How many subscriptions it matched."""
    repeated: bool = False
    """Whether it had been published before."""
    incomplete: int = 0
    """Pairs that could not be decided and are retried."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as a broker keeps it."""

    sequence: int
    id: str
    source: str
    time: float
    attributes: Mapping[str, Any]
    graph: str | None
    """Its graph as N-Triples."""
    envelope: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """An event for a subscription. ``id`` stays the same however often it is delivered."""

    id: str
    subscription: str
    position: int
    """Ascends in the order of commits; what ``after`` and ``acknowledge`` take."""
    time: float
    kind: str
    """``match``; ``expiring`` if the lease ends soon: there is no event then."""
    event: StoredEvent | None
    bindings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gap:
    """Notifications that retention removed before they were acknowledged."""

    count: int
    upto: int
    """The position of the last one of them."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some notifications of a subscription, in the order of commits."""

    notifications: list[Notification]
    position: int
    """What to read after next."""
    more: bool
    """Whether more of them are there already."""
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class UndecidedPair:
    """A pair of an event and a subscription that failed, and is tried again."""

    event: StoredEvent
    subscription: str
    reason: str
    tries: int
    next: float
    """When it is tried again."""
    number: int = field(repr=False, default=0)
    """What the broker itself calls the subscription."""

    @property
    def place(self) -> tuple[int, int]:
        """What lists are sorted by: the oldest event first."""
        return self.event.sequence, self.number

    @property
    def is_given_up(self) -> bool:
        """Whether it was tried as often as it may be."""
        return self.next >= NEVER


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A notification that a webhook did not take."""

    notification: Notification
    reason: str
    tries: int
    time: float
