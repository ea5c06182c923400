"""The algebra of sets of values, by its laws on random values."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tamis.model.kinds import Kind, Value
from tamis.model.timestamp import Timestamp
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


@given(SETS, SETS)
def test_laws(a: ValueSet, b: ValueSet) -> None:
    assert a.complement().complement() == a
    assert (a & b) == (b & a)
    assert (a | b).complement() == a.complement() & b.complement()
    assert (a & a.complement()).is_empty
    assert (a | a.complement()) == ValueSet().complement()


@given(STRINGS, STRINGS)
def test_prefixes(prefix: str, text: str) -> None:
    assert (text in prefixed(prefix)) == text.startswith(prefix)
