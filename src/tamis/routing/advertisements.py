"""The advertisements that a broker knows, and which neighbour leads to each publisher.

An advertisement may come from several neighbours where an overlay has cycles. The one that it came
from first is its *route*: together the routes are a tree of each publisher. When a route is gone,
the shortest of the other ways takes its place. A broker that returns keeps the routes that it had:
events under way follow the trees of before. Of the advertisements with the same route only those
that no other covers are asked whether a subscription overlaps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tamis.predicates.expression import Expression
from tamis.predicates.facts import Facts
from tamis.routing.covering import CoveringTable
from tamis.routing.filters import Filter

Way = tuple[str, ...]
"""The brokers that an advertisement has passed, the last one first."""


class Announcement(NamedTuple):
    """An advertisement as a neighbour is told."""

    expression: Expression
    path: Way


class Advertisements:
    """Advertisements by id and by origin."""

    def __init__(self, facts: Facts, former: Mapping[str, str]) -> None:
        """``former``: the routes before a restart."""
        self._facts, self._former = facts, dict(former)
        self._origins: dict[str, dict[str, tuple[Filter, Way]]] = {}
        self.routes: dict[str, str] = {}
        """By id: the origin that leads to the publisher."""
        self.has_new_routes = False
        self._tables: dict[str, CoveringTable[str]] = {}

    def __contains__(self, key: tuple[str, str]) -> bool:
        id, origin = key
        return origin in self._origins.get(id, {})

    def ids(self) -> list[str]:
        """All that are known."""
        return list(self.routes)

    def of(self, origin: str) -> list[str]:
        """Those that came from an origin, whether it is their route or not."""
        return [id for id, origins in self._origins.items() if origin in origins]

    def add(self, id: str, origin: str, filter: Filter, path: Way) -> list[Filter]:
        """Take in what an origin advertises; return the filters whose routes have changed."""
        origins = self._origins.setdefault(id, {})
        known = origins.get(origin)
        origins[origin] = filter, path
        if id not in self.routes:
            if self._former.get(id, origin) != origin:
                return []
            return self._enter(id, origin, filter)
        if self.routes[id] != origin:
            return []
        if known is not None and known[0].expression == filter.expression:
            return []
        changed = [] if known is None else self._leave(id, origin)
        return changed + self._enter(id, origin, filter)

    def remove(self, id: str, origin: str) -> list[Filter]:
        """Forget what an origin advertised; return the filters whose routes have changed."""
        origins = self._origins.get(id, {})
        if origins.pop(origin, None) is None:
            return []
        if not origins:
            del self._origins[id]
        if self.routes.get(id) != origin:
            return []
        changed = self._leave(id, origin)
        if origins:
            return changed + self._take_nearest(id)
        del self.routes[id]
        self.has_new_routes = True
        return changed

    def forget_former(self, origin: str) -> dict[str, list[Filter]]:
        """Give other routes to those whose former one led to an origin, which does not advertise
        them any more; return their filters by id."""
        gone = [id for id, former in self._former.items() if former == origin]
        for id in gone:
            del self._former[id]
        waiting = [id for id in gone if id in self._origins and id not in self.routes]
        return {id: self._take_nearest(id) for id in waiting}

    def _take_nearest(self, id: str) -> list[Filter]:
        origins = self._origins[id]
        nearest = min(origins, key=lambda each: (len(origins[each][1]), each))
        return self._enter(id, nearest, origins[nearest][0])

    def _enter(self, id: str, origin: str, filter: Filter) -> list[Filter]:
        self.routes[id] = origin
        self.has_new_routes = True
        table = self._tables.setdefault(origin, CoveringTable(self._facts))
        return [filter] if table.add(id, filter).added else []

    def _leave(self, id: str, origin: str) -> list[Filter]:
        table = self._tables[origin]
        filter = table[id]
        return [filter] if table.remove(id).removed else []

    def towards(self, filter: Filter) -> set[str]:
        """The origins that lead to publishers of what a subscription asks for."""
        return {origin for origin, table in self._tables.items() if table.roots.overlaps(filter)}

    def promised(self, origin: str) -> list[Filter]:
        """What the events that come from an origin lie within."""
        table = self._tables.get(origin)
        return [] if table is None else [table[id] for id in table.roots]

    def announcement(self, id: str, name: str, neighbour: str) -> Announcement | None:
        """What a broker tells a neighbour of an advertisement, if anything."""
        origin = self.routes.get(id)
        if origin is None or origin == neighbour:
            return None
        filter, path = self._origins[id][origin]
        if neighbour in path:
            return None
        return Announcement(filter.expression, (name, *path))
