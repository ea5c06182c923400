"""Fetching documents by HTTP with guards: public addresses, sizes, times, and few redirections.

The host of an address is looked up once, every address that it has must be public, and the
connection goes to the one that was checked: a name that changes its address in between leads
nowhere. Each redirection is checked alike.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import suppress
from threading import Timer
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from tamis.errors import EventError, LimitError
from tamis.model.addresses import checked_address

REDIRECTIONS = 5
SECONDS = 30.0
"""How long to wait for a connection, and for each piece of an answer."""
_WRITTEN = "%/?:@!$&'()*+,;=~"
"""What stands for itself in a path; all else that is not ASCII is written with percent signs."""


class Response(NamedTuple):
    """What a server answered; without a body, nothing has changed since the validators given."""

    address: str
    body: bytes | None
    etag: str | None = None
    modified: str | None = None


class Guard(NamedTuple):
    """What an answer must not exceed."""

    most: int
    """Bytes of a document."""
    within: float
    """Seconds until all of it is there."""
    private: bool
    """Whether loopback and private addresses are allowed."""


def fetch(
    address: str,
    *,
    etag: str | None = None,
    modified: str | None = None,
    most: int = 16_777_216,
    within: float = 120.0,
    private: bool = False,
) -> Response:
    """The document at an address, unless the validators of an earlier answer still hold.

    An answer has at most so many bytes, and comes within so many seconds. ``private`` allows
    loopback and private addresses.
    """
    headers = {"User-Agent": "tamis", "Accept-Encoding": "identity"}
    if etag is not None:
        headers["If-None-Match"] = etag
    if modified is not None:
        headers["If-Modified-Since"] = modified
    for _ in range(REDIRECTIONS + 1):
        try:
            found = _request(address, headers, Guard(most, within, private))
            if isinstance(found, Response):
                return found
            address = urljoin(address, found)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise EventError(f"cannot read {address[:200]}: {error}") from error
    raise EventError(f"{address[:200]} redirects more than {REDIRECTIONS} times")


def _request(address: str, headers: dict[str, str], guard: Guard) -> Response | str:
    """An answer, or where it redirects to."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EventError(f"{address[:200]!r} is not an address: write http://… or https://…")
    if parts.username is not None:
        raise EventError("an address with a user name or a password is refused")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    chosen = checked_address(parts.hostname, port, guard.private)
    connection = _Connection(parts.hostname, port, chosen, parts.scheme == "https")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    timer = Timer(guard.within, connection.cut)
    timer.daemon = True
    timer.start()
    try:
        connection.request("GET", quote(target, safe=_WRITTEN), headers=headers)
        return _answer(address, connection.getresponse(), guard.most)
    finally:
        timer.cancel()
        connection.close()
        if connection.is_cut:
            raise TimeoutError(f"the answer takes longer than {guard.within:g} seconds")


def _answer(address: str, answer: http.client.HTTPResponse, most: int) -> Response | str:
    if answer.status == 304:
        return Response(address, None)
    location = answer.getheader("Location")
    if answer.status in (301, 302, 303, 307, 308) and location:
        return location
    if answer.status != 200:
        raise EventError(f"{address[:200]} answers {answer.status} {answer.reason[:50]}")
    body = answer.read(most + 1)
    if len(body) > most:
        raise LimitError(f"{address[:200]} has more than {most:,} bytes, which is the limit")
    return Response(address, body, answer.getheader("ETag"), answer.getheader("Last-Modified"))


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name of its host."""

    def __init__(self, host: str, port: int, address: str, secure: bool) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self._address = address
        self._secure = secure
        self._opened: socket.socket | None = None
        self.is_cut = False

    def connect(self) -> None:
        """Connect to the checked address; certificates are those of the name."""
        self.sock = self._opened = socket.create_connection((self._address, self.port), SECONDS)
        if self._secure:
            secure = ssl.create_default_context().wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock = self._opened = secure
            secure.do_handshake()

    def cut(self) -> None:
        """End it from another thread, whatever it waits for."""
        self.is_cut = True
        if self._opened is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._opened, socket.SHUT_RDWR)
