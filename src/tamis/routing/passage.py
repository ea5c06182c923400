"""How far events have come on their way through a broker.

An event is acknowledged to where it came from when all neighbours that it went to have acknowledged
it. Ids of events that are done are remembered for a while, so that repetitions are known.

In a cycle a broker that lost an event in a crash may get it back from one that waits for this very
broker. So events carry the way that they came: a broker that stands in it waits behind itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from tamis.routing.advertisements import Way

MAX_DONE = 100_000
"""Events whose ids are remembered after they were acknowledged."""


LOCAL = ""
"""The origin of what this broker's own clients say."""


class Source(NamedTuple):
    """Where an event came from."""

    origin: str | None
    """Where its acknowledgement goes; None if nobody waits for it."""
    path: Way
    """The brokers that it has passed, the last one first."""


class Passages:
    """Events on their way, by id."""

    def __init__(self) -> None:
        self._source: dict[str, Source] = {}
        self._waiting: dict[str, set[str]] = {}
        self._done: OrderedDict[str, None] = OrderedDict()

    def is_new(self, id: str) -> bool:
        """Whether an event has not been seen."""
        return id not in self._waiting and id not in self._done

    def begin(self, id: str, source: Source, towards: Iterable[str]) -> str | None:
        """Note a new event; return its origin if it need not wait for anybody."""
        self._source[id], self._waiting[id] = source, set(towards)
        return self.arrived(id, None)

    def source(self, id: str) -> Source | None:
        """Where an event came from that has not arrived everywhere."""
        return self._source.get(id)

    def redirect(self, id: str, source: Source) -> None:
        """Let another one wait for an event."""
        self._source[id] = source

    def arrived(self, id: str, neighbour: str | None) -> str | None:
        """Note that all behind a neighbour have an event; return its origin if it is done."""
        waiting = self._waiting.get(id)
        if waiting is None:
            return None
        waiting.discard(neighbour or "")
        if waiting:
            return None
        del self._waiting[id]
        self._done[id] = None
        if len(self._done) > MAX_DONE:
            self._done.popitem(last=False)
        return self._source.pop(id).origin
