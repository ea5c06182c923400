"""What a neighbour should know of subscriptions: all, those that no other covers, or mergers.

    simple      s1 s2 s3 s4 s5
    covering    s1    s3 s4 s5        s1 covers s2
    merging     m1       s4 s5        m1 stands for s1 and s3

``wanted`` follows every change at once; ``changed`` has the ids that the neighbour must hear of.
Mergers are looked for when a policy says so. A merger is cancelled when one of its members goes or
is covered: a subscription that covers a merger covers its members. What comes later and lies within
a merger is absorbed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import NamedTuple

from tamis.predicates.expression import Expression
from tamis.predicates.facts import Facts
from tamis.routing.covering import CoveringTable
from tamis.routing.filter_set import FilterSet
from tamis.routing.filters import Filter
from tamis.routing.merging import Merger, MergeRules, is_within, mergers_of

MODES = SIMPLE, COVERING, MERGING = "simple", "covering", "merging"


class MergePolicy(NamedTuple):
    """When mergers are looked for on a link: when all of these hold (PADRES, section 5.1)."""

    changes: int = 16
    """So many subscriptions have come or gone since the last time ..."""
    share: float = 0.25
    """... and so many, as a share of those that are there; so merging costs each a few looks."""
    size: int = 0
    """There are at least so many subscriptions that no other covers."""
    period: float = 0.0
    """So much time has passed since the last time."""
    outputs: float = 0.0
    """So many subscriptions have the same attributes and single values, on average (the paper's
    output nodes of a diagram)."""
    rate: float = float("inf")
    """No more subscriptions than that come or go in a unit of time: wait for a rush to end."""
    bandwidth: float = float("inf")
    """No more events than that come over the link in a unit of time: imperfect mergers add some."""


class LinkTable:
    """The subscriptions that a neighbour should know, one way or another."""

    def __init__(
        self,
        prefix: str,
        mode: str,
        facts: Facts,
        rules: MergeRules | None = None,
        policy: MergePolicy | None = None,
    ) -> None:
        """``prefix``: what the ids of mergers begin with."""
        self._prefix, self.mode, self._facts = prefix, mode, facts
        self._rules, self._policy = rules or MergeRules(), policy or MergePolicy()
        self.table: CoveringTable[str] = CoveringTable(facts)
        self._simple: set[str] = set()
        self.wanted: dict[str, Expression] = {}
        """What the neighbour should know, by id."""
        self.changed: dict[str, None] = {}
        """Ids that have come to ``wanted``, gone from it, or changed there."""
        self.mergers: dict[str, Merger[str]] = {}
        self._merger_set: FilterSet[str] = FilterSet(facts)
        self._merger_of: dict[str, str] = {}
        """By root: the merger that it is a member of, or lies within."""
        self._within: dict[str, dict[str, None]] = {}
        """By merger: the roots that have it."""
        self._changes = 0
        self._looked = 0.0
        self.events = 0
        """Events that came over the link since mergers were looked for."""

    def __contains__(self, id: str) -> bool:
        return id in (self._simple if self.mode == SIMPLE else self.table)

    def add(self, id: str, filter: Filter) -> None:
        """Take in a subscription."""
        if self.mode == SIMPLE:
            self._simple.add(id)
            self._want(id, filter.expression)
            return
        self._changes += 1
        self._follow(*self.table.add(id, filter))

    def remove(self, id: str) -> None:
        """Forget a subscription."""
        if self.mode == SIMPLE:
            self._simple.remove(id)
            self._want(id, None)
            return
        self._changes += 1
        self._follow(*self.table.remove(id))

    def _want(self, id: str, expression: Expression | None) -> None:
        if expression is None:
            self.wanted.pop(id, None)
        else:
            self.wanted[id] = expression
        self.changed[id] = None

    def _follow(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """Take over a change of roots."""
        for id in added:
            within = self._merger_set.coverer(self.table[id]) if self.mergers else None
            if within is None:
                self._want(id, self.table[id].expression)
            else:
                self._absorb(id, within)
        for id in removed:
            merger = self._merger_of.pop(id, None)
            if merger is None:
                self._want(id, None)
                continue
            del self._within[merger][id]
            if id in self.mergers[merger].members:
                self._cancel(merger)

    def _cancel(self, name: str) -> None:
        """Let the members of a merger, and what lies within it, stand for themselves again."""
        del self.mergers[name]
        self._merger_set.remove(name)
        self._want(name, None)
        for id in self._within.pop(name):
            del self._merger_of[id]
            self._want(id, self.table[id].expression)

    def _absorb(self, id: str, name: str) -> None:
        """Let a merger stand for a root."""
        other = self._merger_of.get(id)
        if other is not None:
            del self._within[other][id]
        self._merger_of[id] = name
        self._within[name][id] = None

    def within(self, name: str) -> list[str]:
        """The subscriptions that a merger stands for, what others of them cover left out."""
        return list(self._within[name])

    # Merging.

    def review(self, now: float, promised: Callable[[], list[Filter]]) -> None:
        """Look for mergers if it is time, given what the neighbour's events lie within."""
        if self.mode == MERGING and self._is_due(now):
            self.merge(promised())
            self._changes, self._looked, self.events = 0, now, 0

    def _is_due(self, now: float) -> bool:
        policy, roots, passed = self._policy, self.table.roots, now - self._looked
        return (
            self._changes >= max(1, policy.changes, policy.share * len(roots))
            and len(roots) >= policy.size
            and passed >= policy.period
            and self._changes <= policy.rate * max(passed, 1e-9)
            and self.events <= policy.bandwidth * max(passed, 1e-9)
            and (policy.outputs <= 1 or roots.exact.group_size >= policy.outputs)
        )

    def merge(self, promised: list[Filter], rules: MergeRules | None = None) -> None:
        """Look for mergers, by other rules from now on if some are given."""
        self._rules = rules or self._rules
        roots = {id: self.table[id] for id in self.table.roots}
        made = {
            self._merger_id(each): each
            for each in mergers_of(roots, self._rules, self._facts, promised)
        }
        for name in [name for name in self.mergers if name not in made]:
            self._cancel(name)
        for name, merger in made.items():
            if name not in self.mergers:
                self._enact(name, merger)

    def _enact(self, name: str, merger: Merger[str]) -> None:
        self.mergers[name] = merger
        self._merger_set.add(name, merger.filter)
        self._want(name, merger.filter.expression)
        self._within[name] = {}
        for id in merger.members:
            self._absorb(id, name)
            self._want(id, None)
        for id in self.table.roots.covered(merger.filter):
            if id not in self._merger_of:
                self._absorb(id, name)
                self._want(id, None)

    def recheck(self, promised: Callable[[], list[Filter]]) -> None:
        """Cancel mergers that are not good enough any more, as advertisements have changed."""
        imperfect = [name for name, each in self.mergers.items() if not each.is_perfect]
        within = promised() if imperfect else []
        for name in imperfect:
            merger = self.mergers[name]
            members = [self.table[id] for id in merger.members]
            if not is_within(merger.filter, members, self._rules, within):
                self._cancel(name)

    def _merger_id(self, merger: Merger[str]) -> str:
        """The id of a merger: the same as long as its members and its text are."""
        said = "\0".join([str(merger.filter.expression), *sorted(merger.members)])
        return f"{self._prefix}/{sha256(said.encode()).hexdigest()[:16]}"
