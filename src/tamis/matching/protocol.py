"""What a matcher is: it keeps subscriptions under slots and tells which of them events match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tamis.model.events.event import Event
from tamis.model.kinds import Value
from tamis.model.limits import Limits
from tamis.model.paths import Path
from tamis.model.schema.schema import EVENT_TYPE
from tamis.model.taxonomy.taxonomies import Taxonomies
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tamis.matching.batch import Batch
    from tamis.matching.boxes.shapes import Shape
    from tamis.matching.segments.segment import Segment
    from tamis.matching.segments.statistics import AxisStatistics

    Integers = NDArray[np.int32]

Slot = int


class Setting(NamedTuple):
    """What an engine gives its matcher to work with."""

    taxonomies: Taxonomies
    limits: Limits
    oracle: Callable[[Event, Slot], bool]
    """Whether an event matches the subscription of a slot, decided without any index."""
    event_type: Path = (EVENT_TYPE,)
    """The attribute that has the types of an event."""


class Pairs(NamedTuple):
    """Rows of events and slots of subscriptions that match."""

    row: Integers
    slot: Integers

    def shifted(self, rows: int) -> Pairs:
        """The same pairs, as many rows further on."""
        return Pairs(self.row + rows, self.slot) if rows else self


class Load(Protocol):
    """Many subscriptions on their way into a matcher; nothing is changed before ``install``."""

    def add(self, slot: Slot, expression: Expression) -> None:
        """Take in one subscription."""

    def add_shape(self, shape: Shape, slots: NDArray[np.int32], columns: Sequence[Any]) -> bool:
        """Take in many subscriptions of one shape; False if there is no room for its axes."""

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

    compiles: bool
    """Whether it takes shapes; the oracle just tries everything."""

    def add(self, slot: Slot, expression: Expression, gone: Iterable[Slot] = ()) -> None:
        """Take in a subscription; the next event sees it, and does not see those in whose place
        it is."""

    def add_shape(
        self, slot: Slot, shape: Shape, constants: Sequence[Value], gone: Iterable[Slot] = ()
    ) -> None:
        """Do the same with a subscription of a shape."""

    def load(self) -> Load:
        """Begin to take in many at once."""

    def remove(self, slots: Iterable[Slot]) -> None:
        """Forget subscriptions; no event sees them any more."""

    def settle(self, timeout: float | None = None) -> None:
        """Wait until what goes on in the background is done."""

    def learn(self, sample: Sequence[Batch]) -> None:
        """Prepare, in the background, for events like these; no match changes."""

    def renumbered(self, slots: Integers, setting: Setting) -> Matcher:
        """Another matcher with the same subscriptions under other slots; -1 is left out."""

    def slots_of_terms(self) -> Collection[Slot]:
        """The subscriptions that a change of taxonomies may concern."""

    def recompiled(self, some: Mapping[Slot, Expression], setting: Setting) -> Matcher:
        """Another matcher with the same subscriptions, some of them compiled anew."""

    def segments(self) -> list[Segment]:
        """What it has compiled; none, if that is no segments."""

    def keys(self) -> frozenset[str] | None:
        """The outermost keys of all attributes that subscriptions speak of; None if that is not
        known, so that any may matter."""

    def stats(self) -> Any:
        """How much it holds."""

    def expected(self) -> AxisStatistics | None:
        """What it knows about events; None if that is nothing."""

    def match(self, event: Event) -> Iterable[Slot]:
        """The slots of all subscriptions that the event matches, each once."""

    def view(self) -> View:
        """What there is now, for many events."""
