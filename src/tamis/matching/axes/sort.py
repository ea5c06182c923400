"""What an axis is about: the sorts of axes, and what is the same for all axes of a sort.

    sort                lines                          a rank behind the lines for
    number, string, …   one, of that kind              nothing
    mixed               one for each kind              NaN and bytes
    reversed, folded …  one, of strings in that form   folded: all that are no strings
    presence, term,     one, with ranks that do not    nothing
    compared            depend on constants
    substrings,         as strings                     nothing
    contained           as mixed                       NaN and bytes

On axes of the last two rows an event has several ranks at once (points/contents.py).
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from tamis.matching.lines.forms import ADDRESS as AS_ADDRESS
from tamis.matching.lines.forms import FOLDED as AS_FOLDED
from tamis.matching.lines.forms import FOLDED_REVERSED as AS_FOLDED_REVERSED
from tamis.matching.lines.forms import REVERSED as AS_REVERSED
from tamis.model.kinds import KIND_TYPES, Kind

LINES = (Kind.NUMBER, Kind.STRING, Kind.TIMESTAMP, Kind.BOOLEAN)
"""The lines of a mixed axis, in their order; behind them is the rest."""

_EVERY_TYPE = tuple(each for types in KIND_TYPES.values() for each in types)


class AxisSort(StrEnum):
    """A sort of axes; files have its name."""

    lines: tuple[str, ...]
    """The kinds, or forms, of the lines whose cuts are constants."""
    types: Collection[type]
    """The types of the values that are on the lines."""
    has_rest: bool
    """Whether there is a rank, behind the lines, for the values of all other types."""
    several_ranks: bool
    """Whether an event has a rank for each thing that was found in it."""

    def __new__(
        cls,
        name: str,
        lines: tuple[str, ...] = (),
        types: Collection[type] = (),
        has_rest: bool = False,
        several_ranks: bool = False,
    ) -> AxisSort:
        sort = str.__new__(cls, name)
        sort._value_ = name
        sort.lines, sort.types = lines, types
        sort.has_rest, sort.several_ranks = has_rest, several_ranks
        return sort

    __hash__ = str.__hash__

    NUMBER = Kind.NUMBER.value, (Kind.NUMBER,), KIND_TYPES[Kind.NUMBER]
    STRING = Kind.STRING.value, (Kind.STRING,), (str,)
    TIMESTAMP = Kind.TIMESTAMP.value, (Kind.TIMESTAMP,), KIND_TYPES[Kind.TIMESTAMP]
    BOOLEAN = Kind.BOOLEAN.value, (Kind.BOOLEAN,), (bool,)
    MIXED = "mixed", LINES, _EVERY_TYPE, True
    REVERSED = AS_REVERSED, (AS_REVERSED,), (str,)
    FOLDED = AS_FOLDED, (AS_FOLDED,), (str,), True
    FOLDED_REVERSED = AS_FOLDED_REVERSED, (AS_FOLDED_REVERSED,), (str,)
    ADDRESS = AS_ADDRESS, (AS_ADDRESS,), (str,)
    PRESENCE = "presence"
    TERM = "term", (), (str,)
    COMPARED = "compared"
    SUBSTRINGS = "substrings", (Kind.STRING,), (), False, True
    FOLDED_SUBSTRINGS = "folded substrings", (Kind.STRING,), (), False, True
    CONTAINED = "contained", LINES, _EVERY_TYPE, True, True

    @property
    def is_presence(self) -> bool:
        """Whether it is about an attribute being there, not about its values."""
        return self is AxisSort.PRESENCE

    @property
    def is_mixed(self) -> bool:
        """Whether there is a line for each kind."""
        return len(self.lines) > 1

    @property
    def ranked_types(self) -> Collection[type]:
        """The types of all values that have a rank."""
        return _EVERY_TYPE if self.has_rest else self.types


SORTS = {kind: AxisSort(kind) for kind in LINES}
"""The sort of the axes of one kind."""
