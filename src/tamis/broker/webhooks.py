"""Webhooks: each subscription's notifications in order, one at a time, many subscriptions at once.

    new notifications ──▶ due (a heap by time) ──▶ a few threads ──▶ acknowledged, later, or dead

A webhook that fails is due later; only its own queue waits. When all tries are used up, the
notification becomes a dead letter, and the next one has its turn. Webhooks take turns of a second,
and those that were not answered soon the last time have half of the threads at most: however many
they are, the others are served.
"""

from __future__ import annotations

import heapq
import json
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from tamis.arrays.types import Int64s
from tamis.broker.cloud_events import cloud_event, gap_event
from tamis.broker.delivery import DeliveryDesk
from tamis.broker.records import DeadLetter
from tamis.broker.retention import Arrivals
from tamis.broker.state import COLUMNS, State, SubscriptionRow, gone
from tamis.broker.storage.database import places, storable
from tamis.broker.webhook_request import (
    Answer,
    Verdict,
    WebhookRequest,
    WebhookSession,
    webhook_secret,
)
from tamis.broker.writer import Transaction
from tamis.errors import TamisError

log = logging.getLogger("tamis.broker.webhooks")

_LONGEST = 3_600.0
"""Seconds between two tries, at most."""
_TURN = 1.0
"""Seconds after which another webhook has its turn; one request that takes longer is slow."""


class Progress(NamedTuple):
    """What a request to a webhook has led to."""

    number: int
    position: int
    """The notification that was sent; 0: the handshake."""
    dead: str | None = None
    """Why it is a dead letter."""
    tries: int = 0
    ends: bool = False
    """Whether the receiver wants no more."""
    is_gap: bool = False
    """Whether it was not a notification, but the news that some are lost, up to this position."""


class ReplayRequest(NamedTuple):
    """Dead letters that are to be sent again; None is all of them."""

    number: int
    id: str
    positions: list[int] | None


class WebhookDesk:
    """What the store knows of webhooks and dead letters."""

    def __init__(self, state: State, delivery: DeliveryDesk, arrivals: Arrivals) -> None:
        self._state, self._delivery, self._arrivals = state, delivery, arrivals

    def secret(self, number: int) -> str:
        """What requests of a subscription are signed with."""
        return webhook_secret(self._state.tokens.derived("webhook", number))

    def advance(
        self, transaction: Transaction, requests: list[Progress]
    ) -> list[TamisError | None]:
        """Write down what has become of notifications that were sent."""
        database = transaction.database
        for number, position, dead, tries, ends, is_gap in requests:
            rows = database.execute(
                "select tenant, webhook, text from subscriptions where number = ?", (number,)
            )
            if not rows or rows[0][1] is None:
                continue
            tenant, webhook, text = rows[0]
            self._delivery.advance(transaction, number, position)
            if dead is not None and position and not is_gap:
                database.execute(
                    "insert into dead_letters values (?, ?, ?, ?, ?) "
                    "on conflict (subscription, position) do nothing",
                    (number, position, storable(dead), tries, transaction.now),
                )
            if ends:
                transaction.touched.add((tenant, number))
                self._state.catalog.put(tenant, number, text, False)
            if position == 0 or ends:
                state = {**json.loads(webhook), "state": "ended" if ends else "open"}
                database.execute(
                    "update subscriptions set webhook = ?, enabled = case when ? = 1 then 0 else "
                    "enabled end, changed = ? where number = ?",
                    (json.dumps(state), int(ends), self._state.next(), number),
                )
        return [None for _ in requests]

    def dead_letters(self, row: SubscriptionRow, after: int, limit: int) -> list[DeadLetter]:
        """The notifications that a webhook did not take, in their order."""
        rows = self._state.database.read(
            "select position, reason, tries, time from dead_letters "
            "where subscription = ? and position > ? order by position limit ?",
            (row.number, after, min(limit, self._state.settings.page)),
        )
        found = self._delivery.notifications(row, [each[0] for each in rows])
        known = {each.position: each for each in found}
        return [DeadLetter(known[each[0]], *each[1:]) for each in rows if each[0] in known]

    def replay(
        self, transaction: Transaction, requests: list[ReplayRequest]
    ) -> list[int | TamisError]:
        """Send dead letters again, as new notifications of the same events; how many."""
        results: list[int | TamisError] = []
        database = transaction.database
        for number, id, positions in requests:
            if not database.execute("select 1 from subscriptions where number = ?", (number,)):
                results.append(gone(id))
                continue
            where, given = "", [number]
            if positions is not None:
                where = f" and d.position in ({places(len(positions))})"
                given += positions
            rows = database.execute(
                "select d.position, m.event, m.kind, m.bindings from dead_letters d "
                "join matches m on m.sequence = d.position "
                f"where d.subscription = ?{where} order by d.position limit 1000",
                given,
            )
            for position, event, kind, bindings in rows:
                self._arrivals.add(transaction, kind, event, [number], bindings)
                database.execute(
                    "delete from dead_letters where subscription = ? and position = ?",
                    (number, position),
                )
            results.append(len(rows))
        return results


