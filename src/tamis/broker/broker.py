"""The door of a broker: thread-safe, and whatever waits for the disk is a future."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from tamis.arrays.types import Int64s
from tamis.broker.clock import SteadyClock
from tamis.broker.delivery import AcknowledgeRequest, DeliveryDesk
from tamis.broker.dialects import text_of
from tamis.broker.dry_run import DryRun, dry_run, recent_events
from tamis.broker.housekeeping import Housekeeper
from tamis.broker.keys import KeyDesk, RevokeRequest
from tamis.broker.links import LinkState
from tamis.broker.neighbours import Neighbours
from tamis.broker.outbox import Outbox
from tamis.broker.publishing import PublicationDesk
from tamis.broker.records import (
    DeadLetter,
    Identity,
    NewSubscription,
    Outcome,
    Page,
    Publication,
    Quotas,
    Receipt,
    Role,
    StoredEvent,
    StoredKey,
    StoredSubscription,
    SubscriptionCheck,
    UndecidedPair,
    Webhook,
)
from tamis.broker.retention import Arrivals, Retention
from tamis.broker.saved_index import SavedIndex, check_equal, folder_of
from tamis.broker.settings import BrokerSettings
from tamis.broker.state import COLUMNS, State, SubscriptionRow
from tamis.broker.storage.database import Database, check_storable, open_database
from tamis.broker.storage.migrations import migrate
from tamis.broker.subscribing import ChangeRequest, SubscriptionDesk
from tamis.broker.tokens import Tokens
from tamis.broker.undecided import UndecidedDesk
from tamis.broker.webhooks import Progress, ReplayRequest, WebhookDesk, WebhookSender
from tamis.broker.writer import Transaction, Writer
from tamis.errors import ForbiddenError, StorageError, TamisError
from tamis.model.limits import check_limit
from tamis.model.schema.schema import Schema

log = logging.getLogger("tamis.broker")

Clock = Callable[[], float]

_SEARCH = 1_000
"""Characters that a search for subscriptions may have."""


class Broker:
    """Subscriptions with leases and tickets, events, and durable delivery.

    A future is resolved when its outcome is on disk. Errors of the request itself are raised at
    once where they can be, else they are the future's. ``by`` is who asks (``identify``,
    ``anonymous``); ``ticket`` is that of the subscription, which its owner's key makes needless.
    """

    def __init__(
        self, database: Database, tokens: Tokens, settings: BrokerSettings, clock: Clock
    ) -> None:
        self._database, self._settings, self._clock = database, settings, clock
        self._state = state = State(database, settings, tokens)
        self._neighbours = Neighbours(state)
        self._delivery = DeliveryDesk(state)
        arrivals = Arrivals(state, self._notify)
        self._retention = Retention(state, arrivals)
        self._undecided = UndecidedDesk(state, arrivals)
        self._dead_letters = WebhookDesk(state, self._delivery, arrivals)
        self._webhooks = WebhookSender(
            state, self._dead_letters, self._delivery, self._advance, settings.origin
        )
        self._subscriptions = SubscriptionDesk(state, self._webhooks)
        self._outgoing = Outbox(settings.link_tenant)
        self._publications = PublicationDesk(state, arrivals, self._retention, self._outgoing)
        self._keys = KeyDesk(state)
        self._index = SavedIndex(state, folder_of(settings, database), state.meta("store", ""))
        self._house = Housekeeper(
            state, self._subscriptions, self._retention, self._index, self.retry_undecided
        )
        self._index.load()
        self._delivery.load()
        self._writer = Writer(
            database,
            clock,
            restore=self._restore,
            seal=state.seal,
            observe=self._neighbours.changed,
            housekeeping=self._house.keep,
            every=settings.housekeeping,
            waiting=settings.waiting,
            waiting_events=settings.waiting_events,
            group=settings.group,
        )
        self._is_closing = threading.Event()
        self._house.start()
        self._webhooks.start()
        try:
            self._neighbours.join(self._writer, self._outgoing, self.publish, self.identify)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls, url: str, settings: BrokerSettings | None = None, clock: Clock | None = None
    ) -> Broker:
        """Open the broker whose store is at a URL: ``sqlite:///file.db`` or ``postgresql://…``."""
        settings = settings or BrokerSettings()
        database = open_database(url)
        try:
            migrate(database)
            return cls(database, _tokens(database, settings), settings, clock or SteadyClock())
        except BaseException:
            database.close()
            raise

    @property
    def settings(self) -> BrokerSettings:
        """The settings that it was opened with."""
        return self._settings

    def _restore(self, touched: set[tuple[str, int]]) -> None:
        """Read again what a transaction that failed has changed in memory. If the connection was
        lost while it was committed, it may be there nonetheless, with its notifications."""
        self._state.restore(touched)
        self._subscriptions.forget()
        self._keys.forget()
        self._delivery.load()
        self._delivery.notify_all()
        self._webhooks.start()

    def links(self) -> list[LinkState]:
        """The links to other brokers, by neighbour."""
        return self._neighbours.states()

    @property
    def link_port(self) -> int | None:
        """The port where neighbours dial, if this broker listens for them."""
        return self._neighbours.port

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits for a neighbour, as far as this broker knows."""
        return self._neighbours.is_settled

    def _notify(self, numbers: Int64s) -> None:
        self._delivery.notify(numbers)
        self._webhooks.notify(numbers)

    def _advance(self, progress: Progress) -> Future[None]:
        return self._writer.submit(self._dead_letters.advance, progress)

    # Who asks.

    def anonymous(self) -> Identity:
        """Whoever has no key."""
        return self._keys.identify(None)

    def identify(self, key: str | None) -> Identity:
        """Who has a key; None is the anonymous."""
        return self._keys.identify(key)

    def known(self, key: str) -> Identity | None:
        """Who has a key, if that can be said without the store."""
        return self._keys.known(key)

    def identify_number(self, number: int) -> Identity:
        """Who has the key of a number: sessions remember that, and not the key."""
        return self._keys.identify_number(number)

    def has_keys(self) -> bool:
        """Whether a key was ever made."""
        return self._keys.has_any()

    def create_key(
        self,
        name: str,
        roles: Iterable[Role | str],
        *,
        tenant: str = "default",
        quotas: Quotas | None = None,
    ) -> Future[tuple[str, StoredKey]]:
        """Make an API key, which is shown once. Whoever calls this is the operator."""
        request = self._keys.checked(name, roles, tenant, quotas or self._settings.quotas)
        return self._writer.submit(self._keys.create, request)

    def revoke_key(self, number: int, *, tenant: str = "default") -> Future[None]:
        """Let a key be of no use any more."""
        return self._writer.submit(self._keys.revoke, RevokeRequest(number, tenant))

    def keys(self, tenant: str = "default") -> list[StoredKey]:
        """The keys of a tenant."""
        return self._keys.all(tenant)

    # Subscriptions.

    def subscribe(self, new: NewSubscription, by: Identity) -> Future[Receipt]:
        """Add a subscription; the receipt has its id, its ticket, and when its lease ends."""
        return self._writer.submit(
            self._subscriptions.subscribe, self._subscriptions.prepared(new, by)
        )

    def renew(
        self, id: str, by: Identity, *, ticket: str | None = None, lease: float | None = None
    ) -> Future[float]:
        """Let the lease begin again, from now; when it will end."""
        row = self._authorized(id, by, ticket)
        seconds = self._subscriptions.checked_lease(row.lease if lease is None else lease)
        change = ChangeRequest(row.number, row.id, row.tenant, lease=seconds)
        return self._writer.submit(self._subscriptions.change, change)

    def update(
        self,
        id: str,
        by: Identity,
        *,
        ticket: str | None = None,
        subscription: Any = None,
        dialect: str = "tamis",
        metadata: Mapping[str, Any] | None = None,
        webhook: Webhook | None = None,
        enabled: bool | None = None,
    ) -> Future[float]:
        """Change a subscription in place; its id, ticket and notifications stay."""
        row = self._authorized(id, by, ticket)
        change = self._subscriptions.checked_change(
            row,
            self._keys.quotas(row.owner),
            subscription=subscription,
            dialect=dialect,
            metadata=metadata,
            webhook=webhook,
            enabled=enabled,
        )
        return self._writer.submit(self._subscriptions.change, change)

    def webhook_secret(self, id: str, by: Identity, *, ticket: str | None = None) -> str:
        """What requests to the webhook of a subscription are signed with."""
        return self._dead_letters.secret(self._authorized(id, by, ticket).number)

    def enable(self, id: str, by: Identity, *, ticket: str | None = None) -> Future[float]:
        """Let a disabled subscription match again."""
        return self.update(id, by, ticket=ticket, enabled=True)

    def disable(self, id: str, by: Identity, *, ticket: str | None = None) -> Future[float]:
        """Keep a subscription, but let it match nothing."""
        return self.update(id, by, ticket=ticket, enabled=False)

    def unsubscribe(self, id: str, by: Identity, *, ticket: str | None = None) -> Future[None]:
        """Remove a subscription and its notifications."""
        row = self._authorized(id, by, ticket)
        change = ChangeRequest(row.number, row.id, row.tenant)
        return self._writer.submit(self._subscriptions.unsubscribe, change)

    def subscription(
        self, id: str, by: Identity, *, ticket: str | None = None
    ) -> StoredSubscription:
        """A subscription as it is now."""
        row = self._authorized(id, by, ticket)
        return self._stored(row, by)

    def subscriptions(
        self, by: Identity, *, search: str | None = None, after: int = 0, limit: int = 100
    ) -> list[StoredSubscription]:
        """The subscriptions of a key, of an administrator's tenant all; oldest first.

        ``search`` is a text that id or subscription contains. ``after`` is the ``number`` of the
        last one of the page before.
        """
        if by.key == 0 and Role.ADMIN not in by.roles:
            raise ForbiddenError("listing subscriptions needs a key")
        where = "tenant = ? and number > ? and expires > ?"
        given: list[Any] = [by.tenant, after, self._clock()]
        if Role.ADMIN not in by.roles:
            where += " and owner = ?"
            given.append(by.key)
        if search:
            check_limit(len(search), _SEARCH, "characters in a search")
            check_storable(search, "the search")
            where += " and (lower(id) like ? escape '!' or lower(text) like ? escape '!')"
            given += [f"%{_escaped(search.lower())}%"] * 2
        rows = self._database.read(
            f"select {COLUMNS} from subscriptions where {where} order by number limit ?",
            [*given, min(limit, self._settings.page)],
        )
        found = map(SubscriptionRow, rows)
        return [self._stored(row, by) for row in found]

    def check(
        self, subscription: Any, by: Identity, *, dialect: str = "tamis"
    ) -> SubscriptionCheck:
        """Check a subscription without making it: its canonical text, warnings, and cost."""
        text, _ = text_of(subscription, dialect, self._settings)
        remarks, _ = self._state.catalog.check(by.tenant, "check", text)
        engine = self._state.catalog.engine(by.tenant)
        canonical = str(engine.subscriptions.reader.parse(text))
        return SubscriptionCheck(canonical, tuple(remarks), engine.cost(text).nanoseconds)

    def _stored(self, row: SubscriptionRow, by: Identity) -> StoredSubscription:
        pending = self._state.queues.count(row.number, row.acknowledged)
        return row.stored(pending, self._state.roster.matched(row.number), by)

    def _authorized(self, id: str, by: Identity, ticket: str | None) -> SubscriptionRow:
        return self._state.authorized(id, by, ticket, self._clock())

    # Events.

    def publish(self, publications: Sequence[Publication], by: Identity) -> Future[list[Outcome]]:
        """Publish events: all of them, or none. They see the subscriptions acknowledged before."""
        request = self._publications.prepared(publications, by)
        return self._writer.submit(self._publications.publish, request, request.weight)

    # Notifications.

    def read(
        self,
        id: str,
        by: Identity,
        *,
        ticket: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> Page:
        """The notifications of a subscription behind a position; without one, behind what was
        acknowledged. Reading changes nothing."""
        return self._delivery.read(self._authorized(id, by, ticket), after, limit)

    def acknowledge(
        self, id: str, by: Identity, upto: int, *, ticket: str | None = None
    ) -> Future[int]:
        """Be done with all notifications up to a position, however they were read."""
        row = self._authorized(id, by, ticket)
        request = AcknowledgeRequest(row.number, row.id, upto)
        return self._writer.submit(self._delivery.acknowledge, request)

    def listen(
        self, id: str, by: Identity, callback: Callable[[], None], *, ticket: str | None = None
    ) -> Callable[[], None]:
        """Call back whenever a subscription has new notifications; call the result to end it.

        The callback runs on the writer's thread: hand over to your own and return at once.
        """
        row = self._authorized(id, by, ticket)
        return self._delivery.listen(row.number, callback)

    def undecided(
        self,
        by: Identity,
        id: str | None = None,
        *,
        ticket: str | None = None,
        after: tuple[int, int] = (0, 0),
        limit: int = 100,
    ) -> list[UndecidedPair]:
        """Events that could not be decided for a subscription, or for any of a key's: an operator
        failed. They are tried again. ``after`` is the ``place`` of the last one of the page before.
        """
        number = None if id is None else self._authorized(id, by, ticket).number
        return self._undecided.pairs(by, number, limit, after)

    def dead_letters(
        self, id: str, by: Identity, *, ticket: str | None = None, after: int = 0, limit: int = 100
    ) -> list[DeadLetter]:
        """The notifications that a webhook did not take."""
        return self._dead_letters.dead_letters(self._authorized(id, by, ticket), after, limit)

    def replay(
        self,
        id: str,
        by: Identity,
        *,
        ticket: str | None = None,
        positions: Sequence[int] | None = None,
    ) -> Future[int]:
        """Send dead letters again, up to 1,000 of them; how many they were."""
        row = self._authorized(id, by, ticket)
        chosen = None if positions is None else list(positions)
        if chosen is not None:
            check_limit(len(chosen), 1_000, "dead letters to replay")
        request = ReplayRequest(row.number, row.id, chosen)
        return self._writer.submit(self._dead_letters.replay, request)

    # Trying out.

    def events(self, by: Identity, *, last: int = 100) -> list[StoredEvent]:
        """The last events of the tenant, the newest first."""
        return recent_events(self._state, by, last)

    def dry_run(
        self, subscription: Any, by: Identity, *, dialect: str = "tamis", last: int = 100
    ) -> list[DryRun]:
        """What a subscription would have matched among the last events, with explanations."""
        return dry_run(
            self._state, by, subscription, dialect, last, self._subscriptions.check_calls
        )

    # The schema.

    @property
    def schema(self) -> Schema | None:
        """The schema that events and subscriptions are checked by, if there is one."""
        return self._state.catalog.schema

    def extend_schema(
        self, extension: Schema | str | bytes | Mapping[str, Any], by: Identity
    ) -> Future[Schema]:
        """Extend the schema; what is there stays as it is. Needs the role of an administrator."""
        if Role.ADMIN not in by.roles or by.key == 0:
            raise ForbiddenError("extending the schema needs the key of an administrator")
        return self._writer.submit(self._state.extend_schema, extension)

    # The broker itself.

    def keep_house(self) -> Future[bool]:
        """Look at leases, retention and the index now, not only once in a while; whether there was
        more to do than fits into one transaction."""
        return self._writer.submit(self._house.keep, None)

    def retry_undecided(self) -> int:
        """Try the undecided pairs that are due; how many were."""
        verdicts = self._undecided.verdicts(self._clock())
        if not verdicts:
            return 0
        return self._writer.submit(self._undecided.settle, verdicts).result()

    @property
    def is_ready(self) -> bool:
        """Whether the last transaction was written, so that new ones probably will be."""
        return self._writer.failure is None

    def stats(self) -> dict[str, float]:
        """Figures of the broker, by name."""
        return {
            "subscriptions": len(self._state.roster),
            "pending": self._state.queues.waiting,
            "events": self._publications.events,
            "matches": self._publications.matches,
            "event_bytes": self._retention.bytes,
            "commits": self._writer.commits,
            "waiting": self._writer.waiting,
            "listeners": self._delivery.listeners,
            "slow": self._house.slow,
            "links": sum(each.is_connected for each in self.links()),
            "links_waiting": sum(each.waiting for each in self.links()),
            "links_refused": self._neighbours.refused,
            "webhooks_sent": self._webhooks.sent,
            "webhooks_failed": self._webhooks.failed,
            "tenants_rebuilt": len(self._index.rebuilt),
        }

    def verify(self) -> None:
        """Raise unless the store is whole, and the index is what the store has."""
        self._database.check()
        check_equal(self._state.catalog, self._state)
        self._delivery.check()

    def trouble(self) -> str | None:
        """Why the broker takes no requests now, if so."""
        if self._is_closing.is_set():
            return "the broker is closed"
        failure = self._writer.failure
        return None if failure is None else f"the last transaction failed: {failure}"

    def backup(self, path: Path) -> None:
        """Write a copy of the store, while the broker goes on."""
        self._database.backup(path)

    def close(self) -> None:
        """Write what waits, save the index, and close."""
        if self._is_closing.is_set():
            return
        self._is_closing.set()
        self._house.close()
        self._neighbours.close()
        self._webhooks.close()
        try:
            self._writer.submit(self._save, None).result()
        except TamisError as error:
            log.warning("the index was not saved: %s", error)
        self._writer.close()
        self._database.close()

    def _save(self, transaction: Transaction, requests: list[None]) -> list[None]:
        self._index.save(transaction)
        return [None for _ in requests]

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _tokens(database: Database, settings: BrokerSettings) -> Tokens:
    if isinstance(settings.secret, Path):
        return Tokens.of_file(settings.secret)
    if settings.secret is not None:
        return Tokens(settings.secret)
    path = getattr(database, "path", None)
    if path is None:
        raise StorageError("set the secret of the broker: 32 bytes, or a file for them")
    return Tokens.of_file(path.with_name(path.name + ".key"))


def _escaped(text: str) -> str:
    """A text as a part of a ``like`` pattern."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
