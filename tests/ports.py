"""Ports for servers of tests that must be known before the server starts."""

from __future__ import annotations

import fcntl
import random
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONNECT = 15002
"""Where a local server of Spark Connect listens, whatever else is on this machine."""


def free_port() -> int:
    """A free port below those that Linux gives to outgoing connections (32768 and more), so that
    none of them takes it between now and its use."""
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


@contextmanager
def reserved(port: int) -> Iterator[None]:
    """A block in which no other test, of any process, has reserved the same port."""
    with open(Path(tempfile.gettempdir()) / f"tamis-tests-port-{port}", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
