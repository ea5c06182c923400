"""Kinds of leaves as matchers see them: what is decided elsewhere, and doors of their own.

    a = 1 and { ?x ex:p ex:o }      conditions ──┬── boxes of the matcher: a is 1
                                                 └── a door: graphs with an edge ex:p ex:o

A condition enters by the door that the fewest events pass (covers/entrances.py). No door lists what
another one finds. A door finds subscriptions by leaves that are not about attributes; what it finds
is decided, or open for the kinds of leaves to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tamis.matching.batch import Batch
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tamis.arrays.types import Flags, Int32s, Slots
    from tamis.matching.pairs import Pairs


class Entry(NamedTuple):
    """A subscription that is found by a leaf."""

    slot: int
    leaf: Expression
    expression: Expression
    shared: bool
    """Whether boxes find the same subscription, under other conditions."""


class DoorPairs(NamedTuple):
    """What a door finds in a batch, each pair once, by ascending row."""

    pairs: Pairs
    shared: Flags
    """The pairs of subscriptions that boxes may find too."""


class DoorView(Protocol):
    """The entries of one moment; later changes do not concern it."""

    def match(self, batch: Batch) -> DoorPairs:
        """The subscriptions that events may match by what the door knows; those that are gone may
        be among them."""

    def slots(self) -> Slots:
        """The subscriptions that enter here, each once, ascending."""

    def decides(self, slots: Slots) -> Flags:
        """Which of some of its slots say nothing about attributes or operators."""


class Door(Protocol):
    """Finds subscriptions by leaves; one thread at a time changes it, any number read views."""

    def __len__(self) -> int:
        """How many entries there are."""

    def add(self, entries: Sequence[Entry]) -> None:
        """Take in subscriptions, one or many."""

    def remove(self, slots: Iterable[int]) -> None:
        """Forget subscriptions, at some time: readers know which are gone."""

    def view(self) -> DoorView:
        """What there is now."""

    def renumbered(self, slots: Int32s, other: Door) -> None:
        """Give another door, which has nothing yet, all entries under other slots; -1 is left
        out."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as flat arrays."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take in what ``arrays`` gave."""

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""


class LeafKinds(Protocol):
    """The kinds of leaves that are not about attributes."""

    def defers(self, slots: Slots) -> Flags:
        """Which of some subscriptions a matcher leaves undecided where attributes do not decide:
        those with calls or patterns, which are decided for many pairs together."""

    def finds(self, leaf: Expression) -> bool:
        """Whether there is a door that finds such a leaf."""

    def door(self) -> Door:
        """A door that has nothing yet."""
