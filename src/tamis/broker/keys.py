"""API keys: who may do what, in which tenant. Only hashes of them are stored."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import NamedTuple

from tamis.broker.records import Identity, Quotas, Role, StoredKey
from tamis.broker.state import State
from tamis.broker.storage.database import Row
from tamis.broker.writer import Transaction
from tamis.errors import AuthenticationError, BrokerError, TamisError, UnknownIdError
from tamis.model.limits import check_limit

_KNOWN = 10_000
_LAST = 2**63 - 1
_COLUMNS = "number, name, tenant, roles, created, revoked, quotas"


class KeyRequest(NamedTuple):
    """A key to be made."""

    name: str
    tenant: str
    roles: frozenset[Role]
    quotas: Quotas


class RevokeRequest(NamedTuple):
    """A key that is to be of no use any more."""

    number: int
    tenant: str


class KeyDesk:
    """Makes keys, knows them, and revokes them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[bytes | int, Identity] = {}
        """Keys that were seen lately, by hash and by number. When a key is revoked, an empty one
        takes its place, so that a thread that looked before does not put the key back."""

    def identify(self, key: str | None) -> Identity:
        """Who has a key; without one, the anonymous."""
        settings = self._state.settings
        if key is None:
            return Identity("default", settings.anonymous, quotas=settings.quotas)
        return self._identify("hash", self._state.tokens.hash(key))

    def known(self, key: str) -> Identity | None:
        """Who has a key, if it was seen lately."""
        return self._known.get(self._state.tokens.hash(key))

    def identify_number(self, number: int) -> Identity:
        """Who has the key of a number, for sessions that a key began."""
        return self._identify("number", number)

    def _identify(self, column: str, value: bytes | int) -> Identity:
        known = self._known
        identity = known.get(value)
        if identity is None:
            rows = self._state.database.read(
                f"select {_COLUMNS} from api_keys where {column} = ?", (value,)
            )
            if not rows or rows[0][5]:
                raise AuthenticationError("unknown or revoked key")
            found = _stored(rows[0])
            identity = Identity(found.tenant, found.roles, found.number, found.name, found.quotas)
            if len(known) >= _KNOWN:
                known.clear()
            known[value] = identity
        return identity

    def quotas(self, number: int) -> Quotas:
        """The quotas of a key, also if it was revoked; 0 is the anonymous."""
        rows = self._state.database.read("select quotas from api_keys where number = ?", (number,))
        return Quotas(**json.loads(rows[0][0])) if rows else self._state.settings.quotas

    def has_any(self) -> bool:
        """Whether there is a key, of whatever tenant."""
        return bool(self._state.database.read("select 1 from api_keys limit 1", ()))

    @staticmethod
    def checked(name: str, roles: Iterable[Role | str], tenant: str, quotas: Quotas) -> KeyRequest:
        """A request for a key, if it makes sense."""
        for what, text in (("name of a key", name), ("name of a tenant", tenant)):
            check_limit(len(text), 200, f"characters in the {what}")
            if not text or not text.isprintable():
                raise BrokerError(f"the {what} is empty, or has characters that do not print")
        try:
            given = frozenset(Role(role) for role in roles)
        except ValueError as error:
            raise BrokerError(f"{error}; roles are publish, subscribe, link and admin") from error
        return KeyRequest(name, tenant, given, quotas)

    def create(
        self, transaction: Transaction, requests: list[KeyRequest]
    ) -> list[tuple[str, StoredKey]]:
        """Make keys; each is shown once."""
        made = []
        for name, tenant, roles, quotas in requests:
            number = self._state.next()
            key = self._state.tokens.token("tk_", self._state.tokens.nonce())
            row = (
                number, name, tenant, " ".join(sorted(roles)), self._state.tokens.hash(key),
                json.dumps(dataclasses.asdict(quotas)), transaction.now, 0,
            )  # fmt: skip
            transaction.database.execute(
                "insert into api_keys values (?, ?, ?, ?, ?, ?, ?, ?)", row
            )
            made.append(
                (key, StoredKey(number, name, tenant, roles, transaction.now, False, quotas))
            )
        return made

    def revoke(
        self, transaction: Transaction, requests: list[RevokeRequest]
    ) -> list[TamisError | None]:
        """Let keys be of no use any more; their subscriptions stay until their leases end."""
        results: list[TamisError | None] = []
        for number, tenant in requests:
            if number > _LAST:
                results.append(UnknownIdError(f"there is no key {number}"))
                continue
            rows = transaction.database.execute(
                "update api_keys set revoked = 1 where number = ? and tenant = ? returning number",
                (number, tenant),
            )
            results.append(None if rows else UnknownIdError(f"there is no key {number}"))
        transaction.after.append(self.forget)
        return results

    def forget(self) -> None:
        """Look keys up again."""
        self._known = {}

    def all(self, tenant: str) -> list[StoredKey]:
        """The keys of a tenant."""
        rows = self._state.database.read(
            f"select {_COLUMNS} from api_keys where tenant = ? order by number", (tenant,)
        )
        return [_stored(row) for row in rows]


def _stored(row: Row) -> StoredKey:
    number, name, tenant, roles, created, revoked, quotas = row
    given = frozenset(map(Role, roles.split()))
    return StoredKey(
        number, name, tenant, given, created, bool(revoked), Quotas(**json.loads(quotas))
    )
