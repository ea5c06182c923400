"""The kinds of values, their equality, which is total, and their order, which is not.

Numbers are Python's ``int`` (exact over the 64-bit range, signed and unsigned) and ``float``;
Python compares the two exactly. Everything from outside passes ``to_value`` once, and only
canonical values (``Value``) are seen beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tamis.model.timestamp import Timestamp

Value = bool | int | float | str | Timestamp | bytes

LEAST_INTEGER = -(2**63)
GREATEST_INTEGER = 2**64 - 1


class Kind(StrEnum):
    """What a value is; values of different kinds are unequal and have no order."""

    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    BYTES = "bytes"

    __hash__ = str.__hash__


ORDERED = frozenset({Kind.NUMBER, Kind.STRING, Kind.TIMESTAMP})

_KINDS: dict[type, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    Timestamp: Kind.TIMESTAMP,
    bytes: Kind.BYTES,
}
KIND_TYPES = {kind: [each for each in _KINDS if _KINDS[each] is kind] for kind in Kind}
"""The types of the values of a kind."""


def kind_of(value: Value) -> Kind:
    """The kind of a canonical value."""
    return _KINDS[type(value)]


def equal(a: Value, b: Value) -> bool:
    """Equality, which is total: values of different kinds are unequal, NaN equals nothing."""
    return kind_of(a) is kind_of(b) and a == b


def compare(a: Value, b: Value) -> int | None:
    """-1, 0 or 1 as a is less than, equal to or greater than b; None if they have no order."""
    kind = kind_of(a)
    if kind is not kind_of(b) or kind not in ORDERED:
        return None
    left: Any = a
    if left < b:
        return -1
    if left > b:
        return 1
    return 0 if left == b else None


def to_value(raw: Any) -> Value | None:
    """The canonical value of anything that a caller may hand over; None for a null.

    Raises ValueError with the reason, to which the caller adds the place.
    """
    convert = _CONVERSIONS.get(type(raw))
    if convert is not None:
        return convert(raw)
    for base, convert in _CONVERSIONS.items():
        if isinstance(raw, base):
            return convert(raw)
    return _from_foreign(raw)


def _null(_: object) -> None:
    return None


def _integer(raw: int) -> int:
    if not LEAST_INTEGER <= raw <= GREATEST_INTEGER:
        raise ValueError("an integer beyond 64 bits; write it as a float")
    return int(raw)


def _string(raw: str) -> str:
    if not raw.isascii():
        try:
            raw.encode()
        except UnicodeEncodeError as error:
            raise ValueError("a string with a lone surrogate, which is not Unicode") from error
    return str.__str__(raw)  # plain, also of an enumeration's member


def _decimal(raw: Decimal) -> int | float:
    """Integral ones that fit are exact, all others the nearest double, as literals are."""
    if raw.is_finite() and raw.adjusted() < 20 and raw == raw.to_integral_value():
        integer = int(raw)
        if LEAST_INTEGER <= integer <= GREATEST_INTEGER:
            return integer
    return math.nan if raw.is_snan() else float(raw)


def _moment(raw: date) -> Timestamp | None:
    if raw != raw:  # pandas' NaT, which is a datetime
        return None
    try:
        return Timestamp.of(raw)
    except OverflowError as error:
        raise ValueError("a timestamp beyond the years 1 to 9999") from error


def _same(raw: Timestamp) -> Timestamp:
    return raw


_CONVERSIONS: dict[type, Callable[[Any], Value | None]] = {
    type(None): _null,
    bool: bool,
    int: _integer,
    float: float,
    str: _string,
    Timestamp: _same,
    date: _moment,
    Decimal: _decimal,
    bytes: bytes,
    bytearray: bytes,
    memoryview: bytes,
}


def _from_foreign(raw: Any) -> Value | None:
    """NumPy's scalars and pandas' NA, recognised without importing either."""
    package, name = type(raw).__module__.split(".")[0], type(raw).__name__
    if package == "pandas" and name == "NAType":
        return None
    if package == "numpy" and name == "datetime64":
        return _from_datetime64(raw)
    if package == "numpy" and name != "timedelta64" and hasattr(raw, "item"):
        plain = raw.item()
        if type(plain) in _CONVERSIONS:
            return to_value(plain)
    raise ValueError(f"a {name}, which cannot be a value of an event")


def _from_datetime64(raw: Any) -> Timestamp | None:
    if raw != raw:
        return None
    try:
        year = 1970 + int(raw.astype("datetime64[Y]").astype("int64"))
        whole = raw.astype("datetime64[s]")
    except OverflowError as error:
        raise ValueError(f"a {raw.dtype}, which is finer than nanoseconds; cast it") from error
    if not 1 <= year <= 9999:  # seconds may wrap around
        raise ValueError("a timestamp beyond the years 1 to 9999")
    seconds = int(whole.astype("int64"))
    rest = int((raw - whole).astype("timedelta64[ns]").astype("int64"))
    return Timestamp(seconds * 1_000_000_000 + rest)
