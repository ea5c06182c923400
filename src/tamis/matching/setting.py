"""What an engine gives its matcher to work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tamis.bindings.evaluation import World
from tamis.matching.doors import LeafKinds
from tamis.matching.fallbacks import Fallbacks
from tamis.model.paths import Path
from tamis.model.schema.schema import EVENT_TYPE
from tamis.predicates.expression import Expression

Slot = int
"""The small integer of a subscription; the engine gives out each once."""

Expressions = Callable[[Slot], Expression]
"""The expression of each slot, for what only the oracle can tell."""


class Setting(NamedTuple):
    """What a matcher needs to know beside its subscriptions."""

    world: World
    expressions: Expressions
    fallbacks: Fallbacks
    event_type: Path = (EVENT_TYPE,)
    """The attribute that has the types of an event."""
    leaves: LeafKinds | None = None
    """Who decides on calls and patterns; None: the matcher asks the oracle itself."""
