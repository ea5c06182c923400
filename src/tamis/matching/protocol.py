"""What a matcher is: it keeps expressions under slots and tells which an event matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from tamis.model.event import Event
from tamis.model.limits import Limits
from tamis.model.taxonomy import Taxonomy
from tamis.predicates.expression import Expression

Slot = int


class Matcher(Protocol):
    """Slots are small integers that the engine gives out; it never gives one out twice."""

    def __init__(self, taxonomy: Taxonomy | None, limits: Limits) -> None: ...

    def add(self, subscriptions: Iterable[tuple[Slot, Expression]]) -> None:
        """Take in subscriptions; the next event sees them all."""

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions; no event sees them any more."""

    def match(self, event: Event) -> Iterator[Slot]:
        """The slots of all subscriptions that the event matches, each once."""
