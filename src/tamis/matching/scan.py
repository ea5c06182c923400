"""The matcher that tries every subscription on every event; every other is held against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.arrays.sharing import Lockable
from tamis.matching.batch import Batch
from tamis.matching.oracle import answered, asked_hits
from tamis.matching.pairs import Hits, Pairs, limited
from tamis.matching.setting import Setting, Slot
from tamis.model.events.event import Event
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    from tamis.matching.covers.covers import Cover


class Scan(Lockable):
    """Keeps expressions by slot."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._expressions: dict[Slot, Expression] = {}

    def __len__(self) -> int:
        return len(self._expressions)

    def add(self, slot: Slot, cover: Cover, gone: Iterable[Slot] = ()) -> None:
        """Take in a subscription, in the place of others."""
        self.change({slot: cover.expression}, gone)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions."""
        self.change({}, slots)

    def change(self, new: dict[Slot, Expression], gone: Iterable[Slot]) -> None:
        """Take in subscriptions and forget others, in one step."""
        with self._lock:
            self._expressions |= new
            for slot in gone:
                del self._expressions[slot]

    def load(self) -> ScanLoad:
        """Begin to take in many at once."""
        return ScanLoad(self)

    def match(self, event: Event) -> Hits:
        """The subscriptions that the event matches."""
        return self.view().match(event)

    def view(self) -> ScanView:
        """What there is now."""
        with self._lock:
            return ScanView(self._expressions.copy(), self._setting)


class ScanView(NamedTuple):
    """The expressions of one moment."""

    expressions: Mapping[Slot, Expression]
    setting: Setting

    def match(self, event: Event) -> Hits:
        """The subscriptions that one event matches."""
        return asked_hits(event, self.expressions, self._own())

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, a chunk for each event."""
        slots = np.fromiter(self.expressions, np.int32)
        for row in range(len(batch)):
            every = Pairs(np.full(len(slots), row, np.int32), slots)
            found = answered(every, batch, self._own())
            yield from limited([found], len(batch), limit)

    def _own(self) -> Setting:
        """The setting with these expressions; nothing is left open, for the oracle decides all."""
        return self.setting._replace(expressions=self.expressions.__getitem__, leaves=None)


class ScanLoad:
    """Subscriptions on their way into a scan."""

    def __init__(self, matcher: Scan) -> None:
        self._matcher = matcher
        self._new: dict[Slot, Expression] = {}

    def add(self, slot: Slot, cover: Cover) -> None:
        """Take in one subscription."""
        self._new[slot] = cover.expression

    def install(self, gone: Iterable[Slot] = ()) -> None:
        """Hand them over."""
        self._matcher.change(self._new, gone)
