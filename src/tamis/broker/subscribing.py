"""How subscriptions come, change and go (seed 000, section 5.1: leases and tickets).

Each function here carries out requests of one kind in the writer's transaction.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tamis.broker.dialects import text_of
from tamis.broker.records import Identity, NewSubscription, Quotas, Receipt, Role, Webhook
from tamis.broker.state import State, SubscriptionRow, gone, subscription_checksum
from tamis.broker.storage.database import check_storable
from tamis.broker.webhook_request import check_url
from tamis.broker.writer import Transaction, one_by_one
from tamis.engine.rows import checked_metadata
from tamis.errors import (
    ConflictError,
    DuplicateIdError,
    ForbiddenError,
    LimitError,
    QuotaError,
    SubscriptionError,
    TamisError,
)
from tamis.model.limits import check_limit
from tamis.predicates.expression import Call

ID_BYTES = 12
_NAME = 256
"""Characters of an idempotency key."""
_LONG = 16
"""Characters that an idempotency key needs at least if it is anonymous: whoever guesses it, and the
request, gets the ticket."""


@dataclass(frozen=True, slots=True)
class SubscribeRequest:
    """A subscription that was checked as far as can be without the writer."""

    new: NewSubscription
    id: str
    by: Identity
    text: str
    source: str | None
    metadata: str
    lease: float
    webhook: str | None
    remarks: tuple[str, ...]
    digest: bytes


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change of one subscription; what is None stays."""

    number: int
    id: str
    tenant: str
    text: str | None = None
    dialect: str | None = None
    source: str | None = None
    metadata: str | None = None
    enabled: bool | None = None
    lease: float | None = None
    webhook: str | None = None


class Webhooks(Protocol):
    """Who must know which subscriptions have a webhook."""

    def add(self, number: int) -> None:
        """Serve the webhook of a subscription, from now on."""
        ...

    def remove(self, number: int) -> None:
        """Serve it no more."""
        ...

    def secret(self, number: int) -> str:
        """What requests of a subscription are signed with."""
        ...


