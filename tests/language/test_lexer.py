"""Tokens: how a text is divided, where each token stands, and where a text cannot be divided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.lexer import (
    is_fault,
    places_of,
    sort_of,
    string_value,
    tokens_beside_pattern,
    tokens_of,
)

TOKENS = [
    ("", []),
    (" # only a comment", []),
    ("a.b >=-1.5e3\n", ["a.b", ">=", "-", "1.5e3"]),
    ("`x.y`.z='it''s'", ["`x.y`.z", "=", "'it''s'"]),
    ("a matches r'\\d' or b = R\"x\"", ["a", "matches", "r'\\d'", "or", "b", "=", 'R"x"']),
    ("text'foo'", ["text", "'foo'"]),
    ("bar'foo'", ["bar", "'foo'"]),  # the r belongs to the word
    ("near(?d,$e)", ["near", "(", "?d", ",", "$e", ")"]),
    ("a = 1 # (b\n and c", ["a", "=", "1", "and", "c"]),
    ("a = '# {' and {?s ?p 'b'}", ["a", "=", "'# {'", "and", "{"]),
    ("a = 'b and c", ["a", "=", "'b and c"]),  # what begins no token takes the rest with it
    ("a = 'b''c''d", ["a", "=", "'b''c'", "'d"]),
    ("a --b", ["a", "--b"]),
    ("a = ٣ b", ["a", "=", "٣ b"]),
]


@pytest.mark.parametrize(("text", "tokens"), TOKENS)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text, 0) == tokens
    places = places_of(text, 0, len(tokens) + 1)
    assert [text[at : at + len(token)] for token, at in zip(tokens, places)] == tokens


@given(st.text(alphabet="ab1.'\"r`#\\ =<-?{(,)é٣&", max_size=30))
def test_only_the_last_token_may_be_none(text: str) -> None:
    tokens = tokens_of(text, 0)
    assert not any(is_fault(token) for token in tokens[:-1])
    if not tokens or (not is_fault(tokens[-1]) and tokens[-1] != "{"):
        assert places_of(text, 0, len(tokens) + 1)[-1] == len(text)


@pytest.mark.parametrize(
    ("token", "sort"),
    [
        ("a.b", "word"),
        ("`'`", "word"),
        ("r", "word"),
        ("r'x'", "string"),
        ('R"x"', "string"),
        ("'x'", "string"),
        ("1e5", "number"),
        ("?x", "variable"),
        ("&&", "symbol"),
        ("(", "symbol"),
        ("", "end"),
    ],
)
def test_the_sort_of_a_token_is_told_by_its_ends(token: str, sort: str) -> None:
    assert sort_of(token) == sort


def test_beside_a_pattern_no_token_is_read_too_many() -> None:
    text = "(a = (1)) and b = 'not closed"
    assert [*tokens_beside_pattern(text, 0, enclosed=True)] == ["(", "a", "=", "(", "1", ")", ")"]
    assert [*tokens_beside_pattern("and { ?s", 0, enclosed=False)] == ["and", "{"]
    assert [*tokens_beside_pattern("and a ", 0, enclosed=False)] == ["and", "a"]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'C:\\Windows\\x.exe'", r"C:\Windows\x.exe"),
        (r"'\\\\server'", r"\\server"),
        (r"'\\n\n'", "\\n\n"),
        (r"'it''s \\'", "it's \\"),
        (r"r'C:\Windows'", r"C:\Windows"),
        ("\"a''b\"", "a''b"),
    ],
)
def test_values_of_strings(literal: str, value: str) -> None:
    assert string_value(literal) == value
