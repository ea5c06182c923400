"""The routing table of one broker (PADRES, section 2): where subscriptions and events go.

    SRT   advertisements, by the neighbour that they came from: where a subscription goes
    PRT   subscriptions, by the neighbour that they came from: where an event goes

Of the subscriptions of one neighbour only those that no other of the same neighbour covers are
matched, or their mergers: an event goes there if one of them matches. What is covered is kept, so
that it can come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.engine.engine import Engine
from tamis.errors import DuplicateIdError, UnknownIdError
from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering import CoveringTable, FilterSet
from tamis.routing.filters import Filter
from tamis.routing.merging import Merger, MergeRules, mergers_of

_BETWEEN = "\x1f"


class RoutingTable:
    """Subscriptions and advertisements by neighbour."""

    def __init__(self, facts: Facts = NO_FACTS) -> None:
        self._facts = facts
        self._prt: dict[str, CoveringTable[str]] = {}
        self._srt: FilterSet[tuple[str, str]] = FilterSet(facts)
        self._mergers: dict[str, dict[str, Merger[str]]] = {}
        self._engine = Engine()
        self._matched: dict[str, dict[str, Expression]] = {}

    def add(self, neighbour: str, id: str, subscription: Expression) -> None:
        """Take in a subscription of a neighbour."""
        table = self._prt.setdefault(neighbour, CoveringTable(self._facts))
        if id in table:
            raise DuplicateIdError(
                f"{neighbour} has a subscription {id!r} already; remove it first"
            )
        table.add(id, Filter.of(subscription, self._facts))
        self._refresh(neighbour)

    def remove(self, neighbour: str, id: str) -> None:
        """Forget a subscription of a neighbour; mergers that it is in are cancelled."""
        table = self._prt.get(neighbour)
        if table is None or id not in table:
            raise UnknownIdError(f"{neighbour} has no subscription {id!r}")
        table.remove(id)
        self._refresh(neighbour)

    def advertise(self, neighbour: str, id: str, advertisement: Expression) -> None:
        """Take in an advertisement of a neighbour."""
        self._srt.add((neighbour, id), Filter.of(advertisement, self._facts))

    def unadvertise(self, neighbour: str, id: str) -> None:
        """Forget an advertisement of a neighbour."""
        if (neighbour, id) not in self._srt:
            raise UnknownIdError(f"{neighbour} has no advertisement {id!r}")
        self._srt.remove((neighbour, id))

    def towards(self, subscription: Expression) -> set[str]:
        """The neighbours that a subscription goes to: they advertise something that overlaps it."""
        found = self._srt.overlapping(Filter.of(subscription, self._facts))
        return {neighbour for neighbour, _ in found}

    def match(self, event: Mapping[str, Any]) -> set[str]:
        """The neighbours that an event goes to."""
        return {found.partition(_BETWEEN)[0] for found in self._engine.match(event)}

    def merge(self, rules: MergeRules | None = None) -> int:
        """Look for mergers among the subscriptions of each neighbour; return how many there are."""
        for neighbour, table in self._prt.items():
            roots = {id: table[id] for id in table.roots}
            promised = [self._srt[key] for key in self._srt]
            made = mergers_of(roots, rules, self._facts, promised)
            self._mergers[neighbour] = {f"merger {n}": each for n, each in enumerate(made, 1)}
            self._refresh(neighbour)
        return sum(map(len, self._mergers.values()))

    @property
    def entries(self) -> int:
        """Filters that events are matched against."""
        return sum(map(len, self._matched.values()))

    def __len__(self) -> int:
        return sum(map(len, self._prt.values()))

    def _refresh(self, neighbour: str) -> None:
        """Let the engine match what is neither covered nor merged."""
        table = self._prt[neighbour]
        wanted = {id: table[id].expression for id in table.roots}
        mergers = {
            name: each
            for name, each in self._mergers.get(neighbour, {}).items()
            if all(member in wanted for member in each.members)
        }
        self._mergers[neighbour] = mergers
        for name, merger in mergers.items():
            for member in merger.members:
                del wanted[member]
            wanted[name] = merger.filter.expression
        known = self._matched.setdefault(neighbour, {})
        for id in [id for id in known if wanted.get(id) != known[id]]:
            self._engine.unsubscribe(neighbour + _BETWEEN + id)
            del known[id]
        for id, expression in wanted.items():
            if id not in known:
                self._engine.subscribe(expression, id=neighbour + _BETWEEN + id)
                known[id] = expression

    def describe(self) -> str:
        """The table in words: neighbours, their filters, and below each what it stands for."""
        lines = [f"{len(self):,} subscriptions, {self.entries:,} entries"]
        for neighbour, table in self._prt.items():
            lines.append(neighbour)
            merged: dict[str, None] = {}
            for name, merger in self._mergers.get(neighbour, {}).items():
                lines.append(f"  {name}: {merger.filter.expression}")
                merged |= dict.fromkeys(merger.members)
                for member in merger.members:
                    lines += self._branch(table, member, 2)
            for id in table.roots:
                if id not in merged:
                    lines += self._branch(table, id, 1)
        for neighbour, id in self._srt:
            lines.append(f"{neighbour} advertises {id}: {self._srt[neighbour, id].expression}")
        return "\n".join(lines)

    def _branch(self, table: CoveringTable[str], id: str, depth: int) -> list[str]:
        lines, left = [], [(id, depth)]
        while left:
            at, level = left.pop()
            lines.append(f"{'  ' * level}{at}: {table[at].expression}")
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
