"""What stands behind the conditions that an index finds: whose they are, and what is left to do.

condition    0      1      2      3
slot         7      7      9      4
node         5      5      ~2     CERTAIN     what must be evaluated; a hit of 3 is a match
several      yes    yes    no     no          whether its subscription has other conditions
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays.types import Flags, Int32s, Numbers, Slots

CERTAIN = np.iinfo(np.int32).min


class Entries(NamedTuple):
    """The conditions of a segment by number."""

    slot: Slots
    node: Numbers
    several: Flags

    @classmethod
    def none(cls) -> Entries:
        """No conditions."""
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, np.empty(0, bool))


class Candidates(NamedTuple):
    """Points and subscriptions that they match, or that only the oracle can tell of."""

    point: Int32s
    slot: Slots
    ask: Flags
    """Whether only the oracle can tell."""
    several: bool
    """Whether a point may come again with the same slot."""


class Verdicts(NamedTuple):
    """Slots of subscriptions that one event matches, and those that only the oracle can tell."""

    certain: dict[int, None]
    open: dict[int, None]
