"""Instants in nanoseconds: finer than ``datetime``, wider than 64 bits of nanoseconds."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from tamis.errors import TimestampError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant from year 1 to year 9999: nanoseconds since 1970 in UTC."""

    nanoseconds: int

    def __post_init__(self) -> None:
        if type(self.nanoseconds) is not int:
            object.__setattr__(self, "nanoseconds", _whole(self.nanoseconds))
        if not _FIRST <= self.nanoseconds <= _LAST:
            raise TimestampError("a timestamp lies between the years 1 and 9999")

    @classmethod
    def of(cls, moment: date) -> Timestamp:
        """From a datetime (a naive one is UTC) or a date (its midnight)."""
        if not isinstance(moment, date) or moment != moment:  # pandas' NaT is a datetime
            raise TimestampError(f"a datetime or a date makes a timestamp, not {moment!r:.50}")
        if not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        if moment.utcoffset() is None:
            moment = moment.replace(tzinfo=UTC)
        passed = moment - _EPOCH
        nanosecond = getattr(moment, "nanosecond", 0)  # pandas' datetimes have one
        microseconds = passed // timedelta(microseconds=1)
        return cls(microseconds * 1_000 + nanosecond)

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """From ISO 8601: a date, or date and time with an optional fraction and zone."""
        found = _ISO.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise TimestampError(f"{text!r:.50} is not an ISO 8601 timestamp")
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        try:
            clock = time(int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
            moment = datetime.combine(date(int(year), int(month), int(day)), clock)
        except ValueError as error:
            raise TimestampError(str(error)) from error
        seconds = (moment - _EPOCH) // timedelta(seconds=1) - _offset(zone)
        return cls(seconds * _SECOND + int((fraction or "").ljust(9, "0")))

    def __str__(self) -> str:
        seconds, nanoseconds = divmod(self.nanoseconds, _SECOND)
        moment = _EPOCH + timedelta(seconds=seconds)
        fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + fraction + "Z"

    def to_datetime(self) -> datetime:
        """The instant as an aware datetime, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.nanoseconds // 1_000)


def _whole(given: object) -> int:
    """The integer that something is: NumPy's are, floats and truth values are not."""
    try:
        if not isinstance(given, bool):
            return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise TimestampError(f"a timestamp is a whole number of nanoseconds, not {given!r:.50}")


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 18 or minutes > 59:
        raise TimestampError(f"{zone!r} is not an offset from UTC")
    return (1 if zone[0] == "+" else -1) * (hours * 3600 + minutes * 60)


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000


_FIRST = _nanoseconds(datetime.min.replace(tzinfo=UTC))
_LAST = _nanoseconds(datetime.max.replace(tzinfo=UTC)) + 999
