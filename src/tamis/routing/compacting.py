"""A whole table made smaller: what is covered, what can be merged, what remains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tamis.predicates.expression import Expression
from tamis.predicates.facts import NO_FACTS, Facts
from tamis.routing.covering import CoveringTable
from tamis.routing.filters import Filter
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
    table: CoveringTable[str] = CoveringTable(facts)
    for id, expression in subscriptions:
        table.add(id, Filter.of(expression, facts))
    mergers = mergers_of({id: table[id] for id in table.roots}, rules, facts)
    merged = {member for merger in mergers for member in merger.members}
    covered = {id: _root(table, id) for id in table if table.parent(id) is not None}
    return Compaction(covered, mergers, [id for id in table.roots if id not in merged])


def _root(table: CoveringTable[str], id: str) -> str:
    parent = table.parent(id)
    while parent is not None:
        id, parent = parent, table.parent(parent)
    return id
