"""Events published here that have not reached all neighbours yet, in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tamis.broker.records import Identity
from tamis.broker.writer import Transaction

OVERLAY = -1
"""The number of the key under which events that came over a link are stored."""


class Outbox:
    """Notes events of this broker's clients as long as links have not passed them on."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self.notify: Callable[[], None] | None = None
        """Called when there are new ones; without it, no link is there, and nothing is noted."""

    def add(self, transaction: Transaction, events: Iterable[tuple[int, Identity]]) -> None:
        """Note new events, each with its publisher."""
        if self.notify is None:
            return
        rows = [
            (sequence,)
            for sequence, by in events
            if by.tenant == self._tenant and by.key != OVERLAY
        ]
        if rows:
            transaction.database.execute_many("insert into outgoing values (?)", rows)
            transaction.after.append(self.notify)

    def remove(self, transaction: Transaction, requests: list[list[int]]) -> list[None]:
        """Forget events that have reached everybody."""
        for sequences in requests:
            transaction.database.execute_many(
                "delete from outgoing where event = ?", [(sequence,) for sequence in sequences]
            )
        return [None for _ in requests]
