"""The algebra of sets of values, by its laws on random values."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tamis.model.kinds import Kind, Value, kind_of
from tamis.model.timestamp import Timestamp
from tamis.predicates.snapping import listed, next_number, snapped
from tamis.predicates.valueset import (
    GREATEST,
    LEAST,
    ValueSet,
    after,
    before,
    points,
    prefixed,
    range_of,
)

NUMBERS = st.sampled_from([-(2**63), -1, 0, 0.5, 1, 2, 2**53, 2**53 + 1, 2.0**53, 2**64 - 1])
STRINGS = st.text(alphabet="ab\ud7ff\ue000\U0010ffff", max_size=3)
INSTANTS = st.integers(-5, 5).map(Timestamp)
VALUES: st.SearchStrategy[Value] = st.one_of(
    NUMBERS,
    STRINGS,
    INSTANTS,
    st.booleans(),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.just(b"x"),
)


@st.composite
def ranges(draw: st.DrawFn) -> ValueSet:
    lines: dict[Kind, st.SearchStrategy[Value]] = {
        Kind.NUMBER: NUMBERS,
        Kind.STRING: STRINGS,
        Kind.TIMESTAMP: INSTANTS,
    }
    kind = draw(st.sampled_from(sorted(lines)))
    values = lines[kind]
    ends = st.one_of(st.sampled_from([LEAST, GREATEST]), values.map(before), values.map(after))
    return range_of(kind, draw(ends), draw(ends))


SETS = st.recursive(
    st.one_of(
        ranges(),
        STRINGS.map(prefixed),
        st.lists(st.one_of(NUMBERS, STRINGS, INSTANTS, st.booleans()), max_size=4).map(points),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        inner.map(ValueSet.complement),
    ),
    max_leaves=6,
)


@given(SETS, SETS, VALUES)
def test_membership_follows_the_operations(a: ValueSet, b: ValueSet, value: Value) -> None:
    assert (value in a & b) == (value in a and value in b)
    assert (value in a | b) == (value in a or value in b)
    assert (value in a.complement()) == (value not in a)
    assert not (a <= b and value in a and value not in b)
    assert not (a.isdisjoint(b) and value in a and value in b)


@given(SETS, SETS)
def test_laws(a: ValueSet, b: ValueSet) -> None:
    assert a.complement().complement() == a
    assert (a & b) == (b & a)
    assert (a | b).complement() == a.complement() & b.complement()
    assert (a & a.complement()).is_empty
    assert (a | a.complement()) == ValueSet().complement()
    assert (a <= b) is (a & b.complement()).is_empty
    assert a.isdisjoint(b) is (a & b).is_empty


@given(STRINGS, STRINGS)
def test_prefixes(prefix: str, text: str) -> None:
    assert (text in prefixed(prefix)) == text.startswith(prefix)


@given(SETS, SETS, VALUES)
def test_snapping_keeps_the_values(a: ValueSet, b: ValueSet, value: Value) -> None:
    assert (value in snapped(a)) == (value in a)
    assert snapped(snapped(a)) == snapped(a)
    assert snapped(a & b) == snapped(a) & snapped(b)
    assert snapped(a | b) == snapped(a) | snapped(b)
    if isinstance(value, int):
        assert (value in snapped(a, integers=True)) == (value in a)
    few = listed(snapped(a), 5)
    if few is not None:
        assert (value in a) == any(kind_of(one) is kind_of(value) and one == value for one in few)


@given(
    st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False))
)
def test_nothing_lies_between_a_number_and_the_next(value: float) -> None:
    following = next_number(value)
    assert following > value
    integer = math.floor(value) + 1
    assert not (-(2**63) <= integer < 2**64 and integer < following)
    assert not value < float(value) < following
    if isinstance(following, float) and following.is_integer() and following < 2**53:
        assert math.nextafter(following, -math.inf) <= value


def test_neighbours_of_integers_join() -> None:
    both = snapped(points([4, 5]), integers=True)
    assert both == snapped(range_of(Kind.NUMBER, before(4), after(5)), integers=True)
    assert listed(both, 10, integers=True) == [4, 5]
    assert listed(both, 1, integers=True) is None
    assert snapped(range_of(Kind.NUMBER, after(4), before(5)), integers=True).is_empty
    assert snapped(range_of(Kind.NUMBER, LEAST, before(-1e300)), integers=True).is_empty
    assert snapped(range_of(Kind.NUMBER, LEAST, before(1e300)), integers=True) == ValueSet(
        {Kind.NUMBER: ((LEAST, GREATEST),)}
    )