class SubscriptionDesk:
    """Takes subscriptions in, changes them and lets them go."""

    def __init__(self, state: State, webhooks: Webhooks) -> None:
        self._state, self._webhooks = state, webhooks
        self._owned: dict[tuple[str, int], int] = {}
        """How many subscriptions a key has, by tenant and number, where a quota asks for it: to
        count them in the store each time would cost more with each one."""

    # In the thread of the caller.

    def prepared(self, new: NewSubscription, by: Identity) -> SubscribeRequest:
        """Check a subscription; errors are raised before anything waits."""
        state = self._state
        if not by.may(Role.SUBSCRIBE):
            raise ForbiddenError("this key may not subscribe")
        id = new.id if new.id is not None else secrets.token_urlsafe(ID_BYTES)
        check_storable(id, "the id")
        text, source = text_of(new.subscription, new.dialect, state.settings)
        remarks, calls = state.catalog.check(by.tenant, id, text)
        self.check_calls(calls, by.quotas)
        name = new.idempotency_key
        if name is not None:
            check_limit(len(name), _NAME, "characters in an idempotency key")
            check_storable(name, "the idempotency key")
            if by.key == 0 and len(name) < _LONG:
                raise LimitError(
                    f"an anonymous idempotency key needs {_LONG} characters, chosen at random"
                )
        metadata = json.dumps(checked_metadata(new.metadata, state.settings.limits))
        webhook = None if new.webhook is None else self._webhook(new.webhook)
        lease = self.checked_lease(new.lease)
        parts = [new.id, text, new.dialect, source, metadata, new.lease, webhook]
        digest = hashlib.sha256(json.dumps(parts).encode(errors="surrogatepass")).digest()
        return SubscribeRequest(
            new, id, by, text, source, metadata, lease, webhook, tuple(remarks), digest
        )

    def check_calls(self, calls: list[Call], quotas: Quotas) -> None:
        """Hold operator calls against the quotas of a key."""
        most, dearest = quotas.calls, quotas.cost
        if most is not None and len(calls) > most:
            raise QuotaError(
                f"{len(calls)} operator calls in a subscription: this key may have {most}"
            )
        if dearest is not None:
            seconds = sum(self._state.catalog.cost(call) for call in calls)
            if seconds > dearest:
                raise QuotaError(
                    f"operator calls that take {seconds:g} seconds for an event: this key may "
                    f"have {dearest:g}"
                )

    def _webhook(self, webhook: Webhook) -> str:
        """A webhook as it is stored, with nothing sent to it yet."""
        check_url(webhook.url)
        return json.dumps({"url": webhook.url, "state": "new"})

    def checked_lease(self, lease: float | None) -> float:
        """The seconds of a lease, within the limits."""
        settings = self._state.settings
        if lease is None:
            return min(settings.lease, settings.longest_lease)
        is_number = isinstance(lease, int | float) and not isinstance(lease, bool)
        if not is_number or not settings.shortest_lease <= lease <= settings.longest_lease:
            raise SubscriptionError(
                f"a lease is {settings.shortest_lease:g} to {settings.longest_lease:,.0f} seconds, "
                f"not {lease!r:.100}"
            )
        return float(lease)

    def checked_change(
        self,
        row: SubscriptionRow,
        quotas: Quotas,
        *,
        subscription: Any = None,
        dialect: str = "tamis",
        metadata: Mapping[str, Any] | None = None,
        webhook: Webhook | None = None,
        enabled: bool | None = None,
    ) -> ChangeRequest:
        """Check a change; errors are raised before anything waits. ``quotas`` are those of the key
        that made the subscription: whoever has its ticket may not exceed them either."""
        text = source = None
        if subscription is not None:
            text, source = text_of(subscription, dialect, self._state.settings)
            _, calls = self._state.catalog.check(row.tenant, row.id, text)
            self.check_calls(calls, quotas)
        kept = None
        if metadata is not None:
            kept = json.dumps(checked_metadata(metadata, self._state.settings.limits))
        return ChangeRequest(
            row.number,
            row.id,
            row.tenant,
            text,
            None if text is None else dialect,
            source,
            metadata=kept,
            enabled=enabled,
            webhook=None if webhook is None else self._webhook(webhook),
        )

    # In the thread of the writer.

    def subscribe(
        self, transaction: Transaction, requests: list[SubscribeRequest]
    ) -> list[Receipt | TamisError]:
        """Add subscriptions."""
        return one_by_one(self._subscribe, transaction, requests)

    def _subscribe(self, transaction: Transaction, request: SubscribeRequest) -> Receipt:
        state, database = self._state, transaction.database
        new, by = request.new, request.by
        if new.idempotency_key is not None:
            repeated = self._repeated(transaction, request)
            if repeated is not None:
                return repeated
        known = database.execute(
            "select number, tenant, expires from subscriptions where id = ?", (request.id,)
        )
        if known and known[0][2] > transaction.now:
            raise DuplicateIdError(f"the id {request.id!r:.100} exists; choose another one")
        for number, tenant, _ in known:  # its lease has ended just now
            self.remove(transaction, number, tenant)
        most = by.quotas.subscriptions
        if most is not None and self._count(transaction, by) >= most:
            raise QuotaError(f"this key may have {most:,} subscriptions, and has them")
        number = state.next()
        nonce = state.tokens.nonce()
        ticket = state.tokens.token("tt_", nonce)
        expires = transaction.now + request.lease
        transaction.touched.add((by.tenant, number))
        state.catalog.put(by.tenant, number, request.text, True)
        state.roster.set(number, expires, 0)
        checksum = subscription_checksum(number, request.id, by.tenant, by.key, request.text)
        database.execute(
            "insert into subscriptions values (" + "?, " * 19 + "?)",
            (
                number, request.id, by.tenant, by.key, state.tokens.hash(ticket), request.text,
                new.dialect, request.source, request.metadata, request.webhook, 1, request.lease,
                expires, 0, transaction.now, state.next(), 0, 0, 0, checksum,
            ),
        )  # fmt: skip
        self._own(by.tenant, by.key, 1)
        if new.idempotency_key is not None:
            parts = {"id": request.id, "expires": expires, "remarks": request.remarks}
            answer = json.dumps({**parts, "number": number})
            database.execute(
                "insert into requests values (?, ?, ?, ?, ?, ?)",
                (by.key, new.idempotency_key, request.digest, nonce, answer, transaction.now),
            )
        return self._receipt(transaction, request, number, ticket, expires)

    def _count(self, transaction: Transaction, by: Identity) -> int:
        """How many subscriptions a key has."""
        key = by.tenant, by.key
        if key not in self._owned:
            rows = transaction.database.execute(
                "select count(*) from subscriptions where tenant = ? and owner = ?", key
            )
            self._owned[key] = rows[0][0]
        return self._owned[key]

    def _own(self, tenant: str, owner: int, change: int) -> None:
        """Note that a key has one subscription more, or less."""
        if (tenant, owner) in self._owned:
            self._owned[tenant, owner] += change

    def forget(self) -> None:
        """Count again what a transaction that failed has counted."""
        self._owned.clear()

    def _receipt(
        self,
        transaction: Transaction,
        request: SubscribeRequest,
        number: int,
        ticket: str,
        expires: float,
    ) -> Receipt:
        secret = None
        if request.webhook is not None:
            secret = self._webhooks.secret(number)
            transaction.after.append(lambda: self._webhooks.add(number))
        return Receipt(request.id, ticket, expires, request.remarks, False, secret)

    def _repeated(self, transaction: Transaction, request: SubscribeRequest) -> Receipt | None:
        """The answer that was given to the same request, if there was one."""
        rows = transaction.database.execute(
            "select digest, nonce, answer from requests where owner = ? and name = ?",
            (request.by.key, request.new.idempotency_key),
        )
        if not rows:
            return None
        digest, nonce, answer = rows[0]
        if bytes(digest) != request.digest:
            raise ConflictError("this idempotency key was used for another subscription")
        known = json.loads(answer)
        ticket = self._state.tokens.token("tt_", bytes(nonce))
        remarks = tuple(known["remarks"])
        secret = None
        if request.webhook is not None:
            secret = self._webhooks.secret(known["number"])
        return Receipt(known["id"], ticket, known["expires"], remarks, True, secret)

    def change(
        self, transaction: Transaction, requests: list[ChangeRequest]
    ) -> list[float | TamisError]:
        """Change subscriptions; when each lease ends."""
        return one_by_one(self._change, transaction, requests)

    def _change(self, transaction: Transaction, request: ChangeRequest) -> float:
        state, database = self._state, transaction.database
        rows = database.execute(
            "select text, enabled, lease, expires, owner, acknowledged from subscriptions "
            "where number = ?",
            (request.number,),
        )
        if not rows or rows[0][3] <= transaction.now:
            raise gone(request.id)
        text, enabled, lease, expires, owner, acknowledged = rows[0]
        transaction.touched.add((request.tenant, request.number))
        if request.lease is not None:
            lease, expires = request.lease, transaction.now + request.lease
            state.roster.set(request.number, expires, acknowledged)
        if request.text is not None or request.enabled is not None:
            text = text if request.text is None else request.text
            enabled = enabled if request.enabled is None else int(request.enabled)
            state.catalog.put(request.tenant, request.number, text, bool(enabled))
            checksum = subscription_checksum(
                request.number, request.id, request.tenant, owner, text
            )
            database.execute(
                "update subscriptions set text = ?, enabled = ?, checksum = ?, changed = ? "
                "where number = ?",
                (text, enabled, checksum, state.next(), request.number),
            )
        if request.text is not None:
            database.execute(  # an event sees what was there when it came
                "update undecided set text = ? where subscription = ? and text is null",
                (rows[0][0], request.number),
            )
            database.execute(
                "update subscriptions set dialect = ?, source = ? where number = ?",
                (request.dialect, request.source, request.number),
            )
        if request.metadata is not None:
            database.execute(
                "update subscriptions set metadata = ? where number = ?",
                (request.metadata, request.number),
            )
        if request.webhook is not None:
            database.execute(
                "update subscriptions set webhook = ? where number = ?",
                (request.webhook, request.number),
            )
            transaction.after.append(lambda: self._webhooks.add(request.number))
        database.execute(
            "update subscriptions set lease = ?, expires = ?, warned = 0 where number = ?",
            (lease, expires, request.number),
        )
        return float(expires)

    def unsubscribe(
        self, transaction: Transaction, requests: list[ChangeRequest]
    ) -> list[TamisError | None]:
        """Remove subscriptions."""
        results: list[TamisError | None] = []
        for request in requests:
            rows = transaction.database.execute(
                "select 1 from subscriptions where number = ?", (request.number,)
            )
            if rows:
                self.remove(transaction, request.number, request.tenant)
            results.append(None if rows else gone(request.id))
        return results

    def remove(self, transaction: Transaction, number: int, tenant: str) -> None:
        """Remove one subscription with all that belongs to it."""
        state, database = self._state, transaction.database
        transaction.touched.add((tenant, number))
        state.remove(transaction, tenant, number)
        removed = database.execute(
            "delete from subscriptions where number = ? returning owner", (number,)
        )
        for (owner,) in removed:
            self._own(tenant, owner, -1)
        database.execute("delete from undecided where subscription = ?", (number,))
        database.execute("delete from dead_letters where subscription = ?", (number,))
        transaction.after.append(lambda: self._webhooks.remove(number))
        database.execute("insert into removals values (?, ?, ?)", (state.next(), number, tenant))

    def expire(self, transaction: Transaction, limit: int) -> int:
        """Remove subscriptions whose leases have ended, at most so many; how many.

        Events do not see them in any case: the roster knows when each lease ends.
        """
        rows = transaction.database.execute(
            "select number, tenant from subscriptions where expires <= ? order by expires limit ?",
            (transaction.now, limit),
        )
        for number, tenant in rows:
            self.remove(transaction, number, tenant)
        return len(rows)
