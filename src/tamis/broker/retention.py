"""How notifications arrive outside of publishing, and how old ones go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tamis.arrays.types import Int64s
from tamis.broker.state import State, matches_checksum
from tamis.broker.writer import Transaction

_WARNED_AT_ONCE = 1_000
_CUT = 2_000
"""Rows of matches that are removed in one transaction, so that nobody waits long."""


class Arrivals:
    """Adds rows of matches, and lets queues and listeners know when they are durable."""

    def __init__(self, state: State, notify: Callable[[Int64s], None]) -> None:
        """``notify`` is called with the numbers of subscriptions that have something new."""
        self._state, self._notify = state, notify

    def add(
        self,
        transaction: Transaction,
        kind: str,
        event: int | None,
        numbers: Sequence[int],
        bindings: str | None = None,
    ) -> int:
        """Notify some subscriptions of an event, or of something without one."""
        position = self._state.next()
        given = np.array(numbers, np.int64)
        packed = given.astype("<i8").tobytes()
        checksum = matches_checksum(position, event, packed)
        transaction.database.execute(
            "insert into matches values (?, ?, ?, ?, ?, ?, ?)",
            (position, event, kind, packed, bindings, transaction.now, checksum),
        )
        positions = np.full(len(given), position, np.int64)
        self.later(transaction, given, positions, are_matches=kind == "match")
        return position

    def later(
        self,
        transaction: Transaction,
        numbers: Int64s,
        positions: Int64s,
        *,
        are_matches: bool = True,
    ) -> None:
        """Put notifications into the queues when the transaction is durable."""

        def arrive() -> None:
            self._state.queues.add(numbers, positions)
            if are_matches:
                self._state.roster.count_matches(numbers)
            self._notify(numbers)

        transaction.after.append(arrive)


class Retention:
    """Removes what is too old or too much, and tells subscriptions what they have lost."""

    def __init__(self, state: State, arrivals: Arrivals) -> None:
        self._state, self._arrivals = state, arrivals
        self._shorten_at = state.settings.queue
        rows = state.database.read("select sum(size) from events")
        self.bytes = int(rows[0][0] or 0)
        """Bytes of events that are kept."""

    def warn(self, transaction: Transaction) -> bool:
        """Tell subscriptions, once for each lease, that it ends soon; whether there may be more."""
        ahead = self._state.settings.warning
        if ahead is None:
            return False
        rows = transaction.database.execute(
            "select number, tenant from subscriptions where expires <= ? and expires > ? "
            "and warned = 0 order by expires limit ?",
            (transaction.now + ahead, transaction.now, _WARNED_AT_ONCE),
        )
        if rows:
            numbers = [row[0] for row in rows]
            self._arrivals.add(transaction, "expiring", None, numbers)
            transaction.database.execute_many(
                "update subscriptions set warned = 1 where number = ?",
                [(number,) for number in numbers],
            )
        return len(rows) == _WARNED_AT_ONCE

    def shorten(self, transaction: Transaction) -> None:
        """Take the oldest notifications from subscriptions that let too many wait, so that nobody
        else loses any because of them."""
        queues = self._state.queues
        if queues.waiting < self._shorten_at:
            return
        for number, position, count in queues.longest(self._state.settings.queue):
            rows = transaction.database.execute(
                "update subscriptions set acknowledged = ?, lost = lost + ?, lost_upto = ? "
                "where number = ? returning tenant",
                (position, count, position, number),
            )
            transaction.touched.update((row[0], number) for row in rows)
            self._state.acknowledge(transaction, number, position)
        # All queues are looked at again when there is a tenth more, so that it costs little.
        self._shorten_at = max(self._state.settings.queue, int(1.1 * queues.waiting))

    def cut(self, transaction: Transaction) -> bool:
        """Remove the oldest events and notifications, as far as the settings say; whether there may
        be more of them than one transaction removes."""
        database, settings = transaction.database, self._state.settings
        oldest = transaction.now - settings.retention
        event = self._last_event(transaction, oldest)
        position = self._last_position(transaction, oldest, event)
        removed = 0
        if position:
            removed = self._forget(transaction, position)
        if event:
            rows = database.execute(
                "delete from events where sequence <= ? and not exists "
                "(select 1 from matches where matches.event = events.sequence) "
                "and not exists (select 1 from undecided where undecided.event = events.sequence "
                "and undecided.next < 1e15) returning size",
                (event,),
            )
            database.execute("delete from undecided where event <= ? and next >= 1e15", (event,))
            size = sum(row[0] for row in rows)
            transaction.after.append(lambda: self._shrink(size))
            removed = max(removed, len(rows))
        return removed >= _CUT

    def grow(self, size: int) -> None:
        """Note that events came in."""
        self.bytes += size

    def _shrink(self, size: int) -> None:
        self.bytes -= size

    def _last_event(self, transaction: Transaction, oldest: float) -> int:
        """The last event that is to be removed in this round."""
        rows = transaction.database.execute(
            "select sequence, time, size from events order by sequence limit ?", (_CUT,)
        )
        excess = self.bytes - self._state.settings.retention_bytes
        last = 0
        for sequence, time, size in rows:
            if time >= oldest and excess <= 0:
                break
            last = sequence
            excess -= size
        return last

    def _last_position(self, transaction: Transaction, oldest: float, event: int) -> int:
        """The last row of matches that is to be removed in this round."""
        rows = transaction.database.execute(
            "select sequence, event, time, length(subscriptions) from matches "
            "order by sequence limit ?",
            (_CUT,),
        )
        excess = self._state.queues.waiting - self._state.settings.retention_pending
        last = 0
        for sequence, of, time, size in rows:
            if time >= oldest and (of is None or of > event) and excess <= 0:
                break
            last = sequence
            excess -= size // 8
        return last

    def _forget(self, transaction: Transaction, position: int) -> int:
        """Remove rows of matches up to a position; how many."""
        database = transaction.database
        rows = database.execute("delete from matches where sequence <= ? returning 1", (position,))
        database.execute("delete from dead_letters where position <= ?", (position,))
        numbers, positions = self._state.queues.upto(position)
        order = np.argsort(numbers, kind="stable")
        numbers, positions = numbers[order], positions[order]
        distinct, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        if len(distinct):
            lasts = np.maximum.reduceat(positions, first)
            database.execute_many(
                "update subscriptions set lost = lost + ?, lost_upto = ? where number = ?",
                zip(counts.tolist(), lasts.tolist(), distinct.tolist()),
            )
        transaction.after.append(lambda: self._state.queues.cut(position))
        return len(rows)
