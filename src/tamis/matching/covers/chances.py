"""How likely a condition lets an event pass, as long as nobody has looked at events.

Only the order matters: what a subscription is found by is its rarest clause (covers.py), and these
figures say which that is by default.
"""

from __future__ import annotations

from tamis.matching.axes.sort import AxisSort
from tamis.matching.covers.leaves import Holds, Leaf, Within
from tamis.predicates.expression import IsA, Pattern, Present
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Variable
from tamis.predicates.valueset import GREATEST, LEAST, Range, ValueSet

PRESENCE = 0.75
"""That an event has an attribute."""
VALUE, WINDOW, HALF = 0.01, 0.1, 0.5
"""That an attribute which is there has a given value, lies in a range, or above a constant."""
_CHARACTER, _RAREST = 0.4, 1e-4
"""That one more character of a text is right, and the least that a text is thought to be."""
_BY_LENGTH = [max(_RAREST, _CHARACTER**length) for length in range(12)]

_EDGES = HALF, WINDOW, VALUE / 10, _RAREST
"""That a graph has an edge, of which so many places are known: its property, and one or both of its
ends."""


def chance_of(leaf: Leaf) -> float:
    """How likely a leaf is so of what is there; 1 if it cannot be looked up."""
    if isinstance(leaf, Within):
        return chance_within(leaf.values)
    if isinstance(leaf, Holds):
        if leaf.key.sort is AxisSort.CONTAINED:
            return min(HALF, VALUE * len(leaf.things))
        return min(1.0, sum(map(text_chance, map(len, leaf.things))))  # type: ignore[arg-type]
    return literal_chance(leaf)


def chance_within(values: ValueSet) -> float:
    """How likely a value lies in a set."""
    found = HALF * len(values.booleans) + values.rest
    for ranges in values.ranges.values():
        ends = (ranges[0][0] == LEAST) + (ranges[-1][1] == GREATEST)
        likely = (HALF, HALF, 1.0)[ends] if ends else min(HALF, sum(map(_range_chance, ranges)))
        found += likely
    return min(found, 1.0)


def _range_chance(each: Range) -> float:
    """How likely a value lies between two constants; strings of one prefix are rarer the longer
    that is."""
    low, high = each
    if low[1:2] == high[1:2]:
        return VALUE
    text = low[1] if len(low) > 1 else None
    return text_chance(len(text)) if isinstance(text, str) else WINDOW


def text_chance(length: int) -> float:
    """How likely a text of so many characters is found."""
    return _BY_LENGTH[length] if length < len(_BY_LENGTH) else _RAREST


def literal_chance(literal: Literal) -> float:
    """How likely a literal is true, if it can be looked up."""
    node, positive = literal
    if isinstance(node, Present):
        return 1.0 if positive else 1.0 - PRESENCE
    if isinstance(node, Pattern) and positive:
        return _EDGES[3 - _unknown_places(node)]
    return WINDOW if isinstance(node, IsA) and positive else 1.0


def _unknown_places(pattern: Pattern) -> int:
    """How many variables the triple of a pattern has that has the fewest."""
    least = 3
    for s, p, o in pattern.triples:
        least = min(least, (type(s) is Variable) + (type(p) is Variable) + (type(o) is Variable))
        if not least:
            break
    return least
