"""What an engine gives its matcher to work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tamis.bindings.evaluation import World
from tamis.matching.fallbacks import Fallbacks
from tamis.model.paths import Path
from tamis.model.schema.schema import EVENT_TYPE
from tamis.predicates.expression import Expression

if TYPE_CHECKING:
    from tamis.arrays.types import Flags, Int32s, Slots
    from tamis.matching.batch import Batch

Slot = int
"""The small integer of a subscription; the engine gives out each once."""

Expressions = Callable[[Slot], Expression]
"""The expression of each slot, for what only the oracle can tell."""


Deferral = Callable[["Slots"], "Flags"]
"""Which of some subscriptions a matcher leaves undecided where attributes do not decide: those
with calls or patterns, which whoever matches decides for many pairs together."""


Possibility = Callable[["Batch", "Int32s", "Slots"], "Flags"]
"""Which of some pairs, rows of a batch and subscriptions, can match for all that a door other than
the attributes knows: a graph that lacks a pattern rules out who needs it."""


class Setting(NamedTuple):
    """What a matcher needs to know beside its subscriptions."""

    world: World
    expressions: Expressions
    fallbacks: Fallbacks
    event_type: Path = (EVENT_TYPE,)
    """The attribute that has the types of an event."""
    defers: Deferral | None = None
    """None: the matcher asks the oracle itself."""
    possible: Possibility | None = None
    """Asked before a subscription with calls or patterns is evaluated."""
