"""Where calls are made: here, in threads, in processes, or on an event loop.

Nobody waits longer than a timeout says. A thread that does not come back is given up (it is a
daemon, so it does not keep the process alive, and another takes its place), and so is an event
loop that a function blocks; a process that does not come back is killed, with its pool.
"""

from __future__ import annotations

import asyncio
import importlib
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures import TimeoutError as FutureTimeout
from itertools import islice
from multiprocessing import get_context
from typing import Any

from tamis.arrays.sharing import Lockable
from tamis.bindings.calls import Failure
from tamis.operators.operator import Operator

THREADS = 8
"""Calls of one operator that are in threads at the same time, and tasks on its event loop."""
PROCESSES = 2
"""Processes of one operator."""
GRACE = 2.0
"""Seconds beyond all timeouts after which an event loop is given up."""
START = 60.0
"""Seconds that the first of them may take to start."""
RESTARTS = 3
"""How often processes are started again in one round. A call that takes too long, or crashes, ends
all of them; the other calls that have no result yet are made again."""

Work = tuple[Any, ...]
"""The arguments of one call of the function."""


def settled(result: Any, most: int | None) -> Any:
    """The result, with the rows that it would give one by one already in a list, if ``most`` says
    of how many."""
    if most is None or not isinstance(result, Iterator):
        return result
    return list(islice(result, most))


class Begun(Future[Any]):
    """A call, and when it was begun."""

    begin: float | None = None


class Threads(Lockable):
    """Daemon threads that make the calls of one operator."""

    def __init__(
        self, function: Callable[..., Any], timeout: float | None, most: int | None
    ) -> None:
        super().__init__()
        self._function = function
        self._timeout = timeout
        self._most = most
        self._work: queue.SimpleQueue[tuple[Begun, Work]] = queue.SimpleQueue()
        self._threads = self._wanted = 0

    def run(self, several: Sequence[Work]) -> list[Any]:
        """The result of each call, or its failure."""
        futures: list[Begun] = []
        for work in several:
            future = Begun()
            futures.append(future)
            self._work.put((future, work))
        self._start(min(len(several), THREADS))
        return [self._result(future) for future in futures]

    def _start(self, wanted: int) -> None:
        with self._lock:
            self._wanted = max(self._wanted, wanted)
            while self._threads < self._wanted:
                self._threads += 1
                threading.Thread(target=self._loop, name="tamis-operator", daemon=True).start()

    def _loop(self) -> None:
        while True:
            future, work = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            future.begin = time.monotonic()
            try:
                result = settled(self._function(*work), self._most)
            except Exception as error:
                result = Failure.raised(error)
            try:
                future.set_result(result)
            except Exception:
                return  # it was given up, and another thread has taken this one's place

    def _result(self, future: Begun) -> Any:
        begin = future.begin
        try:
            return future.result(self._left(begin))
        except FutureTimeout:
            if future.begin != begin:
                return self._result(future)  # it had to wait for a thread
            if not future.cancel():  # a thread is in it, and may never come back
                future.set_exception(FutureTimeout())
                with self._lock:
                    self._threads -= 1
                self._start(0)  # another one
            return Failure(f"took longer than {self._timeout:g} s")

    def _left(self, begin: float | None) -> float | None:
        """Seconds that are left for a call."""
        if self._timeout is None or begin is None:
            return self._timeout
        return max(0.0, begin + self._timeout - time.monotonic())


