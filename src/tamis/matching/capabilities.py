"""What only some matchers can do, each a small protocol: ``capability(matcher, Learns)`` is the
matcher if it can learn, else None.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from tamis.errors import TamisError
from tamis.matching.batch import Batch
from tamis.matching.protocol import Matcher
from tamis.matching.setting import Setting, Slot
from tamis.model.kinds import Value
from tamis.model.paths import Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tamis.arrays.types import Flags, Slots
    from tamis.matching.boxes.conjuncts import Conjunct
    from tamis.matching.boxes.shapes import Shape
    from tamis.matching.covers.covers import Cover
    from tamis.matching.segments.segment import Segment
    from tamis.matching.segments.statistics import AxisStatistics


@runtime_checkable
class TakesShapes(Protocol):
    """Takes plain subscriptions by their shapes, without a tree."""

    def add_shape(
        self, slot: Slot, shape: Shape, constants: Sequence[Value], gone: Iterable[Slot] = ()
    ) -> None:
        """Add a subscription of a shape and remove others, in one step."""


@runtime_checkable
class LoadsShapes(Protocol):
    """A load that takes many subscriptions of one shape, their constants as columns."""

    def add_shape(self, shape: Shape, slots: NDArray[Any], columns: Sequence[Any]) -> bool:
        """Take them in; False if there is no room for the axes of the shape."""


@runtime_checkable
class LoadsConjuncts(Protocol):
    """A load that takes many conjunctions by their predicates."""

    def add_conjuncts(self, slots: Slots, conjuncts: Sequence[Conjunct]) -> Flags:
        """Take in a conjunction for each slot; say which are left out, for lack of room."""


@runtime_checkable
class Refuses(Protocol):
    """A load whose matcher may refuse some subscriptions when others are in."""

    def refusals(self, gone: Iterable[Slot] = ()) -> Mapping[Slot, TamisError]:
        """The slots that ``install`` would fail for, and why; with these gone too, it does not."""


@runtime_checkable
class Settles(Protocol):
    """Works in the background."""

    def settle(self, timeout: float | None = None) -> None:
        """Wait until that is done."""


@runtime_checkable
class Learns(Protocol):
    """Chooses access keys by what it knows about events."""

    def learn(self, sample: Sequence[Batch]) -> None:
        """Prepare, in the background, for events like these; no match changes."""

    def often_evaluated(self, sample: Sequence[Batch]) -> list[Slot]:
        """The subscriptions that many of these events lead to, only to be evaluated."""

    def statistics(self) -> AxisStatistics | None:
        """What it knows about events; None if that is nothing."""

    def segments(self) -> list[Segment]:
        """What it has compiled."""


@runtime_checkable
class Measures(Protocol):
    """Counts what its structures hold, and what events cost in them."""

    def stats(self) -> Any:
        """These figures."""


@runtime_checkable
class NamesAttributes(Protocol):
    """Knows which attributes its subscriptions speak of."""

    def keys(self) -> frozenset[str] | None:
        """The outermost keys of these; None if any may matter."""


@runtime_checkable
class NamesPaths(Protocol):
    """A view that knows which attributes its subscriptions look at."""

    def paths(self) -> frozenset[Path] | None:
        """Their paths; None if any may matter."""


@runtime_checkable
class Saves(Protocol):
    """Can be written to a file and read back."""

    def arrays(self) -> tuple[list[Any], dict[str, NDArray[Any]]]:
        """A header, and flat arrays; removed subscriptions may be in them still."""

    def restore(
        self, header: list[Any], arrays: Mapping[str, NDArray[Any]], removed: Iterable[Slot]
    ) -> None:
        """Take in what ``arrays`` gave, without the subscriptions that are removed."""


@runtime_checkable
class Renumbers(Protocol):
    """Changes slots or taxonomies without compiling everything again."""

    def renumbered(self, slots: NDArray[Any], setting: Setting) -> Matcher:
        """Another matcher with the same subscriptions under other slots; -1 is left out."""

    def slots_of_terms(self) -> Collection[Slot]:
        """The subscriptions that a change of taxonomies may concern."""

    def recompiled(self, some: Mapping[Slot, Cover], setting: Setting) -> Matcher:
        """Another matcher with the same subscriptions, some of them compiled again."""


Capability = TypeVar("Capability")


def capability(matcher: object, kind: type[Capability]) -> Capability | None:
    """The matcher, or its load, as something of a kind; None if it is not."""
    return matcher if isinstance(matcher, kind) else None
