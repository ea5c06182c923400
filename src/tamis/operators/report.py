"""The schedule as a table: which calls, in which order, what is known of them, what was saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tamis.predicates.expression import Call

if TYPE_CHECKING:
    from tamis.operators.decider import Decider

MOST = 50
"""Calls that are listed."""


@dataclass(frozen=True)
class PlannedCall:
    """A distinct call."""

    call: str
    subscriptions: int
    chance: float
    """To be true, as learned."""
    results: float
    """Results that this rests on."""
    seconds: float
    """Of one call."""
    worth: float
    """Subscriptions that it is expected to decide for each second."""


@dataclass(frozen=True)
class UsedOperator:
    """What an operator has done."""

    name: str
    calls: int
    batches: int
    cached: int
    prepared: int
    failures: int
    seconds: float
    is_off: bool
    """Whether it is switched off after failures."""


@dataclass(frozen=True)
class CallPlan:
    """The calls of all subscriptions that events have reached, the most worthwhile first."""

    schedule: str
    calls: tuple[PlannedCall, ...]
    distinct: int
    operators: tuple[UsedOperator, ...]
    pairs: int
    """Pairs of event and subscription that attributes left undecided."""
    possible: int
    """Calls that these name, each distinct one once for an event."""
    made: int

    @property
    def saved(self) -> int:
        """Calls that were not made."""
        return self.possible - self.made

    def __str__(self) -> str:
        lines = [f"{self.schedule}: {self.made:,} calls made, {self.saved:,} saved"]
        for each in self.calls:
            lines.append(
                f"  {each.call}  true {each.chance:.0%} ({each.results:.0f} results), "
                f"{each.seconds:.2g} s, in {each.subscriptions:,} subscriptions"
            )
        if self.distinct > len(self.calls):
            lines.append(f"  and {self.distinct - len(self.calls):,} more")
        for used in self.operators:
            off = ", switched off" if used.is_off else ""
            lines.append(
                f"  {used.name}: {used.calls:,} calls, {used.cached:,} from the cache, "
                f"{used.failures:,} failures, {used.seconds:.3g} s{off}"
            )
        return "\n".join(lines)


def call_plan(decider: Decider) -> CallPlan:
    """The plan of a decider."""
    found = _planned(decider)
    work = decider.work
    return CallPlan(
        decider.schedule,
        tuple(found[:MOST]),
        len(found),
        tuple(_used(decider)),
        work.pairs,
        work.possible,
        work.made,
    )


def remark(decider: Decider, call: Call) -> str:
    """What a decider knows of a call, in a line."""
    number = decider.residues.number_of(call)
    if number is None:
        return ""
    known = str(decider.residues.leaves[number])
    found = _planned(decider)
    place = next(n for n, each in enumerate(found) if each.call == known)
    one = found[place]
    return (
        f"{decider.schedule}: call {place + 1} of {len(found)} by worth, "
        f"true {one.chance:.0%} ({one.results:.0f} results), {one.seconds:.2g} s"
    )


def _planned(decider: Decider) -> list[PlannedCall]:
    """All calls, the most worthwhile first."""
    residues = decider.residues
    used: dict[int, int] = {}
    for leaf in residues.uses():
        used[leaf] = used.get(leaf, 0) + 1
    numbers = [n for n, node in enumerate(residues.leaves) if isinstance(node, Call)]
    found: list[PlannedCall] = []
    if numbers:
        leaves = np.array(numbers, np.int32)
        expectation = decider.expectation(leaves, *decider.numbers(leaves))
        for place, number in enumerate(numbers):
            chance, seconds = float(expectation.chance[place]), float(expectation.cost[place])
            count = used.get(number, 0)
            worth = (1 - chance) * count / seconds
            seen = decider.estimates.seen(number)
            text = str(residues.leaves[number])
            found.append(PlannedCall(text, count, chance, seen, seconds, worth))
    found.sort(key=lambda each: -each.worth)
    return found


def _used(decider: Decider) -> list[UsedOperator]:
    return [
        UsedOperator(
            name,
            each.counts.calls,
            each.counts.batches,
            each.counts.cached,
            each.counts.prepared,
            each.counts.failures,
            each.counts.seconds,
            each.breaker.is_open,
        )
        for name, each in sorted(decider.operators.guarded.items())
    ]
