"""Ports for servers of tests that must be known before the server starts."""

from __future__ import annotations

import random
import socket


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
