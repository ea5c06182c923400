"""Texts that must stand in whatever a pattern matches."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tamis.errors import SubscriptionError
from tamis.matching.covers.required_texts import like_literals, regex_literals
from tamis.predicates.texts import compile_like, compile_regex


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("error", ["error"]),
        ("error (in|at) line [0-9]+", ["error ", " line "]),
        (r"^GET /api/v\d+\.json$", ["GET /api/v", ".json"]),
        ("colou?r", ["colo", "r"]),
        ("ab*c", ["a", "c"]),
        ("ab+c", ["ab", "c"]),
        ("ab{2,3}c", ["a", "c"]),
        ("a{b", ["a{b"]),
        ("a|b", []),
        ("x(a|b)y", ["x", "y"]),
        ("x[a|b]y", ["x", "y"]),
        ("x[]|]y", ["x", "y"]),
        ("x[^]]y", ["x", "y"]),
        ("x[[:alpha:]]y", ["x", "y"]),
        (r"x[\]]y", ["x", "y"]),
        ("(?i)abc", []),
        ("a(?i:b)c", []),
        ("(?:ab)c", ["c"]),
        ("(?P<n>ab)c", ["c"]),
        (r"\Qa|b\E", []),
        (r"\x41bc", []),
        (r"\pN", []),
        (r"a\(b\)", ["a(b)"]),
        (r"\bword\b", ["word"]),
        ("", []),
        (".*", []),
    ],
)
def test_literals_of_regular_expressions(pattern: str, literals: list[str]) -> None:
    compile_regex(pattern)
    assert regex_literals(pattern) == literals


@given(
    pattern=st.text(alphabet=r"ab1 .*+?|()[]{}^$\-,:?iPdwQE2", max_size=12),
    text=st.text(alphabet="ab1 (){}[]|-,:", max_size=12),
)
def test_they_stand_in_what_matches(pattern: str, text: str) -> None:
    try:
        regex = compile_regex(pattern)
    except SubscriptionError:
        assume(False)
        raise
    found = regex.search(text)
    if found is not None:
        assert all(literal in text for literal in regex_literals(pattern))


@given(pattern=st.text(alphabet="ab%_", max_size=8), text=st.text(alphabet="ab%_", max_size=8))
def test_those_of_like_patterns_do_too(pattern: str, text: str) -> None:
    if compile_like(pattern).search(text) is not None:
        assert all(literal in text for literal in like_literals(pattern))
