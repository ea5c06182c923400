"""What a matcher is: it keeps expressions under slots and tells which of them events match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tamis.model.event import Event
from tamis.model.limits import Limits
from tamis.model.taxonomy import Taxonomy
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tamis.matching.batch import Batch

Slot = int
Oracle = Callable[[Event, Expression], bool]
"""Whether an event matches an expression, decided without any index."""


class Setting(NamedTuple):
    """What an engine gives its matcher to work with."""

    taxonomy: Taxonomy | None
    limits: Limits
    oracle: Oracle


class Pairs(NamedTuple):
    """Rows of events and slots of subscriptions that match."""

    row: NDArray[np.int64]
    slot: NDArray[np.int64]


class Matcher(Protocol):
    """Slots are small integers that the engine gives out; it never gives one out twice."""

    def __init__(self, setting: Setting) -> None: ...

    def add(self, subscriptions: Iterable[tuple[Slot, Expression]]) -> None:
        """Take in subscriptions; the next event sees them all."""

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions; no event sees them any more."""

    def match(self, event: Event) -> Iterator[Slot]:
        """The slots of all subscriptions that the event matches, each once."""

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, each once, in chunks; at most ``limit`` for each event."""
