"""A whole table made smaller: what is covered, what can be merged, what remains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering import CoveringTable
from tamis.routing.filters import Filter, FilterReader
from tamis.routing.merging import Merger, MergeRules, mergers_of


@dataclass(frozen=True)
class Compaction:
    """What became of a table. Every subscription is in one of the three."""

    covered: dict[str, str]
    """By subscription: another one that matches whatever it matches, and that is not covered."""
    mergers: list[Merger[str]]
    remaining: list[str]
    """Neither covered nor merged."""

    @property
    def size(self) -> int:
        """Entries that are left."""
        return len(self.mergers) + len(self.remaining)


def compact(
    subscriptions: Iterable[tuple[str, Expression]],
    facts: Facts = NO_FACTS,
    rules: MergeRules | None = None,
) -> Compaction:
    """Cover and merge a table; without rules only perfect mergers of single ranges are made."""
    roots, covered = cover(subscriptions, facts)
    whole = {id: filter for id, filter in roots.items() if not filter.is_partial}
    mergers = mergers_of(whole, rules, facts)
    merged = {member for merger in mergers for member in merger.members}
    return Compaction(covered, mergers, [id for id in roots if id not in merged])


def cover(
    subscriptions: Iterable[tuple[str, Expression]], facts: Facts = NO_FACTS
) -> tuple[dict[str, Filter], dict[str, str]]:
    """The subscriptions that no other covers, and for each of the others one of those.

    A subscription with graph patterns or operators may be covered, for it matches no more than its
    attributes allow; but as it may match less, it covers nothing.
    """
    reader = FilterReader(facts)
    table: CoveringTable[str] = CoveringTable(facts)
    partial: dict[str, Filter] = {}
    for id, expression in subscriptions:
        filter = reader.read(expression)
        if filter.is_partial:
            partial[id] = filter
        else:
            table.add(id, filter)
    roots = {id: table[id] for id in table.roots}
    covered = {id: _root(table, id) for id in table if table.parent(id) is not None}
    for id, filter in partial.items():
        coverer = table.roots.coverer(filter)
        if coverer is None:
            roots[id] = filter
        else:
            covered[id] = coverer
    return roots, covered


def _root(table: CoveringTable[str], id: str) -> str:
    parent = table.parent(id)
    while parent is not None:
        id, parent = parent, table.parent(parent)
    return id
