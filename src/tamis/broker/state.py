"""What all parts of a broker share: the store, and what is kept in memory of it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from functools import partial
from typing import Any

from tamis.broker.catalog import Catalog
from tamis.broker.queues import Queues
from tamis.broker.records import Identity, Role, StoredEvent, StoredSubscription
from tamis.broker.roster import Roster
from tamis.broker.settings import BrokerSettings
from tamis.broker.storage.database import Database, Row, is_storable
from tamis.broker.tokens import Tokens
from tamis.broker.writer import Transaction, one_by_one
from tamis.errors import ForbiddenError, SchemaError, StorageError, TamisError, UnknownIdError
from tamis.graphs.term_syntax import parse_triples
from tamis.model.events.event import Event
from tamis.model.schema.schema import Schema

COLUMNS = (
    "number, id, tenant, owner, ticket, text, dialect, source, metadata, webhook, enabled, lease, "
    "expires, created, acknowledged, lost, lost_upto, checksum"
)
EVENT_COLUMNS = "e.sequence, e.id, e.source, e.time, e.body, e.graph, e.envelope, e.digest"


class State:
    """The store and its image in memory; only the writer changes either."""

    def __init__(self, database: Database, settings: BrokerSettings, tokens: Tokens) -> None:
        self.database, self.settings, self.tokens = database, settings, tokens
        kept = self.meta("schema", "")
        schema = settings.schema if not kept else Schema.from_json(json.loads(kept))
        self.catalog = Catalog(settings, schema)
        self.roster = Roster()
        self.queues = Queues(self.roster.are_pending)
        self._sequence = int(self.meta("sequence", "0"))

    def next(self) -> int:
        """A number that was never given out before: of a subscription, an event, a change."""
        self._sequence += 1
        return self._sequence

    @property
    def last(self) -> int:
        """The number that was given out last."""
        return self._sequence

    def seal(self, transaction: Transaction) -> None:
        """Write down what was given out, so that it never is again."""
        self.set_meta(transaction.database, "sequence", str(self._sequence))

    def begin_links(self, transaction: Transaction, requests: list[None]) -> list[tuple[int, bool]]:
        """A number that is greater at each start, and whether there were links before."""
        rows = transaction.database.execute("select value from meta where name = 'linked'")
        self.set_meta(transaction.database, "linked", "yes")
        return [(self.next(), bool(rows)) for _ in requests]

    def remember_routes(
        self, transaction: Transaction, requests: list[dict[str, str]]
    ) -> list[None]:
        """Store the neighbours that lead to the publishers of advertisements."""
        self.set_meta(transaction.database, "routes", json.dumps(requests[-1]))
        return [None for _ in requests]

    def routes(self) -> dict[str, str]:
        """The neighbours that led to the publishers of advertisements when this broker stopped."""
        found = json.loads(self.meta("routes", "{}"))
        return {str(id): str(neighbour) for id, neighbour in found.items()}

    def meta(self, name: str, default: str) -> str:
        """A setting that the store keeps."""
        rows = self.database.read("select value from meta where name = ?", (name,))
        return str(rows[0][0]) if rows else default

    def set_meta(self, database: Database, name: str, value: str) -> None:
        """Let the store keep a setting, in the writer's transaction."""
        database.execute(
            "insert into meta values (?, ?) "
            "on conflict (name) do update set value = excluded.value",
            (name, value),
        )

    def extend_schema(
        self, transaction: Transaction, requests: list[Any]
    ) -> list[Schema | TamisError]:
        """Extend the schema of all tenants."""
        return one_by_one(self._extend_schema, transaction, requests)

    def _extend_schema(self, transaction: Transaction, extension: Any) -> Schema:
        rows = transaction.database.execute("select value from meta where name = 'schema'")
        known = Schema.from_json(json.loads(rows[0][0])) if rows else self.catalog.schema
        if known is None:
            raise SchemaError("this broker has no schema: start it with one to extend it")
        extended = known.extend(extension)
        self.set_meta(transaction.database, "schema", json.dumps(extended.to_json()))
        transaction.after.append(partial(self.catalog.use, extended))
        return extended

    def restore(self, touched: Iterable[tuple[str, int]]) -> None:
        """Read subscriptions again, whatever was done to them in memory."""
        for tenant, number in touched:
            rows = self.database.read(
                "select text, enabled, expires, acknowledged from subscriptions where number = ?",
                (number,),
            )
            if rows:
                text, enabled, expires, acknowledged = rows[0]
                self.catalog.put(tenant, number, text, bool(enabled))
                self.roster.set(number, expires, acknowledged)
            else:
                self.catalog.drop(tenant, number)
                self.roster.remove(number)

    def acknowledge(self, transaction: Transaction, number: int, position: int) -> None:
        """Note in memory how far notifications are done with."""
        before = self.roster.acknowledged(number)
        count = self.queues.count(number, before) - self.queues.count(number, position)
        self.roster.acknowledge(number, position)
        transaction.after.append(partial(self.queues.done, count))

    def remove(self, transaction: Transaction, tenant: str, number: int) -> None:
        """Forget a subscription in memory, with its notifications."""
        count = self.queues.count(number, self.roster.acknowledged(number))
        self.catalog.drop(tenant, number)
        self.roster.remove(number)
        transaction.after.append(partial(self.queues.done, count))

    def count_slow(self, limit: int) -> int:
        """Subscriptions for which more notifications wait than a limit. Any thread may ask."""
        return sum(
            self.queues.count(number, self.roster.acknowledged(number)) > limit
            for number in self.queues.long(limit)
        )

    def event_of(self, stored: StoredEvent) -> Event:
        """A stored event as the engine takes it."""
        graph = None if stored.graph is None else parse_triples(stored.graph)
        event = Event(stored.attributes, self.settings.limits, graph=graph)
        schema = self.catalog.schema
        return event if schema is None else schema.typed(event)

    def authorized(self, id: str, by: Identity, ticket: str | None, now: float) -> SubscriptionRow:
        """The subscription of an id, if the ticket or the owner's key allows access to it."""
        if not is_storable(id):
            raise gone(id)
        rows = self.database.read(f"select {COLUMNS} from subscriptions where id = ?", (id,))
        found = SubscriptionRow(rows[0]) if rows else None
        if found is not None and ticket is not None:
            if not self.tokens.matches(ticket, found.ticket):
                raise ForbiddenError(f"this is not the ticket of the subscription {id!r:.100}")
        elif found is not None and not found.belongs_to(by):
            if found.tenant == by.tenant:
                raise ForbiddenError(
                    f"the subscription {id!r:.100} needs its ticket, or the key that made it"
                )
            found = None
        if found is None or found.expires <= now:
            raise gone(id)
        return found


