"""Texts that must stand in whatever a pattern matches."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tamis.errors import SubscriptionError
from tamis.matching.covers.required_texts import like_literals, required_by_regex
from tamis.predicates.texts import compile_like, compile_regex, fold


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("error", ["error"]),
        ("error (in|at) line [0-9]+", ["error ", "at|in", " line "]),
        (r"^GET /api/v\d+\.json$", ["GET /api/v", ".json"]),
        ("colou?r", ["colo", "r"]),
        ("ab*c", ["a", "c"]),
        ("ab+c", ["ab", "c"]),
        ("ab{2,3}c", ["a", "c"]),
        ("a{b", ["a{b"]),
        ("a|b", ["a|b"]),
        ("abc|d+e|f*gh", ["abc|d|gh"]),
        ("abc|d*", []),
        ("abc|", []),
        ("x(a|b)y", ["x", "a|b", "y"]),
        ("x(a|b)?y", ["x", "y"]),
        ("x(ab|cd)+y", ["x", "ab|cd", "y"]),
        ("x(ab|(c|de)f)y", ["x", "ab|c|de", "y"]),
        ("x(ab|){2}y", ["x", "y"]),
        ("(" * 60 + "a" + ")" * 60, []),
        ("x[a|b]y", ["x", "y"]),
        ("x[]|]y", ["x", "y"]),
        ("x[^]]y", ["x", "y"]),
        ("x[[:alpha:]]y", ["x", "y"]),
        (r"x[\]]y", ["x", "y"]),
        ("(?i)abc", ["abc", "ignoring case"]),
        ("a(?i:b)c", ["a", "b", "c", "ignoring case"]),
        ("(?s)abc", ["abc"]),
        ("(?:ab)c", ["ab", "c"]),
        ("(?P<n>ab)c", ["ab", "c"]),
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
    texts, ignore_case = required_by_regex(pattern)
    said = ["|".join(sorted(each)) for each in texts]
    assert said + ["ignoring case"] * ignore_case == literals


@given(
    pattern=st.text(alphabet=r"ab1 .*+?|()[]{}^$\-,:?iPdwQE2", max_size=12),
    text=st.text(alphabet="abAB1 (){}[]|-,:", max_size=12),
)
def test_they_stand_in_what_matches(pattern: str, text: str) -> None:
    try:
        regex = compile_regex(pattern)
    except SubscriptionError:
        assume(False)
        raise
    found = regex.search(text)
    if found is not None:
        required, ignore_case = required_by_regex(pattern)
        text = fold(text) if ignore_case else text
        for texts in required:
            assert any((fold(each) if ignore_case else each) in text for each in texts)


@given(pattern=st.text(alphabet="ab%_", max_size=8), text=st.text(alphabet="ab%_", max_size=8))
def test_those_of_like_patterns_do_too(pattern: str, text: str) -> None:
    if compile_like(pattern).search(text) is not None:
        assert all(literal in text for literal in like_literals(pattern))
