"""Kinds: what becomes which value, total equality, partial order."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.model.kinds import Kind, compare, equal, kind_of, to_value
from tamis.model.timestamp import Timestamp


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Bare(Enum):
    ONE = 1


MIDNIGHT = Timestamp.parse("2024-01-01")

CONVERSIONS = [
    (None, None),
    (True, True),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    (1.5, 1.5),
    (math.inf, math.inf),
    ("é\U0001f600", "é\U0001f600"),
    (Colour.RED, "red"),
    (Size.LARGE, 3),
    (b"\xff", b"\xff"),
    (bytearray(b"a"), b"a"),
    (memoryview(b"abc")[::2], b"ac"),
    (date(2024, 1, 1), MIDNIGHT),
    (datetime(2024, 1, 1), MIDNIGHT),
    (MIDNIGHT, MIDNIGHT),
    (Decimal("3.00"), 3),
    (Decimal("1E+2"), 100),
    (Decimal(2**64 - 1), 2**64 - 1),
    (Decimal(2**64), float(2**64)),
    (Decimal("0.1"), 0.1),
    (Decimal("-0"), 0),
    (Decimal("1E+999999"), math.inf),
    (Decimal("1E-999999"), 0.0),
    (Decimal("-Infinity"), -math.inf),
    (np.int8(-1), -1),
    (np.uint64(2**64 - 1), 2**64 - 1),
    (np.float16(0.5), 0.5),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.bytes_(b"a"), b"a"),
    (np.array(3), 3),
    (np.datetime64("2024-01-01"), MIDNIGHT),
    (np.datetime64("2024", "Y"), MIDNIGHT),
    (np.datetime64("1969-12-31T23:59:59.999999999"), Timestamp(-1)),
    (np.datetime64("NaT"), None),
    (np.datetime64("NaT", "ns"), None),
    (pd.Timestamp("2024-01-01"), MIDNIGHT),
    (pd.Timestamp("9999-01-01"), Timestamp.parse("9999-01-01")),
    (pd.NaT, None),
    (pd.NA, None),
]


@pytest.mark.parametrize(("raw", "value"), CONVERSIONS, ids=lambda raw: type(raw).__name__)
def test_conversions(raw, value):
    converted = to_value(raw)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize("raw", [math.nan, np.float32("nan"), Decimal("NaN"), Decimal("sNaN")])
def test_not_a_number_is_a_number(raw):
    value = to_value(raw)
    assert type(value) is float
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (2**64, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        (10**5000, "64 bits"),
        ("\ud800", "surrogate"),
        ("a\udfff", "surrogate"),
        (np.datetime64(10**15, "Y"), "9999"),
        (np.datetime64(-5000, "Y"), "9999"),
        (np.datetime64(2**57, "D"), "9999"),  # whose seconds wrap around to 0
        (np.datetime64(5, "as"), "finer"),
        (np.timedelta64(5, "ns"), "timedelta64"),
        (np.timedelta64(5, "s"), "timedelta64"),
        (pd.Timedelta(5), "Timedelta"),
        (pd.Period("2024-01"), "Period"),
        (timedelta(1), "timedelta"),
        (time(1), "time"),
        (1j, "complex"),
        (np.complex64(1), "complex64"),
        (Fraction(1, 2), "Fraction"),
        (Bare.ONE, "Bare"),
        (object(), "object"),
        (int, "type"),
        (Kind, "EnumType"),
        ({}, "dict"),
    ],
    ids=lambda raw: type(raw).__name__,
)
def test_refusals(raw, reason):
    with pytest.raises(ValueError, match=reason):
        to_value(raw)


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text("aZé\uffff\U00010000", max_size=5),
    st.integers(-(10**18), 10**18).map(Timestamp),
    st.binary(max_size=5),
    st.sampled_from([0, 1, 0.0, -0.0, 1.0, True, False, "", "1", b"", b"1", 2**53, 2.0**53]),
)


@given(VALUES)
def test_values_are_fixed_points(value):
    converted = to_value(value)
    assert type(converted) is type(value)
    assert converted == value or (value != value and converted != converted)


@given(VALUES, VALUES)
def test_equality_is_total_and_order_stays_within_a_kind(a, b):
    same = kind_of(a) is kind_of(b)
    assert equal(a, b) == equal(b, a) == (same and a == b)
    order, converse = compare(a, b), compare(b, a)
    assert (order is None) == (converse is None)
    if order is not None:
        assert same
        assert order == -converse  # type: ignore
        assert (order == 0) == equal(a, b)
    elif same:
        assert kind_of(a) in (Kind.BOOLEAN, Kind.BYTES) or a != a or b != b


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        (2**53 + 1, 2.0**53, 1),
        (2**64 - 1, 2.0**64, -1),
        (1, 1.0, 0),
        (0.0, -0.0, 0),
        ("Z", "a", -1),
        ("\uffff", "\U00010000", -1),
        (Timestamp(1), Timestamp(2), -1),
        (math.nan, math.nan, None),
        (1, math.nan, None),
        (True, False, None),
        (True, 1, None),
        ("1", 1, None),
        (b"a", b"b", None),
        (b"a", "a", None),
        (Timestamp(1), 1, None),
    ],
)
def test_order(a, b, order):
    assert compare(a, b) == order


@pytest.mark.parametrize(("a", "b"), [(True, 1), ("1", 1), (b"a", "a"), (math.nan, math.nan)])
def test_unequal(a, b):
    assert not equal(a, b)
