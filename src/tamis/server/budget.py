"""What bodies may take of the memory while they arrive, of all requests together.

A client may send slowly, and thousands may do so at once. The first part of each body is free, so
that those who send little are served even when others have used up the rest.
"""

from __future__ import annotations

from tamis.errors import BusyError

FREE = 65_536
"""Bytes of each body that are not counted."""


class Budget:
    """Bytes that may be held at once. It has no lock: only the loop of the server uses it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    def take(self, size: int, more: int) -> int:
        """Hold more of a body of which there are ``size`` bytes; how many bytes are counted."""
        counted = max(0, size + more - FREE) - max(0, size - FREE)
        if self.held + counted > self.most:
            raise BusyError("too many long bodies arrive at once", 5.0)
        self.held += counted
        return counted

    def give_back(self, counted: int) -> None:
        """Hold less."""
        self.held -= counted
