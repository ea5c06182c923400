"""What a broker looks at once in a while: leases, retention, the saved index, undecided pairs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from tamis.broker.retention import Retention
from tamis.broker.saved_index import SavedIndex
from tamis.broker.state import State
from tamis.broker.subscribing import SubscriptionDesk
from tamis.broker.writer import Transaction
from tamis.errors import TamisError

log = logging.getLogger("tamis.broker")

SLOW = 1_000
"""Notifications that wait for a subscription which counts as slow."""
_EXPIRED_AT_ONCE = 2_000


class Housekeeper:
    """The writer calls ``keep``; what takes longer runs on a thread of its own."""

    def __init__(
        self,
        state: State,
        subscriptions: SubscriptionDesk,
        retention: Retention,
        index: SavedIndex,
        retry: Callable[[], int],
    ) -> None:
        """``retry`` tries undecided pairs again."""
        self._state, self._subscriptions, self._index = state, subscriptions, index
        self._retention, self._retry = retention, retry
        self.slow = 0
        """Subscriptions for which many notifications wait."""
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tamis-retries", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._is_closing.set()
        self._thread.join()

    def keep(self, transaction: Transaction, requests: list[None]) -> list[bool]:
        """Look at everything, in the writer's transaction; whether something is left to do."""
        has_more = self._retention.warn(transaction)
        has_more |= self._subscriptions.expire(transaction, _EXPIRED_AT_ONCE) == _EXPIRED_AT_ONCE
        self._retention.shorten(transaction)
        has_more |= self._retention.cut(transaction)
        self._index.save_if_many(transaction)
        transaction.database.execute(
            "delete from requests where created < ?",
            (transaction.now - self._state.settings.idempotency,),
        )
        return [has_more for _ in requests]

    def _run(self) -> None:
        while not self._is_closing.wait(self._state.settings.housekeeping):
            self.slow = self._state.count_slow(SLOW)
            try:
                self._retry()
            except TamisError as error:
                log.warning("undecided pairs were not tried again: %s", error)
