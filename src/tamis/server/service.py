"""What all handlers share: the broker, the settings, and who calls."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from tamis.broker import Broker, Identity, Role
from tamis.errors import AuthenticationError, BusyError
from tamis.server.budget import Budget
from tamis.server.history import History
from tamis.server.metrics import Metrics
from tamis.server.rates import Rates
from tamis.server.requests import CrossSiteError, UnauthorizedError
from tamis.server.sessions import Sessions
from tamis.server.settings import ServerSettings
from tamis.server.streams import Streams

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

TICKET = "tamis-ticket"
TOKEN = "x-csrf-token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_THREADS = 8
"""Threads that wait for the broker. Most of its reads take less than a millisecond."""
_TRIALS = 2
"""Threads for what may take seconds, such as trying operators on many events."""
_MOST_TRIALS = 32
"""Trials that may wait for these threads."""
_READERS = 2
"""Threads that read long bodies: a graph of 12 MB takes two seconds."""
_SHORT = 16_384
"""Bytes of a body that is read at once: a hundred events, in less than a millisecond."""


class Caller(NamedTuple):
    """On whose behalf a request is carried out, and the ticket that it shows."""

    identity: Identity
    ticket: str | None
    name: str
    """What its rate is counted under."""

    @property
    def has_key(self) -> bool:
        """Whether it showed a key, or a session that a key began."""
        return self.identity.key != 0


class Service:
    """A broker as the server sees it."""

    def __init__(self, broker: Broker, settings: ServerSettings) -> None:
        self.broker, self.settings = broker, settings
        self.rates = Rates(settings.requests_per_second)
        self.anonymous_rates = Rates(settings.anonymous_requests_per_second)
        self.streams = Streams(settings.streams_per_subscription)
        secret = settings.session_secret or secrets.token_urlsafe(32)
        self.sessions = Sessions(secret, settings.session_hours * 3600)
        self.metrics = Metrics(broker, self.streams)
        self.history = History()
        self.started = time.time()
        self.is_stopping = asyncio.Event()
        self._threads = ThreadPoolExecutor(_THREADS, "tamis-http")
        self._trial_threads = ThreadPoolExecutor(_TRIALS, "tamis-trial")
        self._trials = 0
        self._reading_threads = ThreadPoolExecutor(_READERS, "tamis-bodies")
        self.bodies = Budget(settings.receiving_bytes)

    async def call(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Call the broker on a thread, since it may wait for the disk."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *arguments, **named))

    async def read(
        self,
        size: int,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Call what reads so many bytes of events: on threads of their own if there are many, so
        that nobody waits for them."""
        if size <= _SHORT:
            return function(*arguments, **named)
        call = partial(function, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._reading_threads, call)

    async def try_out(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Call what may take seconds, on threads of its own, so that nobody else waits for it."""
        if self._trials >= _MOST_TRIALS:
            raise BusyError(f"{self._trials} subscriptions are being tried already", 2.0)
        self._trials += 1
        try:
            call = partial(function, *arguments, **named)
            return await asyncio.get_running_loop().run_in_executor(self._trial_threads, call)
        finally:
            self._trials -= 1

    async def durably(
        self,
        function: Callable[Parameters, Future[Result]],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Call what changes the broker, and wait until the change is durable."""
        return await asyncio.wrap_future(await self.call(function, *arguments, **named))

    async def caller(self, request: HTTPConnection) -> Caller:
        """Who calls: by key, by session (a changing request needs its token too), or anonymous."""
        ticket = request.headers.get(TICKET)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key.strip():
            identity = await self.identify(key.strip(), request)
            return Caller(identity, ticket, f"key {identity.key}")
        if scheme:
            raise UnauthorizedError("send your key as 'Authorization: Bearer KEY'")
        session = self.sessions.of(request)
        if session is not None:
            if request.scope["type"] == "websocket":
                _check_origin(request)
            elif request.scope["method"] not in _SAFE:
                given = request.headers.get(TOKEN, "")
                if not secrets.compare_digest(given.encode(), session.token.encode()):
                    raise CrossSiteError(f"a session sends its token in the header {TOKEN}")
            identity = await self.call(self.broker.identify_number, session.key)
            return Caller(identity, ticket, f"key {identity.key}")
        return Caller(self.broker.anonymous(), ticket, address_of(request))

    async def identify(self, key: str, request: HTTPConnection) -> Identity:
        """Who has a key. A wrong one counts as a request without a key."""
        known = self.broker.known(key)
        if known is not None:
            return known
        try:
            return await self.call(self.broker.identify, key)
        except AuthenticationError:
            self.anonymous_rates.take(address_of(request))
            raise

    def current(self, rights: dict[str, Any]) -> dict[str, Any]:
        """Identity and ticket as they are now: a key may have been revoked since."""
        by: Identity = rights["by"]
        return rights if by.key == 0 else {**rights, "by": self.broker.identify_number(by.key)}

    def limit(self, caller: Caller) -> None:
        """Count a request against the rate of its caller."""
        if caller.has_key:
            self.rates.take(caller.name, caller.identity.quotas.requests)
        else:
            self.anonymous_rates.take(caller.name)

    def watch(self, id: str, rights: dict[str, Any]) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event that is set whenever a subscription may have new notifications."""

        async def listen(callback: Callable[[], None]) -> Callable[[], None]:
            return await self.call(self.broker.listen, id, callback=callback, **rights)

        return self.streams.watch(id, listen)

    def stop(self) -> None:
        """Let streams and long polls end."""
        self.is_stopping.set()
        self.streams.wake_all()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take samples while the server runs, and let no thread outlive it."""
        sampler = asyncio.create_task(self.history.keep(self))
        try:
            yield
        finally:
            sampler.cancel()
            await asyncio.gather(sampler, return_exceptions=True)
            self._threads.shutdown(wait=True)
            self._trial_threads.shutdown(wait=True, cancel_futures=True)
            self._reading_threads.shutdown(wait=True)


def address_of(request: HTTPConnection) -> str:
    """What the rate of requests without a key is counted under."""
    return f"address {request.client.host if request.client else ''}"


def _check_origin(request: HTTPConnection) -> None:
    """Raise an error if a page of somebody else opens a WebSocket with a session of ours: the
    browser says where the page came from, and sends no token."""
    origin = request.headers.get("origin", "")
    if origin.partition("://")[2] != request.headers.get("host", ""):
        raise CrossSiteError("a session opens WebSockets only from pages of this server")


def check_role(caller: Caller, role: str) -> None:
    """Raise an error for callers without a key where the operation asks for one.

    The broker itself checks the roles; this tells people without a key that they need one.
    """
    if role == "anyone" or caller.has_key:
        return
    if role == "ticket":
        if caller.ticket is None:
            raise UnauthorizedError("show the ticket (Tamis-Ticket: …) or the owner's key")
        return
    if not caller.identity.may(Role(role)):
        raise UnauthorizedError(f"this needs a key with the role {role!r}: Authorization: Bearer …")
