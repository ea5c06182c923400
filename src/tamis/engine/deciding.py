"""Where matchers and the decider meet: what a matcher leaves open is decided before it goes out.

The decider, and NumPy and Numba with it, is made when a subscription with a call or a pattern is
first met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tamis.arrays.sharing import Lockable, lazy
from tamis.bindings.evaluation import World
from tamis.errors import TamisError, suggestion
from tamis.matching.batch import Batch
from tamis.matching.protocol import View
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    from tamis.arrays.types import Flags, Int32s, Slots
    from tamis.graphs.gate import PatternGate
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
    ) -> None:
        super().__init__()
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
        )

    def plan(self) -> CallPlan | None:
        """The calls and their order; None if there are none."""
        if self.decider is None:
            return None
        from tamis.operators.report import call_plan

        return call_plan(self.decider)

    def learned(self) -> Mapping[str, Any]:
        """What is known of calls, as plain data."""
        return self._known if self.decider is None else self.decider.learned()

    def learn(self, known: Mapping[str, Any]) -> None:
        """Begin with what ``learned`` gave."""
        self._known = known

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

    @lazy
    def _gate(self) -> PatternGate:
        from tamis.graphs.gate import PatternGate

        assert self._world is not None
        assert self._expressions is not None
        return PatternGate(self._world, self._expressions)

    def defers(self, slots: Slots) -> Flags:
        """Which of some slots are decided here."""
        return (self.decider or self._made()).defers(slots)

    def possible(self, batch: Batch, row: Int32s, slot: Slots) -> Flags:
        """Which of some pairs can match, for all that graphs tell."""
        return self._gate.possible(batch, row, slot)

    def hits(self, hits: Hits, event: Event) -> Hits:
        """What one event matches, with what was open decided."""
        import numpy as np

        from tamis.matching.pairs import Pairs, hits_of

        slots = np.array(hits.open, np.int32)
        pairs = Pairs(np.zeros(len(slots), np.int32), slots, None, np.ones(len(slots), bool))
        found = hits_of(self.decided(pairs, Batch([event])))
        return type(hits)([*hits.slots, *found.slots], {**hits.answers, **found.answers})

    def decided(self, pairs: Pairs, batch: Batch) -> Pairs:
        """Those of some open pairs that match, or that nobody can decide: the pattern index rules
        most of them out, and the decider makes the calls."""
        from tamis.matching.pairs import joined

        left, found = self._gate.narrowed(pairs, batch)
        return joined([found, self._made().decided(left, batch)]) if len(left.row) else found


class DecidedView:
    """A view whose pairs are all decided."""

    def __init__(self, view: View, deciding: LazyDecider) -> None:
        self._view = view
        self._deciding = deciding

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, each once, in chunks; at most ``limit`` for each event."""
        from tamis.matching.pairs import limited

        yield from limited(self._pairs(batch, limit), len(batch), limit)

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
        if open_:
            yield self._deciding.decided(joined(open_), batch)
