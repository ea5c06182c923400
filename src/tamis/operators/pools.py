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
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
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

Work = tuple[Any, ...]
"""The arguments of one call of the function."""


def settled(result: Any, most: int) -> Any:
    """The result, with the rows that it would give one by one already in a list."""
    return list(islice(result, most)) if isinstance(result, Iterator) else result


class Threads(Lockable):
    """Daemon threads that make the calls of one operator."""

    def __init__(self, function: Callable[..., Any], timeout: float | None, most: int) -> None:
        super().__init__()
        self._function = function
        self._timeout = timeout
        self._most = most
        self._work: queue.SimpleQueue[tuple[Future[Any], Work]] = queue.SimpleQueue()
        self._threads = 0

    def run(self, several: Sequence[Work]) -> list[Any]:
        """The result of each call, or its failure."""
        futures: list[Future[Any]] = []
        for work in several:
            future: Future[Any] = Future()
            futures.append(future)
            self._work.put((future, work))
        self._start(min(len(several), THREADS))
        return [self._result(future) for future in futures]

    def _start(self, wanted: int) -> None:
        with self._lock:
            while self._threads < wanted:
                self._threads += 1
                threading.Thread(target=self._loop, name="tamis-operator", daemon=True).start()

    def _loop(self) -> None:
        while True:
            future, work = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = settled(self._function(*work), self._most)
            except Exception as error:
                result = Failure.raised(error)
            try:
                future.set_result(result)
            except Exception:
                return  # it was given up, and another thread has taken this one's place

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result(self._timeout)
        except FutureTimeout:
            if not future.cancel():  # a thread is in it, and may never come back
                future.set_exception(FutureTimeout())
                with self._lock:
                    self._threads -= 1
                self._start(1)
            return Failure(f"took longer than {self._timeout:g} s")


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
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(PROCESSES, get_context("spawn"))
                # To start a process and to import the function is not the operator's time.
                wait([self._pool.submit(_import, self._place)], START)
            pool = self._pool
        futures = [pool.submit(_call_by_name, self._place, self._most, work) for work in several]
        found: list[Any] = []
        for future in futures:
            try:
                found.append(future.result(self._timeout))
            except FutureTimeout:
                self._kill(pool)
                found.append(Failure(f"took longer than {self._timeout:g} s"))
            except Exception as error:  # the operator's, or that its process is gone
                found.append(Failure.raised(error))
        return found

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

    def __init__(self, function: Callable[..., Any], most: int) -> None:
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
