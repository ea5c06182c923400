"""The routing table of one broker (PADRES, section 2): where subscriptions and events go.

    SRT   advertisements, by the neighbour that they came from: where a subscription goes
    PRT   subscriptions, by the neighbour that they came from: where an event goes

Of the subscriptions of one neighbour only those that no other of the same neighbour covers are
matched, or their mergers: an event goes there if one of them matches. What is covered is kept, so
that it can come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tamis.engine.engine import Engine
from tamis.errors import DuplicateIdError, UnknownIdError
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering import CoveringTable
from tamis.routing.filter_set import FilterSet
from tamis.routing.filters import Filter, FilterReader
from tamis.routing.link_table import MERGING, LinkTable
from tamis.routing.merging import MergeRules
from tamis.routing.recipients import Recipients


class RoutingTable:
    """Subscriptions and advertisements by neighbour."""

    def __init__(self, facts: Facts = NO_FACTS, engine: Engine | None = None) -> None:
        """``engine`` is an empty one that matches events, for subscriptions that ask a taxonomy."""
        self._facts, self._reader = facts, FilterReader(facts)
        self._srt: dict[str, LinkTable] = {}
        self._prt: dict[str, LinkTable] = {}
        self._advertised: FilterSet[tuple[str, str]] = FilterSet(facts)
        """By neighbour and id: what of the SRT is neither covered nor merged."""
        self._recipients = Recipients(engine)
        """The same of the PRT ..."""
        self._matched: dict[str, set[str]] = {}
        """... and its ids by neighbour."""

    def add(self, neighbour: str, id: str, subscription: Expression) -> None:
        """Take in a subscription of a neighbour."""
        table = self._prt.setdefault(neighbour, LinkTable(neighbour, MERGING, self._facts))
        if id in table:
            raise DuplicateIdError(
                f"{neighbour} has a subscription {id!r} already; remove it first"
            )
        table.add(id, self._reader.read(subscription))
        self._follow(neighbour)

    def remove(self, neighbour: str, id: str) -> None:
        """Forget a subscription of a neighbour; mergers that it is in are cancelled."""
        table = self._prt.get(neighbour)
        if table is None or id not in table:
            raise UnknownIdError(f"{neighbour} has no subscription {id!r}")
        table.remove(id)
        self._follow(neighbour)

    def advertise(self, neighbour: str, id: str, advertisement: Expression) -> None:
        """Take in an advertisement of a neighbour."""
        table = self._srt.setdefault(neighbour, LinkTable(neighbour, MERGING, self._facts))
        if id in table:
            raise DuplicateIdError(
                f"{neighbour} has an advertisement {id!r} already; unadvertise it first"
            )
        table.add(id, self._reader.read(advertisement))
        self._follow_advertisements(neighbour)
        self._recheck()

    def unadvertise(self, neighbour: str, id: str) -> None:
        """Forget an advertisement of a neighbour; mergers that it is in are cancelled."""
        table = self._srt.get(neighbour)
        if table is None or id not in table:
            raise UnknownIdError(f"{neighbour} has no advertisement {id!r}")
        table.remove(id)
        self._follow_advertisements(neighbour)
        self._recheck()

    def _recheck(self) -> None:
        """Cancel mergers that advertisements no longer justify."""
        for neighbour, table in self._prt.items():
            table.recheck(partial(self._promised, neighbour))
            self._follow(neighbour)

    def _promised(self, neighbour: str) -> list[Filter]:
        """What the events that may go to a neighbour lie within: others advertise them."""
        return [self._advertised[key] for key in self._advertised if key[0] != neighbour]

    def towards(self, subscription: Expression) -> set[str]:
        """The neighbours that a subscription goes to: they advertise something that overlaps it."""
        found = self._advertised.overlapping(self._reader.read(subscription))
        return {neighbour for neighbour, _ in found}

    def match(self, event: Event | Mapping[str, Any]) -> set[str]:
        """The neighbours that an event goes to."""
        return set(self._recipients.match(Event.of(event)))

    def merge(self, rules: MergeRules | None = None) -> int:
        """Look for mergers among the subscriptions of each neighbour; return how many there are.

        Advertisements are merged too, by perfect mergers in any case: a subscription must not go
        where nobody publishes what it asks for.
        """
        for neighbour, table in self._srt.items():
            table.merge([])
            self._follow_advertisements(neighbour)
        for neighbour, table in self._prt.items():
            table.merge(self._promised(neighbour), rules)
            self._follow(neighbour)
        return sum(len(table.mergers) for table in self._prt.values())

    @property
    def entries(self) -> int:
        """Filters that events are matched against."""
        return sum(len(table.wanted) for table in self._prt.values())

    @property
    def advertised(self) -> int:
        """Filters that subscriptions are compared with."""
        return len(self._advertised)

    def __len__(self) -> int:
        return sum(len(table.table) for table in self._prt.values())

    def __repr__(self) -> str:
        return f"<{self.describe().partition(chr(10))[0]}>"

    def _follow(self, neighbour: str) -> None:
        """Let events be matched against what is neither covered nor merged."""
        table, matched = self._prt[neighbour], self._matched.setdefault(neighbour, set())
        for id in table.changed:
            if id in matched:
                matched.remove(id)
                self._recipients.remove(neighbour, id)
            if id in table.wanted:
                matched.add(id)
                self._recipients.add(neighbour, id, table.wanted[id])
        table.changed.clear()

    def _follow_advertisements(self, neighbour: str) -> None:
        """Let subscriptions be compared with what is neither covered nor merged."""
        table, found = self._srt[neighbour], self._advertised
        for id in table.changed:
            if (neighbour, id) in found:
                found.remove((neighbour, id))
            if id in table.wanted:
                found.add((neighbour, id), self._reader.read(table.wanted[id]))
        table.changed.clear()

    def describe(self) -> str:
        """The table in words: neighbours, their filters, and below each what it stands for."""
        lines = [f"{len(self):,} subscriptions, {self.entries:,} entries"]
        for neighbour, own in self._prt.items():
            lines += [neighbour, *self._filters(own)]
        for neighbour, own in self._srt.items():
            if len(own.table):
                lines += [f"{neighbour} advertises", *self._filters(own)]
        return "\n".join(lines)

    def _filters(self, own: LinkTable) -> list[str]:
        lines = []
        for number, (name, merger) in enumerate(own.mergers.items(), 1):
            lines.append(f"  merger {number}: {merger.filter.expression}")
            for member in own.within(name):
                lines += self._branch(own.table, member, 2)
        for id in own.table.roots:
            if id in own.wanted:
                lines += self._branch(own.table, id, 1)
        return lines

    def _branch(self, table: CoveringTable[str], id: str, depth: int) -> list[str]:
        lines, left = [], [(id, depth)]
        while left:
            at, level = left.pop()
            filter = table[at]
            more = " (by attributes alone)" if filter.is_partial else ""
            lines.append(f"{'  ' * level}{at}: {filter.expression}{more}")
            left += [(below, level + 1) for below in reversed(table.below(at))]
        return lines

    def svg(self) -> str:
        """The same as a picture: what covers or merges others stands to their left."""
        lines = self.describe().splitlines()[1:]
        height = 20 * len(lines) + 10
        rows = [
            f'<text x="{10 + 14 * (len(line) - len(line.lstrip()))}" y="{20 * n + 20}">'
            f"{_escaped(line.strip())}</text>"
            for n, line in enumerate(lines)
        ]
        style = 'font-family="monospace" font-size="13"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" {style}>'
        return "\n".join([head, *_stems(lines), *rows, "</svg>"])


def _stems(lines: list[str]) -> list[str]:
    """A line from each filter to the one that stands for it."""
    found, above = [], dict[int, int]()
    for n, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if depth:
            x, y = 4 + 14 * depth, 20 * n + 16
            top = 20 * above.get(depth - 2, n) + 24
            found.append(f'<path d="M{x - 14} {top} V{y} H{x}" fill="none" stroke="#888"/>')
        above[depth] = n
    return found


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
