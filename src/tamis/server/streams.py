"""Who waits for the notifications of which subscription: streams, sockets and long polls.

The broker calls from its own thread after each commit. One call into the loop wakes all that have
something to read, so a commit with a thousand matches costs one crossing between threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tamis.errors import BusyError

Listen = Callable[[Callable[[], None]], Awaitable[Callable[[], None]]]
"""Begins to listen with a callback, and gives what ends it."""


class Streams:
    """The clients that wait, by subscription."""

    def __init__(self, most: int) -> None:
        """``most`` clients may wait for one subscription."""
        self._most = most
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._lock = threading.Lock()
        self._due: set[asyncio.Event] = set()

    @property
    def open(self) -> int:
        """Clients that wait now."""
        return sum(map(len, list(self._waiting.values())))

    @asynccontextmanager
    async def watch(self, id: str, listen: Listen) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever there may be something new for a subscription."""
        mine = self._waiting.setdefault(id, set())
        if len(mine) >= self._most:
            raise BusyError(f"{self._most} clients watch this subscription already", 10.0)
        loop, wake = asyncio.get_running_loop(), asyncio.Event()
        mine.add(wake)
        end = None
        try:
            end = await listen(lambda: self._notice(loop, wake))
            yield wake
        finally:
            if end is not None:
                end()
            mine.discard(wake)
            if not mine and self._waiting.get(id) is mine:
                del self._waiting[id]

    def wake_all(self) -> None:
        """Let all clients look again, since the server stops."""
        for waiting in self._waiting.values():
            for wake in waiting:
                wake.set()

    def _notice(self, loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
        """Called by the thread of the broker."""
        with self._lock:
            is_first = not self._due
            self._due.add(wake)
        if is_first:
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        with self._lock:
            due, self._due = self._due, set()
        for wake in due:
            wake.set()
