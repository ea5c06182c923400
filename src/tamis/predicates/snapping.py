"""Sets of values made comparable: two that hold the same values become equal.

``x <= 4`` and ``x < 5`` end at different cuts, and yet hold the same integers; ``x > 'a'`` and
``x >= 'a\\0'`` hold the same strings. Here every cut is moved to just *before* the least value
above it, of all values that there are, so that sets are compared cut by cut:

    cut          of integers    of numbers (64-bit integers and doubles)    of strings
    before 4.5   before 5       before 4.5
    after 4      before 5       before 4.000000000000001
    after 'a'                                                               before 'a\\0'

Ranges that no value lies in vanish (``x > 4 and x < 5``, of integers), and neighbours join.
"""

from __future__ import annotations

import math

from tamis.model.kinds import GREATEST_INTEGER, LEAST_INTEGER, Kind, Value
from tamis.model.timestamp import Timestamp
from tamis.predicates.valueset import GREATEST, LEAST, Cut, ValueSet, after, before

_FIRST = Timestamp.parse("0001-01-01")
_LAST = Timestamp.parse("9999-12-31T23:59:59.999999999Z")

_LEAST_VALUES: dict[Kind, Value] = {Kind.STRING: "", Kind.TIMESTAMP: _FIRST}


def snapped(values: ValueSet, *, integers: bool = False) -> ValueSet:
    """The same values with canonical cuts; with ``integers``, of numbers the integers alone."""
    return values.with_cuts(_snap_integers if integers else _snap)


def closed(values: ValueSet) -> ValueSet:
    """Of snapped integers, ranges that end after their last one, as people write them."""
    numbers = values.ranges.get(Kind.NUMBER)
    if numbers is None:
        return values
    ended = tuple(
        (low, after(_number(high) - 1) if len(high) > 1 else high) for low, high in numbers
    )
    return ValueSet({**values.ranges, Kind.NUMBER: ended}, values.booleans, values.rest)


def listed(values: ValueSet, limit: int, *, integers: bool = False) -> list[Value] | None:
    """The values of a snapped set one by one, if they are single ones and no more than ``limit``.

    Neighbours count as single ones only among integers.
    """
    if values.rest or values.weight > limit:
        return None
    found: list[Value] = sorted(values.booleans)
    for kind, ranges in values.ranges.items():
        for low, high in ranges:
            if integers and kind is Kind.NUMBER:
                if len(low) == 1 or len(high) == 1:
                    return None
                first, end = int(_number(low)), int(_number(high))
                if end - first > limit - len(found):
                    return None
                found.extend(range(first, end))
            else:
                value = low[1] if len(low) > 1 else _LEAST_VALUES.get(kind)
                if value is None or _snap(kind, after(value)) != high:
                    return None
                found.append(value)
    return found


def next_number(value: int | float) -> int | float:
    """The least number above one: the next double, or the next integer where that is nearer."""
    nearest = float(value)
    double = nearest if nearest > value else math.nextafter(nearest, math.inf)
    integer = math.floor(value) + 1
    if LEAST_INTEGER <= integer <= GREATEST_INTEGER and integer < double:
        return integer
    return double


def _snap(kind: Kind, cut: Cut) -> Cut:
    if len(cut) == 1:
        return cut
    _, value, is_after = cut
    if not is_after:
        return LEAST if value == _LEAST_VALUES.get(kind) else cut
    if isinstance(value, str):
        return before(value + "\0")
    if isinstance(value, Timestamp):
        return GREATEST if value == _LAST else before(Timestamp(value.nanoseconds + 1))
    return before(next_number(_number(cut)))


def _number(cut: Cut) -> int | float:
    assert len(cut) > 1
    assert isinstance(cut[1], int | float)
    return cut[1]


def _snap_integers(kind: Kind, cut: Cut) -> Cut:
    if kind is not Kind.NUMBER or len(cut) == 1:
        return _snap(kind, cut)
    value = _number(cut)
    least = math.floor(value) + 1 if cut[2] else math.ceil(value)
    if least <= LEAST_INTEGER:
        return LEAST
    return GREATEST if least > GREATEST_INTEGER else before(least)
