"""What a matcher is: it keeps subscriptions under slots and finds those that events match.

Every matcher adds, removes, loads, matches and gives views. What only some can do is a capability
(capabilities.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from tamis.matching.batch import Batch
from tamis.matching.setting import Slot
from tamis.model.events.event import Event

if TYPE_CHECKING:
    from tamis.matching.covers.covers import Cover
    from tamis.matching.pairs import Hits, Pairs


class Load(Protocol):
    """Many subscriptions on their way into a matcher; nothing is changed before ``install``."""

    def add(self, slot: Slot, cover: Cover) -> None:
        """Take in one subscription."""

    def install(self, gone: Iterable[Slot] = ()) -> None:
        """Let the next event see them all, and not see others, in one step."""


class View(Protocol):
    """The subscriptions of one moment; later changes do not concern it."""

    def match_batch(self, batch: Batch, limit: int | None) -> Iterator[Pairs]:
        """The pairs of many events, each once, in chunks; at most ``limit`` for each event."""


class Matcher(Protocol):
    """Slots are small integers that the engine gives out; it never gives one out twice.

    One thread at a time changes a matcher; any number may match meanwhile.
    """

    def __len__(self) -> int:
        """How many subscriptions there are."""

    def add(self, slot: Slot, cover: Cover, gone: Iterable[Slot] = ()) -> None:
        """Add a subscription and remove others, in one step: the next event sees both."""

    def remove(self, slots: Iterable[Slot]) -> None:
        """Remove subscriptions; no event sees them any more."""

    def load(self) -> Load:
        """Begin to take in many at once."""

    def match(self, event: Event) -> Hits:
        """The slots of all subscriptions that the event matches, each once."""

    def view(self) -> View:
        """What there is now, for many events."""