class Processes(Lockable):
    """Processes that make the calls of one operator."""

    def __init__(self, operator: Operator, most: int) -> None:
        super().__init__()
        self._place = (operator.function.__module__, operator.function.__qualname__)
        self._timeout = operator.timeout
        self._most = most
        self._pool: ProcessPoolExecutor | None = None

    def run(self, several: Sequence[Work]) -> list[Any]:
        """The result of each call, or its failure."""
        found: list[Any] = [None] * len(several)
        left = list(range(len(several)))
        for _ in range(1 + RESTARTS):
            if left:
                left = self._try(several, left, found)
        return found

    def _try(self, several: Sequence[Work], places: list[int], found: list[Any]) -> list[int]:
        """Make the calls at some places; those that ended with the processes for another one."""
        pool = self._opened()
        futures = [(place, self._submit(pool, several[place])) for place in places]
        lost: list[int] = []
        is_late = False
        for place, future in futures:
            try:
                found[place] = future.result(self._timeout)
                continue
            except FutureTimeout:
                found[place] = Failure(f"took longer than {self._timeout:g} s")
                again, is_late = is_late, True
            except (BrokenExecutor, CancelledError) as error:
                found[place] = Failure.raised(error)
                again = True
            except Exception as error:  # the operator's
                found[place] = Failure.raised(error)
                continue
            self._kill(pool)
            if again:
                lost.append(place)
        return lost

    def _submit(self, pool: ProcessPoolExecutor, work: Work) -> Future[Any]:
        try:
            return pool.submit(_call_by_name, self._place, self._most, work)
        except RuntimeError as error:  # another thread has killed it
            future: Future[Any] = Future()
            future.set_exception(BrokenExecutor(str(error)))
            return future

    def _opened(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(PROCESSES, get_context("spawn"))
                # To start a process and to import the function is not the operator's time.
                wait([self._pool.submit(_import, self._place)], START)
            return self._pool

    def _kill(self, pool: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


def _call_by_name(place: tuple[str, str], most: int, work: Work) -> Any:
    """Call a function in another process."""
    return settled(_function(place)(*work), most)


def _import(place: tuple[str, str]) -> None:
    _function(place)


def _function(place: tuple[str, str]) -> Callable[..., Any]:
    """The function that a name stands for, or the function of the operator."""
    found: Any = importlib.import_module(place[0])
    for name in place[1].split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found.function if isinstance(found, Operator) else found
    return function


class EventLoop(Lockable):
    """An event loop in a thread of its own that makes the calls of one async operator."""

    def __init__(self, function: Callable[..., Any], timeout: float | None, most: int) -> None:
        super().__init__()
        self._function = function
        self._timeout = timeout
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, several: Sequence[Work]) -> list[Any]:
        """The result of each call, or its failure; they run together."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            loop = self._loop
        found: list[Any] = [None] * len(several)
        every: Coroutine[Any, Any, None] = self._run(several, found)
        try:
            asyncio.run_coroutine_threadsafe(every, loop).result(self._longest(len(several)))
        except FutureTimeout:  # a function blocks the loop, or does not let itself be cancelled
            with self._lock:
                if self._loop is loop:
                    self._loop = None
            loop.call_soon_threadsafe(loop.stop)
            return [self._late() if each is None else each[0] for each in found]
        return [each[0] for each in found]

    def _longest(self, calls: int) -> float | None:
        """Seconds after which all calls should be over, whatever they do."""
        return None if self._timeout is None else self._timeout * -(-calls // THREADS) + GRACE

    def _late(self) -> Failure:
        return Failure(f"took longer than {self._timeout:g} s")

    async def _run(self, several: Sequence[Work], found: list[Any]) -> None:
        """Make calls; what each gives is put in its place, in a tuple."""
        turns = asyncio.Semaphore(THREADS)

        async def one(place: int, work: Work) -> None:
            async with turns:
                try:
                    waited = asyncio.wait_for(self._function(*work), self._timeout)
                    result = settled(await waited, self._most)
                except TimeoutError:
                    result = self._late()
                except Exception as error:
                    result = Failure.raised(error)
                found[place] = (result,)

        await asyncio.gather(*(one(place, work) for place, work in enumerate(several)))


class Here:
    """No pool: calls are made by whoever asks."""

    def __init__(self, function: Callable[..., Any], most: int | None) -> None:
        self._function = function
        self._most = most

    def run(self, several: Sequence[Work]) -> list[Any]:
        """The result of each call, or its failure."""
        found: list[Any] = []
        for work in several:
            try:
                found.append(settled(self._function(*work), self._most))
            except Exception as error:  # whatever an operator raises is its failure
                found.append(Failure.raised(error))
        return found


Pool = Here | Threads | Processes | EventLoop


def pool_of(operator: Operator, most: int) -> Pool:
    """Where the calls of an operator are made; it may give ``most`` rows."""
    if operator.is_async:
        return EventLoop(operator.function, operator.timeout, most)
    if operator.runs == "threads":
        return Threads(operator.function, operator.timeout, most)
    if operator.runs == "processes":
        return Processes(operator, most)
    return Here(operator.function, most)
