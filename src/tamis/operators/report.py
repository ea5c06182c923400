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
    """The calls of all subscriptions that events have reached, in the order of the schedule: the
    most worthwhile first, or as they are walked."""

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
    known = _KnownCalls(decider)
    work = decider.work
    return CallPlan(
        decider.schedule,
        tuple(known.planned(place) for place in range(min(MOST, len(known.leaves)))),
        len(known.leaves),
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
    known = _KnownCalls(decider)
    (place,) = np.flatnonzero(known.leaves == number).tolist()
    one = known.planned(place)
    by = "by worth" if decider.schedule == "adaptive" else "in its order"
    return (
        f"{decider.schedule}: call {place + 1} of {len(known.leaves)} {by}, "
        f"true {one.chance:.0%} ({one.results:.0f} results), {one.seconds:.2g} s"
    )


class _KnownCalls:
    """All calls, in the order of the schedule: the most worthwhile first, or as they are walked."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        residues = decider.residues
        numbers = [n for n, node in enumerate(residues.leaves) if isinstance(node, Call)]
        leaves = np.array(numbers, np.int32)
        expectation = decider.expectation(leaves, *decider.numbers(leaves))
        subscriptions = np.bincount(residues.uses(), minlength=len(residues.leaves))[leaves]
        worth = (1 - expectation.chance) * subscriptions / expectation.cost
        key = -worth if decider.schedule == "adaptive" else decider.first_walked()[leaves]
        order = np.argsort(key, kind="stable")
        self.leaves = leaves[order]
        self._chance, self._seconds = expectation.chance[order], expectation.cost[order]
        self._subscriptions, self._worth = subscriptions[order], worth[order]

    def planned(self, place: int) -> PlannedCall:
        """The call at a place."""
        leaf = int(self.leaves[place])
        return PlannedCall(
            str(self._decider.residues.leaves[leaf]),
            int(self._subscriptions[place]),
            float(self._chance[place]),
            self._decider.estimates.seen(leaf),
            float(self._seconds[place]),
            float(self._worth[place]),
        )


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
