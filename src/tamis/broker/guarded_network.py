"""Connections for webhooks: only to addresses that may be called, and only as long as is allowed.

An address is looked up and checked when a connection is made, and the connection goes to the one
that was checked (``model/addresses.py``). A receiver that sends a byte now and then would hold a
thread for ever if only silence counted, so a request as a whole has a deadline.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

from tamis.model.addresses import checked_addresses


class GuardedNetwork(httpcore.NetworkBackend):
    """The network as webhooks may use it, for many threads."""

    def __init__(self, *, private: bool) -> None:
        """``private``: whether addresses may be private ones."""
        self._private = private
        self._inner = httpcore.SyncBackend()
        self._deadline = _Deadline()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let all that this thread does here take so many seconds, at most."""
        self._deadline.at = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline.at = None

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that answers."""
        addresses = checked_addresses(host, port, self._private)
        for address in addresses:
            try:
                left = self._deadline.left(httpcore.ConnectTimeout)
                made = self._inner.connect_tcp(address, port, left, local_address, socket_options)
                return _GuardedStream(made, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == addresses[-1]:
                    raise
        raise httpcore.ConnectError(f"{host} has no address")

    def connect_unix_socket(self, *arguments: Any, **named: Any) -> httpcore.NetworkStream:
        """Sockets of this machine are nobody else's business."""
        raise httpcore.ConnectError("a webhook has an address of the network")

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._inner.sleep(seconds)


class _Deadline(threading.local):
    """When the request of this thread must be over."""

    at: float | None = None

    def left(self, late: Callable[[str], Exception]) -> float | None:
        """The seconds that are left; None if there is no deadline."""
        if self.at is None:
            return None
        left = self.at - time.monotonic()
        if left <= 0:
            raise late("the answer takes too long")
        return left


class _GuardedStream(httpcore.NetworkStream):
    """A connection whose every step ends with the deadline of its thread."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there."""
        return self._inner.read(max_bytes, self._deadline.left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write everything."""
        self._inner.write(buffer, self._deadline.left(httpcore.WriteTimeout))

    def close(self) -> None:
        """Hang up."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Go on in TLS, with a certificate for the name of the host."""
        left = self._deadline.left(httpcore.ConnectTimeout)
        return _GuardedStream(
            self._inner.start_tls(ssl_context, server_hostname, left), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        return self._inner.get_extra_info(info)