class _Hook:
    """One webhook on its way."""

    __slots__ = ("is_busy", "is_quick", "is_wanted", "number", "slow_until", "tries")

    def __init__(self, number: int) -> None:
        self.number = number
        self.tries = 0
        self.is_busy = False
        self.is_wanted = False
        """Whether something came while it was busy."""
        self.is_quick = False
        """Whether the last request was answered, and soon."""
        self.slow_until = 0.0


class WebhookSender:
    """Sends notifications, on threads of its own."""

    def __init__(
        self,
        state: State,
        desk: WebhookDesk,
        delivery: DeliveryDesk,
        submit: Callable[[Progress], Future[None]],
        origin: str,
    ) -> None:
        self._state, self._desk, self._delivery, self._submit = state, desk, delivery, submit
        self._origin = origin
        self._hooks: dict[int, _Hook] = {}
        self._due: list[tuple[float, int]] = []
        self._slow = 0
        """Threads that serve hooks which are not quick."""
        self._held: deque[int] = deque()
        """Hooks that are due, but must wait for such a thread."""
        self._ready = threading.Condition()
        self._is_closing = False
        self._threads: list[threading.Thread] = []
        self._session: WebhookSession | None = None
        self.sent = 0
        self.failed = 0

    def start(self) -> None:
        """Begin with all webhooks that have something to do."""
        rows = self._state.database.read(
            "select number from subscriptions where webhook is not null"
        )
        for (number,) in rows:
            self.add(number)

    def add(self, number: int) -> None:
        """Serve the webhook of a subscription, from now on."""
        with self._ready:
            if self._session is None:
                settings = self._state.settings
                self._session = WebhookSession(
                    settings.webhook_timeout, private=settings.private_webhooks
                )
            self._hooks.setdefault(number, _Hook(number))
            self._wake(self._hooks[number], 0.0)

    def secret(self, number: int) -> str:
        """What requests of a subscription are signed with."""
        return self._desk.secret(number)

    def remove(self, number: int) -> None:
        """Serve it no more."""
        with self._ready:
            self._hooks.pop(number, None)

    def notify(self, numbers: Int64s) -> None:
        """Something new has come for some subscriptions."""
        if not self._hooks:
            return
        with self._ready:
            for number in set(numbers.tolist()) & self._hooks.keys():
                hook = self._hooks[number]
                if hook.is_busy:
                    hook.is_wanted = True
                elif not hook.tries:
                    self._wake(hook, 0.0)

    def close(self) -> None:
        """Stop; what was not acknowledged is sent again by the next broker."""
        with self._ready:
            self._is_closing = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join()
        if self._session is not None:
            self._session.close()

    def _wake(self, hook: _Hook, wait: float) -> None:
        """Let a hook be due; threads are started as they are needed."""
        due = max(time.monotonic() + wait, hook.slow_until)
        heapq.heappush(self._due, (due, hook.number))
        self._ready.notify()
        most = self._state.settings.webhooks_at_once
        if len(self._threads) < min(most, len(self._hooks)):
            name = f"tamis-webhook-{len(self._threads)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _next(self) -> _Hook | None:
        """The next hook that is due; None: stop."""
        most_slow = max(1, self._state.settings.webhooks_at_once // 2)
        with self._ready:
            while not self._is_closing:
                now = time.monotonic()
                while self._due and self._due[0][0] <= now:
                    _, number = heapq.heappop(self._due)
                    hook = self._hooks.get(number)
                    if hook is None or hook.is_busy:
                        continue
                    if not hook.is_quick and self._slow >= most_slow:
                        self._held.append(number)
                        continue
                    hook.is_busy, hook.is_wanted = True, False
                    self._slow += not hook.is_quick
                    return hook
                self._ready.wait(self._due[0][0] - now if self._due else None)
            return None

    def _run(self) -> None:
        while (hook := self._next()) is not None:
            wait: float | None
            was_slow = not hook.is_quick
            try:
                wait = self._serve(hook)
            except Exception:
                log.exception("webhook of subscription %s", hook.number)
                wait = self._backoff(hook)
            with self._ready:
                if was_slow:
                    self._slow -= 1
                    if self._held:
                        heapq.heappush(self._due, (0.0, self._held.popleft()))
                        self._ready.notify()
                hook.is_busy = False
                if wait is not None or hook.is_wanted:
                    self._wake(hook, wait or 0.0)

    def _serve(self, hook: _Hook) -> float | None:
        """Send what waits; after how many seconds to go on, or None if nothing is left."""
        began = time.monotonic()
        while not self._is_closing:
            if time.monotonic() - began > _TURN:
                return 0.0
            rows = self._state.database.read(
                f"select {COLUMNS} from subscriptions where number = ?", (hook.number,)
            )
            webhook = json.loads(rows[0][9]) if rows and rows[0][9] else None
            if webhook is None or webhook.get("state") == "ended":
                self.remove(hook.number)
                return None
            row = SubscriptionRow(rows[0])
            assert self._session is not None
            request = WebhookRequest(
                self._session, webhook["url"], self._desk.secret(row.number), origin=self._origin
            )
            progress = Progress(hook.number, 0)
            asked = time.monotonic()
            if webhook.get("state") == "open":
                page = self._delivery.read(row, None, 1)
                if page.gap is not None:
                    event = gap_event(row.id, page.gap, time.time())
                    progress = Progress(hook.number, page.gap.upto, is_gap=True)
                elif page.notifications:
                    event = cloud_event(page.notifications[0])
                    progress = Progress(hook.number, page.notifications[0].position)
                else:
                    return None
                answer = request.notify(event, time.time())
            else:
                answer = request.validate()
            took = time.monotonic() - asked
            hook.is_quick = answer.verdict is not Verdict.RETRY and took <= _TURN
            wait = self._judge(hook, progress, answer)
            if wait is not None:
                return wait
        return None

    def _judge(self, hook: _Hook, progress: Progress, answer: Answer) -> float | None:
        """What follows from an answer; seconds to wait, or None to go on at once."""
        if answer.verdict is Verdict.DONE:
            hook.tries = 0
            self.sent += 1
            self._submit(progress).result()
            return None
        self.failed += 1
        if answer.verdict is Verdict.GONE:
            self._submit(progress._replace(dead=answer.reason, tries=1, ends=True)).result()
            return None
        if answer.verdict is Verdict.SLOW:
            wait = max(answer.wait, self._state.settings.webhook_backoff)
            hook.slow_until = time.monotonic() + wait
            return wait
        hook.tries += 1
        if hook.tries >= self._state.settings.webhook_tries:
            tries, hook.tries = hook.tries, 0
            ends = not progress.position  # nobody agreed to the handshake
            dead = progress._replace(dead=answer.reason, tries=tries, ends=ends)
            self._submit(dead).result()
            return None
        return max(answer.wait, self._backoff(hook))

    def _backoff(self, hook: _Hook) -> float:
        """Seconds until the next try: doubled each time, half of it at random."""
        first = self._state.settings.webhook_backoff
        longest = min(_LONGEST, first * 2.0 ** max(0, hook.tries - 1))
        return longest * random.uniform(0.5, 1.0)