class SubscriptionRow:
    """A row of the table of subscriptions, whose checksum is right."""

    __slots__ = (
        "acknowledged", "checksum", "created", "dialect", "enabled", "expires", "id", "lease",
        "lost", "lost_upto", "metadata", "number", "owner", "source", "tenant", "text", "ticket",
        "webhook",
    )  # fmt: skip

    def __init__(self, row: Row) -> None:
        (
            self.number, self.id, self.tenant, self.owner, ticket, self.text, self.dialect,
            self.source, self.metadata, self.webhook, self.enabled, self.lease, self.expires,
            self.created, self.acknowledged, self.lost, self.lost_upto, checksum,
        ) = row  # fmt: skip
        self.ticket = bytes(ticket)
        expected = subscription_checksum(self.number, self.id, self.tenant, self.owner, self.text)
        if checksum != expected:
            raise StorageError(
                f"the subscription {self.id!r:.100} is damaged in the store: restore a backup, or "
                "subscribe again"
            )

    def belongs_to(self, by: Identity) -> bool:
        """Whether a key made this subscription, or administers its tenant."""
        if by.tenant != self.tenant:
            return False
        return (by.key != 0 and by.key == self.owner) or Role.ADMIN in by.roles

    def stored(self, pending: int, matched: int, by: Identity) -> StoredSubscription:
        """What callers see of it."""
        webhook = {} if self.webhook is None else json.loads(self.webhook)
        return StoredSubscription(
            id=self.id,
            tenant=self.tenant,
            text=self.text,
            dialect=self.dialect,
            source=self.source,
            enabled=bool(self.enabled),
            lease=self.lease,
            expires=self.expires,
            created=self.created,
            metadata=json.loads(self.metadata),
            webhook=webhook.get("url"),
            webhook_state=webhook.get("state"),
            acknowledged=self.acknowledged,
            pending=pending,
            matched=matched,
            number=self.number,
            mine=by.key != 0 and by.key == self.owner,
        )


def gone(id: str) -> UnknownIdError:
    """Nobody has this id, any more."""
    return UnknownIdError(f"there is no subscription {id!r:.100}, or its lease has ended")


def subscription_checksum(number: int, id: str, tenant: str, owner: int, text: str) -> int:
    """A checksum of what a subscription is."""
    return zlib.crc32(f"{number}\0{id}\0{tenant}\0{owner}\0{text}".encode())


def matches_checksum(sequence: int, event: int | None, subscriptions: bytes) -> int:
    """A checksum of a row of matches."""
    return zlib.crc32(f"{sequence}\0{event}\0".encode() + subscriptions)


def stored_event(row: Row) -> StoredEvent:
    """An event of the store, from ``EVENT_COLUMNS``; damage is an error."""
    from tamis.broker.publishing import digest_of

    sequence, id, source, time, body, graph, envelope, digest = row
    body = bytes(body)
    if digest_of(body, graph, envelope) != bytes(digest):
        raise StorageError(
            f"the event {id!r:.100} is damaged in the store: restore a backup, or publish it again"
        )
    attributes: Any = json.loads(body)
    return StoredEvent(sequence, id, source, time, attributes, graph, json.loads(envelope or "{}"))
