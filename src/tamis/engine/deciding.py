"""Where matchers and the decider meet: what a matcher leaves open is decided before it goes out.

The decider, and NumPy and Numba with it, is made when a subscription with a call or a pattern is
first met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tamis.arrays.sharing import Lockable
from tamis.bindings.evaluation import World
from tamis.errors import TamisError, suggestion
from tamis.matching.batch import Batch
from tamis.matching.capabilities import NamesPaths
from tamis.matching.fallbacks import Fallbacks
from tamis.matching.protocol import View
from tamis.model.events.event import Event
from tamis.model.paths import Path
from tamis.operators.guarded import GuardedOperators
from tamis.operators.registry import KnownOperators
from tamis.predicates.expression import Call, Expression, Pattern

if TYPE_CHECKING:
    from tamis.arrays.types import Flags, Slots
    from tamis.matching.doors import Door
    from tamis.matching.pairs import Hits, Pairs
    from tamis.operators.decider import Decider
    from tamis.operators.report import CallPlan

SCHEDULES = ("history", "sequential", "sub_order", "adaptive")


def check_schedule(name: str) -> None:
    """Refuse a schedule that there is not."""
    if name not in SCHEDULES:
        hint = suggestion(str(name), SCHEDULES) or "there are " + ", ".join(SCHEDULES)
        raise TamisError(f"unknown schedule {name!r}; {hint}")


class LazyDecider(Lockable):
    """The decider of an engine, made when it is needed."""

    def __init__(
        self,
        schedule: str,
        *,
        tested: bool,
        world: World | None = None,
        expressions: Callable[[int], Expression] | None = None,
        known: Mapping[str, Any] | None = None,
        fallbacks: Fallbacks | None = None,
        merged: bool = False,
    ) -> None:
        super().__init__()
        self._fallbacks = Fallbacks() if fallbacks is None else fallbacks
        self._merged = merged
        """Whether G-ToPSS finds patterns, instead of our index."""
        self.schedule = schedule
        self._tested = tested
        self._world = world
        self._expressions = expressions
        self._known = known or {}
        self.decider: Decider | None = None

    def renewed(self, world: World, expressions: Callable[[int], Expression]) -> LazyDecider:
        """The same for other slots, or another world."""
        return LazyDecider(
            self.schedule,
            tested=self._tested,
            world=world,
            expressions=expressions,
            known=self.learned(),
            fallbacks=self._fallbacks,
            merged=self._merged,
        )

    def plan(self) -> CallPlan | None:
        """The calls and their order; None if there are none."""
        if self.decider is None:
            return None
        from tamis.operators.report import call_plan

        return call_plan(self.decider)

    def remark(self, call: Call) -> str:
        """What is known of a call, and its place in the schedule; nothing before its first use."""
        if self.decider is None:
            return ""
        from tamis.operators.report import remark

        return remark(self.decider, call)

    def learned(self) -> Mapping[str, Any]:
        """What is known of calls, as plain data."""
        return self._known if self.decider is None else self.decider.learned()

    def learn(self, known: Mapping[str, Any]) -> None:
        """Begin with what ``learned`` gave."""
        with self._lock:
            self._known = known
            if self.decider is not None:
                self.decider.learn(known)

    def _made(self) -> Decider:
        with self._lock:
            if self.decider is None:
                from tamis.operators.decider import Decider

                assert self._world is not None
                assert self._expressions is not None
                self.decider = Decider(
                    self._world,
                    self._expressions,
                    self.schedule,
                    tested=self._tested,
                    known=self._known,
                )
            return self.decider

    def defers(self, slots: Slots) -> Flags:
        """Which of some slots are decided here."""
        return (self.decider or self._made()).defers(slots)

    def reads_attributes(self) -> bool:
        """Whether an operator that subscriptions call reads attributes."""
        operators = None if self._world is None else self._world.operators
        known = operators.known if isinstance(operators, GuardedOperators) else None
        if not isinstance(known, KnownOperators):
            return False
        return any(known[name].paths != () for name in list(known.used))

    def finds(self, leaf: Expression) -> bool:
        """Whether there is a door for a leaf: for patterns there is."""
        return isinstance(leaf, Pattern)

    def door(self) -> Door:
        """A door for patterns that has nothing yet."""
        from tamis.graphs.door import PatternDoor

        assert self._world is not None
        assert self._expressions is not None
        if not self._merged:
            return PatternDoor(self._world, self._expressions, self._fallbacks)
        from tamis.graphs.merged_index import MergedIndex

        return PatternDoor(self._world, self._expressions, self._fallbacks, MergedIndex)

    def hits(self, hits: Hits, event: Event) -> Hits:
        """What one event matches, with what was open decided."""
        import numpy as np

        from tamis.matching.pairs import Pairs, hits_of

        slots = np.array(hits.open, np.int32)
        pairs = Pairs(np.zeros(len(slots), np.int32), slots, None, np.ones(len(slots), bool))
        found = hits_of(self.decided(pairs, Batch([event])))
        return type(hits)([*hits.slots, *found.slots], {**hits.answers, **found.answers})

    def decided(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some open pairs that match, or that nobody can decide."""
        self.defers(pairs.slot)  # what a door has found may be new here
        return self._made().decided(pairs, batch)


PAIRS = 1 << 23
"""Open pairs that are held at once: some 0.25 GB with all that is known of them. Twice as many
took a tenth longer, in arrays for which memory is asked from the system each time."""
_LEAST = 16
"""Rows that are decided together, however many pairs they have."""
_BLOCK = 64
"""Rows that a schedule works on at once."""


class DecidedView:
    """A view whose pairs are all decided."""

    def __init__(self, view: View, deciding: LazyDecider, subscriptions: int) -> None:
        self._view = view
        self._deciding = deciding
        self._open_a_row = float(subscriptions)

    def paths(self) -> frozenset[Path] | None:
        """All attributes that subscriptions look at; None if any may matter, or if operators read
        some: these may be mappings, with all that is in them."""
        found = self._view.paths() if isinstance(self._view, NamesPaths) else None
        # Only now all operators have been looked up: bulk loading leaves that to executors.
        return None if self._deciding.reads_attributes() else found

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, each once, in chunks; at most ``limit`` for each event."""
        from tamis.matching.pairs import limited

        yield from limited(self._parts(batch, limit), len(batch), limit)

    def _parts(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of a batch, in parts of so many rows that their open pairs can be held."""
        start = 0
        while start < len(batch):
            stop = min(start + self._rows(), len(batch))
            part = batch if stop - start == len(batch) else batch.slice(start, stop)
            for pairs in self._pairs(part, limit):
                yield pairs.shifted(start)
            start = stop

    def _rows(self) -> int:
        """How many rows may have so many open pairs, as far as is known: whole blocks, if any."""
        rows = int(PAIRS / max(self._open_a_row, 1))
        return max(_LEAST, rows - rows % _BLOCK if rows > _BLOCK else rows)

    def _pairs(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """Decided pairs as they come; what is open is decided together, at the end."""
        from tamis.matching.pairs import joined

        open_: list[Pairs] = []
        for pairs in self._view.match_batch(batch, limit):
            if pairs.open is None:
                yield pairs
            else:
                open_.append(pairs.take(pairs.open))
                rest = pairs.take(~pairs.open)._replace(open=None)
                if len(rest.row):
                    yield rest
        self._open_a_row = sum(len(pairs.row) for pairs in open_) / max(1, len(batch))
        if open_:
            yield self._deciding.decided(joined(open_), batch)
