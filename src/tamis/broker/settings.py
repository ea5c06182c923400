"""What the operator of a broker decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis.broker.records import Quotas, Role
from tamis.model.limits import Limits
from tamis.model.schema.schema import Schema
from tamis.operators.operator import Operator

DAY = 86_400.0
TEXT = 100_000
"""Characters of a subscription, unless the operator allows more: one of 500,000 holds the writer,
and so everybody, for two seconds."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings of a broker; docs/limits.md lists the limits among them."""

    schema: Schema | None = None
    """The first schema; extensions are kept in the storage."""
    prefixes: Mapping[str, str] | None = None
    operators: Mapping[str, Operator | Callable[..., Any]] = field(default_factory=dict)
    """What subscriptions may call, by name; nothing else."""
    limits: Limits = field(default_factory=lambda: Limits(text=TEXT))
    anonymous: frozenset[Role] = frozenset()
    """What requests without a key may do."""
    quotas: Quotas = field(default_factory=Quotas)
    """Quotas of keys that have none of their own, and of all anonymous requests together."""
    secret: bytes | Path | None = None
    """What tickets and keys are hashed with, or a file that has it, made if needed; None: a file
    beside an SQLite database."""
    index: Path | None = None
    """A folder for the saved index; None: beside an SQLite database, else none is saved."""

    lease: float = DAY
    longest_lease: float = 366 * DAY
    shortest_lease: float = 1.0
    warning: float | None = None
    """How long before its end a lease is warned of; None is never."""

    waiting: int = 10_000
    """Requests that may wait for the writer."""
    waiting_events: int = 100_000
    """Events among them; each 4 KiB of an event counts as another one."""
    batch: int = 10_000
    """Events of one ``publish``."""
    group: int = 2_000
    """Events that are committed together, at most, unless one request has more."""
    page: int = 1_000
    """Notifications or rows of one page."""
    page_bytes: int = 8 * 2**20
    """Bytes of the events in one page of notifications, unless its first one has more."""

    retention: float = 7 * DAY
    """How long notifications and events are kept."""
    retention_bytes: int = 10 * 2**30
    """Bytes of events that are kept."""
    retention_pending: int = 20_000_000
    """Notifications that wait to be acknowledged, of all subscriptions: 16 bytes of memory each."""
    queue: int = 1_000_000
    """Notifications of one subscription that wait; when there are more, it loses the oldest."""
    housekeeping: float = 1.0
    """Seconds between looks at retention, retries and leases that nobody asks about."""
    idempotency: float = DAY
    """How long idempotency keys are remembered."""
    retry: float = 10.0
    """Seconds until an undecided pair is tried again; doubled each time."""
    tries: int = 8
    """How often an undecided pair is tried before it is given up."""

    dry_run: float = 10.0
    """Seconds that a dry run may take."""
    dry_run_size: int = 1_000_000
    """Characters of a subscription that is tried, times the events that it is tried on."""

    name: str = ""
    """The name of this broker among those that it is linked to; no other may have it."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Neighbours by name, each with the WebSocket address to dial, or an empty text if it dials."""
    link_key: str = ""
    """The key that neighbours have given to this broker; it needs the role ``link`` there."""
    link_listen: str | None = None
    """Where to listen for neighbours that dial: host:port."""
    link_certificate: Path | None = None
    """PEM file with the certificate chain for neighbours that dial ``wss://…``."""
    link_certificate_key: Path | None = None
    """PEM file with the private key of that certificate."""
    link_authority: Path | None = None
    """PEM file with the authority of neighbours' certificates; None: those of the system."""
    link_tenant: str = "default"
    """The tenant whose events and subscriptions go over links."""
    link_hold: float = 60.0
    """How long events are kept for a neighbour that is away; what it misses after that is lost to
    it, and logged. A broker that restarts waits so long for its neighbours' tables, at most."""

    origin: str = "tamis"
    """What the broker calls itself in the handshake with webhooks; a host name, usually."""
    private_webhooks: bool = False
    """Whether webhooks may be at loopback, private and link-local addresses."""
    webhook_tries: int = 10
    webhook_timeout: float = 10.0
    webhook_backoff: float = 1.0
    """Seconds before the second try; doubled each time, with jitter, up to an hour."""
    webhooks_at_once: int = 32
