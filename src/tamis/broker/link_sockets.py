"""The sockets of links: one side dials, and again whenever the connection is lost; one listens.

The one who dials sends its key and the name of its broker in headers. Pings show that the other end
is alive. A message that is lost with a connection is sent again by the overlay.
"""

from __future__ import annotations

import logging
import random
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.broker.links import Links
from tamis.broker.records import Identity, Role
from tamis.errors import AuthenticationError, MissingExtraError, StorageError, TamisError

if TYPE_CHECKING:
    from websockets.sync.server import Server, ServerConnection

log = logging.getLogger("tamis.broker.links")

NAME = "Tamis-Broker"
"""The header with the name of a broker."""
_BEAT = 5.0
"""Seconds between pings, and for an answer to one."""
_LARGEST = 32 * 2**20
"""Bytes of one message."""
_LONGEST = 10.0
"""Seconds between two attempts to dial, at most."""


class Dialer:
    """Keeps a connection to one neighbour."""

    def __init__(
        self, links: Links, neighbour: str, url: str, key: str, authority: Path | None
    ) -> None:
        """``authority`` is a file with the authority of its certificate, if it dials ``wss``."""
        self._links, self._neighbour, self._url, self._key = links, neighbour, url, key
        self._tls = None
        if url.startswith("wss:"):
            self._tls = ssl.create_default_context(cafile=authority)
        self._is_closing = threading.Event()
        self._connection: Any = None
        name = f"tamis-link-{neighbour}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hang up."""
        self._is_closing.set()
        connection = self._connection
        if connection is not None:
            connection.close()
        self._thread.join()

    def _run(self) -> None:
        from websockets.exceptions import WebSocketException

        wait = 0.1
        while not self._is_closing.is_set():
            try:
                self._talk()
                wait = 0.1
            except (OSError, WebSocketException, TamisError, ValueError) as error:
                log.info("no link to %s at %s: %s", self._neighbour, self._url, error)
            self._is_closing.wait(wait * random.uniform(0.5, 1.0))
            wait = min(_LONGEST, 2 * wait)

    def _talk(self) -> None:
        from websockets.sync.client import connect

        headers = {"Authorization": f"Bearer {self._key}", NAME: self._links.name}
        with connect(
            self._url,
            ssl=self._tls,
            additional_headers=headers,
            ping_interval=_BEAT,
            ping_timeout=_BEAT,
            open_timeout=_BEAT,
            close_timeout=1.0,
            max_size=_LARGEST,
            proxy=None,
        ) as connection:
            assert connection.response is not None
            name = connection.response.headers.get(NAME, "")
            if name != self._neighbour:
                raise TamisError(f"{self._url} is {name[:100]!r}, not {self._neighbour!r}")
            self._connection = connection
            if not self._is_closing.is_set():
                converse(self._links, self._neighbour, connection)


class Listener:
    """Takes the calls of neighbours that dial."""

    def __init__(
        self,
        links: Links,
        address: str,
        identify: Callable[[str | None], Identity],
        certificate: Path | None,
        certificate_key: Path | None,
    ) -> None:
        """``address`` is ``host:port``; with a certificate, neighbours dial ``wss``."""
        try:
            from websockets.sync.server import serve
        except ImportError as error:
            raise MissingExtraError("links need websockets: pip install 'tamis[server]'") from error
        self._links, self._identify = links, identify
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise StorageError(f"{address!r:.100} is not an address to listen at: write host:port")
        tls = None
        if certificate is not None:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(certificate, certificate_key)
        self._server: Server = serve(
            self._answer,
            host,
            int(port),
            ssl=tls,
            process_request=self._check,
            process_response=self._introduce,
            ping_interval=_BEAT,
            ping_timeout=_BEAT,
            close_timeout=1.0,
            max_size=_LARGEST,
        )
        self.port = self._server.socket.getsockname()[1]
        self._open: set[ServerConnection] = set()
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="tamis-links-listener", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Hang up, and take no more calls."""
        self._server.shutdown()
        for connection in list(self._open):
            connection.close()
        self._thread.join()

    def _check(self, connection: ServerConnection, request: Any) -> Any:
        """Refuse whoever has no key for links."""
        given = request.headers.get("Authorization", "")
        try:
            identity = self._identify(given.removeprefix("Bearer ") or None)
        except AuthenticationError as error:
            return connection.respond(401, f"{error}\n")
        if identity.key == 0 or not identity.may(Role.LINK):
            return connection.respond(403, "this key may not link brokers\n")
        if identity.tenant != self._links.tenant:  # a neighbour receives this tenant's events
            return connection.respond(403, "this key is of a tenant that is not linked\n")
        if request.headers.get(NAME, "") not in self._links.neighbours:
            return connection.respond(403, f"not a neighbour of {self._links.name}\n")
        return None

    def _introduce(self, connection: ServerConnection, request: Any, response: Any) -> None:
        """Say who answers."""
        response.headers[NAME] = self._links.name

    def _answer(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self._open.add(connection)
        try:
            converse(self._links, connection.request.headers[NAME], connection)
        finally:
            self._open.discard(connection)


def converse(links: Links, neighbour: str, connection: Any) -> None:
    """Hand messages over, both ways, until the connection ends."""
    from websockets.exceptions import ConnectionClosed

    def send(text: str) -> None:
        try:
            connection.send(text)
        except ConnectionClosed as error:
            raise OSError(str(error)) from error

    links.attach(neighbour, send)
    try:
        for text in connection:
            links.receive(neighbour, text)
    except ConnectionClosed as error:
        log.info("the link to %s is lost: %s", neighbour, error)
    except (TamisError, ValueError) as error:
        log.error("hung up on %s: %s", neighbour, error)
        connection.close(1008, "a message that makes no sense")
    finally:
        links.detach(neighbour, send)
