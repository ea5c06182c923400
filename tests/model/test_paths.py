"""Attribute paths: dotted keys, quoted where they are no plain words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ParseError
from tamis.model.paths import format_path, parse_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("price", ("price",)),
        ("new.price", ("new", "price")),
        ("_x1", ("_x1",)),
        ("größe.ß", ("größe", "ß")),
        ("`a.b`.c", ("a.b", "c")),
        ("`a``b`", ("a`b",)),
        ("````", ("`",)),
        ("``", ("",)),
        ("``.``", ("", "")),
        ("`1`", ("1",)),
        ("`and`", ("and",)),
        ("`line\nbreak`", ("line\nbreak",)),
    ],
)
def test_parse(text, path):
    assert parse_path(text) == path
    assert format_path(path) == text


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "1a", "a b", "a-b", "`a", "a`", "```", "`a`b", "a\n", "*"]
)
def test_texts_that_are_no_paths(text):
    with pytest.raises(ParseError, match="not an attribute path") as caught:
        parse_path(text)
    assert caught.value.line == 1
    assert "backticks" in str(caught.value)


@pytest.mark.parametrize("word", ["and", "OR", "Not", "true", "FALSE"])
def test_reserved_words_are_quoted_when_alone(word):
    assert format_path((word,)) == f"`{word}`"


@given(
    st.lists(
        st.text("aé_1-`.\n\u2028 ", max_size=8) | st.text("`.", max_size=4), min_size=1, max_size=5
    )
)
def test_every_path_has_a_text(keys):
    assert parse_path(format_path(tuple(keys))) == tuple(keys)


@given(st.text("`.a1 _é", max_size=12))
def test_every_path_that_parses_has_one_canonical_text(text):
    try:
        path = parse_path(text)
    except ParseError:
        return
    assert parse_path(format_path(path)) == path
