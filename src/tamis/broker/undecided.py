"""Pairs of an event and a subscription that an operator left open: they are tried again.

They are tried on a thread of their own, so that a slow operator delays nobody who publishes.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from tamis.bindings.evaluation import Trial
from tamis.broker.records import NEVER, Identity, Role, UndecidedPair
from tamis.broker.retention import Arrivals
from tamis.broker.state import EVENT_COLUMNS, State, stored_event
from tamis.broker.storage.database import storable
from tamis.broker.writer import Transaction
from tamis.predicates.truth import FAILED, TRUE

AT_ONCE = 100
"""Pairs that are tried before anything of them is written."""


class Verdict(NamedTuple):
    """What became of a pair."""

    event: int
    subscription: int
    truth: int
    bindings: str | None
    reason: str


class UndecidedDesk:
    """Tries pairs again, and shows them."""

    def __init__(self, state: State, arrivals: Arrivals) -> None:
        self._state, self._arrivals = state, arrivals

    def verdicts(self, now: float) -> list[Verdict]:
        """Try the pairs that are due; any thread may do this."""
        rows = self._state.database.read(
            f"select {EVENT_COLUMNS}, s.tenant, coalesce(u.text, s.text), s.number "
            "from undecided u join events e on e.sequence = u.event "
            "join subscriptions s on s.number = u.subscription "
            "where u.next <= ? and s.enabled = 1 order by u.next limit ?",
            (now, AT_ONCE),
        )
        found = []
        for row in rows:
            tenant, text, number = row[-3:]
            event = self._state.event_of(stored_event(row[:-3]))
            subscriptions = self._state.catalog.engine(tenant).subscriptions
            expression = subscriptions.reader.parse(text)
            answer = Trial(event, subscriptions.world).answer(expression)
            values = None
            if answer.solution:
                values = json.dumps({number: dict(answer.solution)}, default=str)
            found.append(Verdict(row[0], number, int(answer.truth), values, answer.reason))
        return found

    def settle(self, transaction: Transaction, requests: list[list[Verdict]]) -> list[int]:
        """Write down what became of pairs: a match arrives late, in the order of commits."""
        for verdict in (each for verdicts in requests for each in verdicts):
            self._settle(transaction, verdict)
        return [len(verdicts) for verdicts in requests]

    def _settle(self, transaction: Transaction, verdict: Verdict) -> None:
        event, number, truth, bindings, reason = verdict
        database, settings = transaction.database, self._state.settings
        pair = event, number
        rows = database.execute(
            "select tries from undecided where event = ? and subscription = ?", pair
        )
        if not rows:
            return  # the subscription or the event is gone
        tries = rows[0][0]
        if truth == FAILED:
            wait = min(3_600.0, settings.retry * 2.0**tries)
            next = transaction.now + wait if tries + 1 < settings.tries else NEVER
            database.execute(
                "update undecided set reason = ?, tries = tries + 1, next = ? "
                "where event = ? and subscription = ?",
                (storable(reason), next, *pair),
            )
            return
        database.execute("delete from undecided where event = ? and subscription = ?", pair)
        database.execute(
            "update events set incomplete = incomplete - 1, matched = matched + ? "
            "where sequence = ?",
            (int(truth == TRUE), event),
        )
        alive = self._state.roster.are_alive(np.array([number]), transaction.now)
        if truth == TRUE and alive[0]:
            self._arrivals.add(transaction, "match", event, [number], bindings)

    def pairs(
        self, by: Identity, number: int | None, limit: int, after: tuple[int, int]
    ) -> list[UndecidedPair]:
        """The pairs of one subscription, or of all that a key made, behind a place."""
        where, given = "s.tenant = ? and s.number = ?", [by.tenant, number]
        if number is None:
            where, given = "s.tenant = ?", [by.tenant]
            if Role.ADMIN not in by.roles:
                where += " and s.owner = ? and s.owner <> 0"
                given.append(by.key)
        rows = self._state.database.read(
            f"select {EVENT_COLUMNS}, s.id, u.reason, u.tries, u.next, s.number from undecided u "
            "join events e on e.sequence = u.event "
            f"join subscriptions s on s.number = u.subscription where {where} "
            "and (u.event, u.subscription) > (?, ?) order by u.event, u.subscription limit ?",
            [*given, *after, min(limit, self._state.settings.page)],
        )
        return [UndecidedPair(stored_event(row[:-5]), *row[-5:]) for row in rows]
