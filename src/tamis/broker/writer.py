"""The only thread that changes a broker: it commits many requests at once.

    callers ── submit ──▶ bounded queue ──▶ one transaction ──▶ fsync ──▶ futures are resolved

While one group is being synced, the next one gathers. Requests take effect in the order in which
they came; neighbours of the same kind are handed over together, so that a hundred small
publications are matched as one batch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from tamis.broker.storage.database import Database
from tamis.errors import BrokerError, BusyError, StorageError, TamisError, UnavailableError

log = logging.getLogger("tamis.broker")

Request = TypeVar("Request")
Result = TypeVar("Result")


@dataclass(slots=True)
class Transaction:
    """What belongs to the group that is being written."""

    database: Database
    now: float
    touched: set[tuple[str, int]] = field(default_factory=set)
    """Subscriptions, by tenant and number, whose state in memory was changed: it is read again if
    the transaction fails."""
    after: list[Callable[[], None]] = field(default_factory=list)
    """What to do when it is durable."""


Handler = Callable[[Transaction, list[Any]], Sequence[Any]]
"""Carries out requests of one kind. An error in place of a result concerns only its own request,
for which nothing may have been changed then."""


def one_by_one(
    handle: Callable[[Transaction, Request], Result],
    transaction: Transaction,
    requests: Sequence[Request],
) -> list[Result | TamisError]:
    """Carry out requests so that an error concerns only its own; if the storage fails, all fail."""
    results: list[Result | TamisError] = []
    for request in requests:
        try:
            results.append(handle(transaction, request))
        except (StorageError, UnavailableError):
            raise
        except TamisError as error:
            results.append(error)
    return results


_SOON = 0.05
"""Seconds that others have before housekeeping goes on with what it left."""


class _Job(NamedTuple):
    handler: Handler
    request: Any
    weight: int
    future: Future[Any]


class Writer:
    """Runs handlers in transactions, on a thread of its own."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        *,
        restore: Callable[[set[tuple[str, int]]], None],
        seal: Callable[[Transaction], None],
        observe: Callable[[set[tuple[str, int]]], None],
        housekeeping: Handler,
        every: float,
        waiting: int,
        waiting_events: int,
        group: int,
    ) -> None:
        """``restore`` reads subscriptions again after a transaction that failed, ``seal`` ends one,
        ``observe`` hears which subscriptions one has changed,
        ``housekeeping`` runs in a transaction of its own, ``every`` so many seconds, and soon again
        if its result says that something is left."""
        self._database, self._clock, self._restore = database, clock, restore
        self._seal, self._observe = seal, observe
        self._housekeeping, self._every = housekeeping, every
        self._waiting, self._waiting_weight, self._group = waiting, waiting_events, group
        self._jobs: deque[_Job] = deque()
        self._weight = 0
        self._speed = 1_000.0
        """Weight that is written in a second, lately."""
        self._stale: set[tuple[str, int]] | None = None
        """What must be read again, since a transaction has failed."""
        self._ready = threading.Condition()
        self._is_closing = False
        self.commits = 0
        self.failure: BaseException | None = None
        """Why the last transaction failed, if it did."""
        self._mismatch: BaseException | None = None
        """Why memory lacks a change that the store has, from then on."""
        self._thread = threading.Thread(target=self._run, name="tamis-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        handler: Callable[[Transaction, list[Request]], Sequence[Result | TamisError]],
        request: Request,
        weight: int = 1,
    ) -> Future[Result]:
        """Queue a request; its future is resolved when the outcome is durable."""
        future: Future[Result] = Future()
        with self._ready:
            if self._is_closing:
                raise UnavailableError("the broker is closed")
            full = self._weight + weight > self._waiting_weight and self._jobs
            if full or len(self._jobs) >= self._waiting:
                seconds = max(0.1, self._weight / self._speed)
                raise BusyError(
                    f"{len(self._jobs):,} requests wait to be written; try again in "
                    f"{seconds:.1f} seconds",
                    seconds,
                )
            self._jobs.append(_Job(handler, request, weight, future))
            self._weight += weight
            self._ready.notify()
        return future

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._jobs)

    def close(self, timeout: float | None = None) -> None:
        """Write what waits, then stop."""
        with self._ready:
            self._is_closing = True
            self._ready.notify()
        self._thread.join(timeout)

    def _run(self) -> None:
        due = time.monotonic() + self._every
        while True:
            jobs = self._next(due)
            if jobs:
                self._write(jobs)
            elif self._is_closing:
                return
            if time.monotonic() >= due:
                wait = self._keep_house()
                due = time.monotonic() + wait

    def _keep_house(self) -> float:
        """Keep house; the seconds until it is time again."""
        job = _Job(self._housekeeping, None, 0, Future())
        self._write([job])
        has_more = job.future.exception() is None and job.future.result()
        return min(_SOON, self._every) if has_more else self._every

    def _next(self, due: float) -> list[_Job]:
        """The jobs of the next group; none if it is time for something else."""
        with self._ready:
            if not self._jobs and not self._is_closing:
                self._ready.wait(max(0.0, due - time.monotonic()))
            jobs: list[_Job] = []
            weight = 0
            while self._jobs and (not jobs or weight + self._jobs[0].weight <= self._group):
                jobs.append(self._jobs.popleft())
                weight += jobs[-1].weight
            self._weight -= weight
            return jobs

    def _write(self, jobs: list[_Job]) -> None:
        jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
        began = time.monotonic()
        try:
            transaction, results = self._transact(jobs)
        except BaseException as error:
            if isinstance(error, StorageError | UnavailableError):
                self.failure = error
            if len(jobs) > 1 and not isinstance(error, BrokerError | StorageError):
                for job in jobs:  # one of them is to blame: the others shall not suffer
                    self._write_again(job)
            else:
                for job in jobs:
                    job.future.set_exception(error)
            return
        self.failure = self._mismatch
        self.commits += 1
        weight = sum(job.weight for job in jobs)
        seconds = max(1e-6, time.monotonic() - began)
        self._speed += 0.2 * (max(1.0, weight) / seconds - self._speed)
        for call in transaction.after:
            try:
                call()
            except Exception as error:  # the thread must live on, or every request would hang
                self.failure = self._mismatch = error
                log.exception("a committed change was not taken over in memory: restart the broker")
        if transaction.touched:
            self._observe(transaction.touched)
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, BaseException):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)

    def _write_again(self, job: _Job) -> None:
        again: Future[Any] = Future()
        self._write([job._replace(future=again)])
        error = again.exception()
        if error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(again.result())

    def _transact(self, jobs: list[_Job]) -> tuple[Transaction, list[Any]]:
        if self._stale is not None:
            self._refresh()
        transaction = Transaction(self._database, self._clock())
        try:
            self._database.begin()
            results: list[Any] = []
            for handler, run in groupby(jobs, key=lambda job: job.handler):
                results += handler(transaction, [job.request for job in run])
            self._seal(transaction)
            self._database.commit()
        except BaseException:
            self._database.rollback()
            self._stale = transaction.touched | (self._stale or set())
            with suppress(TamisError):  # the storage may be gone: then before the next transaction
                self._refresh()
            raise
        return transaction, results

    def _refresh(self) -> None:
        assert self._stale is not None
        self._restore(self._stale)
        self._stale = None
