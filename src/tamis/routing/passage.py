"""How far events have come on their way through a broker.

An event is acknowledged to where it came from when all neighbours that it went to have acknowledged
it. Ids of events that are done are remembered for a while, so that repetitions are known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

MAX_DONE = 100_000
"""Events whose ids are remembered after they were acknowledged."""


class Passages:
    """Events on their way, by id."""

    def __init__(self) -> None:
        self._origin: dict[str, str] = {}
        self._waiting: dict[str, set[str]] = {}
        self._done: OrderedDict[str, None] = OrderedDict()

    def is_new(self, id: str) -> bool:
        """Whether an event has not been seen."""
        return id not in self._waiting and id not in self._done

    def begin(self, id: str, origin: str, towards: Iterable[str]) -> str | None:
        """Note a new event; return its origin if it need not wait for anybody."""
        self._origin[id], self._waiting[id] = origin, set(towards)
        return self.arrived(id, None)

    def is_under_way(self, id: str, origin: str) -> bool:
        """Whether an event of an origin has come, and has not arrived everywhere."""
        return self._origin.get(id) == origin

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
        return self._origin.pop(id)
