"""Instants: exact to the nanosecond, from year 1 to year 9999."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError, TimestampError
from tamis.model.timestamp import Timestamp

FIRST = Timestamp.parse("0001-01-01").nanoseconds
LAST = Timestamp.parse("9999-12-31T23:59:59.999999999").nanoseconds


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1970-01-01", "1970-01-01T00:00:00Z"),
        ("1970-01-01T00:00", "1970-01-01T00:00:00Z"),
        ("1970-01-01 00:00:00.5", "1970-01-01T00:00:00.5Z"),
        ("1970-01-01t00:00:00z", "1970-01-01T00:00:00Z"),
        ("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"),
        ("1970-01-01T01:00:00+0100", "1970-01-01T00:00:00Z"),
        ("1970-01-01T01:00:00 +01", "1970-01-01T00:00:00Z"),
        ("1969-12-31T19:30:00-04:30", "1970-01-01T00:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("2024-02-29T23:59:59.123456789Z", "2024-02-29T23:59:59.123456789Z"),
        ("9999-12-31T23:59:59.999999999", "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_iso_texts_and_their_canonical_form(text, same):
    assert str(Timestamp.parse(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024",
        "2024-13-01",
        "2023-02-29",
        "2024-01-01T25:00",
        "2024-01-01T24:00:00",
        "2024-01-01T00:60",
        "2024-01-01T00:00:60",
        "2024-01-01T00:00:00.",
        "2024-01-01T00:00:00.1234567890",
        "2024-01-01T00:00:00+19:00",
        "2024-01-01T00:00:00+01:60",
        "2024-01-01Z",
        "2024-01-01\n",
        "٢٠٢٤-01-01",
        "0000-01-01",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_texts_that_are_no_timestamps(text):
    with pytest.raises(TimestampError, match=r"."):
        Timestamp.parse(text)


@pytest.mark.parametrize("nanoseconds", [None, 0.0, 1e9, True, "0", float("nan"), [1]])
def test_only_whole_numbers_count_nanoseconds(nanoseconds):
    with pytest.raises(TimestampError, match="a whole number of nanoseconds, not"):
        Timestamp(nanoseconds)


def test_the_integers_of_numpy_are_whole_numbers():
    assert type(Timestamp(np.int64(5)).nanoseconds) is int
    assert Timestamp(np.int64(5)) == Timestamp(5)


@pytest.mark.parametrize("moment", [None, 5, "2024-01-01", pd.NaT, timedelta(1)])
def test_only_dates_and_datetimes_make_a_timestamp(moment):
    with pytest.raises(TimestampError, match="a datetime or a date makes a timestamp"):
        Timestamp.of(moment)


@pytest.mark.parametrize("text", [None, 5, b"2024-01-01"])
def test_only_texts_are_parsed(text):
    with pytest.raises(TimestampError, match="is not an ISO 8601 timestamp"):
        Timestamp.parse(text)


def test_an_error_of_timestamps_is_one_of_tamis_and_of_values():
    assert issubclass(TimestampError, TamisError)
    assert issubclass(TimestampError, ValueError)


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
    ],
)
def test_a_zone_may_lead_out_of_the_calendar(moment):
    with pytest.raises(TimestampError, match="years 1 and 9999"):
        Timestamp.of(moment)


@given(st.integers(FIRST, LAST))
def test_text_and_back(nanoseconds):
    moment = Timestamp(nanoseconds)
    assert Timestamp.parse(str(moment)) == moment


@given(st.integers(FIRST, LAST), st.integers(FIRST, LAST))
def test_the_order_is_that_of_the_texts_to_the_second(a, b):
    left, right = (str(Timestamp(nanoseconds))[:19] for nanoseconds in (a, b))
    if left != right:
        assert (Timestamp(a) < Timestamp(b)) == (left < right)


@given(st.datetimes(timezones=st.just(UTC) | st.none()))
def test_datetime_and_back(moment):
    assert Timestamp.of(moment).to_datetime() == moment.replace(tzinfo=UTC)


def test_naive_is_utc_and_a_date_is_its_midnight():
    midnight = Timestamp.of(datetime(2024, 5, 17, tzinfo=UTC))
    assert Timestamp.of(datetime(2024, 5, 17)) == midnight
    assert Timestamp.of(date(2024, 5, 17)) == midnight
    ahead = timezone(timedelta(hours=2))
    assert Timestamp.of(datetime(2024, 5, 17, 2, tzinfo=ahead)) == midnight


def test_a_zone_without_an_offset_is_naive():
    class Nowhere(tzinfo):
        def utcoffset(self, moment):
            return None

    moment = datetime(2024, 5, 17, tzinfo=Nowhere())  # type: ignore
    assert Timestamp.of(moment) == Timestamp.parse("2024-05-17")


def test_the_nanoseconds_of_pandas_are_kept():
    text = "1924-01-01T00:00:00.123456789"
    assert Timestamp.of(pd.Timestamp(text)) == Timestamp.parse(text)
    assert Timestamp.of(pd.Timestamp(text, tz="Asia/Tokyo")) == Timestamp.parse(text + "+09:00")


@pytest.mark.parametrize("nanoseconds", [FIRST - 1, LAST + 1, 2**70, 10**30])
def test_beyond_the_calendar(nanoseconds):
    with pytest.raises(TimestampError, match="years 1 and 9999"):
        Timestamp(nanoseconds)
