"""Tests of texts that take a way of their own, against RE2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.predicates.texts import compile_like, is_like


@given(
    pattern=st.text(alphabet="ab%_\né", max_size=8),
    text=st.text(alphabet="abA%\né", max_size=10),
    ignore_case=st.booleans(),
)
def test_like_without_a_regular_expression(pattern: str, text: str, ignore_case: bool) -> None:
    expected = compile_like(pattern, ignore_case=ignore_case).search(text) is not None
    assert is_like(text, pattern, ignore_case=ignore_case) is expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("aa", "a%a", True),
        ("a", "a%a", False),  # its ends may not overlap
        ("abab", "%ab%ab%", True),
        ("aba", "%ab%ba%", False),  # nor what stands between
        ("order-1-2-3", "order-%-2-3", True),
        ("order-2-3", "order-%-2-3", False),
        ("a%b", r"a\%b", True),
        ("", "%", True),
    ],
)
def test_parts_of_a_pattern_stand_one_behind_the_other(
    text: str, pattern: str, expected: bool
) -> None:
    assert is_like(text, pattern) is expected
