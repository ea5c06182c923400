"""How notifications are read: in the order of commits, until they are acknowledged."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Int64s
from tamis.broker.records import Gap, Notification, Page
from tamis.broker.state import (
    EVENT_COLUMNS,
    State,
    SubscriptionRow,
    gone,
    matches_checksum,
    stored_event,
)
from tamis.broker.storage.database import Row, places
from tamis.broker.writer import Transaction
from tamis.errors import StorageError, TamisError

_AT_ONCE = 500
"""Rows that are asked for in one query."""


class AcknowledgeRequest(NamedTuple):
    """A subscription's notifications up to a position are done with."""

    number: int
    id: str
    position: int


class DeliveryDesk:
    """Hands notifications out, and tells listeners that there are some."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._listeners: dict[int, list[Callable[[], None]]] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """Fill the queues with what the store has, and nothing else."""
        rows = self._state.database.read(
            "select sequence, subscriptions from matches order by sequence"
        )
        self._state.queues.clear()
        if rows:
            parts = [np.frombuffer(packed, "<i8") for _, packed in rows]
            sizes = [len(part) for part in parts]
            positions = np.repeat(np.array([row[0] for row in rows], np.int64), sizes)
            numbers = np.concatenate(parts).astype(np.int64)
            kept = self._state.roster.are_pending(numbers, positions)
            self._state.queues.add(numbers[kept], positions[kept])

    def check(self) -> None:
        """Raise if a row of matches or an event in the store is damaged."""
        last = 0
        while rows := self._state.database.read(
            "select sequence, event, subscriptions, checksum from matches "
            "where sequence > ? order by sequence limit 10000",
            (last,),
        ):
            for sequence, event, packed, checksum in rows:
                _check(sequence, event, bytes(packed), checksum)
            last = rows[-1][0]
        last = 0
        while rows := self._state.database.read(
            f"select {EVENT_COLUMNS} from events e "
            "where e.sequence > ? order by e.sequence limit 1000",
            (last,),
        ):
            for row in rows:
                stored_event(row)
            last = rows[-1][0]

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(map(len, self._listeners.values()))

    def read(self, row: SubscriptionRow, after: int | None, limit: int) -> Page:
        """The notifications of a subscription behind a position, or behind what it acknowledged."""
        state = self._state
        limit = min(limit, state.settings.page)
        start = max(row.acknowledged, after or 0)
        positions = state.queues.after(row.number, start, limit + 1)
        taken = self._fitting(positions[:limit])
        behind = row.acknowledged <= row.lost_upto if after is None else after < row.lost_upto
        gap = Gap(row.lost, row.lost_upto) if row.lost and behind else None
        notifications = self.notifications(row, taken)
        more = len(positions) > len(taken)
        end = start if gap is None else max(start, gap.upto)  # done with, the gap is known
        return Page(notifications, taken[-1] if taken else end, more, gap)

    def _fitting(self, positions: list[int]) -> list[int]:
        """As many of the first notifications as fit into a page with their events."""
        left = self._state.settings.page_bytes
        for first in range(0, len(positions), _AT_ONCE):
            part = positions[first : first + _AT_ONCE]
            rows = self._state.database.read(
                "select m.sequence, e.size from matches m join events e on e.sequence = m.event "
                f"where m.sequence in ({places(len(part))}) order by m.sequence",
                part,
            )
            for position, size in rows:
                left -= size
                if left < 0:
                    return positions[: max(1, positions.index(position))]
        return positions

    def notifications(self, row: SubscriptionRow, positions: Sequence[int]) -> list[Notification]:
        """The notifications at some positions, which ascend; retention may have removed some."""
        found: list[Notification] = []
        for first in range(0, len(positions), _AT_ONCE):
            part = positions[first : first + _AT_ONCE]
            rows = self._state.database.read(
                "select m.sequence, m.event, m.kind, m.subscriptions, m.bindings, m.time, "
                f"m.checksum, {EVENT_COLUMNS} from matches m "
                "left join events e on e.sequence = m.event "
                f"where m.sequence in ({places(len(part))}) order by m.sequence",
                part,
            )
            found += [_notification(row, each) for each in rows]
        return found

    def acknowledge(
        self, transaction: Transaction, requests: list[AcknowledgeRequest]
    ) -> list[int | TamisError]:
        """Note how far notifications are done with; how far they were, if that is farther."""
        results: list[int | TamisError] = []
        for number, id, position in requests:
            if position > self._state.last:
                results.append(
                    TamisError(f"no notification has the position {position} yet; nothing is done")
                )
                continue
            done = self.advance(transaction, number, position)
            results.append(gone(id) if done is None else done)
        return results

    def advance(self, transaction: Transaction, number: int, position: int) -> int | None:
        """Let notifications up to a position be done with, and what was lost before it be known;
        how far they are done with, or None if the subscription is gone."""
        rows = transaction.database.execute(
            "select tenant, acknowledged, lost, lost_upto from subscriptions where number = ?",
            (number,),
        )
        if not rows:
            return None
        tenant, before, lost, lost_upto = rows[0]
        if position > before:
            transaction.touched.add((tenant, number))
            self._state.acknowledge(transaction, number, position)
        knows = bool(lost) and lost_upto <= position
        if position > before or knows:
            transaction.database.execute(
                "update subscriptions set acknowledged = ?, lost = ? where number = ?",
                (max(position, before), 0 if knows else lost, number),
            )
        return int(max(position, before))

    def listen(self, number: int, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, from the writer's thread, whenever a subscription has something new; what is
        returned ends it."""
        with self._lock:
            self._listeners.setdefault(number, []).append(callback)

        def end() -> None:
            with self._lock:
                waiting = self._listeners.get(number, [])
                if callback in waiting:
                    waiting.remove(callback)
                if not waiting:
                    self._listeners.pop(number, None)

        return end

    def notify_all(self) -> None:
        """Tell everybody who listens to look."""
        with self._lock:
            waiting = [call for each in self._listeners.values() for call in each]
        for call in waiting:
            call()

    def notify(self, numbers: Int64s) -> None:
        """Tell those who listen to some subscriptions."""
        if not self._listeners:
            return
        with self._lock:
            news = np.unique(numbers).tolist()
            waiting = [call for each in news for call in self._listeners.get(each, ())]
        for call in waiting:
            call()


def _check(position: int, event: int | None, subscriptions: bytes, checksum: int) -> None:
    if matches_checksum(position, event, subscriptions) != checksum:
        raise StorageError(
            f"the notification at {position} is damaged in the store: restore a backup"
        )


def _notification(row: SubscriptionRow, found: Row) -> Notification:
    position, event, kind, subscriptions, bindings, time, checksum = found[:7]
    _check(position, event, bytes(subscriptions), checksum)
    values = {} if bindings is None else json.loads(bindings).get(str(row.number), {})
    return Notification(
        id=f"{row.id}/{position}",
        subscription=row.id,
        position=position,
        time=time,
        kind=kind,
        event=None if found[7] is None else stored_event(found[7:]),
        bindings=values,
    )
